package process

import "golang.org/x/sys/unix"

func newPipe() (read, write int, err error) {
	var ends [2]int
	err = unix.Pipe2(ends[:], unix.O_CLOEXEC)
	return ends[0], ends[1], err
}
