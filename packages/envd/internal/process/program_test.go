package process

import (
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"svc.example/envd/internal/account"
)

func TestCandidatesComeInTheOrderOfPath(t *testing.T) {
	home := t.TempDir()
	for path, mode := range map[string]os.FileMode{"a/tool": 0o755, "b/tool": 0o755, "c/tool": 0o644, "here": 0o755} {
		name := home + "/" + path
		os.MkdirAll(name[:strings.LastIndex(name, "/")], 0o755)
		if err := os.WriteFile(name, nil, mode); err != nil {
			t.Fatal(err)
		}
	}
	os.MkdirAll(home+"/d/tool", 0o755)
	for _, test := range []struct {
		command, path string
		found         []string
		refused       bool
	}{
		{"tool", home + "/a:" + home + "/b", []string{home + "/a/tool", home + "/b/tool"}, false},
		{"tool", home + "/none:" + home + "/d:" + home + "/b", []string{home + "/b/tool"}, false},
		{"tool", home + "/c", nil, true},
		{"tool", "b:a", []string{"b/tool", "a/tool"}, false},
		{"here", "/none::", []string{"./here", "./here"}, false},
		{"./here", "", []string{"./here"}, false},
		{"/no/such", home, []string{"/no/such"}, false},
		{"none", home, nil, false},
	} {
		found, refused := candidates(test.command, test.path, home)
		if !slices.Equal(found, test.found) || refused != test.refused {
			t.Errorf("%s in %s: %v %v", test.command, test.path, found, refused)
		}
	}
}

func TestRefusalsNameProgramErrnoAndAdvice(t *testing.T) {
	for _, test := range []struct {
		path string
		err  error
		code int
		text string
	}{
		{"", syscall.ENOENT, 127, "tool: no such file or directory (ENOENT): it is in no directory of PATH: install it, or give its path"},
		{"", syscall.EACCES, 126, "tool: permission denied (EACCES): a file of this name in PATH is not executable by this user: chmod +x makes it so"},
		{"/no/such/tool", syscall.ENOTDIR, 127, "tool: not a directory (ENOTDIR): nothing is there: check the path, or install it"},
		{"/etc/passwd", syscall.ENOEXEC, 126, "tool: exec format error (ENOEXEC): it begins with no #! line, and the shell that would run it, /bin/sh, is missing"},
		{"/etc/passwd", syscall.ETXTBSY, 126, "tool: text file busy (ETXTBSY): it cannot be run"},
		{"/etc/passwd", syscall.ENOENT, 127, "tool: no such file or directory (ENOENT): the file is there, but the loader that it is linked for is not: install the C library that it was built with"},
	} {
		if got := refuse("tool", test.path, "/", test.err); got.code != test.code || got.message != test.text {
			t.Errorf("%v: %+v", test, got)
		}
	}
}

func TestDirectoryDefaultsToTheHomeAndTheRoot(t *testing.T) {
	home := t.TempDir()
	user := account.User{Home: home}
	os.Mkdir(home+"/work", 0o755)
	for _, test := range []struct{ requested, workdir, home, want string }{
		{"", "", home, home},
		{"", "/tmp", home, "/tmp"},
		{"", "~/work", home, home + "/work"},
		{"work", "/tmp", home, home + "/work"},
		{"~", "", home, home},
		{"/", "", home, "/"},
		{"", "", "/no/such/home", "/"},
		{"", "/no/such", home, ""},
		{"~", "", "/no/such/home", ""},
		{"~other", "", home, ""},
		{"a\x00b", "", home, ""},
	} {
		user.Home = test.home
		got, err := directory(test.requested, test.workdir, user)
		if got != test.want || (err == nil) != (test.want != "") {
			t.Errorf("%+v: %q %v", test, got, err)
		}
	}
}
