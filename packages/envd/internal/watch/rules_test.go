package watch

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"
)

func TestMountType(t *testing.T) {
	const table = "a / 9p rw 0 0\nb /mnt nfs4 rw 0 0\nc /mnt/my\\040disk ext4 rw 0 0\nd /x ext4 rw 0 0\ne /x fuse.sshfs rw 0 0\nf /back\\134slash\\ tmpfs rw 0 0\n"
	for path, want := range map[string]string{
		"/home":           "",
		"/mnt/a":          "nfs4",
		"/mnt":            "nfs4",
		"/mnt/my disk/a":  "ext4",
		"/mntother":       "",
		"/x/y":            "fuse.sshfs",
		`/back\slash\/in`: "tmpfs",
	} {
		if got := mountType(path, table); got != want {
			t.Errorf("%s is on %q, not %q", path, got, want)
		}
	}
}

func TestNetworkTypes(t *testing.T) {
	for name, want := range map[string]bool{
		"nfs": true, "nfs4": true, "cifs": true, "9p": true, "fuse.sshfs": true, "fuse": true,
		"ext4": false, "overlay": false, "tmpfs": false, "fuse.fuse-overlayfs": false, "fuseblk": false, "": false,
	} {
		if isNetworkType(name) != want {
			t.Errorf("%q reaches over the network: %v", name, !want)
		}
	}
}

func TestEventsRefuseWhatDoesNotFitAndFailuresStay(t *testing.T) {
	events := newEvents[int](2)
	if got := []bool{events.push(1), events.push(2), events.push(3)}; !slices.Equal(got, []bool{true, true, false}) {
		t.Error(got)
	}
	if items, err := events.drain(); !slices.Equal(items, []int{1, 2}) || err != nil {
		t.Error(items, err)
	}
	if ready, err := events.wait(context.Background(), time.Nanosecond); ready || err != nil {
		t.Error(ready, err)
	}
	go events.push(4)
	if ready, err := events.wait(context.Background(), time.Hour); !ready || err != nil {
		t.Error(ready, err)
	}
	first := errors.New("first")
	events.fail(first)
	events.fail(errors.New("second"))
	for range 2 {
		if _, err := events.drain(); err != first {
			t.Error(err)
		}
	}
	if events.push(5) {
		t.Error("nothing is taken after a failure")
	}
	left, leave := context.WithCancel(context.Background())
	leave()
	if ready, err := newEvents[int](1).wait(left, time.Hour); ready || err != context.Canceled {
		t.Error(ready, err)
	}
}
