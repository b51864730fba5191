package process

import (
	"slices"
	"sync"
)

// The streams that a piece of output comes from.
const (
	stdout stream = iota
	stderr
	terminal
)

type stream uint8

const (
	// keptBytes is the memory that the output of one process may keep. What a connected reader still has to get is kept
	// beyond it.
	keptBytes = 1024 * 1024
	// blockOverheadBytes is what a block costs beside its bytes.
	blockOverheadBytes = 192
	// bufferBytes is the size of the buffers that output is read into, and the most that an event has of a stream.
	bufferBytes = 32 * 1024
	// terminalBytes is the most that an event has of a terminal.
	terminalBytes = 16 * 1024
	// wholeBufferBytes is the size from which a block is a whole buffer.
	wholeBufferBytes = 24 * 1024
)

// A buffer is what one read fills. Full ones become blocks without a copy, and serve again once those are dropped.
type buffer [bufferBytes]byte

var buffers = sync.Pool{New: func() any { return new(buffer) }}

// A block is a run of output of one stream.
type block struct {
	stream stream
	// bytes have the length that is used and the capacity that is held.
	bytes []byte
	// offset counts the bytes of output before it.
	offset int64
	// costBefore is the cost of all blocks before it, dropped ones included.
	costBefore int64
	// buffer is what bytes lie in, when it is to be used again.
	buffer *buffer
	// readers counts those that look at the bytes right now.
	readers int
	dropped bool
}

func (b *block) cost() int64 { return int64(cap(b.bytes)) + blockOverheadBytes }

// recycle gives the buffer back once nobody needs it.
func (b *block) recycle() {
	if b.dropped && b.readers == 0 && b.buffer != nil {
		buffers.Put(b.buffer)
		b.buffer, b.bytes = nil, nil
	}
}

// keptOutput is the latest output of one process, numbered by the bytes that came before. Readers share it, each with a
// cursor of its own: what a cursor has not read stays, everything else may be dropped to keep within the bounds.
//
// The caller holds the lock of the service for every method here and of cursor.
type keptOutput struct {
	budget  *budget
	blocks  []*block
	cursors []*cursor
	// first is the number of blocks[0].
	first int64
	// end counts the bytes of output so far.
	end int64
	// costEnd is the cost of all blocks, dropped ones included.
	costEnd int64
	// cost is the memory that is held.
	cost int64
}

// append adds a piece. With a buffer the bytes are its beginning, and it becomes the output's unless append returns it.
func (o *keptOutput) append(from stream, bytes []byte, in *buffer) (unused *buffer) {
	last, offered := o.last(), in
	if last != nil && last.stream != from {
		last = nil
	}
	if last != nil {
		room := min(len(bytes), cap(last.bytes)-len(last.bytes))
		last.bytes = append(last.bytes, bytes[:room]...)
		o.end += int64(room)
		if bytes = bytes[room:]; room > 0 {
			offered = nil
		}
	}
	unused = in
	if len(bytes) > 0 {
		// There is room for more where pieces of the same stream follow each other.
		size := len(bytes)
		if last != nil {
			size = max(size, min(mostOf(from), 2*cap(last.bytes)))
		}
		added := newBlock(from, bytes, size, offered)
		o.add(added)
		o.end += int64(len(bytes))
		if added.buffer == in {
			unused = nil
		}
	}
	for o.cost > keptBytes && o.dropOldest() {
	}
	return unused
}

func mostOf(from stream) int {
	if from == terminal {
		return terminalBytes
	}
	return bufferBytes
}

// newBlock returns a block that has room for so many bytes. Large ones are buffers: the given one, if there is one.
func newBlock(from stream, bytes []byte, size int, in *buffer) *block {
	if size < wholeBufferBytes {
		return &block{stream: from, bytes: append(make([]byte, 0, size), bytes...)}
	}
	if in == nil {
		in = buffers.Get().(*buffer)
		copy(in[:], bytes)
	}
	return &block{stream: from, bytes: in[:len(bytes)], buffer: in}
}

