package files

import (
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path"
	"strconv"
	"syscall"

	"svc.example/envd/internal/disk"
	"svc.example/envd/internal/runas"
)

// errAnswerBroken tells of a failure after the head of the answer was sent.
var errAnswerBroken = errors.New("the answer broke off")

// read answers with the content of a file, following links.
func (h *handler) read(response http.ResponseWriter, request *upload) error {
	if err := checkAccess(h.state.Token(), request.Header, request.query, read, h.now()); err != nil {
		return err
	}
	user, err := h.user(request.query["username"], request.Header)
	if err != nil {
		return err
	}
	target, err := h.resolve(request.query["path"], user)
	if err != nil {
		return err
	}
	var file *os.File
	var info os.FileInfo
	err = runas.Do(user, func() (err error) {
		file, info, err = disk.OpenRegular(target)
		return err
	})
	if err != nil {
		return toFailure(err, target)
	}
	defer file.Close()
	return sendFile(response, request.Request, target, file, info)
}

func sendFile(response http.ResponseWriter, request *http.Request, target string, file *os.File, info os.FileInfo) error {
	_, hasRange := request.Header["Range"]
	accepted, _ := joined(request.Header, "Accept-Encoding")
	form := chooseForm(accepted, hasRange || isConditional(request.Header))
	if form == unacceptable {
		return fail(http.StatusNotAcceptable, "no acceptable encoding; there are gzip and identity")
	}
	header := response.Header()
	current := validatorsOf(info)
	if form == gzipped {
		setCommon(header, target, current)
		header.Set("Content-Encoding", "gzip")
		return sendGzip(response, request, file)
	}
	verdict := current.evaluate(request.Header)
	if verdict == http.StatusPreconditionFailed {
		return fail(verdict, "%s: precondition failed", target)
	}
	wanted := ""
	if current.rangeApplies(request.Header) {
		wanted, _ = joined(request.Header, "Range")
	}
	size := info.Size()
	kind, bytes := parseRange(wanted, size)
	if verdict == 0 && kind == bad {
		refusal := &failure{status: http.StatusRequestedRangeNotSatisfiable, message: target + ": has no such range"}
		refusal.header = map[string]string{"Content-Range": fmt.Sprintf("bytes */%d", size)}
		return refusal
	}
	setCommon(header, target, current)
	header.Set("ETag", current.etag)
	header.Set("Accept-Ranges", "bytes")
	switch {
	case verdict != 0:
		header.Del("Content-Type")
		header.Del("Content-Disposition")
		response.WriteHeader(verdict)
		return nil
	case kind == part:
		header.Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", bytes.first, bytes.last, size))
		return sendBytes(response, request, http.StatusPartialContent, file, bytes)
	case size == 0 && request.Method != http.MethodHead:
		// Files that the kernel makes up say that they are empty; only reading tells.
		return broken(io.Copy(response, file))
	}
	return sendBytes(response, request, http.StatusOK, file, byteRange{0, size - 1})
}

func setCommon(header http.Header, target string, current validators) {
	header.Set("Content-Type", "application/octet-stream")
	header.Set("Content-Disposition", inlineDisposition(path.Base(target)))
	header.Set("Last-Modified", current.modified.UTC().Format(http.TimeFormat))
	header.Add("Vary", "Accept-Encoding")
	header.Set("X-Content-Type-Options", "nosniff")
}

func validatorsOf(info os.FileInfo) validators {
	numbers := []byte{'"'}
	numbers = strconv.AppendUint(numbers, info.Sys().(*syscall.Stat_t).Ino, 36)
	numbers = strconv.AppendInt(append(numbers, '-'), info.Size(), 36)
	numbers = strconv.AppendInt(append(numbers, '-'), info.ModTime().UnixNano(), 36)
	return validators{etag: string(append(numbers, '"')), modified: info.ModTime()}
}

func sendGzip(response http.ResponseWriter, request *http.Request, file *os.File) error {
	if request.Method == http.MethodHead {
		response.WriteHeader(http.StatusOK)
		return nil
	}
	buffered := bufio.NewWriterSize(response, 64*1024)
	// The fastest level: this is for the wire's sake, not for an archive's.
	packer, _ := gzip.NewWriterLevel(buffered, gzip.BestSpeed)
	_, err := io.Copy(packer, file)
	if err == nil {
		err = errors.Join(packer.Close(), buffered.Flush())
	}
	return broken(0, err)
}

func sendBytes(response http.ResponseWriter, request *http.Request, status int, file *os.File, bytes byteRange) error {
	response.Header().Set("Content-Length", strconv.FormatInt(bytes.length(), 10))
	response.WriteHeader(status)
	if request.Method == http.MethodHead || bytes.length() == 0 {
		return nil
	}
	if _, err := file.Seek(bytes.first, io.SeekStart); err != nil {
		return broken(0, err)
	}
	// A file that is cut meanwhile breaks the answer off: it would end as if nothing were missing.
	return broken(io.CopyN(response, file, bytes.length()))
}

func broken(_ int64, err error) error {
	if err != nil {
		return errAnswerBroken
	}
	return nil
}
