// Package logring keeps the latest output of processes, for GET /logs.
package logring

import (
	"bytes"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

const (
	maxBytes = 1 << 20
	// maxChunks bounds pieces of output that are not split into lines yet.
	maxChunks = 16_384
	// maxEntries bounds lines that are split and kept, read ones among them.
	maxEntries   = 4096
	maxLineBytes = 16 << 10
	// maxPage is below maxEntries, so that a page never pushes itself out.
	maxPage = 1000
	// mergedBytes is how far small pieces of one millisecond are put together.
	mergedBytes = 4096
)

// Fields say whose output an entry is. Part numbers the pieces of a line that is longer than 16 KiB, from 1.
type Fields struct {
	PID    int    `json:"pid"`
	Stream string `json:"stream"`
	Tag    string `json:"tag,omitempty"`
	Part   int    `json:"part,omitempty"`
}

// An Entry is one line.
type Entry struct {
	Seq       int    `json:"seq"`
	Timestamp string `json:"timestamp"`
	Level     string `json:"level"`
	Message   string `json:"message"`
	Fields    Fields `json:"fields"`
}

// A Page is what GET /logs answers. Next is what to pass as after next time; Dropped counts the lines after `after` that were
// lost before they could be read, and one without an end counts as one.
type Page struct {
	Entries []Entry `json:"entries"`
	Next    int     `json:"next"`
	Dropped int     `json:"dropped"`
}

type source struct {
	pid    int
	stream string
	tag    string
}

type chunk struct {
	source source
	at     int64 // ms since 1970
	bytes  []byte
	// ended: the source prints no more.
	ended bool
}

// A linePart is a line whose end has not come. Part is 0 while it is in one piece.
type linePart struct {
	at    int64
	bytes []byte
	part  int
}

// Ring keeps at most 1 MiB. Output is split into lines only when somebody asks, and only as many as are asked for, so that a
// program that prints much pays almost nothing.
type Ring struct {
	mutex   sync.Mutex
	now     func() int64
	chunks  []chunk
	entries []Entry
	partial map[source]linePart
	bytes   int
	lastSeq int
}

// New returns an empty ring.
func New() *Ring {
	return &Ring{now: func() int64 { return time.Now().UnixMilli() }, partial: map[source]linePart{}}
}

// Append keeps a copy of a piece of output.
func (r *Ring) Append(pid int, stream, tag string, data []byte) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	from, at := source{pid, stream, tag}, r.now()
	r.bytes += len(data)
	if last := len(r.chunks) - 1; last >= 0 && mergeable(&r.chunks[last], from, at, data) {
		r.chunks[last].bytes = append(r.chunks[last].bytes, data...)
	} else {
		r.chunks = append(r.chunks, chunk{source: from, at: at, bytes: bytes.Clone(data)})
	}
	r.trim()
}

// End says that a source prints no more: an unfinished line becomes an entry.
func (r *Ring) End(pid int, stream, tag string) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.chunks = append(r.chunks, chunk{source: source{pid, stream, tag}, at: r.now(), ended: true})
}

// Read returns entries with a number above after, oldest first, at most limit and at most 1000.
func (r *Ring) Read(after, limit int) Page {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	limit = min(limit, maxPage)
	r.trim()
	done := 0
	for done < len(r.chunks) && min(len(r.entries), r.lastSeq-after) < limit {
		if rest, left := r.split(r.chunks[done], limit); left {
			r.chunks[done] = rest
		} else {
			done++
		}
	}
	r.chunks = dropFirst(r.chunks, done)
	// Those that were read go first; what is about to be read is less than what may be kept.
	r.forget(max(0, len(r.entries)-maxEntries))
	first := r.lastSeq - len(r.entries) + 1
	start := min(len(r.entries), max(0, after+1-first))
	page := append([]Entry{}, r.entries[start:min(len(r.entries), start+limit)]...)
	next := r.lastSeq
	if len(page) > 0 {
		next = page[len(page)-1].Seq
	}
	return Page{page, next, max(0, first-1-after)}
}

func (r *Ring) forget(count int) {
	for _, entry := range r.entries[:count] {
		r.bytes -= len(entry.Message)
	}
	r.entries = dropFirst(r.entries, count)
}

