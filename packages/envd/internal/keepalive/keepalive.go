// Package keepalive reads how often a client wants a sign of life on a stream that is idle.
package keepalive

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	fallback = 90 * time.Second
	most     = 24 * time.Hour
)

// Interval returns the seconds of the header `Keepalive-Ping-Interval`, at most a day. Anything but a positive number means 90.
func Interval(header http.Header) time.Duration {
	seconds, err := strconv.ParseUint(strings.TrimSpace(header.Get("Keepalive-Ping-Interval")), 10, 30)
	if err != nil || seconds == 0 {
		return fallback
	}
	return min(time.Duration(seconds)*time.Second, most)
}
