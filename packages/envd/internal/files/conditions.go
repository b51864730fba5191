package files

import (
	"net/http"
	"strings"
	"time"
)

// Validators are what the conditional headers of a request are compared with.
type validators struct {
	// etag is strong and has its quotes.
	etag     string
	modified time.Time
}

// evaluate returns the status that the conditions demand instead of the content, by RFC 9110 section 13.2.2; 0 when they
// demand none.
func (v validators) evaluate(header http.Header) int {
	if tags, given := joined(header, "If-Match"); given {
		if !v.matches(tags, true) {
			return http.StatusPreconditionFailed
		}
	} else if since, given := date(header, "If-Unmodified-Since"); given && v.seconds().After(since) {
		return http.StatusPreconditionFailed
	}
	if tags, given := joined(header, "If-None-Match"); given {
		if v.matches(tags, false) {
			return http.StatusNotModified
		}
		return 0
	}
	if since, given := date(header, "If-Modified-Since"); given && !v.seconds().After(since) {
		return http.StatusNotModified
	}
	return 0
}

// rangeApplies tells whether a range still belongs to the client's copy.
func (v validators) rangeApplies(header http.Header) bool {
	condition, given := joined(header, "If-Range")
	if !given {
		return true
	}
	if strings.HasPrefix(condition, `"`) || strings.HasPrefix(condition, "W/") {
		return condition == v.etag
	}
	since, given := date(header, "If-Range")
	return given && since.Equal(v.seconds())
}

func (v validators) seconds() time.Time { return v.modified.Truncate(time.Second) }

func (v validators) matches(list string, strong bool) bool {
	if strings.TrimSpace(list) == "*" {
		return true
	}
	for item := range strings.SplitSeq(list, ",") {
		item = strings.TrimSpace(item)
		if !strong {
			item = strings.TrimPrefix(item, "W/")
		}
		if item == v.etag {
			return true
		}
	}
	return false
}

func isConditional(header http.Header) bool {
	for _, name := range []string{"If-Match", "If-None-Match", "If-Modified-Since", "If-Unmodified-Since", "If-Range"} {
		if _, given := header[name]; given {
			return true
		}
	}
	return false
}

// joined returns all lines of a header as one.
func joined(header http.Header, name string) (value string, given bool) {
	lines, given := header[name]
	return strings.Join(lines, ", "), given
}

func date(header http.Header, name string) (time.Time, bool) {
	value, _ := joined(header, name)
	parsed, err := http.ParseTime(value)
	return parsed, err == nil
}
