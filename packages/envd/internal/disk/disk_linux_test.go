package disk

import (
	"errors"
	"maps"
	"os"
	"strings"
	"syscall"
	"testing"

	"svc.example/envd/internal/filetest"
)

var must = filetest.Must

func TestParent(t *testing.T) {
	for path, want := range map[string]string{
		"/": "/", "/a": "/", "//a": "/", "/a/b": "/a", "/a/b//": "/a", "/a//b": "/a", "/a/../b": "/a/..", "/a/.": "/a",
	} {
		if got := Parent(path); got != want {
			t.Errorf("the parent of %s is %s, not %s", path, got, want)
		}
	}
}

func TestMakeDirectories(t *testing.T) {
	home := t.TempDir()
	must(t, os.WriteFile(home+"/file", nil, 0o644))
	must(t, os.Symlink("nowhere", home+"/broken"))
	for range 2 {
		must(t, MakeDirectories(home+"/a/b/../c/."))
	}
	if info, err := os.Stat(home + "/a/c"); err != nil || info.Mode() != os.ModeDir|0o755 {
		t.Error(info, err)
	}
	for name, want := range map[string]error{"/file": syscall.ENOTDIR, "/file/x": syscall.ENOTDIR, "/broken": syscall.EEXIST} {
		if err := MakeDirectories(home + name); !errors.Is(err, want) {
			t.Errorf("%s: %v, not %v", name, err, want)
		}
	}
}

func TestOpenRegularHoldsNobody(t *testing.T) {
	home := t.TempDir()
	must(t, syscall.Mkfifo(home+"/fifo", 0o644))
	for path, want := range map[string]error{
		home + "/fifo": ErrNotRegular, "/dev/null": ErrNotRegular, home: ErrIsDirectory, home + "/nothing": syscall.ENOENT,
	} {
		if _, _, err := OpenRegular(path); !errors.Is(err, want) {
			t.Errorf("%s: %v, not %v", path, err, want)
		}
	}
}

func TestMetadataIsReplaced(t *testing.T) {
	path := t.TempDir() + "/f"
	file, err := os.Create(path)
	must(t, err)
	defer file.Close()
	if Metadata(path) != nil {
		t.Error("a new file has metadata")
	}
	first := map[string]string{"color": "light blue", "b": "", "long": strings.Repeat("x", 2000)}
	if err := ReplaceMetadata(file, first); errors.Is(err, syscall.ENOTSUP) {
		t.Skip("the temporary directory takes no extended attributes")
	} else if err != nil {
		t.Fatal(err)
	}
	if got := Metadata(path); !maps.Equal(got, first) {
		t.Error(got)
	}
	must(t, syscall.Setxattr(path, "user.other", []byte("stays"), 0))
	must(t, syscall.Setxattr(path, "user.svc.raw", []byte{0xe9}, 0))
	if got := Metadata(path)["raw"]; got != "é" {
		t.Errorf("%q", got)
	}
	must(t, ReplaceMetadata(file, map[string]string{"color": "red"}))
	if got := Metadata(path); !maps.Equal(got, map[string]string{"color": "red"}) {
		t.Error(got)
	}
	must(t, ReplaceMetadata(file, nil))
	if length, _ := syscall.Getxattr(path, "user.other", make([]byte, 9)); Metadata(path) != nil || length != 5 {
		t.Error("what is no metadata is gone, or metadata is not")
	}
}

func TestTextsAreWithoutPaths(t *testing.T) {
	_, err := os.Open("/nothing/here")
	if got := Text(err); got != "no such file or directory" {
		t.Error(got)
	}
	if got := Text(&os.PathError{Op: "x", Path: "/y", Err: syscall.EMLINK}); got != "too many links" {
		t.Error(got)
	}
	if got := Text(ErrNotRegular); got != "is not a regular file" {
		t.Error(got)
	}
}
