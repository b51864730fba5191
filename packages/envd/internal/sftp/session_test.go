package sftp

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"svc.example/envd/internal/account"
	"svc.example/envd/internal/filetest"
	"svc.example/envd/internal/sandbox"
)

func number(value uint32) []byte { return binary.BigEndian.AppendUint32(nil, value) }

func text(value string) []byte { return append(number(uint32(len(value))), value...) }

func message(kind byte, fields ...[]byte) []byte {
	body := append([]byte{kind}, bytes.Join(fields, nil)...)
	return append(number(uint32(len(body))), body...)
}

// A client speaks to a session in its home.
type client struct {
	net.Conn
	t     *testing.T
	ended chan error
}

func start(t *testing.T, home string, user account.User) *client {
	ours, theirs := net.Pipe()
	user.Home = home
	c := &client{ours, t, make(chan error, 1)}
	go func() { c.ended <- Serve(sandbox.New(), user, theirs) }()
	c.ask(typeInit, number(3))
	t.Cleanup(func() {
		ours.Close()
		<-c.ended
	})
	return c
}

var must = filetest.Must

// ask returns the type of the answer, and its body behind the number.
func (c *client) ask(kind byte, fields ...[]byte) (byte, []byte) {
	c.t.Helper()
	if _, err := c.Write(message(kind, fields...)); err != nil {
		c.t.Fatal(err)
	}
	head := make([]byte, 4)
	if _, err := io.ReadFull(c, head); err != nil {
		c.t.Fatal(err)
	}
	body := make([]byte, binary.BigEndian.Uint32(head))
	if _, err := io.ReadFull(c, body); err != nil {
		c.t.Fatal(err)
	}
	if len(body) < 5 {
		return body[0], nil
	}
	return body[0], body[5:]
}

// status asks for what is answered with a status, and returns that.
func (c *client) status(kind byte, fields ...[]byte) uint32 {
	c.t.Helper()
	answer, body := c.ask(kind, append([][]byte{number(7)}, fields...)...)
	if answer != 101 {
		c.t.Fatalf("request %d is answered with %d", kind, answer)
	}
	return binary.BigEndian.Uint32(body)
}

// open returns a handle as it is sent back.
func (c *client) open(path string, flags uint32, attributes ...[]byte) []byte {
	c.t.Helper()
	if attributes == nil {
		attributes = [][]byte{number(0)}
	}
	answer, body := c.ask(typeOpen, append([][]byte{number(1), text(path), number(flags)}, attributes...)...)
	if answer != 102 {
		c.t.Fatalf("%s is not opened: %q", path, body)
	}
	return body
}

const (
	flagRead, flagWrite, flagAppend, flagCreate, flagExclusive = 1, 2, 4, 8, 32
	statusOK, statusNoSuchFile, statusDenied, statusFailure    = 0, 2, 3, 4
	statusUnsupported                                          = 8
)

func TestModesOfNewFilesAreTheClients(t *testing.T) {
	home := t.TempDir()
	c := start(t, home, account.User{Name: "root"})
	c.open("script", flagWrite|flagCreate, number(hasSize|hasMode), make([]byte, 8), number(0o100750))
	c.open("plain", flagWrite|flagCreate)
	old := syscall.Umask(0)
	syscall.Umask(old)
	for name, want := range map[string]os.FileMode{"script": 0o750, "plain": 0o666} {
		info, err := os.Stat(filepath.Join(home, name))
		if err != nil || info.Mode() != want&^os.FileMode(old) {
			t.Error(name, info.Mode(), err)
		}
	}
}

func TestReadingWritingAndAppending(t *testing.T) {
	home := t.TempDir()
	c := start(t, home, account.User{Name: "root"})
	handle := c.open("file", flagRead|flagWrite|flagCreate)
	at := func(position uint32) []byte { return append(number(0), number(position)...) }
	if c.status(6, handle, at(6), text("world")) != statusOK || c.status(6, handle, at(0), text("hello ")) != statusOK {
		t.Error("writing fails")
	}
	if kind, data := c.ask(5, number(1), handle, at(3), number(5)); kind != 103 || string(data[4:]) != "lo wo" {
		t.Errorf("%d %q", kind, data)
	}
	if c.status(5, handle, at(11), number(5)) != 1 {
		t.Error("the end of the file is not told")
	}
	if c.status(4, handle) != statusOK || c.status(4, handle) != statusFailure {
		t.Error("a handle is closed once")
	}
	more := c.open("file", flagWrite|flagAppend)
	c.status(6, more, at(0), text("!"))
	if content, _ := os.ReadFile(filepath.Join(home, "file")); string(content) != "hello world!" {
		t.Errorf("%q", content)
	}
}

