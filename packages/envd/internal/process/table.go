package process

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"time"

	"connectrpc.com/connect"
	wire "svc.example/envd/gen/process"
)

// retainedFor is how long the end of a process, and its output, can still be asked for.
const retainedFor = 30 * time.Second

// A table holds the processes that run, and those that ended just now, the oldest first. The caller holds the lock of the
// service.
type table struct {
	running []*process
	ended   []*process
	// forgets runs while there are ended processes.
	forgets *time.Timer
}

// add makes the newest process known. Its ID no longer means an older one.
func (t *table) add(p *process) {
	if index := slices.IndexFunc(t.ended, func(old *process) bool { return old.pid == p.pid }); index >= 0 {
		t.forget(t.ended[index])
	}
	t.running = append(t.running, p)
}

// retire moves a process to the ended ones, where it stays for a while.
func (t *table) retire(p *process) {
	t.running = without(t.running, p)
	t.ended = append(t.ended, p)
	p.endedAt = time.Now()
	// Only those that run are listed, and what was asked for may be large.
	p.config = nil
	if t.forgets == nil {
		t.forgets = time.AfterFunc(retainedFor, p.service.forgetEnded)
	}
}

// forgetEnded forgets those that ended long enough ago.
func (s *Service) forgetEnded() {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	t := &s.table
	for len(t.ended) > 0 {
		if left := retainedFor - time.Since(t.ended[0].endedAt); left > 0 {
			t.forgets.Reset(left)
			return
		}
		t.forget(t.ended[0])
	}
	t.forgets = nil
	// Their output would stay with this process until the next collection, which may be long in coming. Buffers that
	// wait for their next use outlive one collection.
	go func() {
		runtime.GC()
		debug.FreeOSMemory()
	}()
}

func (t *table) forget(p *process) {
	t.ended = without(t.ended, p)
	p.output.budget.forget(&p.output)
}

// find returns the running process that the selector means; with a tag the newest one. With retained it may also be one
// that ended less than 30 s ago. Errors are `not_found`, and `unimplemented` for an empty selector.
func (t *table) find(selector *wire.ProcessSelector, retained bool) (*process, error) {
	var means func(*process) bool
	var missing error
	switch wanted := selector.GetSelector().(type) {
	case *wire.ProcessSelector_Pid:
		means = func(p *process) bool { return p.pid == wanted.Pid }
		missing = fmt.Errorf("no process with pid %d", wanted.Pid)
	case *wire.ProcessSelector_Tag:
		means = func(p *process) bool { return p.tag != nil && *p.tag == wanted.Tag }
		missing = fmt.Errorf("no process with tag %q", wanted.Tag)
	default:
		return nil, connect.NewError(connect.CodeUnimplemented, errEmptySelector)
	}
	places := [][]*process{t.running}
	if retained {
		places = append(places, t.ended)
	}
	for _, processes := range places {
		for _, p := range slices.Backward(processes) {
			if means(p) {
				return p, nil
			}
		}
	}
	return nil, connect.NewError(connect.CodeNotFound, missing)
}
