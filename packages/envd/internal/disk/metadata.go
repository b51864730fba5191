package disk

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Extended attributes with this prefix hold the metadata that was uploaded with a file.
const metadataPrefix = "user.svc."

// Metadata returns the metadata of a file; nil when it has none, may not be read, or the file system keeps none.
func Metadata(path string) map[string]string {
	names, err := attributeNames(func(into []byte) (int, error) { return unix.Llistxattr(path, into) })
	if err != nil {
		return nil
	}
	var metadata map[string]string
	for _, name := range names {
		value, err := sized(func(into []byte) (int, error) { return unix.Lgetxattr(path, name, into) })
		if err != nil {
			continue
		}
		if metadata == nil {
			metadata = map[string]string{}
		}
		metadata[strings.ToValidUTF8(name[len(metadataPrefix):], "\uFFFD")] = latin1(value)
	}
	return metadata
}

// ReplaceMetadata replaces all metadata of an open file. The error is ENOTSUP where the file system takes none.
func ReplaceMetadata(file *os.File, metadata map[string]string) error {
	descriptor := int(file.Fd())
	names, err := attributeNames(func(into []byte) (int, error) { return unix.Flistxattr(descriptor, into) })
	for _, name := range names {
		if _, stays := metadata[name[len(metadataPrefix):]]; err == nil && !stays {
			err = unix.Fremovexattr(descriptor, name)
		}
	}
	for key, value := range metadata {
		if err == nil {
			err = unix.Fsetxattr(descriptor, metadataPrefix+key, []byte(value), 0)
		}
	}
	// A file system without attributes has no old metadata to take away either.
	if err == nil || (errors.Is(err, syscall.ENOTSUP) && len(metadata) == 0) {
		return nil
	}
	return fmt.Errorf("metadata could not be stored: %w", err)
}

// attributeNames returns the names of attributes that are metadata.
func attributeNames(list func(into []byte) (int, error)) ([]string, error) {
	text, err := sized(list)
	if err != nil || len(text) == 0 {
		return nil, err
	}
	var names []string
	for name := range strings.SplitSeq(string(text), "\x00") {
		if strings.HasPrefix(name, metadataPrefix) {
			names = append(names, name)
		}
	}
	return names, nil
}

// sized calls a function that fills a buffer, or returns how large that must be where it gets none. Most files have nothing,
// so that listings do not pay for buffers.
func sized(fill func(into []byte) (int, error)) ([]byte, error) {
	for {
		size, err := fill(nil)
		if err != nil || size == 0 {
			return nil, err
		}
		buffer := make([]byte, size)
		size, err = fill(buffer)
		// It may have grown between the two calls.
		if !errors.Is(err, syscall.ERANGE) {
			return buffer[:max(size, 0)], err
		}
	}
}

// latin1 turns bytes into text, one character each: programs may have stored anything.
func latin1(bytes []byte) string {
	runes := make([]rune, len(bytes))
	for index, value := range bytes {
		runes[index] = rune(value)
	}
	return string(runes)
}
