package watch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
	wire "svc.example/envd/gen/filesystem"
	"svc.example/envd/internal/disk"
	"svc.example/envd/internal/runas"
)

// maxReports bounds the reports of the kernel that wait for their tree.
const maxReports = 1 << 16

// A tree is one watched directory with, if asked for, all below it.
type tree struct {
	hub     *Hub
	options Options
	events  *events[*wire.FilesystemEvent]
	wake    chan struct{}
	quit    chan struct{}
	once    sync.Once

	// The lock of the hub guards the fields that follow.
	closed  bool
	lost    bool
	reports []report
	count   uint64
	watched map[*directory]bool

	// The fields that follow belong to Start, then to the goroutine of run.
	started bool
	// directories are by their path below the root, which is "".
	directories map[string]*directory
	// departures are by the cookie that both halves of a move have.
	departures map[uint32]*departure
	describe   func(path string) *wire.EntryInfo
	// latest is the last type that was reported of a name within one batch.
	latest map[string]wire.EventType
}

// A directory is watched as part of one tree.
type directory struct {
	tree  *tree
	watch int32
	// name is the path below the root.
	name string
	gone bool
	away *departure
	// found are the entries that a look into the new directory has announced. The kernel may report the same until the
	// report of this number.
	found      map[string]announced
	foundUntil uint64
}

type announced struct{ created, written bool }

// A departure is a directory, with those below it, that has left its name and not come to another one yet.
type departure struct {
	name        string
	directories []*directory
	// seen tells that a batch has ended since.
	seen bool
}

// An arrival is how a directory came to a tree.
type arrival int

const (
	// present: it was there from the start.
	present arrival = iota
	// created: what is in it is new, too.
	created
	// movedIn: what is in it has its content from before.
	movedIn
)

// Start watches from now on: every change made after it has returned is reported.
func (h *Hub) Start(ctx context.Context, options Options) (*Watcher, error) {
	tree := &tree{
		hub: h, options: options, events: newEvents[*wire.FilesystemEvent](MaxWaiting),
		wake: make(chan struct{}, 1), quit: make(chan struct{}),
		watched: map[*directory]bool{}, directories: map[string]*directory{}, departures: map[uint32]*departure{},
	}
	if err := runas.Do(options.User, func() error { return tree.start(ctx) }); err != nil {
		tree.close()
		return nil, err
	}
	go tree.run()
	return &Watcher{events: tree.events, close: tree.close}, nil
}

func (t *tree) start(ctx context.Context) error {
	below, err := t.add("", present)
	for err == nil && len(below) > 0 {
		name := below[len(below)-1]
		below = below[:len(below)-1]
		var more []string
		if more, err = t.addIfThere(name, present); err == nil {
			below, err = append(below, more...), ctx.Err()
		}
	}
	if err != nil {
		return err
	}
	// Directories that came meanwhile are to be watched, and nothing of this is to be reported.
	t.hub.collect()
	reports, _ := t.take()
	err = t.handle(reports)
	t.started = true
	return err
}

func (t *tree) close() {
	t.once.Do(func() {
		t.hub.removeTree(t)
		close(t.quit)
	})
}

func (t *tree) run() {
	for {
		select {
		case <-t.wake:
		case <-t.quit:
			return
		}
		reports, lost := t.take()
		err := errLost
		if !lost {
			if t.options.Describe != nil {
				t.describe = t.options.Describe()
			}
			err = runas.Do(t.options.User, func() error { return t.handle(reports) })
		}
		if errors.Is(err, os.ErrClosed) {
			return
		}
		if err != nil {
			t.events.fail(fmt.Errorf("watcher of %s failed: %s", t.options.Path, disk.Text(err)))
			t.close()
			return
		}
	}
}

var (
	errLost     = errors.New("more changed at once than the system can report")
	errNotTaken = fmt.Errorf("%d events were not taken", MaxWaiting)
)

// report takes a report in. The hub calls it with its lock.
func (t *tree) report(one report) {
	if len(t.reports) >= maxReports {
		t.lose()
	}
	if t.closed || t.lost {
		return
	}
	t.count++
	one.number = t.count
	t.reports = append(t.reports, one)
	t.ring()
}

