package disk

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
	"svc.example/envd/internal/runas"
)

// MayRemove returns the error that removing an entry from its directory would have for want of rights, and removes nothing. In
// directories like /tmp an entry is removed by its owner, by the directory's and by root.
func MayRemove(path string) error {
	parent := Parent(path)
	if err := unix.Faccessat(unix.AT_FDCWD, parent, unix.W_OK|unix.X_OK, unix.AT_EACCESS); err != nil {
		return &os.PathError{Op: "remove", Path: path, Err: err}
	}
	directory, err := os.Stat(Inside(parent))
	if err != nil {
		return err
	}
	entry, err := os.Lstat(path)
	if err != nil || directory.Mode()&os.ModeSticky == 0 {
		return err
	}
	self := runas.ActingUser()
	if self == 0 || self == owner(directory) || self == owner(entry) {
		return nil
	}
	return &os.PathError{Op: "remove", Path: path, Err: syscall.EPERM}
}

func owner(info os.FileInfo) uint32 { return info.Sys().(*syscall.Stat_t).Uid }
