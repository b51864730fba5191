package httpapi

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime/debug"

	"svc.example/envd/internal/reply"
)

// answersFailures turns a defect of a handler into an answer. Where the answer has begun, it is broken off. The daemon's log has
// the story.
func answersFailures(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(response http.ResponseWriter, request *http.Request) {
		answer := &begunWriter{ResponseWriter: response}
		defer func() {
			failure := recover()
			if failure == nil {
				return
			}
			if failure != http.ErrAbortHandler {
				fmt.Fprintf(os.Stderr, "envd: %s %s failed: %v\n%s", request.Method, request.URL.Path, failure, debug.Stack())
			}
			if failure == http.ErrAbortHandler || answer.begun {
				panic(http.ErrAbortHandler)
			}
			reply.Error(response, http.StatusInternalServerError, "the daemon failed")
		}()
		handler.ServeHTTP(answer, request)
	})
}

// A begunWriter knows whether an answer has begun.
type begunWriter struct {
	http.ResponseWriter
	begun bool
}

func (w *begunWriter) WriteHeader(status int) {
	w.begun = w.begun || status >= http.StatusOK
	w.ResponseWriter.WriteHeader(status)
}

func (w *begunWriter) Write(bytes []byte) (int, error) {
	w.begun = true
	return w.ResponseWriter.Write(bytes)
}

// ReadFrom lets the kernel carry the content of files.
func (w *begunWriter) ReadFrom(source io.Reader) (int64, error) {
	w.begun = true
	return io.Copy(w.ResponseWriter, source)
}

func (w *begunWriter) Flush() { w.ResponseWriter.(http.Flusher).Flush() }

// Unwrap is for http.ResponseController.
func (w *begunWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
