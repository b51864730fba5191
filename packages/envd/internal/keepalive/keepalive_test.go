package keepalive

import (
	"net/http"
	"testing"
	"time"
)

func TestInterval(t *testing.T) {
	for header, want := range map[string]time.Duration{
		"": 90 * time.Second, "5": 5 * time.Second, " 5 ": 5 * time.Second, "0": 90 * time.Second, "-3": 90 * time.Second,
		"x": 90 * time.Second, "1.5": 90 * time.Second, "99999999": 24 * time.Hour,
	} {
		if got := Interval(http.Header{"Keepalive-Ping-Interval": {header}}); got != want {
			t.Errorf("%q means %v, not %v", header, got, want)
		}
	}
}
