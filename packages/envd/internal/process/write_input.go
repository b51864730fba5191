package process

import (
	"context"
	"errors"
	"io"

	"connectrpc.com/connect"
	wire "svc.example/envd/gen/process"
)

// SendInput writes one piece of input.
func (s *Service) SendInput(
	ctx context.Context, request *connect.Request[wire.SendInputRequest],
) (*connect.Response[wire.SendInputResponse], error) {
	p, err := s.find(request.Msg.Process)
	if err != nil {
		return nil, err
	}
	if err := p.write(ctx, request.Msg.Input); err != nil {
		return nil, err
	}
	return connect.NewResponse(&wire.SendInputResponse{}), nil
}

// StreamInput writes pieces in the order in which they come. It stops reading them at the first failure.
func (s *Service) StreamInput(
	ctx context.Context, pieces *connect.ClientStream[wire.StreamInputRequest],
) (*connect.Response[wire.StreamInputResponse], error) {
	var target *process
	for pieces.Receive() {
		switch event := pieces.Msg().Event.(type) {
		case *wire.StreamInputRequest_Start:
			found, err := s.find(event.Start.GetProcess())
			if err != nil {
				return nil, err
			}
			target = found
		case *wire.StreamInputRequest_Data:
			if target == nil {
				return nil, connect.NewError(connect.CodeFailedPrecondition, errors.New("data came before start"))
			}
			piece := event.Data.GetInput()
			if err := target.write(ctx, piece); err != nil {
				return nil, err
			}
			giveInput(piece.GetStdin())
		case *wire.StreamInputRequest_Keepalive:
		default:
			empty := errors.New("the message has neither start, data nor keepalive")
			return nil, connect.NewError(connect.CodeUnimplemented, empty)
		}
	}
	if err := pieces.Err(); err != nil {
		return nil, inputError(err)
	}
	return connect.NewResponse(&wire.StreamInputResponse{}), nil
}

// inputError is the error of a stream of input that did not come to its end. That a caller vanished in the middle is no
// refusal of ours.
func inputError(err error) error {
	switch code := connect.CodeOf(err); {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return connect.NewError(connect.CodeInvalidArgument, errors.New("the last message is cut short"))
	case code == connect.CodeCanceled || code == connect.CodeAborted:
		return connect.NewError(connect.CodeUnknown, errors.New("the request broke off"))
	}
	return err
}

// write writes a piece of input and returns once the kernel has it. Errors are `internal` for the wrong kind and a failed
// write, `unimplemented` without input.
func (p *process) write(ctx context.Context, piece *wire.ProcessInput) error {
	refuse := func(code connect.Code, reason string) error { return connect.NewError(code, errors.New(reason)) }
	var bytes []byte
	switch input := piece.GetInput().(type) {
	case *wire.ProcessInput_Stdin:
		if p.hasTerminal() {
			return refuse(connect.CodeInternal, "the process has a terminal: send pty input instead of stdin")
		}
		bytes = input.Stdin
	case *wire.ProcessInput_Pty:
		if !p.hasTerminal() {
			return refuse(connect.CodeInternal, "the process has no terminal: send stdin instead of pty input")
		}
		bytes = input.Pty
	default:
		return refuse(connect.CodeUnimplemented, "the request has no input")
	}
	if p.input == nil {
		return refuse(connect.CodeInternal, "stdin is not enabled for this process")
	}
	err := p.input.write(ctx, bytes)
	if err != nil && ctx.Err() == nil {
		return connect.NewError(connect.CodeInternal, err)
	}
	return err
}
