package disk

import (
	"errors"
	"os"
	"syscall"
)

// ErrNotRegular tells of a directory, fifo, socket or device where a file was asked for.
var ErrNotRegular = errors.New("is not a regular file")

// ErrIsDirectory tells of a directory where a file was asked for.
var ErrIsDirectory = errors.New("is a directory")

// OpenOrCreate opens a file and makes one where there is none. A file that is there is never opened with O_CREAT: hosts
// refuse that for files of others in directories like /tmp (fs.protected_regular, fs.protected_fifos).
func OpenOrCreate(path string, flags int, mode os.FileMode) (*os.File, error) {
	file, err := os.OpenFile(path, flags, 0)
	if errors.Is(err, syscall.ENOENT) {
		return os.OpenFile(path, flags|os.O_CREATE, mode)
	}
	return file, err
}

// OpenRegular opens a file that is there. Anything but a regular file is ErrNotRegular or ErrIsDirectory, and does not
// hold the caller: without O_NONBLOCK a fifo would wait for its other end.
func OpenRegular(path string) (*os.File, os.FileInfo, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := RequireRegular(file)
	return file, info, err
}

// RequireRegular describes an open file, and closes anything else.
func RequireRegular(file *os.File) (os.FileInfo, error) {
	info, err := file.Stat()
	switch {
	case err != nil:
	case info.IsDir():
		err = ErrIsDirectory
	case !info.Mode().IsRegular():
		err = ErrNotRegular
	default:
		return info, nil
	}
	file.Close()
	return nil, err
}
