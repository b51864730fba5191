package process

import (
	"errors"
	"os"
	"syscall"
	"time"
)

const (
	// terminalPieceBytes is the largest piece of a terminal's output; those of other streams fill a buffer.
	terminalPieceBytes = 16 * 1024
	// quietFor is how long released output may stay silent after the program's end, and releaseFor how long it lasts at
	// most.
	quietFor   = 20 * time.Millisecond
	releaseFor = time.Second
	// drainBytes is as much as the kernel may hold of a pipe.
	drainBytes = 1024 * 1024
)

var streamNames = [...]string{stdout: "stdout", stderr: "stderr", terminal: "pty"}

// read reads what a program prints, up to the end of the stream or until it is cut off after the program's end.
func (p *process) read(file *os.File, from stream) {
	for p.mayRead(file) {
		in, size, err := readPiece(file, from, true)
		if err != nil || size <= 0 {
			if errors.Is(err, os.ErrDeadlineExceeded) {
				break
			}
			// A terminal whose last program ended reports an error instead of an end.
			p.close(file, from)
			return
		}
		p.keep(from, in, size)
	}
	p.drain(file, from)
	p.close(file, from)
}

// mayRead gives released output time to go on. It returns false when there is no time left.
func (p *process) mayRead(file *os.File) bool {
	p.service.mutex.Lock()
	defer p.service.mutex.Unlock()
	if p.limit.IsZero() {
		return true
	}
	quiet := time.Now().Add(quietFor)
	if quiet.After(p.limit) {
		return false
	}
	file.SetReadDeadline(quiet)
	return true
}

// drain reads what the kernel holds of the output right now.
func (p *process) drain(file *os.File, from stream) {
	file.SetReadDeadline(time.Time{})
	for total := 0; total < drainBytes; {
		in, size, err := readPiece(file, from, false)
		if err != nil || size <= 0 {
			return
		}
		p.keep(from, in, size)
		total += size
	}
}

// keep passes a piece on: to the log, and to those who read the process.
func (p *process) keep(from stream, in *buffer, size int) {
	if from != terminal {
		p.service.logs.Append(int(p.pid), streamNames[from], p.tagText(), in[:size])
	}
	if unused := p.deliver(from, in[:size], in); unused != nil {
		buffers.Put(unused)
	}
}

func (p *process) close(file *os.File, from stream) {
	if from != terminal {
		p.service.logs.End(int(p.pid), streamNames[from], p.tagText())
	}
	p.service.mutex.Lock()
	defer p.service.mutex.Unlock()
	p.reading = without(p.reading, file)
	file.Close()
	p.finish()
}

// release stops waiting for output soon after the program's end, even if another process holds it open. Nothing that the
// program printed is lost. The caller holds the lock of the service.
func (p *process) release() {
	p.released = true
	p.startRelease()
}

func (p *process) startRelease() {
	if !p.exited || !p.released || !p.limit.IsZero() {
		return
	}
	p.limit = time.Now().Add(releaseFor)
	// Readers that are behind are waited for until then.
	p.giveUp = time.AfterFunc(releaseFor, p.room.Broadcast)
	for _, file := range p.reading {
		file.SetReadDeadline(time.Now().Add(quietFor))
	}
}

// readPiece reads a piece of output, and waits for it if it may. No buffer is held while it waits.
func readPiece(file *os.File, from stream, wait bool) (in *buffer, size int, err error) {
	conn, err := file.SyscallConn()
	if err != nil {
		return nil, 0, err
	}
	limit := bufferBytes
	if from == terminal {
		limit = terminalPieceBytes
	}
	var failed error
	err = conn.Read(func(fd uintptr) bool {
		in = buffers.Get().(*buffer)
		for {
			size, failed = syscall.Read(int(fd), in[:limit])
			if failed != syscall.EINTR {
				break
			}
		}
		if failed == nil && size > 0 {
			return true
		}
		buffers.Put(in)
		in = nil
		return failed != syscall.EAGAIN || !wait
	})
	if err == nil {
		err = failed
	}
	return in, size, err
}
