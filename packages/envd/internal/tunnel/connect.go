// Package tunnel joins a caller with what listens inside the sandbox.
package tunnel

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"sync"
)

var loopbackAuthority = regexp.MustCompile(`(?i)^(?:127\.0\.0\.1|localhost|\[::1\]):(\d{1,5})$`)

// Connect answers HTTP CONNECT for `127.0.0.1:<port>` (or `localhost`, `[::1]`) by a tunnel to what listens there inside, on IPv4
// first, else IPv6. Other targets get 403. Where nobody listens, the answer is 502.
func Connect(response http.ResponseWriter, request *http.Request) {
	port, ok := loopbackPort(request.RequestURI)
	if !ok {
		refuse(response, http.StatusForbidden)
		return
	}
	target, err := net.Dial("tcp4", net.JoinHostPort("127.0.0.1", port))
	if err != nil {
		target, err = net.Dial("tcp6", net.JoinHostPort("::1", port))
	}
	if err != nil {
		refuse(response, http.StatusBadGateway)
		return
	}
	client, buffered, err := http.NewResponseController(response).Hijack()
	if err != nil {
		target.Close()
		return
	}
	io.WriteString(client, "HTTP/1.1 200 Connection established\r\n\r\n")
	join(client, ahead(buffered.Reader, client), target)
}

// loopbackPort returns the port of a loopback authority.
func loopbackPort(authority string) (string, bool) {
	match := loopbackAuthority.FindStringSubmatch(authority)
	if match == nil {
		return "", false
	}
	port, _ := strconv.Atoi(match[1])
	return match[1], port >= 1 && port <= 65_535
}

func refuse(response http.ResponseWriter, status int) {
	response.Header().Set("Connection", "close")
	response.Header().Set("Content-Length", "0")
	response.WriteHeader(status)
}

// join carries bytes and ends both ways until both have ended. When one side breaks, so does the other.
func join(client net.Conn, fromClient io.Reader, target net.Conn) {
	var both sync.WaitGroup
	carry := func(to net.Conn, from io.Reader) {
		if _, err := io.Copy(to, from); err != nil {
			abort(client)
			abort(target)
			return
		}
		closeWrite(to)
	}
	both.Go(func() { carry(target, fromClient) })
	both.Go(func() { carry(client, target) })
	both.Wait()
	client.Close()
	target.Close()
}

// ahead reads what was buffered and then from the connection itself, so that the kernel can carry the rest.
func ahead(buffered *bufio.Reader, conn net.Conn) io.Reader {
	if buffered.Buffered() == 0 {
		return conn
	}
	first := make([]byte, buffered.Buffered())
	io.ReadFull(buffered, first)
	return io.MultiReader(bytes.NewReader(first), conn)
}

func closeWrite(conn net.Conn) {
	if half, ok := conn.(interface{ CloseWrite() error }); ok {
		half.CloseWrite()
	} else {
		conn.Close()
	}
}

// abort closes a connection at once, whatever is still to be read from it.
func abort(conn net.Conn) {
	if wrapped, ok := conn.(interface{ NetConn() net.Conn }); ok {
		conn = wrapped.NetConn()
	}
	conn.Close()
}
