package httpapi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"svc.example/envd/internal/reply"
)

// maxMessageBytes is the largest message of either direction.
const maxMessageBytes = 64 << 20

// maxTimeoutMs is the longest time limit of a call. A longer one is none.
const maxTimeoutMs = 1<<31 - 1

var (
	unaryTypes  = []string{"application/json", "application/proto"}
	streamTypes = []string{"application/connect+json", "application/connect+proto"}
)

// RPCOptions are those of every service. Requests may come compressed; answers stay plain, as programs' output is not worth
// the processor time.
func RPCOptions() []connect.HandlerOption {
	return []connect.HandlerOption{
		connect.WithRequireConnectProtocolHeader(),
		connect.WithReadMaxBytes(maxMessageBytes),
		connect.WithSendMaxBytes(maxMessageBytes),
		connect.WithCompressMinBytes(math.MaxInt32),
		connect.WithInterceptors(strictStreams{}),
	}
}

// A procedure is its handler, and the content types of its messages.
type procedure struct {
	handler http.Handler
	types   []string
}

// ServeHTTP refuses what is no call of the Connect protocol, and serves the rest.
func (p procedure) ServeHTTP(response http.ResponseWriter, request *http.Request) {
	if request.Method != http.MethodPost {
		response.Header().Set("Allow", http.MethodPost)
		reply.Error(response, http.StatusMethodNotAllowed, fmt.Sprintf("method %s not allowed", request.Method))
		return
	}
	contentType, _, _ := strings.Cut(request.Header.Get("Content-Type"), ";")
	contentType = strings.ToLower(strings.TrimSpace(contentType))
	if !slices.Contains(p.types, contentType) {
		response.Header().Set("Accept-Post", strings.Join(p.types, ", "))
		reply.Error(response, http.StatusUnsupportedMediaType, fmt.Sprintf("content type %q not supported", contentType))
		return
	}
	// The library compares the type as it is written.
	request.Header.Set("Content-Type", contentType)
	if unlimited(request.Header.Get("Connect-Timeout-Ms")) {
		request.Header.Del("Connect-Timeout-Ms")
	}
	p.handler.ServeHTTP(response, request)
}

// unlimited tells whether a time limit is none: zero, or longer than what is supported. The library refuses malformed ones.
func unlimited(header string) bool {
	milliseconds, err := strconv.ParseUint(header, 10, 64)
	return err == nil && len(header) <= 10 && (milliseconds == 0 || milliseconds > maxTimeoutMs)
}

// proceduresOf yields the paths of a service's procedures, as it is described, and the content types of their messages.
func proceduresOf(service string) iter.Seq2[string, []string] {
	return func(yield func(string, []string) bool) {
		descriptor, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(service))
		if err != nil {
			panic(err) // The generated code of a service registers it.
		}
		methods := descriptor.(protoreflect.ServiceDescriptor).Methods()
		for index := range methods.Len() {
			method := methods.Get(index)
			types := unaryTypes
			if method.IsStreamingClient() || method.IsStreamingServer() {
				types = streamTypes
			}
			if !yield("/"+service+"/"+string(method.Name()), types) {
				return
			}
		}
	}
}

// strictStreams refuses what the library lets pass in streams, and only there: a call without the version of the protocol. It also
// gives a request that ends in the middle of a message the code of a malformed one; the library has `internal` for it, as if
// the daemon were to blame.
type strictStreams struct{}

func (strictStreams) WrapUnary(next connect.UnaryFunc) connect.UnaryFunc { return next }

func (strictStreams) WrapStreamingClient(next connect.StreamingClientFunc) connect.StreamingClientFunc {
	return next
}

func (strictStreams) WrapStreamingHandler(next connect.StreamingHandlerFunc) connect.StreamingHandlerFunc {
	return func(ctx context.Context, conn connect.StreamingHandlerConn) error {
		if conn.RequestHeader().Get("Connect-Protocol-Version") != "1" {
			return connect.NewError(connect.CodeInvalidArgument, errors.New(`the header Connect-Protocol-Version must be "1"`))
		}
		return next(ctx, strictConn{conn})
	}
}

type strictConn struct{ connect.StreamingHandlerConn }

func (c strictConn) Receive(message any) error {
	err := c.StreamingHandlerConn.Receive(message)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return connect.NewError(connect.CodeInvalidArgument, errors.New("the request ends in the middle of a message"))
	}
	return err
}
