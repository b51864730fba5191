package httpapi

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"svc.example/envd/internal/logring"
	"svc.example/envd/internal/sandbox"
)

// failing panics as a defect would.
func failing(http.ResponseWriter, *http.Request) { panic("EIO: i/o error") }

func serve(t *testing.T, method, target string) *http.Response {
	t.Helper()
	handler := NewHandler(Parts{
		State: sandbox.NewSingle(t.TempDir()),
		Logs:  logring.New(),
		Files: http.HandlerFunc(failing),
	})
	recorder := httptest.NewRecorder()
	handler.ServeHTTP(recorder, httptest.NewRequest(method, target, strings.NewReader("content")))
	return recorder.Result()
}

func TestAFailingRouteIsAnsweredWithTheRecord(t *testing.T) {
	for _, call := range [][2]string{{"GET", "/files?path=/f"}, {"POST", "/files?path=/f"}, {"POST", "/files/compose"}} {
		response := serve(t, call[0], call[1])
		var record struct {
			Code    int
			Message string
		}
		if err := json.NewDecoder(response.Body).Decode(&record); err != nil {
			t.Fatal(err)
		}
		if response.StatusCode != 500 || record.Code != 500 || record.Message == "" || strings.Contains(record.Message, "EIO") {
			t.Errorf("%v: %d, %+v", call, response.StatusCode, record)
		}
	}
}

func TestRoutesThatAreNotThereAndMethodsThatAreNotAllowed(t *testing.T) {
	for call, want := range map[[2]string]int{
		{"GET", "/health"}: 204, {"GET", "/envs"}: 200, {"POST", "/envs"}: 405, {"GET", "/nothing"}: 404, {"GET", "/logs?limit=x"}: 200,
	} {
		if response := serve(t, call[0], call[1]); response.StatusCode != want {
			t.Errorf("%v: %d, want %d", call, response.StatusCode, want)
		}
	}
}
