package files

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"syscall"

	"svc.example/envd/internal/account"
	"svc.example/envd/internal/disk"
	"svc.example/envd/internal/reply"
	"svc.example/envd/internal/runas"
)

const maxComposeBytes = 4 * 1024 * 1024

// A composition joins files into one.
type composition struct {
	user account.User
	// sources are absolute paths in the order of their content.
	sources     []string
	destination string
}

func (h *handler) compose(response http.ResponseWriter, request *upload) error {
	wanted, err := readComposeRequest(request)
	if err != nil {
		return err
	}
	user, err := h.user(wanted.username, request.Header)
	if err != nil {
		return err
	}
	composition := composition{user: user}
	if composition.destination, err = h.resolve(wanted.destination, user); err != nil {
		return err
	}
	for _, source := range wanted.sources {
		path, err := h.resolve(source, user)
		if err != nil {
			return err
		}
		composition.sources = append(composition.sources, path)
	}
	if err := composition.run(); err != nil {
		return err
	}
	reply.JSON(response, http.StatusOK, describe(composition.destination, nil))
	return nil
}

// run makes the new file take the destination's place at once, and deletes the sources. Until then nothing is changed.
func (c composition) run() error {
	var file *os.File
	var mode os.FileMode
	err := runas.Do(c.user, func() (err error) {
		if mode, err = c.check(); err != nil {
			return err
		}
		if file, err = c.create(); err != nil {
			return toFailure(err, c.destination)
		}
		return nil
	})
	if err != nil {
		return err
	}
	err = c.fill(file)
	return runas.Do(c.user, func() error {
		if err == nil {
			err = file.Chmod(mode)
		}
		err = errors.Join(err, file.Close())
		if err == nil {
			err = os.Rename(file.Name(), c.destination)
		}
		if err != nil {
			os.Remove(file.Name())
			return toFailure(err, c.destination)
		}
		return c.removeSources()
	})
}

// check looks at every file before the first change, and returns the mode that the new file gets.
func (c composition) check() (os.FileMode, error) {
	if len(c.sources) == 0 {
		return 0, fail(http.StatusBadRequest, "source_paths is empty")
	}
	type identity struct{ device, inode uint64 }
	seen := map[identity]bool{}
	look := func(path string) (os.FileMode, error) {
		info, err := os.Stat(path)
		if err != nil {
			return 0, toFailure(err, path)
		}
		if !info.Mode().IsRegular() {
			return 0, toFailure(disk.ErrNotRegular, path)
		}
		stat := info.Sys().(*syscall.Stat_t)
		key := identity{uint64(stat.Dev), stat.Ino}
		if seen[key] {
			return 0, fail(http.StatusBadRequest, "%s: named more than once", path)
		}
		seen[key] = true
		return info.Mode().Perm(), nil
	}
	for _, source := range c.sources {
		if _, err := look(source); err != nil {
			return 0, err
		}
		if err := disk.MayRemove(source); err != nil {
			return 0, toFailure(err, source)
		}
	}
	mode, err := look(c.destination)
	var missing *failure
	if errors.As(err, &missing) && missing.status == http.StatusNotFound {
		return 0o644, nil
	}
	return mode, err
}

// create makes the file that becomes the new one, beside it.
func (c composition) create() (*os.File, error) {
	directory := disk.Parent(c.destination)
	if err := disk.MakeDirectories(directory); err != nil {
		return nil, err
	}
	random := make([]byte, 8)
	rand.Read(random)
	name := fmt.Sprintf("%s/.compose-%x", directory, random)
	return os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
}

// fill copies the sources one after another. The system lets the copies share blocks where the file system can.
func (c composition) fill(into *os.File) error {
	for _, source := range c.sources {
		var from *os.File
		err := runas.Do(c.user, func() (err error) {
			from, _, err = disk.OpenRegular(source)
			return err
		})
		if err != nil {
			return toFailure(err, source)
		}
		_, err = io.Copy(into, from)
		from.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

func (c composition) removeSources() error {
	for _, source := range c.sources {
		if err := syscall.Unlink(source); err != nil && err != syscall.ENOENT {
			refusal := toFailure(err, source)
			refusal.message = fmt.Sprintf("%s (it is joined into %s, which is complete, and could not be deleted)", refusal.message, c.destination)
			return refusal
		}
	}
	return nil
}

type composeRequest struct {
	sources     []string
	destination string
	username    string
}

// readComposeRequest reads the body of a compose call.
func readComposeRequest(request *upload) (composeRequest, error) {
	var wanted composeRequest
	bytes, err := io.ReadAll(io.LimitReader(request, maxComposeBytes+1))
	if err != nil {
		return wanted, err
	}
	if len(bytes) > maxComposeBytes {
		return wanted, fail(http.StatusRequestEntityTooLarge, "the body is longer than %d bytes", maxComposeBytes)
	}
	var body any
	if json.Unmarshal(bytes, &body) != nil {
		return wanted, fail(http.StatusBadRequest, "the body is not JSON")
	}
	fields, isObject := body.(map[string]any)
	if !isObject {
		return wanted, fail(http.StatusBadRequest, "the body is not an object")
	}
	list, isList := fields["source_paths"].([]any)
	for _, item := range list {
		path, isText := item.(string)
		isList = isList && isText && path != ""
		wanted.sources = append(wanted.sources, path)
	}
	if !isList {
		return wanted, fail(http.StatusBadRequest, "source_paths is not a list of paths")
	}
	if wanted.destination, _ = fields["destination"].(string); wanted.destination == "" {
		return wanted, fail(http.StatusBadRequest, "destination is missing")
	}
	username, isText := fields["username"].(string)
	if fields["username"] != nil && !isText {
		return wanted, fail(http.StatusBadRequest, "username is not a string")
	}
	wanted.username = username
	return wanted, nil
}
