package logring

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

func newRing() *Ring {
	ring := New()
	ring.now = func() int64 { return 1_000 }
	return ring
}

func add(ring *Ring, text string) { ring.Append(7, "stdout", "", []byte(text)) }

// readAll reads to the end as the server does.
func readAll(ring *Ring, after int) (entries []Entry, dropped int) {
	for {
		page := ring.Read(after, 1000)
		dropped += page.Dropped
		if len(page.Entries) == 0 {
			return entries, dropped
		}
		entries = append(entries, page.Entries...)
		after = page.Next
	}
}

func TestKeepsABurstEachLineOnceAndInOrder(t *testing.T) {
	ring := newRing()
	var text bytes.Buffer
	for index := range 20_000 {
		fmt.Fprintf(&text, "line %d\n", index)
	}
	for chunk := text.Next(65_536); len(chunk) > 0; chunk = text.Next(65_536) {
		add(ring, string(chunk))
	}
	entries, dropped := readAll(ring, 0)
	if dropped != 0 || len(entries) != 20_000 {
		t.Fatalf("%d entries, %d dropped", len(entries), dropped)
	}
	for index, entry := range entries {
		if entry.Seq != index+1 || entry.Message != fmt.Sprintf("line %d", index) {
			t.Fatalf("entry %d is %+v", index, entry)
		}
	}
}

func TestKeepsLinesThatComeOneByOne(t *testing.T) {
	ring := newRing()
	for index := range 20_000 {
		add(ring, fmt.Sprintf("line %d\n", index))
	}
	if entries, _ := readAll(ring, 0); len(entries) != 20_000 {
		t.Errorf("%d entries", len(entries))
	}
}

func TestReportsHowManyLinesItDropped(t *testing.T) {
	ring := newRing()
	wide := strings.Repeat("x", 99) + "\n"
	for range 30_000 {
		add(ring, wide)
	}
	entries, dropped := readAll(ring, 0)
	if dropped+len(entries) != 30_000 || len(entries) <= 10_000 || entries[len(entries)-1].Seq != 30_000 {
		t.Errorf("%d entries, %d dropped", len(entries), dropped)
	}
}

func TestCountsLinesDroppedBetweenTwoPages(t *testing.T) {
	ring := newRing()
	for range 5_000 {
		add(ring, strings.Repeat("a", 99)+"\n")
	}
	first := ring.Read(0, 1000)
	for range 20_000 {
		add(ring, strings.Repeat("b", 99)+"\n")
	}
	rest, dropped := readAll(ring, first.Next)
	if len(first.Entries)+dropped+len(rest) != 25_000 {
		t.Errorf("%d + %d + %d", len(first.Entries), dropped, len(rest))
	}
}

func TestSplitsALongLineBetweenCharacters(t *testing.T) {
	ring := newRing()
	line := "a" + strings.Repeat("ü", 40_000)
	text := bytes.NewBufferString(line + "\nnext\n")
	for chunk := text.Next(10_000); len(chunk) > 0; chunk = text.Next(10_000) {
		ring.Append(7, "stdout", "", chunk)
	}
	entries, _ := readAll(ring, 0)
	var whole strings.Builder
	for index, entry := range entries[:len(entries)-1] {
		whole.WriteString(entry.Message)
		if entry.Fields.Part != index+1 {
			t.Errorf("piece %d is numbered %d", index, entry.Fields.Part)
		}
	}
	last := entries[len(entries)-1]
	if whole.String() != line || len(entries) != 6 || last.Message != "next" || last.Fields.Part != 0 {
		t.Errorf("%d entries, the last %+v", len(entries), last)
	}
}

func TestPutsACutCharacterTogetherAndEndsALineWithoutNewline(t *testing.T) {
	ring := newRing()
	word := "grün"
	add(ring, word[:3])
	if entries, _ := readAll(ring, 0); len(entries) != 0 {
		t.Errorf("%+v", entries)
	}
	add(ring, word[3:])
	ring.End(7, "stdout", "")
	if entries, _ := readAll(ring, 0); len(entries) != 1 || entries[0].Message != word {
		t.Errorf("%+v", entries)
	}
}

func TestKeepsTheLinesOfTwoProgramsApart(t *testing.T) {
	ring := newRing()
	add(ring, "one ")
	ring.Append(8, "stdout", "", []byte("eins "))
	add(ring, "two\n")
	ring.Append(8, "stdout", "", []byte("zwei\n"))
	entries, _ := readAll(ring, 0)
	if len(entries) != 2 || entries[0].Message != "one two" || entries[1].Message != "eins zwei" {
		t.Errorf("%+v", entries)
	}
}
