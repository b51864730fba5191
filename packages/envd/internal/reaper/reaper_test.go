package reaper

import (
	"errors"
	"io"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

func start(t *testing.T, line string) *Child {
	t.Helper()
	child, err := Start("/bin/sh", []string{"sh", "-c", line}, &syscall.ProcAttr{Files: []uintptr{0, 1, 2}})
	if err != nil {
		t.Fatal(err)
	}
	return child
}

func TestEveryChildIsCollectedOnce(t *testing.T) {
	var group sync.WaitGroup
	for number := range 40 {
		group.Go(func() {
			status := make(chan syscall.WaitStatus, 2)
			child := start(t, "exit $(("+strings.Repeat("1+", number)+"0))")
			child.OnEnd(func(ended syscall.WaitStatus) { status <- ended })
			if got := <-status; got.ExitStatus() != number {
				t.Errorf("status %d instead of %d", got.ExitStatus(), number)
			}
			if err := child.Signal(syscall.SIGKILL); err != syscall.ESRCH {
				t.Errorf("a signal after the end: %v", err)
			}
		})
	}
	group.Wait()
}

func TestOnEndAfterTheEndIsCalledAtOnce(t *testing.T) {
	child := start(t, "exit 3")
	for child.Signal(0) == nil {
		time.Sleep(time.Millisecond)
	}
	called := false
	child.OnEnd(func(status syscall.WaitStatus) { called = status.ExitStatus() == 3 })
	if !called {
		t.Error("not called")
	}
}

func TestAFailedStartLeavesNoChild(t *testing.T) {
	_, err := Start("/no/such/program", []string{"x"}, &syscall.ProcAttr{})
	if !errors.Is(err, syscall.ENOENT) {
		t.Error(err)
	}
}

// A shell starts jobs in the background with SIGINT and SIGQUIT ignored, and the daemon may be one.
func TestProgramsIgnoreNoSignalsOfTheDaemon(t *testing.T) {
	if os.Getenv("AS_A_JOB") != "" {
		ended := make(chan struct{})
		start(t, "grep SigIgn /proc/self/status").OnEnd(func(syscall.WaitStatus) { close(ended) })
		<-ended
		return
	}
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	line := `trap "" INT QUIT; grep SigIgn /proc/self/status; exec "$0" -test.run=^TestProgramsIgnore`
	_, err = Start("/bin/sh", []string{"sh", "-c", line, os.Args[0]}, &syscall.ProcAttr{
		Env: append(os.Environ(), "AS_A_JOB=1"), Files: []uintptr{0, write.Fd(), 2},
	})
	write.Close()
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(read)
	if got := string(text); err != nil || !strings.HasPrefix(got, "SigIgn:\t0000000000000006\nSigIgn:\t0000000000000000\n") {
		t.Errorf("%q %v", got, err)
	}
}

func TestOrphansAreCollected(t *testing.T) {
	if err := Adopt(); err != nil {
		t.Fatal(err)
	}
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	line := "sh -c 'sleep 0.05; exit 1' & echo $!"
	child, err := Start("/bin/sh", []string{"sh", "-c", line}, &syscall.ProcAttr{Files: []uintptr{0, write.Fd(), 2}})
	write.Close()
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	child.OnEnd(func(syscall.WaitStatus) { close(ended) })
	<-ended
	// The orphan holds the pipe until it ends.
	text := make([]byte, 32)
	size, _ := read.Read(text)
	for {
		if more, err := read.Read(text[size:]); more == 0 || err != nil {
			break
		}
	}
	path := "/proc/" + strings.TrimSpace(string(text[:size]))
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		if _, err := os.Stat(path); err != nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("the orphan was not collected")
		}
	}
}
