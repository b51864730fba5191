package filesystem

import (
	"strings"
	"syscall"
)

// formatPermissions returns the text form of a mode, kind bits included: `-rw-r--r--`, `drwxr-xr-x`, `Lrwxrwxrwx`,
// `dtrwxrwxrwx`.
func formatPermissions(mode uint32) string {
	var text strings.Builder
	kind := mode & syscall.S_IFMT
	// The order of these letters is the wire's.
	for _, letter := range []struct {
		shown bool
		text  byte
	}{
		{kind == syscall.S_IFDIR, 'd'},
		{kind == syscall.S_IFLNK, 'L'},
		{kind == syscall.S_IFBLK || kind == syscall.S_IFCHR, 'D'},
		{kind == syscall.S_IFIFO, 'p'},
		{kind == syscall.S_IFSOCK, 'S'},
		{mode&syscall.S_ISUID != 0, 'u'},
		{mode&syscall.S_ISGID != 0, 'g'},
		{kind == syscall.S_IFCHR, 'c'},
		{mode&syscall.S_ISVTX != 0, 't'},
	} {
		if letter.shown {
			text.WriteByte(letter.text)
		}
	}
	if text.Len() == 0 {
		if kind == syscall.S_IFREG {
			text.WriteByte('-')
		} else {
			text.WriteByte('?')
		}
	}
	for index, letter := range []byte("rwxrwxrwx") {
		if mode&(1<<(8-index)) == 0 {
			letter = '-'
		}
		text.WriteByte(letter)
	}
	return text.String()
}
