package files

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"

	"svc.example/envd/internal/filetest"
	"svc.example/envd/internal/sandbox"
)

// A served handler knows the users of this system.
type served struct {
	*httptest.Server
	t *testing.T
}

func serve(t *testing.T) served {
	server := httptest.NewServer(Handler(sandbox.New()))
	t.Cleanup(server.Close)
	return served{server, t}
}

func (s served) address(path, user string) string {
	return s.URL + "/files?" + url.Values{"path": {path}, "username": {user}}.Encode()
}

// answer returns status and text of a request.
func (s served) answer(request *http.Request) string {
	s.t.Helper()
	response, err := s.Client().Do(request)
	if err != nil {
		s.t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return fmt.Sprint(response.StatusCode, " ", string(body))
}

func (s served) write(path, user, content string) string {
	s.t.Helper()
	request, _ := http.NewRequest("POST", s.address(path, user), strings.NewReader(content))
	request.Header.Set("Content-Type", "application/octet-stream")
	return s.answer(request)
}

func (s served) read(path, user string) string {
	s.t.Helper()
	request, _ := http.NewRequest("GET", s.address(path, user), nil)
	request.Header.Set("Accept-Encoding", "identity")
	return s.answer(request)
}

func (s served) compose(body string) string {
	s.t.Helper()
	request, _ := http.NewRequest("POST", s.URL+"/files/compose", strings.NewReader(body))
	return s.answer(request)
}

var must = filetest.Must

func TestFilesAreWrittenAndReadWithTheRightsOfTheUser(t *testing.T) {
	home := filetest.OpenTo(t, 0o777)
	s := serve(t)
	must(t, os.WriteFile(home+"/secret", []byte("kept"), 0o600))
	must(t, os.Mkdir(home+"/closed", 0o700))
	must(t, os.WriteFile(home+"/closed/x", []byte("kept"), 0o644))
	must(t, os.Symlink(home+"/secret", home+"/link"))
	for name, got := range map[string]string{
		"reading":                s.read(home+"/secret", "nobody"),
		"reading in a directory": s.read(home+"/closed/x", "nobody"),
		"reading by a link":      s.read(home+"/link", "nobody"),
		"writing":                s.write(home+"/secret", "nobody", "evil"),
		"writing by a link":      s.write(home+"/link", "nobody", "evil"),
		"making in a directory":  s.write(home+"/closed/y", "nobody", "evil"),
		"making a directory":     s.write(home+"/closed/y/z", "nobody", "evil"),
		"joining": s.compose(fmt.Sprintf(`{"source_paths":[%q],"destination":%q,"username":"nobody"}`,
			home+"/secret", home+"/stolen")),
		"joining in a directory": s.compose(fmt.Sprintf(`{"source_paths":[%q],"destination":%q,"username":"nobody"}`,
			home+"/closed/x", home+"/stolen")),
	} {
		if !strings.HasPrefix(got, "400 ") || !strings.Contains(got, "permission denied") {
			t.Errorf("%s: %s", name, got)
		}
	}
	if got := s.read(home+"/secret", "root"); got != "200 kept" {
		t.Error(got)
	}
	if found, _ := os.ReadDir(home + "/closed"); len(found) != 1 {
		t.Error(found)
	}
}

func TestWhatIsWrittenBelongsToTheUser(t *testing.T) {
	home := filetest.OpenTo(t, 0o777)
	s := serve(t)
	s.write(home+"/made/for/it", "nobody", "x")
	for _, name := range []string{"/made", "/made/for", "/made/for/it"} {
		if got := filetest.Owner(t, home+name); got != 65534 {
			t.Errorf("%s belongs to %d", name, got)
		}
	}
	// Root takes files over.
	if got := s.write(home+"/made/for/it", "root", "y"); !strings.HasPrefix(got, "200") || filetest.Owner(t, home+"/made/for/it") != 0 {
		t.Error(got)
	}
	// Another user writes to a file of somebody else, and leaves it to them.
	must(t, os.WriteFile(home+"/shared", nil, 0o644))
	must(t, os.Chmod(home+"/shared", os.ModeSetuid|0o777))
	if got := s.write(home+"/shared", "nobody", "z"); !strings.HasPrefix(got, "200") || filetest.Owner(t, home+"/shared") != 0 {
		t.Error(got)
	}
	if info, _ := os.Stat(home + "/shared"); info.Mode()&os.ModeSetuid != 0 {
		t.Error("what another user writes stays a program of root")
	}
	got := s.compose(fmt.Sprintf(`{"source_paths":[%q],"destination":%q,"username":"nobody"}`, home+"/shared", home+"/joined"))
	if !strings.HasPrefix(got, "200") || filetest.Owner(t, home+"/joined") != 65534 {
		t.Error(got)
	}
}

func TestNothingIsJoinedThatCannotBeDeleted(t *testing.T) {
	home := filetest.OpenTo(t, os.ModeSticky|0o777)
	s := serve(t)
	must(t, os.Mkdir(home+"/fixed", 0o755))
	must(t, os.WriteFile(home+"/fixed/x", []byte("kept"), 0o644))
	must(t, os.WriteFile(home+"/of-root", []byte("kept"), 0o644))
	s.write(home+"/own", "nobody", "kept")
	for source, want := range map[string]string{"/fixed/x": "permission denied", "/of-root": "not permitted"} {
		got := s.compose(fmt.Sprintf(`{"source_paths":[%q,%q],"destination":%q,"username":"nobody"}`, home+"/own", home+source, home+"/joined"))
		if got != fmt.Sprintf(`400 {"code":400,"message":"%s: %s"}`, home+source, want) {
			t.Error(got)
		}
	}
	if found, _ := os.ReadDir(home); len(found) != 3 {
		t.Error(found)
	}
	got := s.compose(fmt.Sprintf(`{"source_paths":[%q,%q],"destination":%q}`, home+"/own", home+"/of-root", home+"/joined"))
	if content, _ := os.ReadFile(home + "/joined"); string(content) != "keptkept" {
		t.Error(got)
	}
}

// Hosts set fs.protected_regular, so root is refused O_CREAT for a file of somebody else in such a directory.
func TestFilesOfOthersInSharedDirectoriesAreReplaced(t *testing.T) {
	home := filetest.OpenTo(t, os.ModeSticky|0o777)
	s := serve(t)
	must(t, os.WriteFile(home+"/file", []byte("old"), 0o644))
	must(t, os.Chmod(home+"/file", 0o666))
	for _, user := range []string{"nobody", "root", "nobody"} {
		if got := s.write(home+"/file", user, user); !strings.HasPrefix(got, "200") {
			t.Error(user, got)
		}
		must(t, os.Chmod(home+"/file", 0o666))
		if got := s.read(home+"/file", "nobody"); got != "200 "+user {
			t.Error(got)
		}
	}
	// The user's own link is followed by the user, also to nothing.
	must(t, os.Symlink(home+"/linked", home+"/own"))
	must(t, os.Lchown(home+"/own", 65534, 65534))
	if got := s.write(home+"/own", "nobody", "x"); !strings.HasPrefix(got, "200") || filetest.Owner(t, home+"/linked") != 65534 {
		t.Error(got)
	}
}

func TestLinksThatOthersPlantedAreNotFollowed(t *testing.T) {
	home := filetest.OpenTo(t, os.ModeSticky|0o777)
	if rule, _ := os.ReadFile("/proc/sys/fs/protected_symlinks"); strings.TrimSpace(string(rule)) != "1" {
		t.Skip("fs.protected_symlinks is not 1")
	}
	s := serve(t)
	must(t, os.Mkdir(home+"/root", 0o755))
	must(t, os.WriteFile(home+"/root/secret", []byte("kept"), 0o644))
	must(t, os.Symlink(home+"/root/secret", home+"/planted"))
	must(t, os.Symlink(home+"/root/nothing", home+"/dangling"))
	for _, name := range []string{"/planted", "/dangling"} {
		must(t, os.Lchown(home+name, 1, 1))
	}
	must(t, os.Symlink(home+"/planted", home+"/behind"))
	must(t, os.Lchown(home+"/behind", 65534, 65534))
	for _, user := range []string{"nobody", "root"} {
		for _, name := range []string{"/planted", "/dangling", "/behind"} {
			if got := s.write(home+name, user, "evil"); !strings.Contains(got, "permission denied") {
				t.Errorf("%s writes to %s: %s", user, name, got)
			}
			if got := s.read(home+name, user); !strings.Contains(got, "permission denied") {
				t.Errorf("%s reads %s: %s", user, name, got)
			}
		}
	}
	if got := s.read(home+"/root/secret", "nobody"); got != "200 kept" {
		t.Error(got)
	}
	if found, _ := os.ReadDir(home + "/root"); len(found) != 1 {
		t.Error(found)
	}
}

func TestARefusedUploadIsAnsweredAndTheConnectionGoesOn(t *testing.T) {
	home := t.TempDir()
	s := serve(t)
	connection, err := net.Dial("tcp", s.Listener.Addr().String())
	must(t, err)
	defer connection.Close()
	answers := bufio.NewReader(connection)
	for range 2 {
		fmt.Fprintf(connection, "POST /files?path=%s HTTP/1.1\r\nHost: x\r\nContent-Type: application/octet-stream\r\nContent-Length: 8000000\r\n\r\n", home)
		if _, err := connection.Write(make([]byte, 8_000_000)); err != nil {
			t.Fatal(err)
		}
		response, err := http.ReadResponse(answers, nil)
		must(t, err)
		body, _ := io.ReadAll(response.Body)
		if response.StatusCode != 400 || !strings.Contains(string(body), "is a directory") || response.Close {
			t.Fatal(response.Status, string(body), response.Close)
		}
	}
}

func TestARefusedClientThatWaitsIsNotToldToSend(t *testing.T) {
	s := serve(t)
	connection, err := net.Dial("tcp", s.Listener.Addr().String())
	must(t, err)
	defer connection.Close()
	fmt.Fprintf(connection, "POST /files?path=x&username=nobody-of-this-name HTTP/1.1\r\nHost: x\r\nContent-Type: application/octet-stream\r\nContent-Length: 10\r\nExpect: 100-continue\r\n\r\n")
	response, err := http.ReadResponse(bufio.NewReader(connection), nil)
	must(t, err)
	if response.StatusCode != 401 || !response.Close {
		t.Error(response.Status, response.Close)
	}
}

func TestAnUploadThatBreaksOffIsNotAnswered(t *testing.T) {
	home := t.TempDir()
	s := serve(t)
	connection, err := net.Dial("tcp", s.Listener.Addr().String())
	must(t, err)
	defer connection.Close()
	fmt.Fprintf(connection, "POST /files?path=%s/f HTTP/1.1\r\nHost: x\r\nContent-Type: application/octet-stream\r\nContent-Length: 10\r\n\r\nhalf", home)
	must(t, connection.(*net.TCPConn).CloseWrite())
	if answer, _ := io.ReadAll(connection); len(answer) > 0 {
		t.Errorf("%q", answer)
	}
	if content, _ := os.ReadFile(home + "/f"); string(content) != "half" {
		t.Errorf("%q", content)
	}
}

func TestAFileThatIsCutWhileItIsSentBreaksTheAnswer(t *testing.T) {
	path := t.TempDir() + "/f"
	must(t, os.WriteFile(path, make([]byte, 64_000_000), 0o644))
	s := serve(t)
	request, _ := http.NewRequest("GET", s.address(path, ""), nil)
	request.Header.Set("Accept-Encoding", "identity")
	response, err := s.Client().Do(request)
	must(t, err)
	defer response.Body.Close()
	must(t, os.Truncate(path, 1000))
	if length, err := io.Copy(io.Discard, response.Body); err == nil {
		t.Errorf("%d bytes came as if they were all", length)
	}
}

func FuzzQuery(f *testing.F) {
	f.Add("path=a+b%20c&signature=%2B&x;y=%")
	f.Fuzz(func(t *testing.T, text string) {
		for name, value := range parseQuery(text) {
			if len(name)+len(value) > len(text) {
				t.Errorf("%q: %q=%q", text, name, value)
			}
			// A character that a client escapes comes as it was.
			again := parseQuery(url.QueryEscape(name) + "=" + url.QueryEscape(value))
			if again[name] != value {
				t.Errorf("%q=%q comes as %q", name, value, again)
			}
		}
	})
}
