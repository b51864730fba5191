// Package filesystem serves filesystem.Filesystem: it reads and changes the file tree with the rights of the user of the
// call.
package filesystem

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"syscall"

	"connectrpc.com/connect"
	wire "svc.example/envd/gen/filesystem"
	"svc.example/envd/gen/filesystem/filesystemconnect"
	"svc.example/envd/internal/account"
	"svc.example/envd/internal/disk"
	"svc.example/envd/internal/paths"
	"svc.example/envd/internal/runas"
	"svc.example/envd/internal/sandbox"
	"svc.example/envd/internal/watch"
)

// Service answers the calls of filesystem.Filesystem.
type Service struct {
	state    *sandbox.State
	hub      *watch.Hub
	watchers watchers
}

var _ filesystemconnect.FilesystemHandler = (*Service)(nil)

// New returns the service of a sandbox.
func New(state *sandbox.State) *Service {
	return &Service{state: state, hub: watch.NewHub()}
}

// Stat describes one entry.
func (s *Service) Stat(_ context.Context, request *connect.Request[wire.StatRequest]) (*connect.Response[wire.StatResponse], error) {
	path := request.Msg.GetPath()
	var entry *wire.EntryInfo
	err := s.as(request.Header(), func(caller caller) error {
		target, err := caller.resolve(path)
		if err == nil {
			entry, err = readEntry(target, caller.names)
		}
		return err
	})
	if err != nil {
		return nil, statCodes.rpcError(err, path)
	}
	return connect.NewResponse(&wire.StatResponse{Entry: entry}), nil
}

// MakeDir makes a directory and its parents.
func (s *Service) MakeDir(_ context.Context, request *connect.Request[wire.MakeDirRequest]) (*connect.Response[wire.MakeDirResponse], error) {
	path := request.Msg.GetPath()
	var entry *wire.EntryInfo
	err := s.as(request.Header(), func(caller caller) error {
		target, err := caller.resolve(path)
		if err != nil {
			return err
		}
		if err := refuseExisting(target); err != nil {
			return err
		}
		if err := disk.MakeDirectories(target); err != nil {
			return err
		}
		entry, err = readEntry(target, caller.names)
		return err
	})
	if err != nil {
		return nil, makeDirCodes.rpcError(err, path)
	}
	return connect.NewResponse(&wire.MakeDirResponse{Entry: entry}), nil
}

// Move renames an entry.
func (s *Service) Move(_ context.Context, request *connect.Request[wire.MoveRequest]) (*connect.Response[wire.MoveResponse], error) {
	source := request.Msg.GetSource()
	var entry *wire.EntryInfo
	err := s.as(request.Header(), func(caller caller) error {
		from, err := caller.resolve(source)
		if err != nil {
			return err
		}
		to, err := caller.resolve(request.Msg.GetDestination())
		if err != nil {
			return err
		}
		if err := requireSource(from); err != nil {
			return err
		}
		if err := disk.MakeDirectories(disk.Parent(to)); err != nil {
			return err
		}
		// Not os.Rename, which refuses an empty directory at the destination.
		if err := syscall.Rename(from, to); err != nil {
			return err
		}
		entry, err = readEntry(to, caller.names)
		return err
	})
	if err != nil {
		return nil, moveCodes.rpcError(err, source)
	}
	return connect.NewResponse(&wire.MoveResponse{Entry: entry}), nil
}

// ListDir lists a directory.
func (s *Service) ListDir(ctx context.Context, request *connect.Request[wire.ListDirRequest]) (*connect.Response[wire.ListDirResponse], error) {
	path := request.Msg.GetPath()
	var entries []*wire.EntryInfo
	err := s.as(request.Header(), func(caller caller) error {
		target, err := caller.resolve(path)
		if err == nil {
			entries, err = list(ctx, target, max(request.Msg.GetDepth(), 1), caller.names)
		}
		return err
	})
	if err != nil {
		return nil, listDirCodes.rpcError(err, path)
	}
	return connect.NewResponse(&wire.ListDirResponse{Entries: entries}), nil
}

// Remove removes an entry with everything in it.
func (s *Service) Remove(_ context.Context, request *connect.Request[wire.RemoveRequest]) (*connect.Response[wire.RemoveResponse], error) {
	path := request.Msg.GetPath()
	err := s.as(request.Header(), func(caller caller) error {
		target, err := caller.resolve(path)
		if err == nil {
			err = remove(target)
		}
		return err
	})
	if err != nil {
		return nil, removeCodes.rpcError(err, path)
	}
	return connect.NewResponse(&wire.RemoveResponse{}), nil
}

// A caller is the user of one call.
type caller struct {
	account.User
	workdir string
	names   account.Names
}

func (c caller) resolve(path string) (string, error) { return paths.Resolve(path, c.Home, c.workdir) }

// caller returns the user that a request names; an error has the code of the wire.
func (s *Service) caller(header http.Header) (caller, error) {
	user, err := s.state.RequestUser(header)
	if err != nil {
		return caller{}, connect.NewError(connect.CodeUnauthenticated, err)
	}
	return caller{user, s.state.Workdir(), s.state.Users.Names()}, nil
}

// as runs an action with the rights of the user of a request.
func (s *Service) as(header http.Header, action func(caller) error) error {
	caller, err := s.caller(header)
	if err != nil {
		return err
	}
	return runas.Do(caller.User, func() error { return action(caller) })
}

func refuseExisting(path string) error {
	_, err := os.Stat(disk.Inside(path))
	if err == nil {
		return connect.NewError(connect.CodeAlreadyExists, fmt.Errorf("%s: directory already exists", path))
	}
	if errors.Is(err, syscall.ENOENT) {
		return nil
	}
	// It may be something on the way that is no directory.
	if _, missing := os.Lstat(path); missing == nil && errors.Is(err, syscall.ENOTDIR) {
		return syscall.EEXIST
	}
	return err
}

// requireSource distinguishes a missing source from other reasons why a rename fails.
func requireSource(path string) error {
	_, err := os.Lstat(path)
	if errors.Is(err, syscall.ENOTDIR) {
		return syscall.ENOENT
	}
	return err
}

func remove(path string) error {
	// With a slash at its end a link would be followed, and the target's content would go.
	if trimmed := strings.TrimRight(path, "/"); trimmed != "" {
		path = trimmed
	}
	err := os.RemoveAll(path)
	if err == nil {
		return nil
	}
	// A path below a file is as missing as any other.
	if _, missing := os.Lstat(path); missing != nil && errors.Is(err, syscall.ENOTDIR) {
		return nil
	}
	return err
}
