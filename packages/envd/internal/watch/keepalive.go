package watch

import (
	"strconv"
	"strings"
	"time"
)

const (
	defaultKeepalive = 90 * time.Second
	maxKeepalive     = 24 * time.Hour
)

// KeepaliveInterval returns how often an idle stream gets a sign of life, by the header `Keepalive-Ping-Interval`. It is in
// seconds; anything but a positive number means 90.
func KeepaliveInterval(header string) time.Duration {
	seconds, err := strconv.ParseUint(strings.TrimSpace(header), 10, 30)
	if err != nil || seconds == 0 {
		return defaultKeepalive
	}
	return min(time.Duration(seconds)*time.Second, maxKeepalive)
}
