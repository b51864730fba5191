package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"
)

// An input is what a program reads. Writers take turns, in the order in which they come.
type input struct {
	// name is how errors call it.
	name string
	// turn holds a value while nobody writes. Go serves those who wait for it in their order.
	turn chan struct{}

	mutex  sync.Mutex
	file   *os.File
	closed bool
}

func newInput(name string, file *os.File) *input {
	in := &input{name: name, file: file, turn: make(chan struct{}, 1)}
	in.turn <- struct{}{}
	return in
}

// write returns once the kernel has taken all bytes, or the context is over: then some of them may have been written.
func (in *input) write(ctx context.Context, bytes []byte) error {
	if in.isClosed() {
		return in.closedError()
	}
	select {
	case <-in.turn:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { in.turn <- struct{}{} }()
	expired := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		in.file.SetWriteDeadline(time.Unix(1, 0))
		close(expired)
	})
	_, err := in.file.Write(bytes)
	if !stop() {
		// The next one to write must not find this deadline.
		<-expired
		in.file.SetWriteDeadline(time.Time{})
		if err != nil {
			return ctx.Err()
		}
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, os.ErrClosed):
		return in.closedError()
	}
	var path *os.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	return fmt.Errorf("cannot write to %s: %w", in.name, err)
}

// end closes the input after what is being written, so that the program reads end of file. It may be called again.
func (in *input) end() {
	in.mutex.Lock()
	defer in.mutex.Unlock()
	if in.closed {
		return
	}
	in.closed = true
	select {
	case <-in.turn:
		in.file.Close()
		in.turn <- struct{}{}
	default:
		// A program that does not read lets its writers wait, and nobody should wait with them.
		go func() {
			<-in.turn
			in.file.Close()
			in.turn <- struct{}{}
		}()
	}
}

// abandon closes the input at once. Those who still write fail.
func (in *input) abandon() {
	in.mutex.Lock()
	defer in.mutex.Unlock()
	in.closed = true
	in.file.Close()
}

func (in *input) isClosed() bool {
	in.mutex.Lock()
	defer in.mutex.Unlock()
	return in.closed
}

func (in *input) closedError() error { return fmt.Errorf("%s of this process is closed", in.name) }
