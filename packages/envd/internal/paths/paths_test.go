package paths

import (
	"errors"
	"path"
	"testing"
)

func TestResolve(t *testing.T) {
	for name, want := range map[string]string{
		"": "/home/ann", "~": "/home/ann", "~/": "/home/ann", "~/a/../b": "/home/ann/b", "a b": "/home/ann/a b",
		"./a": "/home/ann/a", "../bob": "/home/bob", "../../..": "/", "/x/../y/": "/x/../y/", "-rf": "/home/ann/-rf",
		"a~": "/home/ann/a~",
	} {
		if got, err := Resolve(name, "/home/ann", ""); err != nil || got != want {
			t.Errorf("Resolve(%q) = %q, %v; want %q", name, got, err, want)
		}
	}
}

func TestEmptyIsTheWorkingDirectory(t *testing.T) {
	for workdir, want := range map[string]string{"/work": "/work", "~/app": "/home/ann/app", "sub": "/home/ann/sub"} {
		if got, err := Resolve("", "/home/ann", workdir); err != nil || got != want {
			t.Errorf("Resolve with %q = %q, %v; want %q", workdir, got, err, want)
		}
	}
	if got, _ := Resolve("x", "/home/ann", "/work"); got != "/home/ann/x" {
		t.Errorf("a relative path starts at %q", got)
	}
}

func TestRefused(t *testing.T) {
	for _, name := range []string{"~bob", "~bob/x", "a\x00b", "/a\x00b"} {
		var invalid *InvalidError
		if _, err := Resolve(name, "/home/ann", ""); !errors.As(err, &invalid) {
			t.Errorf("Resolve(%q): %v", name, err)
		}
	}
}

func FuzzResolve(f *testing.F) {
	f.Add("~/a", "/home/ann", "/work")
	f.Fuzz(func(t *testing.T, name, home, workdir string) {
		if !path.IsAbs(home) {
			t.Skip()
		}
		if got, err := Resolve(name, home, workdir); err == nil && !path.IsAbs(got) {
			t.Errorf("Resolve(%q, %q, %q) = %q", name, home, workdir, got)
		}
	})
}