func TestTheUserOfTheSessionDecides(t *testing.T) {
	home := filetest.OpenTo(t, 0o777)
	os.WriteFile(filepath.Join(home, "secret"), []byte("kept"), 0o600)
	os.WriteFile(filepath.Join(home, "program"), []byte("x"), 0o777)
	os.Chmod(filepath.Join(home, "program"), os.ModeSetuid|0o777)
	os.Mkdir(filepath.Join(home, "closed"), 0o700)
	c := start(t, home, filetest.Nobody)
	none := number(0)
	for name, got := range map[string]uint32{
		"opening a file of root":     c.status(typeOpen, text("secret"), number(flagRead), none),
		"listing a directory":        c.status(11, text("closed")),
		"making a file in it":        c.status(typeOpen, text("closed/x"), number(flagWrite|flagCreate), none),
		"changing a mode":            c.status(9, text("secret"), number(hasMode), number(0o666)),
		"changing an owner":          c.status(9, text("secret"), number(hasOwner), number(65534), number(65534)),
		"making a directory in it":   c.status(14, text("closed/x"), none),
		"renaming what is in it":     c.status(18, text("closed/x"), text("y")),
		"linking what is not one's":  c.status(200, text("hardlink@openssh.com"), text("secret"), text("y")),
		"looking at what is in it":   c.status(7, text("closed/x")),
		"removing what is in it":     c.status(13, text("closed/x")),
		"following a link into it":   c.status(19, text("closed/x")),
		"removing a directory in it": c.status(15, text("closed/x")),
	} {
		// fs.protected_hardlinks decides about the link.
		if got != statusDenied {
			t.Errorf("%s has status %d", name, got)
		}
	}
	handle := c.open("own", flagWrite|flagCreate)
	c.status(6, handle, make([]byte, 8), text("x"))
	c.status(14, text("directory"), none)
	c.status(20, text("own"), text("link"))
	for _, name := range []string{"own", "directory", "link"} {
		if owner := filetest.Owner(t, filepath.Join(home, name)); owner != 65534 {
			t.Errorf("%s belongs to %d", name, owner)
		}
	}
	// Not cut, as that takes the bit away by itself.
	c.status(6, c.open("program", flagWrite), make([]byte, 8), text("y"))
	if info, _ := os.Stat(filepath.Join(home, "program")); info.Mode()&os.ModeSetuid != 0 {
		t.Error("what another user writes stays a program of root")
	}
}

func TestFailuresAreAnsweredAndTheSessionContinues(t *testing.T) {
	home := t.TempDir()
	c := start(t, home, account.User{Name: "root"})
	os.WriteFile(filepath.Join(home, "there"), []byte("kept"), 0o644)
	syscall.Mkfifo(filepath.Join(home, "fifo"), 0o644)
	none, zero := number(0), make([]byte, 8)
	for _, row := range []struct {
		kind   byte
		want   uint32
		fields [][]byte
	}{
		{7, statusNoSuchFile, [][]byte{text("missing")}},
		{7, statusNoSuchFile, [][]byte{text("there/below")}},
		{7, statusFailure, [][]byte{text("nul\x00byte")}},
		{3, statusFailure, [][]byte{text("fifo"), number(flagRead), none}},
		{3, statusFailure, [][]byte{text("fifo"), number(flagWrite), none}},
		{3, statusFailure, [][]byte{text("there"), number(0), none}},
		{3, statusFailure, [][]byte{text("there"), number(flagWrite | flagCreate | flagExclusive), none}},
		{14, statusFailure, [][]byte{text("there"), none}},
		{18, statusFailure, [][]byte{text("fifo"), text("there")}},
		{5, statusFailure, [][]byte{text("0"), zero, number(1)}},
		{9, statusFailure, [][]byte{text("there"), number(hasSize), bytes.Repeat([]byte{255}, 8)}},
		{9, 5, [][]byte{text("there"), number(hasSize)}},
		{200, statusUnsupported, [][]byte{text("__proto__")}},
		{99, statusUnsupported, nil},
		{2, statusUnsupported, [][]byte{text("much more of it")}},
	} {
		if got := c.status(row.kind, row.fields...); got != row.want {
			t.Errorf("request %d of %q: status %d, not %d", row.kind, row.fields, got, row.want)
		}
	}
	if content, _ := os.ReadFile(filepath.Join(home, "there")); string(content) != "kept" {
		t.Errorf("%q", content)
	}
}

func TestBrokenMessagesEndTheSession(t *testing.T) {
	for name, broken := range map[string][]byte{
		"empty":                    number(0),
		"too long":                 number(0x7fffffff),
		"longer than its message":  message(7, number(1), number(0xffffffff)),
		"an open without flags":    message(typeOpen, number(1), text("x")),
		"an open of a long path":   message(typeOpen, number(1), number(0xfffffff0), number(1), number(0)),
		"text of another protocol": []byte("GET / HTTP/1.1\r\n\r\n"),
	} {
		c := start(t, t.TempDir(), account.User{Name: "root"})
		go io.Copy(io.Discard, c)
		c.Write(broken)
		if err := <-c.ended; err == nil {
			t.Errorf("%s: the session ended without an error", name)
		}
		c.ended <- nil
	}
}

// FuzzSession sends anything, among it requests that open and change files of an empty directory.
func FuzzSession(f *testing.F) {
	for _, sent := range [][]byte{
		message(typeOpen, number(1), text("x"), number(flagWrite|flagCreate), number(hasMode), number(0o644)),
		bytes.Join([][]byte{
			message(typeOpen, number(1), text("x"), number(flagRead|flagWrite|flagCreate), number(0)),
			message(6, number(2), text("1"), make([]byte, 8), text("data")),
			message(8, number(3), text("1")),
			message(10, number(4), text("1"), number(hasSize), make([]byte, 8)),
			message(4, number(5), text("1")),
		}, nil),
		bytes.Join([][]byte{message(11, number(1), text(".")), message(12, number(2), text("1")), message(5, number(3), text("1"), make([]byte, 12))}, nil),
		message(200, number(1), text("statvfs@openssh.com"), text(".")),
		message(99, number(1), text("x")),
	} {
		f.Add(sent)
	}
	f.Fuzz(func(t *testing.T, sent []byte) {
		// Paths that are absolute, or lead out of the directory, would be those of this machine.
		if bytes.Contains(sent, []byte("/")) || bytes.Contains(sent, []byte("..")) {
			return
		}
		ours, theirs := net.Pipe()
		ended := make(chan error, 1)
		go func() {
			ended <- Serve(sandbox.New(), account.User{Name: "root", Home: t.TempDir()}, theirs)
		}()
		go io.Copy(io.Discard, ours)
		ours.Write(sent)
		ours.Close()
		<-ended
	})
}
