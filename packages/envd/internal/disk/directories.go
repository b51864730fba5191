package disk

import (
	"errors"
	"os"
	"strings"
	"syscall"
)

const directoryMode os.FileMode = 0o755

// MakeDirectories makes a directory and its missing parents with mode 0755. It succeeds where the directory is already.
// ENOTDIR and EEXIST tell of something on the way that is no directory.
func MakeDirectories(path string) error {
	switch found, err := isDirectory(path); {
	case err != nil:
		return err
	case found:
		return nil
	}
	if parent := Parent(path); parent != path {
		if err := MakeDirectories(parent); err != nil {
			return err
		}
	}
	if err := os.Mkdir(path, directoryMode); err != nil {
		// Somebody else may have made it meanwhile; `a/.` exists as soon as `a` does.
		if found, _ := isDirectory(path); found && errors.Is(err, os.ErrExist) {
			return nil
		}
		return err
	}
	return raiseMode(path)
}

// raiseMode gives back the bits that the umask of the daemon took away. It leaves a directory alone that has them, and
// with it the set-group-ID bit that it got from its parent.
func raiseMode(path string) error {
	info, err := os.Lstat(path)
	if err != nil || info.Mode().Perm()&directoryMode == directoryMode {
		return err
	}
	return os.Chmod(path, info.Mode()|directoryMode)
}

// Inside returns a path that leads into a directory. The rules of fs.protected_symlinks are about the last part of a path,
// which is then no link.
func Inside(path string) string { return path + "/." }

func isDirectory(path string) (bool, error) {
	_, err := os.Stat(Inside(path))
	if errors.Is(err, syscall.ENOENT) {
		return false, nil
	}
	return err == nil, err
}

// Parent returns the path of the directory that an entry is in. Unlike path.Dir it keeps `..`, which a link may precede.
func Parent(path string) string {
	path = strings.TrimRight(path, "/")
	path = path[:strings.LastIndexByte(path, '/')+1]
	if trimmed := strings.TrimRight(path, "/"); trimmed != "" {
		return trimmed
	}
	return "/"
}
