package files

import (
	"bufio"
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"os"
	"path"
	"strings"
	"sync"
	"syscall"

	"svc.example/envd/internal/account"
	"svc.example/envd/internal/disk"
	"svc.example/envd/internal/reply"
	"svc.example/envd/internal/runas"
)

const chunkBytes = 128 * 1024

var chunks = sync.Pool{New: func() any { return new([chunkBytes]byte) }}

// write puts the files of a request to their places, in its order.
func (h *handler) write(response http.ResponseWriter, request *upload) error {
	if err := checkAccess(h.state.Token(), request.Header, request.query, write, h.now()); err != nil {
		return err
	}
	user, err := h.user(request.query["username"], request.Header)
	if err != nil {
		return err
	}
	metadata, err := parseMetadata(request.Header)
	if err != nil {
		return err
	}
	written := []writtenFile{}
	err = h.eachFile(request, user, func(target string, content io.Reader) error {
		if err := h.writeFile(user, target, content, metadata); err != nil {
			return toFailure(err, target)
		}
		written = append(written, describe(target, metadata))
		return nil
	})
	if err != nil {
		return err
	}
	reply.JSON(response, http.StatusOK, written)
	return nil
}

// eachFile calls with every file of a request.
func (h *handler) eachFile(request *upload, user account.User, each func(target string, content io.Reader) error) error {
	contentType := request.Header.Get("Content-Type")
	mediaType, _, _ := strings.Cut(contentType, ";")
	mediaType = strings.ToLower(strings.TrimSpace(mediaType))
	switch mediaType {
	case "application/octet-stream":
		if request.query["path"] == "" {
			return fail(http.StatusBadRequest, "path is required")
		}
		target, err := h.resolve(request.query["path"], user)
		if err != nil {
			return err
		}
		content, err := decodedBody(request)
		if err != nil {
			return err
		}
		return each(target, content)
	case "multipart/form-data":
		boundary := parseParameters(contentType)["boundary"]
		if boundary == "" {
			return fail(http.StatusBadRequest, "multipart body without a boundary")
		}
		body, err := decodedBody(request)
		if err != nil {
			return err
		}
		return h.eachPart(body, boundary, request.query["path"], user, each)
	}
	return fail(http.StatusBadRequest, "content type %q is not supported", mediaType)
}

// eachPart calls with every part that is a file. The path of the query, if there is one, goes before their names.
func (h *handler) eachPart(body io.Reader, boundary, wholePath string, user account.User, each func(string, io.Reader) error) error {
	targets := map[string]bool{}
	return readParts(body, boundary, func(part formPart) error {
		if part.name != "file" {
			return nil
		}
		wanted := wholePath
		if wanted == "" {
			wanted = part.filename
		}
		if wanted == "" {
			return fail(http.StatusBadRequest, "a file part needs a file name, or the request a path")
		}
		target, err := h.resolve(wanted, user)
		if err != nil {
			return err
		}
		if key := path.Clean(target); targets[key] {
			return fail(http.StatusBadRequest, "%s: more than one part is for it", target)
		} else {
			targets[key] = true
		}
		return each(target, part.content)
	})
}

// writeFile writes a file in place: parents are made, old content and metadata go, the mode of an existing file stays. When
// it fails midway, the file holds what came until then.
func (h *handler) writeFile(user account.User, target string, content io.Reader, metadata map[string]string) error {
	_, single := h.state.SingleUser()
	var file *os.File
	err := runas.Do(user, func() (err error) {
		file, err = openForWriting(target, user, !single)
		return err
	})
	if err != nil {
		return err
	}
	chunk := chunks.Get().(*[chunkBytes]byte)
	// Neither side may bring its own way to copy, which would have small pieces.
	_, err = io.CopyBuffer(struct{ io.Writer }{file}, struct{ io.Reader }{content}, chunk[:])
	chunks.Put(chunk)
	if err == nil && len(metadata) > 0 {
		err = runas.Do(user, func() error { return disk.ReplaceMetadata(file, metadata) })
	}
	return errors.Join(err, file.Close())
}

// openForWriting opens an empty file, with the rights of the user.
func openForWriting(target string, user account.User, takeOver bool) (*os.File, error) {
	if err := disk.MakeDirectories(disk.Parent(target)); err != nil {
		return nil, err
	}
	// It is cut only once it is known to be a file. Without O_NONBLOCK a fifo would wait for its reader.
	file, err := disk.OpenOrCreate(target, os.O_WRONLY|syscall.O_NONBLOCK, 0o666)
	if err != nil {
		return nil, err
	}
	info, err := disk.RequireRegular(file)
	if err != nil {
		return nil, err
	}
	// This also takes a set-user-ID bit away, as long as the user is the one who cuts. To cut nothing would be seen as a write.
	if info.Size() > 0 || info.Mode()&(os.ModeSetuid|os.ModeSetgid) != 0 {
		err = file.Truncate(0)
	}
	if err == nil {
		err = disk.ReplaceMetadata(file, nil)
	}
	if err == nil && takeOver && info.Sys().(*syscall.Stat_t).Uid != user.UID {
		// Root may make the file its own. Another user writes to a file of somebody else, who keeps it.
		if err = file.Chown(int(user.UID), int(user.GID)); errors.Is(err, syscall.EPERM) {
			err = nil
		}
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}

// decodedBody returns the body without its encoding.
func decodedBody(request *upload) (io.Reader, error) {
	encoding := strings.ToLower(strings.TrimSpace(request.Header.Get("Content-Encoding")))
	switch encoding {
	case "", "identity":
		return request, nil
	case "gzip", "x-gzip":
		unpacker, err := gzip.NewReader(bufio.NewReaderSize(request, 64*1024))
		if err == io.EOF {
			return strings.NewReader(""), nil
		}
		if err != nil {
			return nil, errNotGzip
		}
		return gzipReader{unpacker}, nil
	}
	return nil, fail(http.StatusBadRequest, "content encoding %q is not supported", encoding)
}

var errNotGzip = fail(http.StatusBadRequest, "the body is not valid gzip")

// A gzipReader's errors are the client's fault.
type gzipReader struct{ unpacker *gzip.Reader }

func (g gzipReader) Read(into []byte) (int, error) {
	length, err := g.unpacker.Read(into)
	if err != nil && err != io.EOF {
		err = errNotGzip
	}
	return length, err
}
