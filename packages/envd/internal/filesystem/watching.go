package filesystem

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"sync"

	"connectrpc.com/connect"
	wire "svc.example/envd/gen/filesystem"
	"svc.example/envd/internal/disk"
	"svc.example/envd/internal/keepalive"
	"svc.example/envd/internal/runas"
	"svc.example/envd/internal/watch"
)

// Watchers are those that callers ask for their events, by the ID that CreateWatcher gave out.
type watchers struct {
	mutex sync.Mutex
	byID  map[string]*watch.Watcher
}

// A watchRequest is what WatchDir and CreateWatcher have in common.
type watchRequest interface {
	GetPath() string
	GetRecursive() bool
	GetIncludeEntry() bool
	GetAllowNetworkMounts() bool
}

// WatchDir reports changes until the caller leaves.
func (s *Service) WatchDir(ctx context.Context, request *connect.Request[wire.WatchDirRequest], stream *connect.ServerStream[wire.WatchDirResponse]) error {
	watcher, err := s.startWatcher(ctx, request.Header(), request.Msg)
	if err != nil {
		return err
	}
	defer watcher.Close()
	// Not only at the end: while the caller does not read, this goroutine waits in Send.
	defer context.AfterFunc(ctx, watcher.Close)()
	start := &wire.WatchDirResponse{Event: &wire.WatchDirResponse_Start{Start: &wire.WatchDirResponse_StartEvent{}}}
	if err := stream.Send(start); err != nil {
		return err
	}
	interval := keepalive.Interval(request.Header())
	for {
		ready, err := watcher.Wait(ctx, interval)
		if err != nil {
			return watchCodes.rpcError(err, request.Msg.GetPath())
		}
		if !ready {
			keepalive := &wire.WatchDirResponse_Keepalive{Keepalive: &wire.WatchDirResponse_KeepAlive{}}
			if err := stream.Send(&wire.WatchDirResponse{Event: keepalive}); err != nil {
				return err
			}
			continue
		}
		events, err := watcher.Take()
		if err != nil {
			return connect.NewError(connect.CodeInternal, err)
		}
		for _, event := range events {
			response := &wire.WatchDirResponse{Event: &wire.WatchDirResponse_Filesystem{Filesystem: event}}
			if err := stream.Send(response); err != nil {
				return err
			}
		}
	}
}

// CreateWatcher starts a watcher that is asked for its events.
func (s *Service) CreateWatcher(ctx context.Context, request *connect.Request[wire.CreateWatcherRequest]) (*connect.Response[wire.CreateWatcherResponse], error) {
	watcher, err := s.startWatcher(ctx, request.Header(), request.Msg)
	if err != nil {
		return nil, err
	}
	bytes := make([]byte, 10)
	rand.Read(bytes)
	id := fmt.Sprintf("w%x", bytes)
	s.watchers.mutex.Lock()
	defer s.watchers.mutex.Unlock()
	if s.watchers.byID == nil {
		s.watchers.byID = map[string]*watch.Watcher{}
	}
	s.watchers.byID[id] = watcher
	return connect.NewResponse(&wire.CreateWatcherResponse{WatcherId: id}), nil
}

// GetWatcherEvents takes the events since the last call.
func (s *Service) GetWatcherEvents(_ context.Context, request *connect.Request[wire.GetWatcherEventsRequest]) (*connect.Response[wire.GetWatcherEventsResponse], error) {
	watcher, err := s.watchers.find(request.Msg.GetWatcherId(), false)
	if err != nil {
		return nil, err
	}
	events, err := watcher.Take()
	if err != nil {
		return nil, connect.NewError(connect.CodeInternal, err)
	}
	return connect.NewResponse(&wire.GetWatcherEventsResponse{Events: events}), nil
}

// RemoveWatcher ends a watcher.
func (s *Service) RemoveWatcher(_ context.Context, request *connect.Request[wire.RemoveWatcherRequest]) (*connect.Response[wire.RemoveWatcherResponse], error) {
	watcher, err := s.watchers.find(request.Msg.GetWatcherId(), true)
	if err != nil {
		return nil, err
	}
	watcher.Close()
	return connect.NewResponse(&wire.RemoveWatcherResponse{}), nil
}

func (w *watchers) find(id string, remove bool) (*watch.Watcher, error) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	watcher := w.byID[id]
	if watcher == nil {
		return nil, connect.NewError(connect.CodeNotFound, fmt.Errorf("watcher %q not found", id))
	}
	if remove {
		delete(w.byID, id)
	}
	return watcher, nil
}

func (s *Service) startWatcher(ctx context.Context, header http.Header, request watchRequest) (*watch.Watcher, error) {
	watcher, err := s.openWatcher(ctx, header, request)
	return watcher, watchCodes.rpcError(err, request.GetPath())
}

func (s *Service) openWatcher(ctx context.Context, header http.Header, request watchRequest) (*watch.Watcher, error) {
	caller, err := s.caller(header)
	if err != nil {
		return nil, err
	}
	path, err := caller.resolve(request.GetPath())
	if err != nil {
		return nil, err
	}
	if !request.GetAllowNetworkMounts() {
		if err := runas.Do(caller.User, func() error { return refuseNetworkMount(path) }); err != nil {
			return nil, err
		}
	}
	options := watch.Options{Path: tidy(path), Recursive: request.GetRecursive(), User: caller.User}
	if request.GetIncludeEntry() {
		options.Describe = func() func(path string) *wire.EntryInfo {
			// Not with the rights of the user, who may not be allowed to read the account files.
			names := s.state.Users.Names()
			return func(path string) *wire.EntryInfo {
				entry, _ := readEntry(path, names)
				return entry
			}
		}
	}
	return s.hub.Start(ctx, options)
}

func refuseNetworkMount(path string) error {
	real, err := filepath.EvalSymlinks(disk.Inside(path))
	if err != nil {
		return err
	}
	if !watch.OnNetworkMount(real) {
		return nil
	}
	return connect.NewError(connect.CodeInvalidArgument, errors.New(path+
		" is on a network mount, which does not report changes made on another machine; set allowNetworkMounts to watch it"))
}
