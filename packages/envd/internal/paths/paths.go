// Package paths resolves paths of requests.
package paths

import (
	"fmt"
	"path"
	"strings"
)

// An InvalidError says why no file can have a path.
type InvalidError struct{ Reason string }

func (e *InvalidError) Error() string { return e.Reason }

// Resolve makes a path absolute. Empty is the working directory, else the home; `~` and `~/x` start at the home; relative
// paths are joined to the home and not to the working directory; absolute ones stay as they are. `~other` and a NUL byte
// are an InvalidError.
func Resolve(name, home, workdir string) (string, error) {
	switch {
	case strings.ContainsRune(name, 0):
		return "", &InvalidError{"path contains a NUL byte"}
	case name == "" && workdir != "":
		return Resolve(workdir, home, "")
	case name == "" || name == "~":
		return home, nil
	case strings.HasPrefix(name, "~/"):
		return path.Join(home, name[2:]), nil
	case name[0] == '~':
		return "", &InvalidError{fmt.Sprintf("path %q: other users' homes are not supported", name)}
	case name[0] == '/':
		return name, nil
	}
	return path.Join(home, name), nil
}
