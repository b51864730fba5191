//go:build !linux

package watch

import "context"

// A Hub watches nothing on this system.
type Hub struct{}

// NewHub returns a hub.
func NewHub() *Hub { return &Hub{} }

// Start returns ErrUnsupported.
func (*Hub) Start(context.Context, Options) (*Watcher, error) { return nil, ErrUnsupported }
