package process

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
)

// pipeInput returns an input and the end that a program would read.
func pipeInput(t *testing.T) (*input, *os.File) {
	t.Helper()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		read.Close()
		write.Close()
	})
	return newInput("stdin", write), read
}

const moreThanAPipe = 200_000

func TestWriterThatLeavesDoesNotStopTheNextOne(t *testing.T) {
	in, program := pipeInput(t)
	ctx, leave := context.WithCancel(context.Background())
	left := make(chan error, 1)
	go func() { left <- in.write(ctx, make([]byte, moreThanAPipe)) }()
	eventually(t, "the writer to be at it", func() bool { return len(in.turn) == 0 })
	leave()
	if err := <-left; !errors.Is(err, context.Canceled) {
		t.Error("the writer that left:", err)
	}
	read := make(chan string, 1)
	go func() {
		all, _ := io.ReadAll(program)
		read <- string(all)
	}()
	if err := in.write(context.Background(), []byte(strings.Repeat("n", moreThanAPipe))); err != nil {
		t.Error("the next one:", err)
	}
	in.end()
	if all := <-read; strings.Count(all, "n") != moreThanAPipe || !strings.HasSuffix(all, "n") {
		t.Error("the program read", strings.Count(all, "n"), "of", len(all))
	}
}

func TestWriterThatWaitsForItsTurnMayLeave(t *testing.T) {
	in, _ := pipeInput(t)
	<-in.turn
	ctx, leave := context.WithCancel(context.Background())
	leave()
	if err := in.write(ctx, []byte("x")); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestEndComesAfterThoseWhoWait(t *testing.T) {
	in, program := pipeInput(t)
	<-in.turn
	var group sync.WaitGroup
	group.Go(func() {
		if err := in.write(context.Background(), []byte("waited")); err != nil {
			t.Error(err)
		}
	})
	// The writer must be in the queue before the end is; nothing shows that but its goroutine.
	eventually(t, "the writer to wait", func() bool { return waiting("(*input).write") })
	in.end()
	in.end()
	if err := in.write(context.Background(), []byte("late")); err == nil || err.Error() != "stdin of this process is closed" {
		t.Error("after the end:", err)
	}
	in.turn <- struct{}{}
	group.Wait()
	if all, err := io.ReadAll(program); string(all) != "waited" || err != nil {
		t.Errorf("%q %v", all, err)
	}
}

func TestWriteToAProgramThatReadsNoMore(t *testing.T) {
	in, program := pipeInput(t)
	program.Close()
	if err := in.write(context.Background(), []byte("x")); err == nil || err.Error() != "cannot write to stdin: broken pipe" {
		t.Error(err)
	}
}

func TestAbandonedInputLetsItsWriterGo(t *testing.T) {
	in, _ := pipeInput(t)
	left := make(chan error, 1)
	go func() { left <- in.write(context.Background(), make([]byte, moreThanAPipe)) }()
	eventually(t, "the writer to be at it", func() bool { return len(in.turn) == 0 })
	in.abandon()
	if err := <-left; err == nil || err.Error() != "stdin of this process is closed" {
		t.Error(err)
	}
}
