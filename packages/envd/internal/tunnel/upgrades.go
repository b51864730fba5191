package tunnel

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
	"svc.example/envd/internal/account"
	"svc.example/envd/internal/reply"
	"svc.example/envd/internal/sandbox"
)

// connectTimeout is the longest that a target may take to accept a connection.
const connectTimeout = 30 * time.Second

// SFTP serves a session of the user until the stream ends.
type SFTP func(user account.User, stream io.ReadWriteCloser)

// Upgrades turn a request into a stream of bytes: `/tunnel?host=H&port=P` or `?socket=PATH` (`Upgrade: tcp`) leads to what
// listens there, as seen from inside; `/sftp` (`Upgrade: sftp`) speaks SFTP version 3. What cannot be reached is 404.
type Upgrades struct {
	State *sandbox.State
	SFTP  SFTP
}

// IsUpgrade tells whether a request asks for one of the protocols here on its connection. Others count as not asked for, as HTTP
// wants it: clients offer `h2c` with any request.
func IsUpgrade(request *http.Request) bool {
	switch strings.ToLower(request.Header.Get("Upgrade")) {
	case "tcp", "sftp":
	default:
		return false
	}
	for word := range strings.SplitSeq(strings.Join(request.Header["Connection"], ","), ",") {
		if strings.EqualFold(strings.TrimSpace(word), "upgrade") {
			return true
		}
	}
	return false
}

func (u *Upgrades) ServeHTTP(response http.ResponseWriter, request *http.Request) {
	protocol := strings.ToLower(request.Header.Get("Upgrade"))
	path := request.URL.Path
	switch {
	case request.Method != http.MethodGet:
		refuseUpgrade(response, http.StatusBadRequest, "only GET of a path can be upgraded")
	case path == "/tunnel" && protocol == "tcp":
		u.tunnel(response, request)
	case path == "/sftp" && protocol == "sftp":
		u.sftp(response, request)
	default:
		refuseUpgrade(response, http.StatusNotFound, fmt.Sprintf("no route upgrades %s to %s", path, protocol))
	}
}

func refuseUpgrade(response http.ResponseWriter, status int, message string) {
	response.Header().Set("Connection", "close")
	reply.Error(response, status, message)
}

func (u *Upgrades) sftp(response http.ResponseWriter, request *http.Request) {
	user, err := u.State.RequestUser(request.Header)
	if err != nil {
		refuseUpgrade(response, http.StatusUnauthorized, err.Error())
		return
	}
	client, reader, err := accept(response, "sftp")
	if err != nil {
		return
	}
	defer client.Close()
	u.SFTP(user, stream{reader, client})
}

// stream reads what was buffered and then the connection.
type stream struct {
	io.Reader
	net.Conn
}

func (s stream) Read(buffer []byte) (int, error) { return s.Reader.Read(buffer) }

func (u *Upgrades) tunnel(response http.ResponseWriter, request *http.Request) {
	network, address, ok := targetOf(request)
	if !ok {
		refuseUpgrade(response, http.StatusBadRequest,
			"the query needs a host and a port from 1 to 65535, or an absolute path as socket")
		return
	}
	dialer := net.Dialer{Timeout: connectTimeout}
	target, err := dialer.DialContext(request.Context(), network, address)
	if err != nil {
		refuseUpgrade(response, http.StatusNotFound, reasonOf(err, address))
		return
	}
	client, reader, err := accept(response, "tcp")
	if err != nil {
		target.Close()
		return
	}
	join(client, reader, target)
}

// reasonOf names the error of the system, which is the same in every language.
func reasonOf(err error, address string) string {
	var errno syscall.Errno
	if errors.As(err, &errno) {
		return fmt.Sprintf("connect %s %s", unix.ErrnoName(errno), address)
	}
	return err.Error()
}

func targetOf(request *http.Request) (network, address string, ok bool) {
	query := request.URL.Query()
	if path := query.Get("socket"); strings.HasPrefix(path, "/") && !strings.ContainsRune(path, 0) {
		return "unix", path, true
	}
	host, port := query.Get("host"), query.Get("port")
	number, err := strconv.ParseUint(port, 10, 16)
	return "tcp", net.JoinHostPort(host, port), err == nil && host != "" && number >= 1
}

// accept takes the connection over.
func accept(response http.ResponseWriter, protocol string) (net.Conn, io.Reader, error) {
	client, buffered, err := http.NewResponseController(response).Hijack()
	if err != nil {
		return nil, nil, err
	}
	client.SetDeadline(time.Time{})
	fmt.Fprintf(client, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: %s\r\n\r\n", protocol)
	return client, ahead(buffered.Reader, client), nil
}
