package filesystem

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"syscall"
	"testing"

	"connectrpc.com/connect"
	wire "svc.example/envd/gen/filesystem"
	"svc.example/envd/gen/filesystem/filesystemconnect"
	"svc.example/envd/internal/filetest"
	"svc.example/envd/internal/sandbox"
)

func TestFormatPermissions(t *testing.T) {
	for mode, want := range map[uint32]string{
		0o100644: "-rw-r--r--",
		0o100000: "----------",
		0o040755: "drwxr-xr-x",
		0o120777: "Lrwxrwxrwx",
		0o041777: "dtrwxrwxrwx",
		0o104755: "urwxr-xr-x",
		0o102755: "grwxr-xr-x",
		0o020666: "Dcrw-rw-rw-",
		0o060660: "Drw-rw----",
		0o010600: "prw-------",
		0o140700: "Srwx------",
	} {
		if got := formatPermissions(mode); got != want {
			t.Errorf("mode %o reads %s, not %s", mode, got, want)
		}
	}
}

func TestTidyKeepsWhatALinkMayPrecede(t *testing.T) {
	for name, want := range map[string]string{
		"/": "/", "//a///b/./c/": "/a/b/c", "/a/../b/": "/a/../b", "/a..b//c": "/a..b/c",
	} {
		if got := tidy(name); got != want {
			t.Errorf("%s becomes %s, not %s", name, got, want)
		}
	}
}

// serve returns a client whose calls are those of a user of this system.
func serve(t *testing.T, user string) filesystemconnect.FilesystemClient {
	mux := http.NewServeMux()
	mux.Handle(filesystemconnect.NewFilesystemHandler(New(sandbox.New())))
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	asUser := connect.UnaryInterceptorFunc(func(next connect.UnaryFunc) connect.UnaryFunc {
		return func(ctx context.Context, request connect.AnyRequest) (connect.AnyResponse, error) {
			(&http.Request{Header: request.Header()}).SetBasicAuth(user, "")
			return next(ctx, request)
		}
	})
	return filesystemconnect.NewFilesystemClient(server.Client(), server.URL, connect.WithInterceptors(asUser))
}

var must = filetest.Must

func TestEverythingIsDoneWithTheRightsOfTheUser(t *testing.T) {
	home := filetest.OpenTo(t, 0o777)
	must(t, os.MkdirAll(home+"/closed/below", 0o700))
	must(t, os.WriteFile(home+"/closed/x", nil, 0o644))
	must(t, os.MkdirAll(home+"/shown", 0o755))
	must(t, os.WriteFile(home+"/shown/x", nil, 0o644))
	ctx, client := context.Background(), serve(t, "nobody")
	calls := map[string]func() error{
		"Stat": func() error {
			_, err := client.Stat(ctx, connect.NewRequest(&wire.StatRequest{Path: home + "/closed/x"}))
			return err
		},
		"MakeDir": func() error {
			_, err := client.MakeDir(ctx, connect.NewRequest(&wire.MakeDirRequest{Path: home + "/shown/deep/er"}))
			return err
		},
		"Move": func() error {
			_, err := client.Move(ctx, connect.NewRequest(&wire.MoveRequest{Source: home + "/shown/x", Destination: home + "/taken"}))
			return err
		},
		"Move into": func() error {
			must(t, os.WriteFile(home+"/own", nil, 0o666))
			_, err := client.Move(ctx, connect.NewRequest(&wire.MoveRequest{Source: home + "/own", Destination: home + "/shown/own"}))
			return err
		},
		"ListDir": func() error {
			_, err := client.ListDir(ctx, connect.NewRequest(&wire.ListDirRequest{Path: home + "/closed"}))
			return err
		},
		"Remove": func() error {
			_, err := client.Remove(ctx, connect.NewRequest(&wire.RemoveRequest{Path: home + "/shown"}))
			return err
		},
		"CreateWatcher": func() error {
			_, err := client.CreateWatcher(ctx, connect.NewRequest(&wire.CreateWatcherRequest{Path: home + "/closed"}))
			return err
		},
	}
	for name, call := range calls {
		err := call()
		if connect.CodeOf(err) != connect.CodeInternal {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := os.Stat(home + "/shown/x"); err != nil {
		t.Error(err)
	}
	listed, err := client.ListDir(ctx, connect.NewRequest(&wire.ListDirRequest{Path: home, Depth: 3}))
	must(t, err)
	var paths []string
	for _, entry := range listed.Msg.Entries {
		paths = append(paths, entry.Path[len(home)+1:])
	}
	if len(paths) != 4 || paths[0] != "closed" || paths[3] != "shown/x" {
		t.Error("what the user may see is", paths)
	}
	made, err := client.MakeDir(ctx, connect.NewRequest(&wire.MakeDirRequest{Path: home + "/a/b"}))
	must(t, err)
	if made.Msg.Entry.Owner != "nobody" || filetest.Owner(t, home+"/a") != 65534 {
		t.Error(made.Msg.Entry)
	}
}

func TestDirectoriesKeepTheGroupOfTheirParent(t *testing.T) {
	home := t.TempDir()
	must(t, os.Chmod(home, os.ModeSetgid|0o777))
	before := syscall.Umask(0o077)
	defer syscall.Umask(before)
	_, err := serve(t, "root").MakeDir(context.Background(), connect.NewRequest(&wire.MakeDirRequest{Path: home + "/a/b"}))
	must(t, err)
	for _, name := range []string{"/a", "/a/b"} {
		info, err := os.Stat(home + name)
		must(t, err)
		if info.Mode() != os.ModeDir|os.ModeSetgid|0o755 {
			t.Error(name, info.Mode())
		}
	}
}

func TestAPathIsWhatTheKernelMakesOfIt(t *testing.T) {
	home := t.TempDir()
	must(t, os.MkdirAll(home+"/real/deep", 0o755))
	must(t, os.WriteFile(home+"/real/x", nil, 0o644))
	must(t, os.Symlink("real/deep", home+"/link"))
	// Behind a link, `..` is the parent of its target.
	listed, err := serve(t, "root").ListDir(context.Background(), connect.NewRequest(&wire.ListDirRequest{Path: home + "/link/.."}))
	must(t, err)
	if len(listed.Msg.Entries) != 2 || listed.Msg.Entries[1].Path != home+"/link/../x" {
		t.Error(listed.Msg.Entries)
	}
}
