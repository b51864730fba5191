package filesystem

import (
	"context"
	"errors"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"
	"unicode/utf8"

	wire "svc.example/envd/gen/filesystem"
	"svc.example/envd/internal/account"
	"svc.example/envd/internal/disk"
)

// A listing is one walk over a tree.
type listing struct {
	names   account.Names
	entries []*wire.EntryInfo
}

// list describes what is in a directory, depth first in the order of the bytes of names, to a number of levels below it.
// A link to a directory is followed at the root alone. What vanishes during the walk is left out, and so is the content of
// directories that cannot be read.
func list(ctx context.Context, directory string, depth uint32, names account.Names) ([]*wire.EntryInfo, error) {
	walk := listing{names: names}
	if err := walk.add(ctx, tidy(directory), depth); err != nil {
		return nil, err
	}
	return walk.entries, nil
}

func (l *listing) add(ctx context.Context, directory string, depth uint32) error {
	found, err := namesIn(directory)
	if err != nil {
		return err
	}
	for _, name := range found {
		if err := ctx.Err(); err != nil {
			return err
		}
		// A message cannot hold such a name, and no call could name the entry. SFTP shows it.
		if !utf8.ValidString(name) {
			continue
		}
		entry, err := readEntry(strings.TrimSuffix(directory, "/")+"/"+name, l.names)
		if hasVanished(err) {
			continue
		}
		if err != nil {
			return err
		}
		l.entries = append(l.entries, entry)
		if depth <= 1 || entry.Type != wire.FileType_FILE_TYPE_DIRECTORY || entry.SymlinkTarget != nil {
			continue
		}
		err = l.add(ctx, entry.Path, depth-1)
		if err != nil && !hasVanished(err) && !errors.Is(err, syscall.EACCES) {
			return err
		}
	}
	return nil
}

func namesIn(directory string) ([]string, error) {
	open, err := os.OpenFile(disk.Inside(directory), os.O_RDONLY|syscall.O_DIRECTORY, 0)
	if err != nil {
		return nil, err
	}
	defer open.Close()
	names, err := open.Readdirnames(-1)
	slices.Sort(names)
	return names, err
}

func hasVanished(err error) bool {
	return errors.Is(err, syscall.ENOENT) || errors.Is(err, syscall.ENOTDIR)
}

// tidy takes needless slashes and dots away. It leaves a path with `..` alone, which a link may precede.
func tidy(name string) string {
	if strings.Contains(name, "/..") {
		return strings.TrimRight(name, "/")
	}
	return path.Clean(name)
}
