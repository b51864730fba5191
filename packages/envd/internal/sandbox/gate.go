package sandbox

import (
	"context"
	"sync"
)

// Gate holds requests while a copy of this memory is made. Its zero value is open.
type Gate struct {
	mutex sync.Mutex
	// closed is nil while the gate is open. Opening sends every waiting request its verdict.
	closed *verdict
}

type verdict struct {
	given chan struct{}
	pass  bool
}

// Pass waits while the gate is closed, and calls waits before it does. It returns false for a request that must be dropped: its
// caller left, or it belongs to the daemon that this one is a copy of.
func (g *Gate) Pass(ctx context.Context, waits func()) bool {
	g.mutex.Lock()
	waiting := g.closed
	g.mutex.Unlock()
	if waiting == nil {
		return true
	}
	waits()
	select {
	case <-waiting.given:
		return waiting.pass
	case <-ctx.Done():
		return false
	}
}

// Close makes requests wait from now on.
func (g *Gate) Close() {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	if g.closed == nil {
		g.closed = &verdict{given: make(chan struct{})}
	}
}

// Open lets requests through again. With original false this is a copy: what waited belongs to the daemon that was copied.
func (g *Gate) Open(original bool) {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	if g.closed == nil {
		return
	}
	g.closed.pass = original
	close(g.closed.given)
	g.closed = nil
}
