package process

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"svc.example/envd/internal/account"
	"svc.example/envd/internal/paths"
)

// directory returns the directory that a program starts in, absolute. Empty is the sandbox's default, else the home, and
// the root where that home is missing. It must run as the user, whose rights decide.
func directory(requested, workdir string, user account.User) (string, error) {
	path, err := paths.Resolve(requested, user.Home, workdir)
	if err != nil {
		return "", err
	}
	err = enter(path)
	if errors.Is(err, fs.ErrNotExist) && requested == "" && workdir == "" {
		return "/", nil
	}
	switch {
	case err == nil:
		return path, nil
	case errors.Is(err, fs.ErrNotExist):
		return "", fmt.Errorf("working directory %q does not exist", path)
	case errors.Is(err, syscall.ENOTDIR):
		return "", fmt.Errorf("working directory %q is not a directory", path)
	case errors.Is(err, fs.ErrPermission):
		return "", fmt.Errorf("working directory %q: permission denied", path)
	}
	var failed *fs.PathError
	if errors.As(err, &failed) {
		err = failed.Err
	}
	return "", fmt.Errorf("working directory %q: %w", path, err)
}

// enter tells whether a directory may be entered: the entry of itself is found by those alone who may.
func enter(path string) error {
	_, err := os.Stat(path + "/.")
	return err
}
