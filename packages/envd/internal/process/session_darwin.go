package process

import "syscall"

// signalSession signals the process group of a session's leader. macOS has no /proc to find the other groups in.
func signalSession(session int, number syscall.Signal) error {
	err := syscall.Kill(-session, number)
	if err == syscall.ESRCH {
		return nil
	}
	return err
}
