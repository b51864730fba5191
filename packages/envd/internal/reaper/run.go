package reaper

import (
	"context"
	"fmt"
	"os"
	"syscall"
)

// Run runs a program of the system as the daemon, without input and output, until it ends or the context does. It fails when
// the program does.
func Run(ctx context.Context, program string, arguments []string) error {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer null.Close()
	descriptor := null.Fd()
	child, err := Start(program, append([]string{program}, arguments...), &syscall.ProcAttr{
		Dir:   "/",
		Env:   []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
		Files: []uintptr{descriptor, descriptor, descriptor},
		Sys:   &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		return err
	}
	ended := make(chan syscall.WaitStatus, 1)
	child.OnEnd(func(status syscall.WaitStatus) { ended <- status })
	select {
	case status := <-ended:
		if !status.Exited() || status.ExitStatus() != 0 {
			return fmt.Errorf("%s failed: status %d", program, status)
		}
		return nil
	case <-ctx.Done():
		child.Signal(syscall.SIGKILL)
		<-ended
		return ctx.Err()
	}
}
