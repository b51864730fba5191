package filesystem

import (
	"context"
	"errors"
	"fmt"
	"syscall"

	"connectrpc.com/connect"
	"svc.example/envd/internal/disk"
	"svc.example/envd/internal/paths"
	"svc.example/envd/internal/watch"
)

// Codes say which failure of the system becomes which code, by procedure. What a row does not name is `internal`.
type codes map[syscall.Errno]connect.Code

var (
	statCodes    = codes{syscall.ENOENT: connect.CodeNotFound, syscall.ENOTDIR: connect.CodeNotFound}
	makeDirCodes = codes{syscall.EEXIST: connect.CodeInvalidArgument, syscall.ENOTDIR: connect.CodeInvalidArgument}
	// Only the source can be missing: the destination's parents are made.
	moveCodes    = codes{syscall.ENOENT: connect.CodeNotFound}
	listDirCodes = codes{
		syscall.ENOENT:  connect.CodeNotFound,
		syscall.ENOTDIR: connect.CodeInvalidArgument,
		syscall.ELOOP:   connect.CodeFailedPrecondition,
	}
	removeCodes = codes{}
	watchCodes  = codes{syscall.ENOENT: connect.CodeNotFound, syscall.ENOTDIR: connect.CodeInvalidArgument}
)

// rpcError turns a failure into the error that is documented for it. The path is the one that the message is about.
func (c codes) rpcError(err error, path string) error {
	var finished *connect.Error
	var invalid *paths.InvalidError
	switch {
	case err == nil || errors.As(err, &finished):
		return err
	case errors.As(err, &invalid):
		return connect.NewError(connect.CodeInvalidArgument, err)
	case errors.Is(err, context.Canceled):
		return connect.NewError(connect.CodeCanceled, err)
	case errors.Is(err, context.DeadlineExceeded):
		return connect.NewError(connect.CodeDeadlineExceeded, err)
	case errors.Is(err, watch.ErrUnsupported):
		return connect.NewError(connect.CodeUnimplemented, err)
	}
	code, known := c[disk.Errno(err)]
	if !known {
		code = connect.CodeInternal
	}
	return connect.NewError(code, fmt.Errorf("%s: %s", path, disk.Text(err)))
}
