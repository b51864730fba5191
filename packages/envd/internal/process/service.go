// Package process is the Process service: it runs and steers the programs of a sandbox.
//
// One lock guards the table of processes, their output and their readers; it is never held while anything waits but for
// room, which gives it back. Programs are started as their users, each in a session of its own, with real pipes or a
// terminal.
package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/timestamppb"
	wire "svc.example/envd/gen/process"
	"svc.example/envd/internal/reaper"
	"svc.example/envd/internal/sandbox"
)

// Logs keep what programs print to stdout and stderr.
type Logs interface {
	// Append takes a piece of output. The bytes are not the receiver's: it copies what it keeps.
	Append(pid int, stream string, tag string, bytes []byte)
	// End says that a stream brings no more.
	End(pid int, stream string, tag string)
}

// A Service is the Process service.
type Service struct {
	state *sandbox.State
	logs  Logs
	// path is the daemon's own PATH, which programs start with.
	path string

	mutex  sync.Mutex
	table  table
	budget budget
	// neverRun is the number of programs that could not be run.
	neverRun uint32
}

// New returns the service of a sandbox.
func New(state *sandbox.State, logs Logs) *Service {
	return &Service{state: state, logs: logs, path: os.Getenv("PATH")}
}

// Reap makes this process collect the orphans of its programs, as process 1 does.
func Reap() error { return reaper.Adopt() }

// KillAll ends every running process at once.
func (s *Service) KillAll() {
	for _, p := range s.running() {
		p.signal(syscall.SIGKILL)
	}
}

// Restored repairs what a restored checkpoint has lost: who may open the pipes of programs by name.
func (s *Service) Restored() {
	for _, p := range s.running() {
		p.sharePipes()
	}
}

func (s *Service) running() []*process {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return append([]*process(nil), s.table.running...)
}

// find returns the running process that a selector means.
func (s *Service) find(selector *wire.ProcessSelector) (*process, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.table.find(selector, false)
}

var errEmptySelector = errors.New("the process selector is empty")

// List answers with the running processes.
func (s *Service) List(context.Context, *connect.Request[wire.ListRequest]) (*connect.Response[wire.ListResponse], error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	response := &wire.ListResponse{}
	for _, p := range s.table.running {
		response.Processes = append(response.Processes, &wire.ProcessInfo{
			Config: p.config, Pid: p.pid, Tag: p.tag, StartedAt: timestamppb.New(p.startedAt),
		})
	}
	return connect.NewResponse(response), nil
}

// Connect attaches a reader to a process.
func (s *Service) Connect(
	ctx context.Context, request *connect.Request[wire.ConnectRequest], answer *connect.ServerStream[wire.ConnectResponse],
) error {
	s.mutex.Lock()
	p, err := s.table.find(request.Msg.Process, true)
	s.mutex.Unlock()
	if err != nil {
		return err
	}
	from, numbered := now, request.Msg.From != nil
	if numbered {
		from = int64(min(*request.Msg.From, uint64(now)))
	}
	response := &wire.ConnectResponse{}
	return p.subscribe(from).stream(ctx, request.Header(), numbered, func(event *wire.ProcessEvent) error {
		response.Event = event
		return answer.Send(response)
	})
}

// Update changes the size of a terminal.
func (s *Service) Update(
	_ context.Context, request *connect.Request[wire.UpdateRequest],
) (*connect.Response[wire.UpdateResponse], error) {
	p, err := s.find(request.Msg.Process)
	if err != nil {
		return nil, err
	}
	if request.Msg.Pty != nil {
		if !p.hasTerminal() {
			return nil, connect.NewError(connect.CodeInternal, errors.New("the process has no terminal"))
		}
		if err := resize(p.master, request.Msg.Pty.Size); err != nil {
			return nil, connect.NewError(connect.CodeInternal, fmt.Errorf("cannot resize the terminal: %w", err))
		}
	}
	return connect.NewResponse(&wire.UpdateResponse{}), nil
}

// SendSignal signals a process. SIGTERM goes to the program alone, or to those it left behind when it has exited. SIGKILL
// ends its whole session: a program that made a session of its own stays.
func (s *Service) SendSignal(
	_ context.Context, request *connect.Request[wire.SendSignalRequest],
) (*connect.Response[wire.SendSignalResponse], error) {
	p, err := s.find(request.Msg.Process)
	if err != nil {
		return nil, err
	}
	names := map[wire.Signal]string{wire.Signal_SIGNAL_SIGTERM: "SIGTERM", wire.Signal_SIGNAL_SIGKILL: "SIGKILL"}
	name, known := names[request.Msg.Signal]
	if !known {
		unknown := fmt.Errorf("signal %d is not supported", request.Msg.Signal)
		return nil, connect.NewError(connect.CodeUnimplemented, unknown)
	}
	if err := p.signal(syscall.Signal(request.Msg.Signal)); err != nil {
		return nil, connect.NewError(connect.CodeInternal, fmt.Errorf("cannot send %s: %w", name, err))
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	p.release()
	return connect.NewResponse(&wire.SendSignalResponse{}), nil
}

// CloseStdin ends the input of a program.
func (s *Service) CloseStdin(
	_ context.Context, request *connect.Request[wire.CloseStdinRequest],
) (*connect.Response[wire.CloseStdinResponse], error) {
	p, err := s.find(request.Msg.Process)
	if err != nil {
		return nil, err
	}
	if p.hasTerminal() {
		refused := errors.New("a terminal has no stdin to close; send Ctrl+D (0x04) instead")
		return nil, connect.NewError(connect.CodeUnknown, refused)
	}
	if p.input != nil {
		p.input.end()
	}
	return connect.NewResponse(&wire.CloseStdinResponse{}), nil
}
