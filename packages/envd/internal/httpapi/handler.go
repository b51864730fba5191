// Package httpapi answers the daemon's HTTP requests: access, routes, upgrades, and RPC as it goes over HTTP/1.1.
package httpapi

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"svc.example/envd/internal/initstate"
	"svc.example/envd/internal/logring"
	"svc.example/envd/internal/metrics"
	"svc.example/envd/internal/reply"
	"svc.example/envd/internal/sandbox"
	"svc.example/envd/internal/trust"
	"svc.example/envd/internal/tunnel"
)

// Parts are what the handler leads to.
type Parts struct {
	State *sandbox.State
	Logs  *logring.Ring
	// Services are the handlers of generated services by the prefix of their paths ("/process.Process/").
	Services map[string]http.Handler
	// Restored is called in a copy of the daemon, before requests go on.
	Restored func()
	// Files answers /files and what is below it.
	Files http.Handler
	// Run runs a program to its end.
	Run trust.Runner
	// SFTP speaks on an upgraded connection.
	SFTP tunnel.SFTP
}

type handler struct {
	Parts
	routes     map[string]map[string]http.HandlerFunc
	procedures map[string]procedure
	upgrades   *tunnel.Upgrades
}

// NewHandler returns the handler of all requests. It stays up when one of them fails.
func NewHandler(parts Parts) http.Handler {
	h := &handler{Parts: parts, procedures: map[string]procedure{}}
	for prefix, service := range parts.Services {
		for path, types := range proceduresOf(strings.Trim(prefix, "/")) {
			h.procedures[path] = procedure{answersEarly(service), types}
		}
	}
	h.upgrades = &tunnel.Upgrades{State: parts.State, SFTP: parts.SFTP}
	h.routes = map[string]map[string]http.HandlerFunc{
		"/health": {http.MethodGet: func(response http.ResponseWriter, _ *http.Request) {
			response.Header().Set("Cache-Control", "no-store")
			response.WriteHeader(http.StatusNoContent)
		}},
		"/init": {http.MethodPost: (&initstate.Route{
			State: parts.State, Run: parts.Run, Restored: parts.Restored,
		}).ServeHTTP},
		"/envs":    {http.MethodGet: noStore(h.envs)},
		"/metrics": {http.MethodGet: noStore(h.metrics)},
		"/logs":    {http.MethodGet: noStore(h.logs)},
	}
	return answersFailures(h)
}

// exempt are requests that check for themselves: /files by header or signature, /init by its own rule.
var exempt = map[string]bool{"GET /health": true, "GET /files": true, "POST /files": true, "POST /init": true}

// neverHeld are paths that answer while a copy of this memory is made.
var neverHeld = map[string]bool{"/init": true, "/health": true}

func (h *handler) ServeHTTP(response http.ResponseWriter, request *http.Request) {
	if request.Method == http.MethodConnect {
		tunnel.Connect(response, request)
		return
	}
	if answerCORS(response, request) {
		return
	}
	path := request.URL.Path
	if !strings.HasPrefix(path, "/") {
		reply.Error(response, http.StatusBadRequest, "the request target is not a path")
		return
	}
	admitted, byToken := h.admits(request)
	if !admitted {
		reply.Error(response, http.StatusUnauthorized, "the access token is missing or wrong")
		return
	}
	if !neverHeld[path] {
		if !h.State.Gate().Pass(request.Context(), func() { reassure(response, request) }) {
			// The request belongs to the daemon that this one is a copy of: nobody waits for an answer here.
			panic(http.ErrAbortHandler)
		}
		if byToken {
			h.renewToken(request)
		}
	}
	switch procedure, known := h.procedures[path]; {
	case tunnel.IsUpgrade(request):
		h.upgrades.ServeHTTP(response, request)
	case known:
		procedure.ServeHTTP(response, request)
	case path == "/files" || strings.HasPrefix(path, "/files/"):
		h.Files.ServeHTTP(response, request)
	default:
		h.route(response, request)
	}
}

// admits checks the access token. It returns whether the request may pass, and whether it showed the right token for it.
func (h *handler) admits(request *http.Request) (admitted, byToken bool) {
	token := h.State.Token()
	if !token.Required() {
		return true, false
	}
	values, given := request.Header["X-Access-Token"]
	if token.Matches(strings.Join(values, ", "), given) {
		return true, true
	}
	return exempt[request.Method+" "+request.URL.Path], false
}

// reassure answers a caller that waits for `100 Continue` before it sends its body: the request will be served, but not yet.
func reassure(response http.ResponseWriter, request *http.Request) {
	if strings.EqualFold(request.Header.Get("Expect"), "100-continue") {
		response.WriteHeader(http.StatusContinue)
	}
}

// renewToken puts the present token into a request that came with a right one. While it was held the token may have been
// replaced, and the routes of files check it again.
func (h *handler) renewToken(request *http.Request) {
	if token, set := h.State.Token().Reveal(); set {
		request.Header.Set("X-Access-Token", token)
	}
}

func (h *handler) route(response http.ResponseWriter, request *http.Request) {
	route, known := h.routes[request.URL.Path]
	if !known {
		reply.Error(response, http.StatusNotFound, fmt.Sprintf("no route %s %s", request.Method, request.URL.Path))
		return
	}
	if serve, allowed := route[request.Method]; allowed {
		serve(response, request)
		return
	}
	for method := range route {
		response.Header().Set("Allow", method)
	}
	reply.Error(response, http.StatusMethodNotAllowed, fmt.Sprintf("method %s not allowed", request.Method))
}

func (h *handler) envs(response http.ResponseWriter, _ *http.Request) {
	env := h.State.Env()
	if env == nil {
		env = map[string]string{}
	}
	reply.JSON(response, http.StatusOK, env)
}

func (h *handler) metrics(response http.ResponseWriter, request *http.Request) {
	reply.JSON(response, http.StatusOK, metrics.Read(request.Context()))
}

func (h *handler) logs(response http.ResponseWriter, request *http.Request) {
	after := numberOf(request, "after", 0)
	limit := max(1, numberOf(request, "limit", 1000))
	reply.JSON(response, http.StatusOK, h.Logs.Read(after, limit))
}

func noStore(serve http.HandlerFunc) http.HandlerFunc {
	return func(response http.ResponseWriter, request *http.Request) {
		response.Header().Set("Cache-Control", "no-store")
		serve(response, request)
	}
}

// numberOf reads a number of the query; what is none counts as not given.
func numberOf(request *http.Request, name string, fallback int) int {
	text := request.URL.Query().Get(name)
	number, err := strconv.ParseUint(text, 10, 50)
	if err != nil || len(text) > 15 {
		return fallback
	}
	return int(number)
}