// lose makes the tree fail, as it cannot know all changes any more. The hub calls it with its lock.
func (t *tree) lose() {
	t.lost, t.reports = true, nil
	t.ring()
}

func (t *tree) ring() {
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

func (t *tree) take() (reports []report, lost bool) {
	t.hub.mutex.Lock()
	defer t.hub.mutex.Unlock()
	reports, t.reports = t.reports, nil
	return reports, t.lost
}

// handle turns a batch of reports into events. It runs with the rights of the user.
func (t *tree) handle(batch []report) error {
	t.latest = map[string]wire.EventType{}
	for _, one := range batch {
		if err := t.handleOne(one); err != nil {
			return err
		}
	}
	for cookie, departure := range t.departures {
		if departure.seen {
			t.forget(cookie)
		}
		// The second half of a move may be in the next batch.
		departure.seen = true
	}
	return nil
}

func (t *tree) handleOne(one report) error {
	directory := one.directory
	if directory.away != nil {
		// A move out of the tree has no second half. What happens there now is none of this tree's business.
		for cookie, departure := range t.departures {
			if departure == directory.away {
				t.forget(cookie)
			}
		}
	}
	if directory.gone {
		return nil
	}
	name := one.name
	if directory.name != "" {
		name = directory.name + "/" + name
	}
	known := directory.announced(one)
	enter := t.options.Recursive && one.mask&unix.IN_ISDIR != 0
	switch {
	case one.mask&unix.IN_CREATE != 0:
		return t.arrive(name, known.created, enter, created)
	case one.mask&unix.IN_MOVED_TO != 0:
		if departure := t.departures[one.cookie]; departure != nil && enter {
			t.attach(one.cookie, name)
			enter = false
		}
		return t.arrive(name, known.created, enter, movedIn)
	case one.mask&unix.IN_MOVED_FROM != 0:
		if enter {
			t.detach(one.cookie, name)
		}
		return t.emit(name, wire.EventType_EVENT_TYPE_RENAME)
	case one.mask&unix.IN_DELETE != 0:
		if enter {
			t.drop(name)
		}
		return t.emit(name, wire.EventType_EVENT_TYPE_REMOVE)
	case one.mask&unix.IN_ATTRIB != 0:
		return t.emit(name, wire.EventType_EVENT_TYPE_CHMOD)
	case one.mask&unix.IN_MODIFY != 0 && !known.written:
		return t.emit(name, wire.EventType_EVENT_TYPE_WRITE)
	}
	return nil
}

// announced returns what a look into the directory has announced of an entry, for reports that are older than the look.
func (d *directory) announced(one report) announced {
	if one.number > d.foundUntil {
		d.found = nil
	}
	known := d.found[one.name]
	if known.created && one.mask&(unix.IN_CREATE|unix.IN_MOVED_TO) != 0 {
		// Another one of this name would be news.
		d.found[one.name] = announced{written: known.written}
	}
	return known
}

func (t *tree) arrive(name string, known, enter bool, how arrival) error {
	if known {
		return nil
	}
	if err := t.emit(name, wire.EventType_EVENT_TYPE_CREATE); err != nil || !enter {
		return err
	}
	for rest := []string{name}; len(rest) > 0; {
		more, err := t.addIfThere(rest[0], how)
		if err != nil {
			return err
		}
		rest = append(rest[1:], more...)
	}
	return nil
}

// addIfThere adds a directory below the root, unless it has vanished or the user may not read it.
func (t *tree) addIfThere(name string, how arrival) ([]string, error) {
	below, err := t.add(name, how)
	if errors.Is(err, syscall.ENOENT) || errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.EACCES) {
		t.drop(name)
		return nil, nil
	}
	return below, err
}

