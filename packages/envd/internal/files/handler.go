// Package files serves GET, HEAD and POST /files, and POST /files/compose, with the rights of the user of the request.
package files

import (
	"errors"
	"io"
	"net/http"
	"path"
	"strings"
	"time"

	"svc.example/envd/internal/account"
	"svc.example/envd/internal/paths"
	"svc.example/envd/internal/sandbox"
)

// A handler answers the requests of one sandbox.
type handler struct {
	state *sandbox.State
	now   func() time.Time
}

// A writtenFile is how the wire describes a file after a write.
type writtenFile struct {
	Path     string            `json:"path"`
	Name     string            `json:"name"`
	Type     string            `json:"type"`
	Metadata map[string]string `json:"metadata,omitempty"`
}

func describe(target string, metadata map[string]string) writtenFile {
	return writtenFile{Path: target, Name: path.Base(target), Type: "file", Metadata: metadata}
}

// Handler returns the routes of /files. Those of /files itself check the token or a signature; compose leaves the token to
// whoever calls.
func Handler(state *sandbox.State) http.Handler {
	return &handler{state: state, now: time.Now}
}

func (h *handler) ServeHTTP(response http.ResponseWriter, request *http.Request) {
	body := &upload{Request: request, query: parseQuery(request.URL.RawQuery)}
	err := h.route(response, body)
	if err == nil {
		return
	}
	if errors.Is(err, errAnswerBroken) || body.failure != nil {
		// It is too late for a status, or nobody is there to read it: the client must see that something is missing.
		panic(http.ErrAbortHandler)
	}
	// The rest of a refused upload is read and dropped, or the client might never come to see the answer.
	controller := http.NewResponseController(response)
	controller.EnableFullDuplex()
	toFailure(err, "").send(response)
	controller.Flush()
	body.discard()
}

func (h *handler) route(response http.ResponseWriter, request *upload) error {
	switch request.URL.Path + " " + request.Method {
	case "/files GET", "/files HEAD":
		return h.read(response, request)
	case "/files POST":
		return h.write(response, request)
	case "/files/compose POST":
		return h.compose(response, request)
	}
	switch request.URL.Path {
	case "/files":
		return notAllowed(request.Method, "GET, HEAD, POST")
	case "/files/compose":
		return notAllowed(request.Method, "POST")
	}
	return fail(http.StatusNotFound, "no route %s %s", request.Method, request.URL.Path)
}

func notAllowed(method, allowed string) error {
	refusal := &failure{status: http.StatusMethodNotAllowed, message: "method " + method + " not allowed"}
	refusal.header = map[string]string{"Allow": allowed}
	return refusal
}

// user returns the user of the query or body, else of Basic auth, else the default one.
func (h *handler) user(name string, header http.Header) (account.User, error) {
	if name == "" {
		user, err := h.state.RequestUser(header)
		if err != nil {
			return user, fail(http.StatusUnauthorized, "%s", err)
		}
		return user, nil
	}
	user, known := h.state.Users.Find(name)
	if !known {
		return user, fail(http.StatusUnauthorized, "unknown user %q", name)
	}
	return user, nil
}

func (h *handler) resolve(path string, user account.User) (string, error) {
	return paths.Resolve(path, user.Home, h.state.Workdir())
}

// An upload is a request whose body tells why it broke off.
type upload struct {
	*http.Request
	query query
	// failure is why the body could not be read to its end: the client left.
	failure error
	begun   bool
}

func (u *upload) Read(into []byte) (int, error) {
	u.begun = true
	length, err := u.Body.Read(into)
	if err != nil && err != io.EOF {
		u.failure = err
	}
	return length, err
}

// discard reads the rest of the body. A client that waits for a sign to send one will not get it.
func (u *upload) discard() {
	if u.begun || !strings.EqualFold(u.Header.Get("Expect"), "100-continue") {
		io.Copy(io.Discard, u.Body)
	}
}
