package filesystem

import (
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"

	"google.golang.org/protobuf/types/known/timestamppb"
	wire "svc.example/envd/gen/filesystem"
	"svc.example/envd/internal/account"
	"svc.example/envd/internal/disk"
)

// readEntry describes one entry without following a link at its end.
func readEntry(name string, names account.Names) (*wire.EntryInfo, error) {
	info, err := os.Lstat(name)
	if err != nil {
		return nil, err
	}
	stat := info.Sys().(*syscall.Stat_t)
	entry := &wire.EntryInfo{
		Name:         text(path.Base(path.Clean(name))),
		Path:         text(name),
		Type:         fileType(info),
		Mode:         uint32(info.Mode().Perm()),
		Size:         info.Size(),
		Permissions:  formatPermissions(uint32(stat.Mode)),
		Owner:        text(names.User(stat.Uid)),
		Group:        text(names.Group(stat.Gid)),
		ModifiedTime: timestamppb.New(info.ModTime()),
	}
	switch {
	case info.Mode()&os.ModeSymlink != 0:
		describeTarget(entry, name)
	case info.Mode().IsRegular():
		entry.Metadata = disk.Metadata(name)
	}
	return entry, nil
}

// describeTarget lets type and mode of a link be its target's. A link that leads nowhere points at itself.
func describeTarget(entry *wire.EntryInfo, name string) {
	// The target is found by reading links. To follow them may be refused, and to look at them is not.
	target, err := filepath.EvalSymlinks(name)
	if err == nil {
		var info os.FileInfo
		if info, err = os.Lstat(target); err == nil {
			entry.Type = fileType(info)
			entry.Mode = uint32(info.Mode().Perm())
		}
	}
	if err != nil {
		target = name
	}
	target = text(target)
	entry.SymlinkTarget = &target
}

func fileType(info os.FileInfo) wire.FileType {
	switch {
	case info.Mode().IsRegular():
		return wire.FileType_FILE_TYPE_FILE
	case info.IsDir():
		return wire.FileType_FILE_TYPE_DIRECTORY
	}
	return wire.FileType_FILE_TYPE_UNSPECIFIED
}

// text makes a string that a message may hold: names on disk are bytes.
func text(name string) string { return strings.ToValidUTF8(name, "\uFFFD") }
