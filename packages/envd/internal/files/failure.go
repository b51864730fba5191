package files

import (
	"errors"
	"fmt"
	"net/http"
	"syscall"

	"svc.example/envd/internal/disk"
	"svc.example/envd/internal/paths"
	"svc.example/envd/internal/reply"
)

// A failure has the status that it is answered with.
type failure struct {
	status  int
	message string
	header  map[string]string
}

func (f *failure) Error() string { return f.message }

func fail(status int, format string, values ...any) error {
	return &failure{status: status, message: fmt.Sprintf(format, values...)}
}

// Statuses say which failure of the system is which status. The rest is 500.
var statuses = map[syscall.Errno]int{
	syscall.ENOENT:       http.StatusNotFound,
	syscall.ENOTDIR:      http.StatusBadRequest,
	syscall.EISDIR:       http.StatusBadRequest,
	syscall.EEXIST:       http.StatusBadRequest,
	syscall.ELOOP:        http.StatusBadRequest,
	syscall.ENAMETOOLONG: http.StatusBadRequest,
	syscall.EINVAL:       http.StatusBadRequest,
	// A fifo without a reader, a device without a driver.
	syscall.ENXIO: http.StatusBadRequest,
	// The user may not touch the entry. 403 is the gateway's word for who may wake a sandbox.
	syscall.EACCES: http.StatusBadRequest,
	syscall.EPERM:  http.StatusBadRequest,
	syscall.EROFS:  http.StatusBadRequest,
	// Metadata of a file whose file system keeps none.
	syscall.ENOTSUP: http.StatusBadRequest,
	syscall.ETXTBSY: http.StatusBadRequest,
	syscall.ENOSPC:  http.StatusInsufficientStorage,
	syscall.EDQUOT:  http.StatusInsufficientStorage,
	syscall.EFBIG:   http.StatusInsufficientStorage,
}

// toFailure turns any error into its answer. The path is what the message is about; it may be empty.
func toFailure(err error, path string) *failure {
	var known *failure
	var invalid *paths.InvalidError
	switch {
	case errors.As(err, &known):
		return known
	case errors.As(err, &invalid):
		return &failure{status: http.StatusBadRequest, message: invalid.Reason}
	}
	status, listed := statuses[disk.Errno(err)]
	switch {
	case errors.Is(err, disk.ErrNotRegular), errors.Is(err, disk.ErrIsDirectory):
		status = http.StatusBadRequest
	case !listed:
		status = http.StatusInternalServerError
	}
	text := disk.Text(err)
	if path != "" {
		text = path + ": " + text
	}
	return &failure{status: status, message: text}
}

// send answers with the daemon's error record.
func (f *failure) send(response http.ResponseWriter) {
	for name, value := range f.header {
		response.Header().Set(name, value)
	}
	reply.Error(response, f.status, f.message)
}
