package process

import "syscall"

func newPipe() (read, write int, err error) {
	var ends [2]int
	// No program may be forked before both are closed to it.
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	if err := syscall.Pipe(ends[:]); err != nil {
		return 0, 0, err
	}
	syscall.CloseOnExec(ends[0])
	syscall.CloseOnExec(ends[1])
	return ends[0], ends[1], nil
}
