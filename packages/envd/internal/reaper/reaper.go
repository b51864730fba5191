// Package reaper starts programs and collects them, and every orphan, when they end.
//
// Every program of the daemon starts here. The daemon waits for any child and not for one of them, because it is
// process 1 of its sandbox or takes over the orphans of its programs: another wait beside it would lose its child to it.
// No pidfd is ever open, because CRIU cannot store one. This rules out os/exec and os.StartProcess.
package reaper

import (
	"os"
	"os/signal"
	"sync"
	"syscall"

	"svc.example/envd/internal/runas"
)

// A Child is a program that was started here.
type Child struct {
	pid int

	// Guarded by children.mutex.
	ended  bool
	status syscall.WaitStatus
	onEnd  func(syscall.WaitStatus)
}

var children struct {
	watch sync.Once
	// starting is held for reading from before a program is forked until it is known, and for writing while children
	// are collected: a pid is not free for another process before its entry is gone.
	starting sync.RWMutex
	mutex    sync.Mutex
	known    map[int]*Child
}

// Start starts a program. The error is the errno of the fork, or of the step in the child that failed.
func Start(path string, argv []string, attr *syscall.ProcAttr) (*Child, error) {
	Watch()
	children.starting.RLock()
	defer children.starting.RUnlock()
	pid, err := syscall.ForkExec(path, argv, attr)
	// The child shares this process's memory until it runs the program, also while it takes on its user.
	runas.StayDumpable()
	if err != nil {
		return nil, err
	}
	child := &Child{pid: pid}
	children.mutex.Lock()
	children.known[pid] = child
	children.mutex.Unlock()
	return child, nil
}

// PID returns the process ID, which may belong to another process once the program has ended.
func (c *Child) PID() int { return c.pid }

// OnEnd calls the function with the status once the program has ended, at once when it has already. It is for one caller.
func (c *Child) OnEnd(call func(syscall.WaitStatus)) {
	children.mutex.Lock()
	if !c.ended {
		c.onEnd = call
		children.mutex.Unlock()
		return
	}
	children.mutex.Unlock()
	call(c.status)
}

// Signal sends a signal to the program. The error is ESRCH when it has ended. It may call functions of OnEnd.
func (c *Child) Signal(number syscall.Signal) error {
	// A program that has ended takes signals until it is collected.
	collect()
	children.starting.RLock()
	defer children.starting.RUnlock()
	children.mutex.Lock()
	ended := c.ended
	children.mutex.Unlock()
	if ended {
		return syscall.ESRCH
	}
	return syscall.Kill(c.pid, number)
}

// Watch collects children from now on. It may be called again.
func Watch() {
	children.watch.Do(func() {
		children.known = map[int]*Child{}
		takeSignals()
		died := make(chan os.Signal, 1)
		signal.Notify(died, syscall.SIGCHLD)
		go func() {
			collect()
			for range died {
				collect()
			}
		}()
	})
}

// collect waits for every child that has ended.
func collect() {
	var calls []func()
	children.starting.Lock()
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG, nil)
		if err == syscall.EINTR {
			continue
		}
		if err != nil || pid <= 0 {
			break
		}
		children.mutex.Lock()
		if child, known := children.known[pid]; known {
			delete(children.known, pid)
			child.ended, child.status = true, status
			if call := child.onEnd; call != nil {
				child.onEnd = nil
				calls = append(calls, func() { call(status) })
			}
		}
		children.mutex.Unlock()
	}
	children.starting.Unlock()
	for _, call := range calls {
		call()
	}
}

// takeSignals handles the signals that this process was started to ignore, as a job in the background of a shell is: a
// program inherits what is ignored, but not what is handled.
func takeSignals() {
	unread := make(chan os.Signal, 1)
	for number := syscall.Signal(1); number < 32; number++ {
		if signal.Ignored(number) {
			signal.Notify(unread, number)
		}
	}
}
