// Package sftp serves SFTP version 3 with the rights of a user.
package sftp

import (
	"errors"
	"io"
	"net"
	"strconv"
	"syscall"

	"github.com/pkg/sftp"
	"svc.example/envd/internal/account"
	"svc.example/envd/internal/disk"
	"svc.example/envd/internal/runas"
	"svc.example/envd/internal/sandbox"
)

// maxRead is how many bytes one answer may have, as OpenSSH's server has it.
const maxRead = 255 * 1024

// Serve answers the requests of a stream until it ends, and closes it. A client that has left is no error, and one that breaks
// the protocol is.
func Serve(state *sandbox.State, user account.User, stream io.ReadWriteCloser) error {
	defer stream.Close()
	session := &session{user: user, names: state.Users.Names()}
	server := sftp.NewRequestServer(newMessages(stream), sftp.Handlers{
		FileGet: session, FilePut: session, FileCmd: session, FileList: session,
	}, sftp.WithStartDirectory(user.Home), sftp.WithRSMaxTxPacket(maxRead))
	err := server.Serve()
	for _, left := range []error{io.EOF, io.ErrUnexpectedEOF, net.ErrClosed, io.ErrClosedPipe, syscall.ECONNRESET, syscall.EPIPE} {
		if errors.Is(err, left) {
			return nil
		}
	}
	return err
}

// A session is what one client does. The library calls it from several goroutines.
type session struct {
	user  account.User
	names account.Names
	open  openFiles
}

// as runs an action with the rights of the user, and returns its error as clients are to see it.
func (s *session) as(action func() error) error {
	return status(runas.Do(s.user, action))
}

// LookupUserName returns the name of an account for listings.
func (s *session) LookupUserName(id string) string { return nameOf(id, s.names.User) }

// LookupGroupName returns the name of a group for listings.
func (s *session) LookupGroupName(id string) string { return nameOf(id, s.names.Group) }

func nameOf(id string, find func(uint32) string) string {
	number, err := strconv.ParseUint(id, 10, 32)
	if err != nil {
		return id
	}
	return find(uint32(number))
}

// A failure is an error in words that has the number of a status.
type failure struct {
	text   string
	number error
}

func (f *failure) Error() string { return f.text }
func (f *failure) Unwrap() error { return f.number }

// status turns a failure of the system into the status that clients know.
func status(err error) error {
	errno := disk.Errno(err)
	if err == nil || errno == 0 {
		return err
	}
	number := error(sftp.ErrSSHFxFailure)
	switch errno {
	case syscall.ENOENT, syscall.ENOTDIR, syscall.ELOOP:
		number = sftp.ErrSSHFxNoSuchFile
	case syscall.EACCES, syscall.EPERM, syscall.EROFS:
		number = sftp.ErrSSHFxPermissionDenied
	}
	return &failure{errno.Error(), number}
}