// add watches one directory, announces what is in a new one, and returns the directories in it that are to be watched too.
func (t *tree) add(name string, how arrival) ([]string, error) {
	path, flags := t.path(name), uint32(unix.IN_DONT_FOLLOW)
	if name == "" {
		path, flags = disk.Inside(path), 0
	}
	added := &directory{tree: t, name: name}
	if err := t.hub.add(added, path, flags); err != nil {
		return nil, err
	}
	if before := t.directories[name]; before != nil {
		if before.watch == added.watch {
			t.hub.remove(added)
			return nil, nil
		}
		t.drop(name)
	}
	t.directories[name] = added
	if !t.options.Recursive {
		return nil, nil
	}
	// After the watch is there: what comes between the two is found here, and reported.
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, err
	}
	if how != present {
		added.found = map[string]announced{}
	}
	var below []string
	for _, entry := range entries {
		path := entry.Name()
		if name != "" {
			path = name + "/" + path
		}
		if entry.IsDir() {
			below = append(below, path)
		}
		if how != present {
			announced, err := t.announce(path, entry, how)
			if err != nil {
				return nil, err
			}
			added.found[entry.Name()] = announced
		}
	}
	if how != present {
		t.hub.collect()
		t.hub.mutex.Lock()
		added.foundUntil = t.count
		t.hub.mutex.Unlock()
	}
	return below, nil
}

// announce reports an entry that came with its directory, and that it was written when it must have been.
func (t *tree) announce(name string, entry os.DirEntry, how arrival) (announced, error) {
	if err := t.emit(name, wire.EventType_EVENT_TYPE_CREATE); err != nil {
		return announced{}, err
	}
	if info, err := entry.Info(); how != created || err != nil || !info.Mode().IsRegular() || info.Size() == 0 {
		return announced{created: true}, nil
	}
	return announced{created: true, written: true}, t.emit(name, wire.EventType_EVENT_TYPE_WRITE)
}

// below returns the directories of a name and below it.
func (t *tree) below(name string) []*directory {
	var found []*directory
	for other, directory := range t.directories {
		if other == name || strings.HasPrefix(other, name+"/") {
			found = append(found, directory)
		}
	}
	return found
}

// drop watches a directory no longer, nor those below it.
func (t *tree) drop(name string) {
	directories := t.below(name)
	for _, directory := range directories {
		directory.gone = true
		delete(t.directories, directory.name)
	}
	t.hub.remove(directories...)
}

// detach takes a directory from its name until it is known where it has gone.
func (t *tree) detach(cookie uint32, name string) {
	left := &departure{name: name, directories: t.below(name)}
	for _, directory := range left.directories {
		directory.away = left
		delete(t.directories, directory.name)
	}
	t.departures[cookie] = left
}

// attach gives a directory that was moved its new name. The kernel's watch has moved along.
func (t *tree) attach(cookie uint32, name string) {
	left := t.departures[cookie]
	delete(t.departures, cookie)
	t.drop(name)
	for _, directory := range left.directories {
		directory.away = nil
		directory.name = name + strings.TrimPrefix(directory.name, left.name)
		t.directories[directory.name] = directory
	}
}

// forget gives up a directory that was moved out of the tree.
func (t *tree) forget(cookie uint32) {
	left := t.departures[cookie]
	delete(t.departures, cookie)
	for _, directory := range left.directories {
		directory.gone = true
	}
	t.hub.remove(left.directories...)
}

func (t *tree) path(name string) string {
	if name == "" {
		return t.options.Path
	}
	return strings.TrimRight(t.options.Path, "/") + "/" + name
}

func (t *tree) emit(name string, kind wire.EventType) error {
	if !t.started {
		return nil
	}
	isRepeated := t.latest[name] == kind
	t.latest[name] = kind
	event := &wire.FilesystemEvent{Name: strings.ToValidUTF8(name, "\uFFFD"), Type: kind}
	switch kind {
	case wire.EventType_EVENT_TYPE_WRITE, wire.EventType_EVENT_TYPE_CHMOD:
		if isRepeated {
			return nil
		}
		fallthrough
	case wire.EventType_EVENT_TYPE_CREATE:
		if t.describe != nil {
			event.Entry = t.describe(t.path(name))
		}
	}
	if !t.events.push(event) {
		return errNotTaken
	}
	return nil
}
