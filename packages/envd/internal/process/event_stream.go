package process

import (
	"context"
	"errors"
	"net/http"
	"syscall"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/timestamppb"
	wire "svc.example/envd/gen/process"
	"svc.example/envd/internal/keepalive"
)

var errTimeOver = connect.NewError(connect.CodeDeadlineExceeded, errors.New("the time limit of the process is over"))

// stream sends the start, then what the reader gets up to the end, with keepalives in silence. It closes the reader.
// Numbered: the start has the offset of what follows.
func (s *subscription) stream(
	ctx context.Context, header http.Header, numbered bool, send func(*wire.ProcessEvent) error,
) error {
	p, mutex := s.process, &s.process.service.mutex
	start := &wire.ProcessEvent_StartEvent{Pid: p.pid, StartedAt: timestamppb.New(p.startedAt)}
	var held piece
	mutex.Lock()
	if numbered {
		offset := uint64(s.cursor.offset())
		start.Offset = &offset
	}
	mutex.Unlock()
	defer func() {
		mutex.Lock()
		defer mutex.Unlock()
		held.release()
		s.close()
	}()
	if err := send(&wire.ProcessEvent{Event: &wire.ProcessEvent_Start{Start: start}}); err != nil {
		return err
	}
	interval := keepalive.Interval(header)
	silence := time.NewTimer(interval)
	defer silence.Stop()
	var event outputEvent
	for {
		if err := ctx.Err(); err != nil {
			return streamError(err)
		}
		mutex.Lock()
		held.release()
		read, ok := s.read()
		held = read
		closed, end := s.closed, p.end
		mutex.Unlock()
		switch {
		case ok:
			if err := send(event.of(read.stream, read.bytes)); err != nil {
				return err
			}
			continue
		case closed:
			return errTimeOver
		case end != nil:
			return send(&wire.ProcessEvent{Event: &wire.ProcessEvent_End{End: end}})
		}
		silence.Reset(interval)
		select {
		case <-s.wake:
		case <-ctx.Done():
		case <-silence.C:
			alive := &wire.ProcessEvent_Keepalive{Keepalive: &wire.ProcessEvent_KeepAlive{}}
			if err := send(&wire.ProcessEvent{Event: alive}); err != nil {
				return err
			}
		}
	}
}

func streamError(err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return errTimeOver
	}
	return err
}

// An outputEvent is a message that serves for one piece of output after the other, as a stream sends one at a time.
type outputEvent struct {
	event  wire.ProcessEvent
	data   wire.ProcessEvent_DataEvent
	stdout wire.ProcessEvent_DataEvent_Stdout
	stderr wire.ProcessEvent_DataEvent_Stderr
	pty    wire.ProcessEvent_DataEvent_Pty
	holder wire.ProcessEvent_Data
}

func (e *outputEvent) of(from stream, bytes []byte) *wire.ProcessEvent {
	e.holder.Data = &e.data
	e.event.Event = &e.holder
	switch from {
	case stdout:
		e.stdout.Stdout = bytes
		e.data.Output = &e.stdout
	case stderr:
		e.stderr.Stderr = bytes
		e.data.Output = &e.stderr
	case terminal:
		e.pty.Pty = bytes
		e.data.Output = &e.pty
	}
	return &e.event
}

// expireAt gives a process its last moment.
func (p *process) expireAt(moment time.Time, reader *subscription) {
	p.service.mutex.Lock()
	defer p.service.mutex.Unlock()
	if p.end == nil {
		p.expires = time.AfterFunc(time.Until(moment), func() { p.expire(reader) })
	}
}

// expire kills a process whose time is over. The end that comes of it is not for the reader that set the time.
func (p *process) expire(reader *subscription) {
	p.service.mutex.Lock()
	ended := p.end != nil
	if !ended {
		reader.close()
		p.release()
	}
	p.service.mutex.Unlock()
	if !ended {
		p.signal(syscall.SIGKILL)
	}
}
