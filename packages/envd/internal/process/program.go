package process

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// candidates returns the paths that a command may be run by, in the order of trying. Paths relative to the directory stay
// relative. It must run as the user. What the user may not look at is no candidate, and `refused` tells that there was such.
func candidates(command, path, directory string) (found []string, refused bool) {
	if strings.Contains(command, "/") {
		return []string{command}, false
	}
	for folder := range strings.SplitSeq(path, ":") {
		if folder == "" {
			folder = "."
		}
		candidate := folder + "/" + command
		info, err := os.Stat(within(directory, candidate))
		switch {
		case err != nil:
			refused = refused || errors.Is(err, syscall.EACCES)
		case !info.Mode().IsRegular():
		case info.Mode().Perm()&0o111 == 0:
			refused = true
		default:
			found = append(found, candidate)
		}
	}
	return found, refused
}

func within(directory, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(directory, path)
}

// A refusal is a program that cannot be run. It ends as a shell would end it.
type refusal struct {
	code    int
	message string
}

const (
	exitNotFound      = 127
	exitNotExecutable = 126
)

// refuse explains why a command is not run: by the error of its last candidate, or without one because PATH has none.
// It must run as the user.
func refuse(command, path, directory string, err error) refusal {
	errno, _ := err.(syscall.Errno)
	code, advice := exitNotExecutable, "it cannot be run"
	file := within(directory, path)
	switch {
	case path == "" && errno == syscall.EACCES:
		advice = "a file of this name in PATH is not executable by this user: chmod +x makes it so"
	case path == "":
		code, errno = exitNotFound, syscall.ENOENT
		advice = "it is in no directory of PATH: install it, or give its path"
	case errno == syscall.ENOENT && isFile(file):
		code = exitNotFound
		advice = interpreterAdvice(file)
	case errno == syscall.ENOENT || errno == syscall.ENOTDIR:
		code = exitNotFound
		advice = "nothing is there: check the path, or install it"
	case errno == syscall.EACCES && isDirectory(file):
		advice = "it is a directory"
	case errno == syscall.EACCES:
		advice = "this user may not execute it: chmod +x, and check the directories above it"
	case errno == syscall.ENOEXEC && isBinary(file):
		advice = "it is built for another kind of machine"
	case errno == syscall.ENOEXEC:
		advice = "it begins with no #! line, and the shell that would run it, " + shell + ", is missing"
	}
	return refusal{code, fmt.Sprintf("%s: %s (%s): %s", command, errno.Error(), unix.ErrnoName(errno), advice)}
}

const shell = "/bin/sh"

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

func isDirectory(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// isBinary tells whether the first line of a file is no text, as shells do.
func isBinary(path string) bool {
	line, _, _ := bytes.Cut(head(path), []byte("\n"))
	return bytes.IndexByte(line, 0) >= 0
}

func interpreterAdvice(path string) string {
	line, _, _ := bytes.Cut(head(path), []byte("\n"))
	if script, ok := bytes.CutPrefix(line, []byte("#!")); ok {
		if bytes.HasSuffix(line, []byte("\r")) {
			return "the file is there, but its first line ends with a carriage return: save it with LF line ends"
		}
		if words := strings.Fields(string(script)); len(words) > 0 {
			return fmt.Sprintf("the file is there, but its interpreter %s is not: install it", words[0])
		}
	}
	return "the file is there, but the loader that it is linked for is not: install the C library that it was built with"
}

// head returns the beginning of a file, nothing of what is no file: opening that could wait for ever.
func head(path string) []byte {
	if !isFile(path) {
		return nil
	}
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil
	}
	defer file.Close()
	begin := make([]byte, 256)
	size, _ := file.Read(begin)
	return begin[:size]
}
