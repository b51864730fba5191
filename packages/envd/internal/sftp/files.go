package sftp

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/pkg/sftp"
	"svc.example/envd/internal/disk"
)

// maxOpen is how many files and directories one session may have open.
const maxOpen = 512

// openFiles counts what a session has open.
type openFiles struct{ count atomic.Int32 }

func (o *openFiles) take() error {
	if o.count.Add(1) > maxOpen {
		o.count.Add(-1)
		return fmt.Errorf("%d files are open", maxOpen)
	}
	return nil
}

func (o *openFiles) giveBack() { o.count.Add(-1) }

// Fileread opens a file to read.
func (s *session) Fileread(request *sftp.Request) (io.ReaderAt, error) {
	return s.openFile(request, os.O_RDONLY)
}

// Filewrite opens a file to write.
func (s *session) Filewrite(request *sftp.Request) (io.WriterAt, error) {
	return s.openFile(request, os.O_WRONLY)
}

// OpenFile opens a file to read and write.
func (s *session) OpenFile(request *sftp.Request) (sftp.WriterAtReaderAt, error) {
	return s.openFile(request, os.O_RDWR)
}

func (s *session) openFile(request *sftp.Request, access int) (*file, error) {
	if err := s.open.take(); err != nil {
		return nil, err
	}
	opened := &file{session: s, append: request.Pflags().Append}
	err := s.as(func() (err error) {
		opened.File, err = openRegular(request, access)
		return err
	})
	if err != nil {
		s.open.giveBack()
		return nil, err
	}
	return opened, nil
}

// openRegular opens as the flags of a request say. What is no regular file could hold the daemon for ever.
func openRegular(request *sftp.Request, access int) (*os.File, error) {
	flags := request.Pflags()
	access |= syscall.O_NONBLOCK
	if flags.Append {
		access |= os.O_APPEND
	}
	mode := newFileMode(request.Flags)
	var file *os.File
	var err error
	switch {
	case flags.Creat && flags.Excl:
		return os.OpenFile(request.Filepath, access|os.O_CREATE|os.O_EXCL, mode)
	case flags.Creat:
		file, err = disk.OpenOrCreate(request.Filepath, access, mode)
	default:
		file, err = os.OpenFile(request.Filepath, access, 0)
	}
	if err != nil {
		return nil, err
	}
	if _, err := disk.RequireRegular(file); err != nil {
		return nil, fmt.Errorf("it %w", err)
	}
	if flags.Trunc {
		if err := file.Truncate(0); err != nil {
			file.Close()
			return nil, err
		}
	}
	return file, nil
}

// A file is open for one session.
type file struct {
	*os.File
	session *session
	append  bool
	first   sync.Once
	closed  sync.Once
}

// WriteAt writes all of the bytes. The first write has the rights of the user, so that the kernel takes a set-user-ID bit
// away.
func (f *file) WriteAt(bytes []byte, position int64) (length int, err error) {
	write := func() error {
		if f.append {
			length, err = f.File.Write(bytes)
		} else {
			length, err = f.File.WriteAt(bytes, position)
		}
		return err
	}
	isFirst := false
	f.first.Do(func() {
		isFirst = true
		err = f.session.as(write)
	})
	if !isFirst {
		err = status(write())
	}
	return length, err
}

// ReadAt reads as many bytes as there are.
func (f *file) ReadAt(bytes []byte, position int64) (int, error) {
	length, err := f.File.ReadAt(bytes, position)
	if errors.Is(err, io.EOF) {
		return length, io.EOF
	}
	return length, status(err)
}

// Close closes the file.
func (f *file) Close() error {
	err := os.ErrClosed
	f.closed.Do(func() {
		f.session.open.giveBack()
		err = f.File.Close()
	})
	return status(err)
}
