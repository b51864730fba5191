package sftp

import (
	"errors"
	"os"
	"syscall"
	"time"

	"github.com/pkg/sftp"
	"golang.org/x/sys/unix"
)

// Filecmd changes the file tree.
func (s *session) Filecmd(request *sftp.Request) error {
	return s.as(func() error {
		switch path := request.Filepath; request.Method {
		case "Setstat":
			return setAttributes(path, request)
		case "Rename":
			// An entry at the destination is not replaced.
			if _, err := os.Lstat(request.Target); err == nil {
				return errors.New("the destination exists")
			}
			return syscall.Rename(path, request.Target)
		case "Rmdir":
			return syscall.Rmdir(path)
		case "Mkdir":
			return syscall.Mkdir(path, 0o777)
		case "Link":
			return hardLink(path, request.Target)
		case "Symlink":
			return syscall.Symlink(path, request.Target)
		case "Remove":
			return syscall.Unlink(path)
		}
		return sftp.ErrSSHFxOpUnsupported
	})
}

// PosixRename renames, and replaces what is at the destination.
func (s *session) PosixRename(request *sftp.Request) error {
	return s.as(func() error { return syscall.Rename(request.Filepath, request.Target) })
}

// StatVFS tells about the file system that a path is on.
func (s *session) StatVFS(request *sftp.Request) (*sftp.StatVFS, error) {
	var found unix.Statfs_t
	if err := s.as(func() error { return unix.Statfs(request.Filepath, &found) }); err != nil {
		return nil, err
	}
	return &sftp.StatVFS{
		Bsize: uint64(found.Bsize), Frsize: uint64(found.Bsize),
		Blocks: found.Blocks, Bfree: found.Bfree, Bavail: found.Bavail,
		Files: found.Files, Ffree: found.Ffree, Favail: found.Ffree,
		Namemax: 255,
	}, nil
}

// hardLink does not follow a link at the end of the old path.
func hardLink(from, to string) error { return unix.Linkat(unix.AT_FDCWD, from, unix.AT_FDCWD, to, 0) }

// setAttributes sets what the request names.
func setAttributes(path string, request *sftp.Request) error {
	wanted, given := request.Attributes(), request.AttrFlags()
	if wanted == nil {
		return sftp.ErrSSHFxBadMessage
	}
	var err error
	if given.Size {
		err = os.Truncate(path, int64(wanted.Size))
	}
	if err == nil && given.UidGid {
		err = os.Chown(path, int(wanted.UID), int(wanted.GID))
	}
	if err == nil && given.Permissions {
		err = unix.Chmod(path, wanted.Mode&0o7777)
	}
	if err == nil && given.Acmodtime {
		err = os.Chtimes(path, time.Unix(int64(wanted.Atime), 0), time.Unix(int64(wanted.Mtime), 0))
	}
	return err
}
