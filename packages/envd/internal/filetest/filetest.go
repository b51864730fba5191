// Package filetest helps tests that make files.
package filetest

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"svc.example/envd/internal/account"
)

// Nobody is an account that owns nothing.
var Nobody = account.User{Name: "nobody", UID: 65534, GID: 65534}

// Must ends the test when what it needs did not work.
func Must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// OpenTo returns a directory of a mode that other users may reach. It skips the test where it cannot take them on.
func OpenTo(t *testing.T, mode os.FileMode) string {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("taking on another user needs root")
	}
	home := t.TempDir()
	// The directory around it is the test's own, too.
	Must(t, os.Chmod(filepath.Dir(home), 0o755))
	Must(t, os.Chmod(home, mode))
	return home
}

// Owner returns the number of the user that an entry belongs to.
func Owner(t *testing.T, path string) uint32 {
	t.Helper()
	info, err := os.Lstat(path)
	Must(t, err)
	return info.Sys().(*syscall.Stat_t).Uid
}
