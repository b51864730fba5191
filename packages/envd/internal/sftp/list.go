package sftp

import (
	"io"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"github.com/pkg/sftp"
	"svc.example/envd/internal/disk"
)

// Filelist opens a directory, or describes what a path leads to.
func (s *session) Filelist(request *sftp.Request) (sftp.ListerAt, error) {
	if request.Method == "List" {
		return s.openDirectory(request.Filepath)
	}
	return s.describe(request.Filepath, os.Stat)
}

// Lstat describes an entry and follows no link at its end.
func (s *session) Lstat(request *sftp.Request) (sftp.ListerAt, error) {
	return s.describe(request.Filepath, os.Lstat)
}

// RealPath returns a path without links; of one of which nothing is there, without dots.
func (s *session) RealPath(path string) (string, error) {
	if !filepath.IsAbs(path) {
		path = s.user.Home + "/" + path
	}
	real := filepath.Clean(path)
	s.as(func() error {
		found, err := filepath.EvalSymlinks(path)
		if err == nil {
			real = found
		}
		return err
	})
	return real, nil
}

// Readlink returns where a link leads.
func (s *session) Readlink(path string) (target string, err error) {
	err = s.as(func() error {
		target, err = os.Readlink(path)
		return err
	})
	return target, err
}

func (s *session) describe(path string, look func(string) (os.FileInfo, error)) (sftp.ListerAt, error) {
	var info os.FileInfo
	err := s.as(func() (err error) {
		info, err = look(path)
		return err
	})
	return described{info}, err
}

// described lists one entry.
type described struct{ os.FileInfo }

// ListAt gives the entry out once.
func (d described) ListAt(into []os.FileInfo, position int64) (int, error) {
	if position > 0 {
		return 0, io.EOF
	}
	return copy(into, []os.FileInfo{d.FileInfo}), nil
}

// A directory is open for one session. It is read to its end once.
type directory struct {
	*os.File
	session *session
	closed  sync.Once
}

func (s *session) openDirectory(path string) (sftp.ListerAt, error) {
	if err := s.open.take(); err != nil {
		return nil, err
	}
	opened := &directory{session: s}
	err := s.as(func() (err error) {
		opened.File, err = os.OpenFile(disk.Inside(path), os.O_RDONLY|syscall.O_DIRECTORY, 0)
		return err
	})
	if err != nil {
		s.open.giveBack()
		return nil, err
	}
	return opened, nil
}

// ListAt gives the next entries out. What vanishes while it is listed is left out.
func (d *directory) ListAt(into []os.FileInfo, _ int64) (int, error) {
	var found []os.FileInfo
	err := d.session.as(func() error {
		for len(found) == 0 {
			var err error
			// It looks at each entry, and leaves out those that are not there any more.
			if found, err = d.File.Readdir(len(into)); err != nil {
				return err
			}
		}
		return nil
	})
	return copy(into, found), err
}

// Close closes the directory.
func (d *directory) Close() error {
	err := os.ErrClosed
	d.closed.Do(func() {
		d.session.open.giveBack()
		err = d.File.Close()
	})
	return status(err)
}
