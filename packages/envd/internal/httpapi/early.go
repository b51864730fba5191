package httpapi

import (
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

// A call may end before its input does. The answer then goes out at once, says that the connection ends with it, and the
// rest of the input is read and thrown away: a connection that is closed with unread input is reset, and the caller may
// lose the answer.

// trackedBody knows whether a request has been read to its end.
type trackedBody struct {
	io.ReadCloser
	ended bool
}

func (b *trackedBody) Read(buffer []byte) (int, error) {
	count, err := b.ReadCloser.Read(buffer)
	if err == io.EOF {
		b.ended = true
	}
	return count, err
}

// earlyWriter adds `Connection: close` to an answer that begins before the request has ended.
type earlyWriter struct {
	http.ResponseWriter
	body  *trackedBody
	begun bool
}

func (w *earlyWriter) WriteHeader(status int) {
	w.begin()
	w.ResponseWriter.WriteHeader(status)
}

func (w *earlyWriter) Write(bytes []byte) (int, error) {
	w.begin()
	return w.ResponseWriter.Write(bytes)
}

func (w *earlyWriter) begin() {
	if w.begun {
		return
	}
	w.begun = true
	if !w.body.ended {
		w.Header().Set("Connection", "close")
	}
}

func (w *earlyWriter) Flush() {
	w.begin()
	w.ResponseWriter.(http.Flusher).Flush()
}

// Unwrap is for http.ResponseController.
func (w *earlyWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// answersEarly lets a handler answer while the request still comes in.
func answersEarly(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(response http.ResponseWriter, request *http.Request) {
		if request.Body == nil || request.ContentLength == 0 {
			handler.ServeHTTP(response, request)
			return
		}
		body := &trackedBody{ReadCloser: request.Body}
		request.Body = body
		http.NewResponseController(response).EnableFullDuplex()
		handler.ServeHTTP(&earlyWriter{ResponseWriter: response, body: body}, request)
	})
}

// lingerTime bounds how long the rest of an answered request is read.
const lingerTime = 30 * time.Second

// lingeringListener accepts connections that are closed only when their input has ended.
type lingeringListener struct{ *net.TCPListener }

func (l lingeringListener) Accept() (net.Conn, error) {
	conn, err := l.AcceptTCP()
	if err != nil {
		return nil, err
	}
	conn.SetKeepAliveConfig(net.KeepAliveConfig{Enable: true, Idle: time.Minute, Interval: 30 * time.Second})
	return &lingeringConn{TCPConn: conn}, nil
}

type lingeringConn struct {
	*net.TCPConn
	once sync.Once
}

// NetConn returns the connection that Close closes at once.
func (c *lingeringConn) NetConn() net.Conn { return c.TCPConn }

// Close ends the answer now, and the connection once the caller has ended it too.
func (c *lingeringConn) Close() error {
	c.once.Do(func() {
		if c.CloseWrite() != nil {
			c.TCPConn.Close()
			return
		}
		go func() {
			c.SetReadDeadline(time.Now().Add(lingerTime))
			io.Copy(io.Discard, c.TCPConn)
			c.TCPConn.Close()
		}()
	})
	return nil
}
