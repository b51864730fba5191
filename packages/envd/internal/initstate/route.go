package initstate

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"svc.example/envd/internal/reply"
	"svc.example/envd/internal/sandbox"
	"svc.example/envd/internal/trust"
)

const maxBodyBytes = 4 << 20

// A Route takes POST /init.
type Route struct {
	State *sandbox.State
	Run   trust.Runner
	// Restored is called in a copy of the daemon, before requests go on.
	Restored func()

	mutex sync.Mutex
	// acceptedAt is the time of the newest request so far.
	acceptedAt time.Time
}

func (r *Route) ServeHTTP(response http.ResponseWriter, request *http.Request) {
	values, given := request.Header["X-Access-Token"]
	shown := strings.Join(values, ", ")
	token := r.State.Token()
	if !token.Matches(shown, given) {
		reply.Error(response, http.StatusUnauthorized, "the access token is missing or wrong")
		return
	}
	original := token.MatchesPrevious(shown, given)
	body, err := io.ReadAll(http.MaxBytesReader(response, request.Body, maxBodyBytes))
	if err != nil {
		message := "the body broke off"
		if tooLarge := new(http.MaxBytesError); errors.As(err, &tooLarge) {
			message = "the body is larger than 4194304 bytes"
		}
		reply.Error(response, http.StatusBadRequest, message)
		return
	}
	change, err := parse(body)
	if err != nil {
		reply.Error(response, http.StatusBadRequest, err.Error())
		return
	}
	if err := r.apply(request.Context(), change, original); err != nil {
		reply.Error(response, http.StatusInternalServerError, err.Error())
		return
	}
	response.WriteHeader(http.StatusNoContent)
}

// apply sets the given fields. A request that is older than the last accepted changes nothing. The caller has proved the token
// already; original says that it was the token from before a copy of this memory was made.
func (r *Route) apply(ctx context.Context, request *initRequest, original bool) error {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if !request.at.IsZero() {
		if request.at.Before(r.acceptedAt) {
			return nil
		}
		r.acceptedAt = request.at
	}
	_, single := r.State.SingleUser()
	change := sandbox.Change{Workdir: request.workdir, Env: request.env}
	if request.user != "" {
		change.User = &request.user
	}
	// Nothing else is taken over when it fails: who asks gets an error and asks again.
	if request.caBundle != nil && !single {
		variables, err := trust.Authority(ctx, *request.caBundle, "/", r.Run)
		if err != nil {
			return err
		}
		change.TrustEnv = variables
	}
	closing := request.quiesced != nil && *request.quiesced
	if closing {
		r.State.Gate().Close()
	}
	if request.accessToken != "" {
		if closing {
			r.State.Token().ReplaceForImage(request.accessToken)
		} else {
			r.State.Token().Set(request.accessToken)
		}
	}
	r.State.Apply(change)
	if request.hostname != "" && !single {
		// Not every sandbox has a host name of its own to change.
		os.WriteFile("/proc/sys/kernel/hostname", []byte(request.hostname), 0)
	}
	if request.quiesced != nil && !closing {
		if !original {
			r.Restored()
		}
		r.State.Gate().Open(original)
	}
	return nil
}
