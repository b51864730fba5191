package process

import (
	"os"
	"slices"
	"syscall"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
	wire "svc.example/envd/gen/process"
)

// streams are both sides of what a program reads and writes.
type streams struct {
	// theirs are the program's stdin, stdout and stderr.
	theirs []uintptr
	// outputs are our sides of what it writes.
	outputs map[*os.File]stream
	input   *os.File
}

// open makes the streams that the request asks for: a terminal, or pipes.
func (p *process) open(request *wire.StartRequest) (*streams, error) {
	opened := &streams{outputs: map[*os.File]stream{}}
	var err error
	if request.Pty != nil {
		err = opened.openTerminal(p, request.Pty.Size)
	} else {
		err = opened.openPipes(p, request.Stdin == nil || *request.Stdin)
	}
	if err != nil {
		opened.closeTheirs()
		opened.closeOurs()
		return nil, err
	}
	return opened, nil
}

func (s *streams) openPipes(p *process, withInput bool) error {
	if withInput {
		ours, theirs, err := p.pipe("stdin", true)
		if err != nil {
			return err
		}
		s.theirs, s.input = append(s.theirs, uintptr(theirs)), ours
		p.input = newInput("stdin", ours)
	} else {
		nothing, err := syscall.Open(os.DevNull, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
		if err != nil {
			return &os.PathError{Op: "open", Path: os.DevNull, Err: err}
		}
		s.theirs = append(s.theirs, uintptr(nothing))
	}
	for _, from := range []stream{stdout, stderr} {
		ours, theirs, err := p.pipe(streamNames[from], false)
		if err != nil {
			return err
		}
		s.theirs = append(s.theirs, uintptr(theirs))
		s.outputs[ours] = from
	}
	return nil
}

// pipe makes a pipe for the program.
func (p *process) pipe(name string, programReads bool) (ours *os.File, theirs int, err error) {
	read, write, err := newPipe()
	if err != nil {
		return nil, -1, err
	}
	own := read
	theirs = write
	if programReads {
		own, theirs = write, read
	}
	p.share(own)
	if err := syscall.SetNonblock(own, true); err != nil {
		syscall.Close(read)
		syscall.Close(write)
		return nil, -1, err
	}
	return os.NewFile(uintptr(own), name), theirs, nil
}

// own gives a pipe or terminal to the user. A program works without: only opening it by name, as /dev/stdout, fails.
func (p *process) own(fd int) {
	if _, single := p.service.state.SingleUser(); !single {
		unix.Fchown(fd, int(p.user.UID), int(p.user.GID))
	}
}

// share lets also a program that the user's program runs as another user open a pipe by name. Nobody comes to it who has not
// inherited it.
func (p *process) share(fd int) {
	p.own(fd)
	unix.Fchmod(fd, 0o666)
}

// sharePipes does so again with the pipes of a process.
func (p *process) sharePipes() {
	if p.hasTerminal() {
		return
	}
	p.service.mutex.Lock()
	defer p.service.mutex.Unlock()
	files := slices.Clone(p.reading)
	if p.input != nil {
		files = append(files, p.input.file)
	}
	for _, file := range files {
		// It fails for one that is closed.
		if conn, err := file.SyscallConn(); err == nil {
			conn.Control(func(fd uintptr) { p.share(int(fd)) })
		}
	}
}

func (s *streams) openTerminal(p *process, size *wire.PTY_Size) error {
	master, slave, err := pty.Open()
	if err != nil {
		return err
	}
	defer master.Close()
	defer slave.Close()
	p.own(int(slave.Fd()))
	theirs, err := unix.FcntlInt(slave.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return err
	}
	s.theirs = []uintptr{uintptr(theirs), uintptr(theirs), uintptr(theirs)}
	// The library leaves the master blocking, and such a file has no deadlines and costs a thread.
	ours, err := unix.FcntlInt(master.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return err
	}
	syscall.SetNonblock(ours, true)
	p.master = os.NewFile(uintptr(ours), "the terminal")
	p.input = newInput("the terminal", p.master)
	s.outputs[p.master] = terminal
	return resize(p.master, size)
}

// resize sets the size of a terminal in character cells.
func resize(master *os.File, size *wire.PTY_Size) error {
	const most = 1<<16 - 1
	cells := &unix.Winsize{Row: uint16(min(size.GetRows(), most)), Col: uint16(min(size.GetCols(), most))}
	conn, err := master.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = conn.Control(func(fd uintptr) { failed = unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ, cells) })
	if err == nil {
		err = failed
	}
	return err
}

// closeTheirs closes the program's sides once it has them.
func (s *streams) closeTheirs() {
	closed := map[uintptr]bool{}
	for _, fd := range s.theirs {
		if !closed[fd] {
			closed[fd] = true
			syscall.Close(int(fd))
		}
	}
}

func (s *streams) closeOurs() {
	for file := range s.outputs {
		file.Close()
	}
	if s.input != nil {
		s.input.Close()
	}
}
