package watch

import (
	"context"
	"sync"
	"time"
)

// MaxWaiting is how many events a watcher holds for a caller who does not take them.
const MaxWaiting = 10_000

// events waits between a producer that cannot wait and a consumer that may be slow. It fails for good when it is full: a
// consumer must not believe that it saw everything.
type events[T any] struct {
	limit int
	wake  chan struct{}

	mutex   sync.Mutex
	items   []T
	failure error
}

func newEvents[T any](limit int) *events[T] {
	return &events[T]{limit: limit, wake: make(chan struct{}, 1)}
}

// push returns false when there is no room, or after a failure; the item is lost then.
func (e *events[T]) push(item T) bool {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	if e.failure != nil || len(e.items) >= e.limit {
		return false
	}
	e.items = append(e.items, item)
	e.ring()
	return true
}

// fail makes every later drain fail. The first failure stays.
func (e *events[T]) fail(err error) {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	if e.failure == nil {
		e.failure, e.items = err, nil
	}
	e.ring()
}

func (e *events[T]) ring() {
	select {
	case e.wake <- struct{}{}:
	default:
	}
}

// drain takes everything there is, oldest first.
func (e *events[T]) drain() ([]T, error) {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	items := e.items
	e.items = nil
	return items, e.failure
}

// wait returns true once there is something to drain, a failure included, and false when the time is over before. It serves
// one consumer.
func (e *events[T]) wait(ctx context.Context, timeout time.Duration) (bool, error) {
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	for {
		e.mutex.Lock()
		ready := e.failure != nil || len(e.items) > 0
		e.mutex.Unlock()
		if ready {
			return true, nil
		}
		select {
		case <-e.wake:
		case <-timer.C:
			return false, nil
		case <-ctx.Done():
			return false, ctx.Err()
		}
	}
}
