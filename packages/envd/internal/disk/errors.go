// Package disk has what the services of files share: opening and making files, their metadata, and words for errors.
// Its functions act with the rights of the thread that calls them: callers are inside runas.Do.
package disk

import (
	"errors"
	"syscall"
)

var texts = map[syscall.Errno]string{
	syscall.ENOENT:       "no such file or directory",
	syscall.ENOTDIR:      "not a directory",
	syscall.EISDIR:       "is a directory",
	syscall.EACCES:       "permission denied",
	syscall.EPERM:        "not permitted",
	syscall.EEXIST:       "exists and is not a directory",
	syscall.ELOOP:        "too many symbolic links",
	syscall.ENOTEMPTY:    "directory not empty",
	syscall.EXDEV:        "the destination is on another device",
	syscall.ENOSPC:       "no space left on device",
	syscall.EDQUOT:       "disk quota exceeded",
	syscall.EROFS:        "read-only file system",
	syscall.ENXIO:        "not a regular file: a fifo that nobody reads, or a device without a driver",
	syscall.ETXTBSY:      "a program that runs cannot be written",
	syscall.ENAMETOOLONG: "file name too long",
	syscall.ENOTSUP:      "the file system keeps no metadata of files",
}

// Errno returns the number of a failed system call; 0 where the error is not from one.
func Errno(err error) syscall.Errno {
	var number syscall.Errno
	errors.As(err, &number)
	return number
}

// Text says what the system said, in words and without the path.
func Text(err error) string {
	number := Errno(err)
	if text, known := texts[number]; known {
		return text
	}
	if number != 0 {
		return number.Error()
	}
	return err.Error()
}
