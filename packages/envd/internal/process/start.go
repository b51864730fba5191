package process

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"syscall"

	"connectrpc.com/connect"
	"golang.org/x/sys/unix"
	wire "svc.example/envd/gen/process"
	"svc.example/envd/internal/reaper"
	"svc.example/envd/internal/runas"
)

// Start starts a program and streams its events.
func (s *Service) Start(
	ctx context.Context, request *connect.Request[wire.StartRequest], answer *connect.ServerStream[wire.StartResponse],
) error {
	user, err := s.state.RequestUser(request.Header())
	if err != nil {
		return connect.NewError(connect.CodeUnauthenticated, err)
	}
	p := newProcess(s, request.Msg)
	p.user = user
	variables := environment(user, s.state, traceVariables(request.Header()), p.config.Envs, s.path)
	if err := p.start(request.Msg, variables); err != nil {
		return connect.NewError(connect.CodeInvalidArgument, err)
	}
	reader := p.subscribe(0)
	// The reader joins before anything is read: of output without a reader the latest alone is kept.
	p.follow()
	if deadline, limited := ctx.Deadline(); limited {
		p.expireAt(deadline, reader)
	}
	response := &wire.StartResponse{}
	return reader.stream(ctx, request.Header(), false, func(event *wire.ProcessEvent) error {
		response.Event = event
		return answer.Send(response)
	})
}

// start starts the program and makes the process known. Nothing of its output is read before follow.
func (p *process) start(request *wire.StartRequest, variables map[string]string) error {
	command := p.config.Cmd
	if command == "" {
		return errors.New("cannot start the process: it has no command")
	}
	arguments := append([]string{command}, p.config.Args...)
	environment := pairs(variables)
	for _, texts := range [][]string{arguments, environment} {
		for _, text := range texts {
			// The text itself may be a secret.
			if strings.IndexByte(text, 0) >= 0 {
				return errors.New("cannot start the process: its command, an argument or a variable holds a NUL character")
			}
		}
	}
	var folder string
	var found []string
	var barred bool
	err := runas.Do(p.user, func() (err error) {
		folder, err = directory(p.config.GetCwd(), p.service.state.Workdir(), p.user)
		if err == nil {
			found, barred = candidates(command, variables["PATH"], folder)
		}
		return err
	})
	if err != nil {
		return err
	}
	streams, err := p.open(request)
	if err != nil {
		return fmt.Errorf("cannot start the process: %w", err)
	}
	attributes := &syscall.ProcAttr{Dir: folder, Env: environment, Files: streams.theirs, Sys: p.identity()}
	path, err := p.run(found, arguments, attributes, barred)
	streams.closeTheirs()
	if err == nil {
		p.become(streams)
		return nil
	}
	streams.closeOurs()
	if failure := callFailure(err); failure != nil {
		return failure
	}
	var refused refusal
	runas.Do(p.user, func() error {
		refused = refuse(command, path, folder, err)
		return nil
	})
	p.neverRuns(refused, request.Pty != nil)
	return nil
}

// identity says as whom the program runs, in which session, and with which terminal.
func (p *process) identity() *syscall.SysProcAttr {
	identity := &syscall.SysProcAttr{Setsid: true, Setctty: p.hasTerminal()}
	if _, single := p.service.state.SingleUser(); !single {
		identity.Credential = &syscall.Credential{Uid: p.user.UID, Gid: p.user.GID, Groups: p.user.Groups}
	}
	return identity
}

// run tries the paths that the command may have. It returns the last one that was tried, empty when there was none.
func (p *process) run(paths, arguments []string, attributes *syscall.ProcAttr, barred bool) (tried string, err error) {
	err = syscall.ENOENT
	if barred {
		err = syscall.EACCES
	}
	for _, path := range paths {
		p.child, err = reaper.Start(path, arguments, attributes)
		if err == syscall.ENOEXEC && !p.isBinary(within(attributes.Dir, path)) {
			// A script without a first line that names its interpreter is one of the shell's.
			script := append([]string{shell, path}, arguments[1:]...)
			if child, failed := reaper.Start(shell, script, attributes); failed == nil {
				p.child, err = child, nil
			}
		}
		tried = path
		if err != syscall.EACCES && err != syscall.ENOENT && err != syscall.ENOTDIR {
			break
		}
	}
	return tried, err
}

func (p *process) isBinary(path string) (binary bool) {
	runas.Do(p.user, func() error {
		binary = isBinary(path)
		return nil
	})
	return binary
}

// callFailure returns the error of a call that failed for want of something, and not for its program.
func callFailure(err error) error {
	advice := map[error]string{
		syscall.EAGAIN: "the sandbox or the user has as many processes as it may have: end some",
		syscall.ENOMEM: "the sandbox has no memory left: end some processes",
		syscall.E2BIG:  "its arguments and variables together are too long: pass them in a file or through stdin",
		syscall.EMFILE: "the daemon has as many files open as it may have: end some processes",
		syscall.ENFILE: "the system has as many files open as it may have: end some processes",
	}
	reason, known := advice[err]
	if !known {
		return nil
	}
	return fmt.Errorf("cannot start the process: %w (%s): %s", err, unix.ErrnoName(err.(syscall.Errno)), reason)
}

// become makes a started program known.
func (p *process) become(streams *streams) {
	p.pid = uint32(p.child.PID())
	p.service.mutex.Lock()
	defer p.service.mutex.Unlock()
	p.outputs = streams.outputs
	p.reading = slices.Collect(maps.Keys(streams.outputs))
	p.service.table.add(p)
}

// noPID is above all process IDs of the kernel (4,194,304).
const noPID = 1<<22 + 1

// neverRuns stands for a program that cannot be run: it says why and ends, as a shell would on its behalf.
func (p *process) neverRuns(why refusal, inTerminal bool) {
	s := p.service
	from, text := stderr, why.message+"\n"
	if inTerminal {
		from, text = terminal, why.message+"\r\n"
	}
	s.mutex.Lock()
	p.pid = noPID + s.neverRun
	s.neverRun = (s.neverRun + 1) % (1 << 20)
	s.table.add(p)
	p.output.append(from, []byte(text), nil)
	p.conclude(exited(why.code))
	s.mutex.Unlock()
	if from == stderr {
		s.logs.Append(int(p.pid), streamNames[from], p.tagText(), []byte(text))
		s.logs.End(int(p.pid), streamNames[from], p.tagText())
	}
}

// signal signals the program; SIGKILL ends its session. A process that nobody is left of is no error.
func (p *process) signal(number syscall.Signal) error {
	if p.child == nil {
		return nil
	}
	err := p.child.Signal(number)
	if err == syscall.ESRCH {
		err = nil
	} else if number != syscall.SIGKILL || err != nil {
		return err
	}
	p.service.mutex.Lock()
	current, _ := p.service.table.find(byPID(p.pid), false)
	p.service.mutex.Unlock()
	// The number may mean another session by now.
	if current != p {
		return nil
	}
	return signalSession(p.child.PID(), number)
}

func byPID(pid uint32) *wire.ProcessSelector {
	return &wire.ProcessSelector{Selector: &wire.ProcessSelector_Pid{Pid: pid}}
}