func (o *keptOutput) last() *block {
	if len(o.blocks) == 0 {
		return nil
	}
	return o.blocks[len(o.blocks)-1]
}

func (o *keptOutput) add(added *block) {
	added.offset, added.costBefore = o.end, o.costEnd
	o.blocks = append(o.blocks, added)
	o.costEnd += added.cost()
	o.charge(added.cost())
}

func (o *keptOutput) charge(bytes int64) {
	o.cost += bytes
	o.budget.charge(o, bytes)
}

// dropOldest drops the oldest block. It returns false when there is none that every reader has read.
func (o *keptOutput) dropOldest() bool {
	if len(o.blocks) == 0 {
		return false
	}
	oldest := o.blocks[0]
	for _, c := range o.cursors {
		if c.block < o.first || (c.block == o.first && c.at < len(oldest.bytes)) {
			return false
		}
	}
	o.blocks[0] = nil
	o.blocks = o.blocks[1:]
	o.first++
	o.charge(-oldest.cost())
	oldest.dropped = true
	oldest.recycle()
	return true
}

// A cursor is the position of one reader in the output of a process.
type cursor struct {
	output *keptOutput
	// block is the number of the block that is read, and at how many of its bytes have been.
	block int64
	at    int
}

// now is the offset of a reader that wants what comes.
const now = int64(1<<63 - 1)

// cursor returns a place for a reader: at the offset, or at the oldest byte that is kept after it; past the end: at the end.
func (o *keptOutput) cursor(from int64) *cursor {
	c := &cursor{output: o, block: o.first + int64(len(o.blocks))}
	if from >= o.end {
		// The last block may still grow.
		if last := o.last(); last != nil {
			c.block, c.at = c.block-1, len(last.bytes)
		}
	} else {
		for index := len(o.blocks) - 1; index >= 0; index-- {
			c.block = o.first + int64(index)
			c.at = int(max(0, from-o.blocks[index].offset))
			if o.blocks[index].offset <= from {
				break
			}
		}
	}
	o.cursors = append(o.cursors, c)
	return c
}

// next moves to the block that has to be read next, past those that were dropped, and returns it if there is one.
func (c *cursor) next() *block {
	o := c.output
	if c.block < o.first {
		c.block, c.at = o.first, 0
	}
	index := int(c.block - o.first)
	if index >= len(o.blocks) {
		return nil
	}
	if c.at < len(o.blocks[index].bytes) || index == len(o.blocks)-1 {
		return o.blocks[index]
	}
	c.block, c.at = c.block+1, 0
	return o.blocks[index+1]
}

// offset counts the bytes of output before this place.
func (c *cursor) offset() int64 {
	if next := c.next(); next != nil {
		return next.offset + int64(c.at)
	}
	return c.output.end
}

// backlog is the memory that is held for this reader.
func (c *cursor) backlog() int64 {
	next := c.next()
	if next == nil || next.offset+int64(c.at) == c.output.end {
		return 0
	}
	return c.output.costEnd - next.costBefore - int64(c.at)
}

// A piece is output that a reader looks at. Its bytes stay as they are until it is released.
type piece struct {
	stream stream
	bytes  []byte
	block  *block
}

// read returns the next piece, at most 32 KiB. There is none when all has been read. It must be released.
func (c *cursor) read() (piece, bool) {
	next := c.next()
	if next == nil || c.at >= len(next.bytes) {
		return piece{}, false
	}
	read := piece{next.stream, next.bytes[c.at:], next}
	c.at = len(next.bytes)
	next.readers++
	return read, true
}

func (p *piece) release() {
	if p.block != nil {
		p.block.readers--
		p.block.recycle()
		p.block = nil
	}
}

// close says that the reader has left: nothing is held for it any more.
func (c *cursor) close() { c.output.cursors = without(c.output.cursors, c) }

// without returns the values but one, and nothing where there are no more.
func without[T comparable](all []T, one T) []T {
	rest := slices.DeleteFunc(all, func(other T) bool { return other == one })
	if len(rest) == 0 {
		return nil
	}
	return rest
}
