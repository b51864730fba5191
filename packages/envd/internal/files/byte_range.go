package files

import (
	"strconv"
	"strings"
)

// A byteRange has both ends in it.
type byteRange struct{ first, last int64 }

func (r byteRange) length() int64 { return r.last - r.first + 1 }

// A rangeKind is what a Range header asks for.
type rangeKind int

const (
	// whole: there is none, it has another unit, or it has several ranges, which are answered with everything.
	whole rangeKind = iota
	part
	// bad: it is malformed, or nothing of the content is in it.
	bad
)

const (
	someInside = iota
	noneInside
	notARange
)

// parseRange reads a Range header for content of a size.
func parseRange(header string, size int64) (rangeKind, byteRange) {
	header = strings.TrimSpace(header)
	if header == "" {
		return whole, byteRange{}
	}
	unit, set, found := strings.Cut(header, "=")
	switch {
	case !found || !isWord(unit):
		return bad, byteRange{}
	case !strings.EqualFold(unit, "bytes"):
		return whole, byteRange{}
	}
	var first byteRange
	count, satisfiable := 0, 0
	for item := range strings.SplitSeq(set, ",") {
		if item = strings.TrimSpace(item); item == "" {
			continue
		}
		count++
		one, verdict := parseOneRange(item, size)
		switch verdict {
		case notARange:
			return bad, byteRange{}
		case someInside:
			satisfiable++
			first = one
		}
	}
	switch {
	case satisfiable == 0:
		return bad, byteRange{}
	case count > 1:
		return whole, byteRange{}
	}
	return part, first
}

func parseOneRange(text string, size int64) (byteRange, int) {
	from, to, found := strings.Cut(text, "-")
	first, firstGiven, firstOK := parsePosition(from)
	last, lastGiven, lastOK := parsePosition(to)
	switch {
	case !found || !firstOK || !lastOK || (!firstGiven && !lastGiven):
		return byteRange{}, notARange
	case !firstGiven:
		length := min(last, size)
		if length == 0 {
			return byteRange{}, noneInside
		}
		return byteRange{size - length, size - 1}, someInside
	case lastGiven && last < first:
		return byteRange{}, notARange
	case first >= size:
		return byteRange{}, noneInside
	case !lastGiven:
		last = size - 1
	}
	return byteRange{first, min(last, size-1)}, someInside
}

// parsePosition reads up to 15 digits, or nothing.
func parsePosition(text string) (value int64, given, ok bool) {
	if text == "" {
		return 0, false, true
	}
	parsed, err := strconv.ParseUint(text, 10, 63)
	return int64(parsed), true, err == nil && len(text) <= 15
}

func isWord(text string) bool {
	return text != "" && strings.IndexFunc(text, func(letter rune) bool {
		return letter != '_' && !(letter >= '0' && letter <= '9') && !(letter|0x20 >= 'a' && letter|0x20 <= 'z')
	}) == -1
}
