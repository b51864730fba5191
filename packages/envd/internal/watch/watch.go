// Package watch reports what changes in a directory, or in a whole tree.
package watch

import (
	"context"
	"errors"
	"time"

	wire "svc.example/envd/gen/filesystem"
	"svc.example/envd/internal/account"
)

// ErrUnsupported is what Start returns where the system has no inotify.
var ErrUnsupported = errors.New("this system cannot watch directories: that needs inotify of Linux")

// Options say what is watched.
type Options struct {
	// Path is an absolute path of a directory, as changes name it.
	Path string
	// Recursive adds every directory below, those to come included. Links are not followed.
	Recursive bool
	// User is on whose behalf directories are read. Those below that the user may not read are left out.
	User account.User
	// Describe is asked once for each batch of changes. It returns what finds the entry of a path, nil where there is none.
	// Without it events have no entry.
	Describe func() func(path string) *wire.EntryInfo
}

// A Watcher collects the changes until they are taken.
type Watcher struct {
	events *events[*wire.FilesystemEvent]
	close  func()
}

// Take returns the events since the last call. Once the watcher has failed it returns an error every time.
func (w *Watcher) Take() ([]*wire.FilesystemEvent, error) { return w.events.drain() }

// Wait returns true once there is something to take, and false when the time is over before.
func (w *Watcher) Wait(ctx context.Context, timeout time.Duration) (bool, error) {
	return w.events.wait(ctx, timeout)
}

// Close releases everything before it returns. It may be called more than once.
func (w *Watcher) Close() { w.close() }