func (r *Ring) trim() {
	gone, freed := 0, r.bytes
	for gone < len(r.entries) && freed > maxBytes {
		freed -= len(r.entries[gone].Message)
		gone++
	}
	r.forget(gone)
	gone = 0
	for gone < len(r.chunks) && (r.bytes > maxBytes || len(r.chunks)-gone > maxChunks) {
		dropped := r.chunks[gone]
		gone++
		// Lines that nobody read keep their numbers, so that the reader learns how many it missed.
		r.lastSeq += countLines(dropped.bytes)
		r.bytes -= len(dropped.bytes)
		delete(r.partial, dropped.source)
	}
	if gone > 0 {
		// Numbers have no gap among the lines that are kept.
		r.forget(len(r.entries))
		r.chunks = dropFirst(r.chunks, gone)
	}
}

func (r *Ring) emit(from source, at int64, line []byte, part int) {
	message := strings.ToValidUTF8(strings.TrimSuffix(string(line), "\r"), "\uFFFD")
	r.bytes += len(message)
	r.lastSeq++
	level := "error"
	if from.stream == "stdout" {
		level = "info"
	}
	timestamp := time.UnixMilli(at).UTC().Format("2006-01-02T15:04:05.000Z")
	r.entries = append(r.entries, Entry{r.lastSeq, timestamp, level, message, Fields{from.pid, from.stream, from.tag, part}})
}

// split takes up to most lines off a piece of output. It returns what is left of it, and whether anything is.
func (r *Ring) split(piece chunk, most int) (chunk, bool) {
	line, begun := r.partial[piece.source]
	delete(r.partial, piece.source)
	if piece.ended {
		if begun {
			r.emit(piece.source, line.at, line.bytes, line.part)
		}
		return chunk{}, false
	}
	if !begun {
		line = linePart{at: piece.at}
	}
	rest := piece.bytes
	for lines := 0; len(rest) > 0 && lines < most; lines++ {
		end := bytes.IndexByte(rest, '\n')
		taken := end
		if end < 0 {
			taken = len(rest)
		}
		whole := rest[:taken]
		if len(line.bytes) > 0 {
			whole = append(bytes.Clone(line.bytes), whole...)
		}
		switch {
		case len(whole) > maxLineBytes:
			// One piece of a long line; what was not used of this chunk comes next.
			cut := characterStart(whole, maxLineBytes)
			part := max(1, line.part)
			r.emit(piece.source, line.at, whole[:cut], part)
			used := max(0, cut-len(line.bytes))
			carried := bytes.Clone(whole[cut:max(cut, len(line.bytes))])
			r.bytes -= used
			rest = rest[used:]
			line, begun = linePart{line.at, carried, part + 1}, true
		case end < 0:
			r.bytes -= len(rest)
			r.partial[piece.source] = linePart{line.at, bytes.Clone(whole), line.part}
			return chunk{}, false
		default:
			r.emit(piece.source, line.at, whole, line.part)
			r.bytes -= end + 1
			rest = rest[end+1:]
			line, begun = linePart{at: piece.at}, false
		}
	}
	if begun {
		r.partial[piece.source] = line
	}
	return chunk{source: piece.source, at: piece.at, bytes: rest}, len(rest) > 0
}

func mergeable(last *chunk, from source, at int64, data []byte) bool {
	return !last.ended && last.at == at && last.source == from && len(last.bytes)+len(data) <= mergedBytes
}

// characterStart returns where a character begins, at the index or up to three bytes before it.
func characterStart(text []byte, at int) int {
	for back := range 4 {
		if utf8.RuneStart(text[at-back]) {
			return at - back
		}
	}
	return at
}

func countLines(text []byte) int {
	if len(text) == 0 {
		return 0
	}
	return max(1, bytes.Count(text, []byte{'\n'}))
}

// dropFirst removes elements and lets go of what they held. Their room is used up to the next growth of the list, which is
// cheaper than to move all others.
func dropFirst[T any](list []T, count int) []T {
	clear(list[:count])
	return list[count:]
}
