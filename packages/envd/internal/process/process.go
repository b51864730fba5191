package process

import (
	"os"
	"sync"
	"syscall"
	"time"

	wire "svc.example/envd/gen/process"
	"svc.example/envd/internal/account"
	"svc.example/envd/internal/reaper"
)

// A process is a program that the daemon started, with its readers. It lives on when they leave.
type process struct {
	service *Service
	// config is as the request gave it.
	config    *wire.ProcessConfig
	tag       *string
	startedAt time.Time

	// Set before anybody else sees the process.
	pid  uint32
	user account.User
	// child is nil for a program that could not be run.
	child *reaper.Child
	// input is nil when stdin is off.
	input *input
	// master is the daemon's side of the terminal, nil when there is none.
	master *os.File

	// outputs are those that follow will read.
	outputs map[*os.File]stream

	// Guarded by service.mutex.
	output        keptOutput
	subscriptions []*subscription
	// room is signalled when a reader may have caught up or left, and when nobody waits for readers any more.
	room sync.Cond
	// reading are the streams that may still bring output.
	reading []*os.File
	// end is nil until the program has ended and no more output will come.
	end      *wire.ProcessEvent_EndEvent
	exited   bool
	status   syscall.WaitStatus
	released bool
	// endedAt is when end was set.
	endedAt time.Time
	// limit is when reading ends at the latest, once the program has exited and its output is released.
	limit   time.Time
	giveUp  *time.Timer
	expires *time.Timer
}

func newProcess(service *Service, request *wire.StartRequest) *process {
	config := request.GetProcess()
	if config == nil {
		config = &wire.ProcessConfig{}
	}
	return &process{
		service:   service,
		config:    config,
		tag:       request.Tag,
		startedAt: time.Now().Truncate(time.Millisecond),
		output:    keptOutput{budget: &service.budget},
		room:      sync.Cond{L: &service.mutex},
	}
}

// subscribe joins the readers. Each reader gets all output from the offset on, as far as it is kept.
func (p *process) subscribe(from int64) *subscription {
	p.service.mutex.Lock()
	defer p.service.mutex.Unlock()
	s := &subscription{process: p, cursor: p.output.cursor(from), wake: make(chan struct{}, 1)}
	s.full = s.cursor.backlog() >= highWaterBytes
	p.subscriptions = append(p.subscriptions, s)
	return s
}

// follow reads the output of what was started, from now on, and waits for its end.
func (p *process) follow() {
	if p.child == nil {
		return
	}
	for file, from := range p.outputs {
		go p.read(file, from)
	}
	p.outputs = nil
	p.child.OnEnd(func(status syscall.WaitStatus) {
		p.service.mutex.Lock()
		defer p.service.mutex.Unlock()
		p.exited, p.status = true, status
		p.startRelease()
		p.finish()
	})
}

// deliver adds output and waits while the slowest reader is too far behind. Without readers output is read all the same, and
// the latest of it kept. It returns the buffer unless the output keeps it.
func (p *process) deliver(from stream, bytes []byte, in *buffer) (unused *buffer) {
	p.service.mutex.Lock()
	defer p.service.mutex.Unlock()
	unused = p.output.append(from, bytes, in)
	for _, s := range p.subscriptions {
		s.notify()
	}
	for p.behind() {
		p.room.Wait()
	}
	return unused
}

func (p *process) behind() bool {
	if !p.limit.IsZero() && !time.Now().Before(p.limit) {
		return false
	}
	for _, s := range p.subscriptions {
		if s.full {
			return true
		}
	}
	return false
}

// finish ends the process once its program has exited and no more output will come.
func (p *process) finish() {
	if !p.exited || len(p.reading) > 0 || p.end != nil {
		return
	}
	p.conclude(endOf(p.status))
}

// conclude says how it ended, to its readers and to the table.
func (p *process) conclude(end *wire.ProcessEvent_EndEvent) {
	p.end = end
	for _, timer := range []*time.Timer{p.giveUp, p.expires} {
		if timer != nil {
			timer.Stop()
		}
	}
	if p.input != nil {
		p.input.abandon()
	}
	for _, s := range p.subscriptions {
		s.notify()
	}
	p.service.table.retire(p)
}

func (p *process) hasTerminal() bool { return p.master != nil }

func (p *process) tagText() string {
	if p.tag == nil {
		return ""
	}
	return *p.tag
}
