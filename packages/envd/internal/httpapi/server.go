package httpapi

import (
	"context"
	"log"
	"net"
	"net/http"
	"os"
	"time"
)

// idleTimeout is how long kept-alive connections of the gateway may rest.
const idleTimeout = 640 * time.Second

// Listen opens the daemon's socket. It is plain TCP: a socket of Multipath TCP cannot be stored in a checkpoint.
func Listen(address string) (net.Listener, error) {
	var config net.ListenConfig
	config.SetMultipathTCP(false)
	listener, err := config.Listen(context.Background(), "tcp", address)
	if err != nil {
		return nil, err
	}
	return lingeringListener{listener.(*net.TCPListener)}, nil
}

// Serve answers requests until the listener fails.
func Serve(listener net.Listener, handler http.Handler) error {
	server := &http.Server{
		Handler:        handler,
		IdleTimeout:    idleTimeout,
		MaxHeaderBytes: 64 << 10,
		ErrorLog:       log.New(os.Stderr, "envd: ", 0),
	}
	return server.Serve(listener)
}
