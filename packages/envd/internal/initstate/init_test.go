package initstate

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"svc.example/envd/internal/sandbox"
)

func TestParseNamesTheFieldAndNeverItsValue(t *testing.T) {
	for body, want := range map[string]string{
		`{`:                             "the body is not JSON",
		`[]`:                            "the body is not an object",
		`null`:                          "the body is not an object",
		`{"accessToken":7}`:             "accessToken is not a string",
		`{"envVars":[]}`:                "envVars is not an object",
		`{"envVars":{"A":7}}`:           "envVars.A is not a string",
		`{"hostname":"a b"}`:            "hostname is not a host name",
		`{"timestamp":"yesterday"}`:     "timestamp is not an RFC 3339 time",
		`{"quiesced":"yes"}`:            "quiesced is not a boolean",
		`{"caBundle":"hunter2 secret"}`: "caBundle is not one certificate as PEM",
	} {
		if _, err := parse([]byte(body)); err == nil || err.Error() != want {
			t.Errorf("%s: %v", body, err)
		}
	}
	for _, body := range []string{"", " ", "{}", `{"accessToken":null,"envVars":null,"quiesced":null,"unknown":1}`} {
		if request, err := parse([]byte(body)); err != nil || request.env != nil || request.quiesced != nil {
			t.Errorf("%q: %+v, %v", body, request, err)
		}
	}
}

func post(route *Route, body string) int {
	response := httptest.NewRecorder()
	route.ServeHTTP(response, httptest.NewRequest(http.MethodPost, "/init", strings.NewReader(body)))
	return response.Code
}

// A daemon that waits in a pool is sent such requests before the real one.
func TestAnInitWithoutAWordSetsNothingAndTheRealOneCounts(t *testing.T) {
	state := sandbox.NewSingle("/home/x")
	state.Apply(sandbox.Change{Env: map[string]string{"KEPT": "1"}})
	route := &Route{State: state}
	if post(route, "{}") != 204 || state.Env()["KEPT"] != "1" || state.DefaultUser() != "user" || state.Token().Required() {
		t.Error("an empty init changed something")
	}
	if post(route, `{"accessToken":"t","timestamp":"2000-01-01T00:00:00Z"}`) != 204 || !state.Token().Matches("t", true) {
		t.Error("the real init did not count")
	}
}

func TestAnOlderInitChangesNothing(t *testing.T) {
	state := sandbox.NewSingle("/home/x")
	route := &Route{State: state}
	for _, body := range []string{
		`{"envVars":{"A":"new"},"timestamp":"2000-01-01T00:00:02Z"}`,
		`{"envVars":{"A":"old"},"timestamp":"2000-01-01T00:00:01Z"}`,
	} {
		if status := post(route, body); status != 204 {
			t.Errorf("%s: %d", body, status)
		}
	}
	if got := state.Env()["A"]; got != "new" {
		t.Errorf("A is %s", got)
	}
}
