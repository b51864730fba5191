package process

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

func readAll(c *cursor) (text string, pieces []stream) {
	var all []byte
	for {
		piece, ok := c.read()
		if !ok {
			return string(all), pieces
		}
		all = append(all, piece.bytes...)
		pieces = append(pieces, piece.stream)
		piece.release()
	}
}

func newOutput() *keptOutput { return &keptOutput{budget: &budget{}} }

func (o *keptOutput) print(from stream, text string) { o.append(from, []byte(text), nil) }

// fill adds a piece as a reader of output does, in a buffer.
func (o *keptOutput) fill(from stream, size int) {
	in := buffers.Get().(*buffer)
	if unused := o.append(from, in[:size], in); unused != nil {
		buffers.Put(unused)
	}
}

func TestReadersGetEverythingFromAnyOffset(t *testing.T) {
	output := newOutput()
	var whole strings.Builder
	for number := range 500 {
		fmt.Fprintf(&whole, "%d,", number)
	}
	text := whole.String()
	for at := 0; at < len(text); at += 7 {
		output.print(stdout, text[at:min(at+7, len(text))])
	}
	for _, from := range []int{0, 1, 6, 7, 8, 1000, len(text) - 1, len(text), len(text) + 50} {
		c := output.cursor(int64(from))
		if c.offset() != int64(min(from, len(text))) {
			t.Errorf("from %d: offset %d", from, c.offset())
		}
		if got, _ := readAll(c); got != text[min(from, len(text)):] {
			t.Errorf("from %d: %q", from, got)
		}
	}
	output.print(stderr, "E")
	output.print(stdout, "o")
	if _, pieces := readAll(output.cursor(int64(len(text) - 1))); fmt.Sprint(pieces) != fmt.Sprint([]stream{stdout, stderr, stdout}) {
		t.Error("the order of the streams:", pieces)
	}
}

func TestReaderGoesOnAlsoAfterItsBlockWasDropped(t *testing.T) {
	output := newOutput()
	output.print(stdout, "a")
	c := output.cursor(0)
	readAll(c)
	output.print(stdout, "b")
	if c.backlog() == 0 {
		t.Error("no backlog with something to read")
	}
	if got, _ := readAll(c); got != "b" || c.backlog() != 0 {
		t.Error(got, c.backlog())
	}
	for output.dropOldest() {
	}
	if output.cost != 0 || output.budget.bytes != 0 {
		t.Error("an empty output costs", output.cost, output.budget.bytes)
	}
	output.print(stdout, "c")
	if got, _ := readAll(c); got != "c" || c.offset() != 3 {
		t.Error(got, c.offset())
	}
}

func TestLatestIsKeptWithinItsBoundHoweverSmallThePieces(t *testing.T) {
	for _, size := range []int{1, 100, 5000, wholeBufferBytes - 1, wholeBufferBytes, bufferBytes} {
		output := newOutput()
		rounds := 4 * (keptBytes/(size+blockOverheadBytes) + 1)
		for round := range rounds {
			output.fill(stream(round%2), size)
		}
		if output.cost > keptBytes || output.cost <= keptBytes/2 {
			t.Errorf("pieces of %d: cost %d", size, output.cost)
		}
		c := output.cursor(0)
		offset := c.offset()
		if got, _ := readAll(c); offset == 0 || offset+int64(len(got)) != output.end {
			t.Errorf("pieces of %d: %d at %d of %d", size, len(got), offset, output.end)
		}
	}
}

func TestSmallPiecesOfOneStreamShareTheirMemory(t *testing.T) {
	output := newOutput()
	for at := 0; at < keptBytes/2; at += 8 {
		output.print(stdout, "12345678")
	}
	if offset := output.cursor(0).offset(); offset != 0 {
		t.Error("the beginning is gone:", offset)
	}
}

func TestNothingIsDroppedThatAReaderStillHasToGet(t *testing.T) {
	output := newOutput()
	slow := output.cursor(0)
	for range 100 {
		output.fill(stdout, bufferBytes)
	}
	if got, _ := readAll(slow); len(got) != 100*bufferBytes {
		t.Error(len(got))
	}
	slow.close()
	output.print(stdout, "x")
	if output.cost > keptBytes {
		t.Error(output.cost)
	}
}

func TestABufferServesAgainOnlyWhenNobodyReadsIt(t *testing.T) {
	output := newOutput()
	in := new(buffer)
	copy(in[:], bytes.Repeat([]byte("a"), bufferBytes))
	if output.append(stdout, in[:], in) != nil {
		t.Fatal("a full buffer was copied")
	}
	c := output.cursor(0)
	piece, _ := c.read()
	block := piece.block
	if !output.dropOldest() || block.buffer == nil {
		t.Error("dropped under its reader")
	}
	if piece.bytes[0] != 'a' || len(piece.bytes) != bufferBytes {
		t.Error("the bytes changed")
	}
	piece.release()
	piece.release()
	if block.buffer != nil || block.readers != 0 {
		t.Error("not given back", block.readers)
	}
}

func TestBudgetTakesFromWhoHoldsMostAndSparesOthers(t *testing.T) {
	shared := &budget{}
	small := &keptOutput{budget: shared}
	small.print(stdout, "precious")
	for range 20 {
		output := &keptOutput{budget: shared}
		for range 40 {
			output.fill(stdout, bufferBytes)
		}
		if shared.bytes > totalKeptBytes {
			t.Fatal("over the bound:", shared.bytes)
		}
	}
	if got, _ := readAll(small.cursor(0)); got != "precious" || shared.bytes <= totalKeptBytes/2 {
		t.Error(got, shared.bytes)
	}
}

func TestBudgetStaysUsableWhenEveryByteIsWaitedFor(t *testing.T) {
	shared := &budget{}
	var outputs []*keptOutput
	var readers []*cursor
	for range 200 {
		output := &keptOutput{budget: shared}
		outputs, readers = append(outputs, output), append(readers, output.cursor(0))
		output.fill(stdout, bufferBytes)
	}
	for _, reader := range readers {
		if got, _ := readAll(reader); len(got) != bufferBytes {
			t.Fatal(len(got))
		}
	}
	outputs[0].print(stdout, "x")
	if shared.bytes > totalKeptBytes {
		t.Error(shared.bytes)
	}
}

func TestForgottenOutputCountsNoMore(t *testing.T) {
	shared := &budget{}
	output := &keptOutput{budget: shared}
	output.fill(stdout, 10_000)
	shared.forget(output)
	shared.forget(output)
	if shared.bytes != 0 {
		t.Error(shared.bytes)
	}
}
