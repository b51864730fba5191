package runas

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"svc.example/envd/internal/account"
	"svc.example/envd/internal/filetest"
)

var nobody = account.User{Name: "nobody", UID: 65534, GID: 65534, Groups: []uint32{1234}}

func needRoot(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("taking on another user needs root")
	}
}

func TestDoCreatesAsTheUserAndIsRefusedWhatTheUserIs(t *testing.T) {
	directory := filetest.OpenTo(t, 0o777)
	secret := filepath.Join(directory, "secret")
	os.WriteFile(secret, nil, 0o600)
	own := filepath.Join(directory, "own")
	err := Do(nobody, func() error {
		if _, err := os.Open(secret); !errors.Is(err, os.ErrPermission) {
			t.Errorf("opening a file of root: %v", err)
		}
		if err := os.Chown(directory, 65534, 65534); !errors.Is(err, os.ErrPermission) {
			t.Errorf("taking a directory of root: %v", err)
		}
		return os.WriteFile(own, nil, 0o600)
	})
	if err != nil {
		t.Fatal(err)
	}
	info, _ := os.Stat(own)
	if stat := info.Sys().(*syscall.Stat_t); stat.Uid != 65534 || stat.Gid != 65534 {
		t.Errorf("the file belongs to %d:%d", stat.Uid, stat.Gid)
	}
}

func TestDoUsesTheGroupsOfTheUser(t *testing.T) {
	directory := filetest.OpenTo(t, 0o777)
	shared := filepath.Join(directory, "shared")
	os.WriteFile(shared, nil, 0o640)
	os.Chown(shared, 0, 1234)
	if err := Do(nobody, func() error { _, err := os.ReadFile(shared); return err }); err != nil {
		t.Error(err)
	}
}

func TestDoLeavesOtherGoroutinesAlone(t *testing.T) {
	needRoot(t)
	secret := filepath.Join(t.TempDir(), "secret")
	os.WriteFile(secret, nil, 0o600)
	var group sync.WaitGroup
	for range 64 {
		group.Go(func() {
			Do(nobody, func() error { _, err := os.Stat("/"); return err })
			if _, err := os.Open(secret); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
}
