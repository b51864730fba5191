// Package runas does file operations with the rights of a user. On macOS there is only the daemon's own.
package runas

import (
	"os"

	"svc.example/envd/internal/account"
)

// Disable does nothing: there is nothing to turn off.
func Disable() {}

// Do runs the action.
func Do(_ account.User, action func() error) error { return action() }

// ActingUser returns the number of the daemon's user.
func ActingUser() uint32 { return uint32(os.Geteuid()) }
