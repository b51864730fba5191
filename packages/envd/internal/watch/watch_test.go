//go:build linux

package watch

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	wire "svc.example/envd/gen/filesystem"
	"svc.example/envd/internal/account"
	"svc.example/envd/internal/filetest"
)

var root = account.User{Name: "root"}

// A seen watcher collects texts like `CREATE a`.
type seen struct {
	*Watcher
	t     *testing.T
	texts []string
}

func watchIn(t *testing.T, hub *Hub, options Options) *seen {
	t.Helper()
	watcher, err := hub.Start(context.Background(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(watcher.Close)
	return &seen{Watcher: watcher, t: t}
}

// until collects up to the last one that is wanted, and returns all.
func (s *seen) until(last string) []string {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	for !slices.Contains(s.texts, last) {
		if ready, err := s.Wait(ctx, time.Hour); !ready {
			s.t.Fatalf("%q did not come, but: %q (%v)", last, s.texts, err)
		}
		events, err := s.Take()
		if err != nil {
			s.t.Fatal(err)
		}
		for _, event := range events {
			s.texts = append(s.texts, strings.TrimPrefix(event.Type.String(), "EVENT_TYPE_")+" "+event.Name)
		}
	}
	return s.texts
}

func (s *seen) want(last string, texts ...string) {
	s.t.Helper()
	if got := s.until(last); !slices.Equal(got, texts) {
		s.t.Errorf("%q came, not %q", got, texts)
	}
}

var must = filetest.Must

// appendTo writes once: to cut a file is a write, too.
func appendTo(t *testing.T, path string) {
	t.Helper()
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	must(t, err)
	_, err = file.WriteString("x")
	must(t, err)
	must(t, file.Close())
}

// watched counts the directories that the kernel watches.
func (h *Hub) watched() int {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	return len(h.watches)
}

func (h *Hub) isOpen() bool {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	return h.file != nil || len(h.watches) > 0
}

func TestCreatingWritingChangingAndRemoving(t *testing.T) {
	home := t.TempDir()
	file := filepath.Join(home, "a b\n")
	s := watchIn(t, NewHub(), Options{Path: home, User: root})
	must(t, os.WriteFile(file, nil, 0o644))
	s.until("CREATE a b\n")
	appendTo(t, file)
	s.until("WRITE a b\n")
	must(t, os.Chmod(file, 0o600))
	s.until("CHMOD a b\n")
	must(t, os.Remove(file))
	s.want("REMOVE a b\n", "CREATE a b\n", "WRITE a b\n", "CHMOD a b\n", "REMOVE a b\n")
}

func TestRenaming(t *testing.T) {
	home := t.TempDir()
	must(t, os.WriteFile(home+"/old", []byte("x"), 0o644))
	must(t, os.WriteFile(home+"/doc", []byte("x"), 0o644))
	s := watchIn(t, NewHub(), Options{Path: home, User: root})
	must(t, os.Rename(home+"/old", home+"/new"))
	s.want("CREATE new", "RENAME old", "CREATE new")
	// As editors save.
	must(t, os.Rename(home+"/new", home+"/doc"))
	s.want("CREATE doc", "RENAME old", "CREATE new", "RENAME new", "CREATE doc")
}

func TestDirectoriesThatComeLaterAreWatched(t *testing.T) {
	for round := range 50 {
		home := t.TempDir()
		s := watchIn(t, NewHub(), Options{Path: home, Recursive: true, User: root})
		must(t, os.MkdirAll(home+"/a/b/c", 0o755))
		must(t, os.WriteFile(home+"/a/b/c/f", []byte("content"), 0o644))
		// A look between a write and its report sees the content, and the report comes all the same.
		texts := slices.Compact(s.until("WRITE a/b/c/f"))
		if !slices.Equal(texts, []string{"CREATE a", "CREATE a/b", "CREATE a/b/c", "CREATE a/b/c/f", "WRITE a/b/c/f"}) {
			t.Errorf("%q", texts)
		}
		must(t, os.Remove(home+"/a/b/c/f"))
		s.until("REMOVE a/b/c/f")
		s.Close()
		if t.Failed() {
			t.Fatal("round", round)
		}
	}
}

func TestMovedDirectoriesAreWatchedUnderTheirNewName(t *testing.T) {
	home := t.TempDir()
	must(t, os.MkdirAll(home+"/old/sub", 0o755))
	must(t, os.WriteFile(home+"/old/sub/f", nil, 0o644))
	s := watchIn(t, NewHub(), Options{Path: home, Recursive: true, User: root})
	must(t, os.Rename(home+"/old", home+"/new"))
	appendTo(t, home+"/new/sub/f")
	s.want("WRITE new/sub/f", "RENAME old", "CREATE new", "WRITE new/sub/f")
}

func TestDirectoriesThatLeaveAreNotWatched(t *testing.T) {
	home, outside := t.TempDir(), t.TempDir()
	must(t, os.MkdirAll(home+"/out/sub", 0o755))
	hub := NewHub()
	s := watchIn(t, hub, Options{Path: home, Recursive: true, User: root})
	must(t, os.Rename(home+"/out", outside+"/out"))
	s.until("RENAME out")
	must(t, os.WriteFile(outside+"/out/sub/f", nil, 0o644))
	// A directory of the name that has become free.
	must(t, os.Mkdir(home+"/out", 0o755))
	must(t, os.WriteFile(home+"/out/last", nil, 0o644))
	s.want("CREATE out/last", "RENAME out", "CREATE out", "CREATE out/last")
	if count := hub.watched(); count != 2 {
		t.Errorf("%d directories are watched", count)
	}
	// It comes back with what is in it.
	must(t, os.Rename(outside+"/out/sub", home+"/back"))
	s.until("CREATE back/f")
}

func TestRemovingATreeReportsEachEntryOnce(t *testing.T) {
	home := t.TempDir()
	must(t, os.MkdirAll(home+"/t/sub", 0o755))
	must(t, os.WriteFile(home+"/t/sub/f", nil, 0o644))
	s := watchIn(t, NewHub(), Options{Path: home, Recursive: true, User: root})
	must(t, os.RemoveAll(home+"/t"))
	s.want("REMOVE t", "REMOVE t/sub/f", "REMOVE t/sub", "REMOVE t")
}

func TestLinksAreNotEntered(t *testing.T) {
	home := t.TempDir()
	must(t, os.MkdirAll(home+"/real", 0o755))
	must(t, os.MkdirAll(home+"/root", 0o755))
	must(t, os.Symlink("../real", home+"/root/link"))
	must(t, os.Symlink("root", home+"/to-root"))
	s := watchIn(t, NewHub(), Options{Path: home + "/to-root", Recursive: true, User: root})
	must(t, os.Symlink(".", home+"/root/self"))
	must(t, os.WriteFile(home+"/real/x", nil, 0o644))
	must(t, os.WriteFile(home+"/root/last", nil, 0o644))
	s.want("CREATE last", "CREATE self", "CREATE last")
}

func TestWatchersOfOneDirectoryShareItsWatch(t *testing.T) {
	home := t.TempDir()
	must(t, os.Mkdir(home+"/sub", 0o755))
	hub := NewHub()
	flat := watchIn(t, hub, Options{Path: home + "/sub", User: root})
	deep := watchIn(t, hub, Options{Path: home, Recursive: true, User: root})
	if count := hub.watched(); count != 2 {
		t.Errorf("%d directories are watched", count)
	}
	must(t, os.WriteFile(home+"/sub/one", nil, 0o644))
	flat.want("CREATE one", "CREATE one")
	deep.want("CREATE sub/one", "CREATE sub/one")
	flat.Close()
	flat.Close()
	must(t, os.WriteFile(home+"/sub/two", nil, 0o644))
	deep.until("CREATE sub/two")
	if events, err := flat.Take(); len(events) > 0 || err != nil {
		t.Error("a closed watcher sees", events, err)
	}
	deep.Close()
	if hub.isOpen() {
		t.Error("nothing is watched, and the hub is open")
	}
	again := watchIn(t, hub, Options{Path: home, User: root})
	must(t, os.WriteFile(home+"/three", nil, 0o644))
	again.until("CREATE three")
}

func TestEventsThatAreNotTakenFailTheWatcher(t *testing.T) {
	home := t.TempDir()
	s := watchIn(t, NewHub(), Options{Path: home, User: root})
	for number := range MaxWaiting/2 + 10 {
		name := fmt.Sprint(home, "/", number)
		must(t, os.WriteFile(name, nil, 0o644))
		must(t, os.Remove(name))
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	var err error
	for range s.events.wake {
		s.events.mutex.Lock()
		err = s.events.failure
		s.events.mutex.Unlock()
		if err != nil || ctx.Err() != nil {
			break
		}
	}
	for range 2 {
		if _, err = s.Take(); err == nil || !strings.Contains(err.Error(), home) {
			t.Error(err)
		}
	}
}

func TestLossesFailTheWatcher(t *testing.T) {
	home := t.TempDir()
	hub := NewHub()
	s := watchIn(t, hub, Options{Path: home, User: root})
	overflow := make([]byte, unix.SizeofInotifyEvent)
	copy(overflow, []byte{255, 255, 255, 255})
	overflow[5] = unix.IN_Q_OVERFLOW >> 8
	hub.mutex.Lock()
	hub.deliver(overflow)
	hub.mutex.Unlock()
	s.Wait(context.Background(), time.Hour)
	if _, err := s.Take(); err == nil || !strings.Contains(err.Error(), "more changed at once") {
		t.Error(err)
	}
}

func TestEntriesComeWithEvents(t *testing.T) {
	home := t.TempDir()
	var described []string
	describe := func() func(string) *wire.EntryInfo {
		return func(path string) *wire.EntryInfo {
			described = append(described, path)
			return &wire.EntryInfo{Path: path}
		}
	}
	s := watchIn(t, NewHub(), Options{Path: home, User: root, Describe: describe})
	must(t, os.WriteFile(home+"/f", nil, 0o644))
	must(t, os.Remove(home+"/f"))
	s.until("REMOVE f")
	if !slices.Equal(described, []string{home + "/f"}) {
		t.Error(described)
	}
}

func TestWhatTheUserMayNotReadIsLeftOut(t *testing.T) {
	home := filetest.OpenTo(t, 0o755)
	must(t, os.Mkdir(home+"/closed", 0o700))
	if _, err := NewHub().Start(context.Background(), Options{Path: home + "/closed", User: filetest.Nobody}); !os.IsPermission(err) {
		t.Error("watching a directory of root:", err)
	}
	s := watchIn(t, NewHub(), Options{Path: home, Recursive: true, User: filetest.Nobody})
	must(t, os.WriteFile(home+"/closed/x", nil, 0o644))
	must(t, os.Mkdir(home+"/later", 0o700))
	must(t, os.WriteFile(home+"/later/x", nil, 0o644))
	must(t, os.WriteFile(home+"/last", nil, 0o644))
	s.want("CREATE last", "CREATE later", "CREATE last")
}

func TestStartStopsWithItsCaller(t *testing.T) {
	home := t.TempDir()
	must(t, os.Mkdir(home+"/sub", 0o755))
	left, leave := context.WithCancel(context.Background())
	leave()
	hub := NewHub()
	if _, err := hub.Start(left, Options{Path: home, Recursive: true, User: root}); err != context.Canceled {
		t.Error(err)
	}
	if hub.isOpen() {
		t.Error("the hub is open")
	}
}
