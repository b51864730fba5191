package sftp

import (
	"encoding/binary"
	"io"
	"os"
)

// The types of messages that clients send.
const (
	typeInit     = 1
	typeOpen     = 3
	typeSymlink  = 20
	typeExtended = 200
)

const (
	// headBytes are the length, type and number of a message.
	headBytes = 9
	// maxMessage is what the library takes.
	maxMessage = 256 * 1024
)

// unknownExtension takes the place of what comes after the number of an unknown message.
const unknownExtension = "unknown"

// messages is the stream of a client on its way to the library and back. A message comes once the one before is answered: the
// library would work on several at a time, and a request that guesses the handle of a file which is being opened meets it
// half made. Two kinds of messages are changed. One of an unknown type becomes an extension that is as unknown: the library
// answers that as the protocol wants it, "unsupported", and ends the session for the other. In a request to open a file, the
// mode for a new one goes into the flags: the library passes on those alone.
type messages struct {
	io.ReadWriteCloser
	// turn has one element while nothing is to be answered.
	turn chan struct{}
	// pending is read before the stream is.
	pending []byte
	// left is how much of a message is still to come from the stream.
	left int64
	// unsent is how much of an answer is still to come from the library.
	unsent int64
}

func newMessages(stream io.ReadWriteCloser) *messages {
	m := &messages{ReadWriteCloser: stream, turn: make(chan struct{}, 1)}
	m.turn <- struct{}{}
	return m
}

func (m *messages) Read(into []byte) (int, error) {
	if len(m.pending) == 0 && m.left == 0 {
		<-m.turn
		if err := m.next(); err != nil {
			return 0, err
		}
	}
	if len(m.pending) > 0 {
		length := copy(into, m.pending)
		m.pending = m.pending[length:]
		return length, nil
	}
	length, err := m.ReadWriteCloser.Read(into[:min(int64(len(into)), m.left)])
	m.left -= int64(length)
	return length, err
}

// Write sends an answer, or a part of it. The library sends the length of an answer with its first part.
func (m *messages) Write(bytes []byte) (int, error) {
	if m.unsent == 0 {
		m.unsent = 4 + int64(binary.BigEndian.Uint32(bytes))
	}
	length, err := m.ReadWriteCloser.Write(bytes)
	m.unsent -= int64(length)
	if m.unsent == 0 || err != nil {
		m.unsent = 0
		select {
		case m.turn <- struct{}{}:
		default:
		}
	}
	return length, err
}

// next reads the head of a message, and all of one that is to be changed.
func (m *messages) next() error {
	head := make([]byte, 4, headBytes)
	if _, err := io.ReadFull(m.ReadWriteCloser, head); err != nil {
		return err
	}
	length := int64(binary.BigEndian.Uint32(head))
	if length > maxMessage {
		// The library refuses it by its length.
		m.pending = head
		return nil
	}
	head = head[:4+min(length, headBytes-4)]
	if _, err := io.ReadFull(m.ReadWriteCloser, head[4:]); err != nil {
		return err
	}
	m.pending, m.left = head, 4+length-int64(len(head))
	// The library refuses a message that is too short to have a number.
	if len(head) < headBytes {
		return nil
	}
	switch kind := head[4]; {
	case kind == typeOpen:
		whole := append(make([]byte, 0, 4+length), head...)[:4+length]
		if _, err := io.ReadFull(m.ReadWriteCloser, whole[headBytes:]); err != nil {
			return err
		}
		moveMode(whole[headBytes:])
		m.pending, m.left = whole, 0
	case kind != typeInit && kind != typeExtended && (kind < typeOpen || kind > typeSymlink):
		if _, err := io.CopyN(io.Discard, m.ReadWriteCloser, m.left); err != nil {
			return err
		}
		m.pending, m.left = unknown(head), 0
	}
	return nil
}

// unknown returns an unknown extension with the number of a message.
func unknown(head []byte) []byte {
	message := append([]byte{}, head...)
	message = binary.BigEndian.AppendUint32(message, uint32(len(unknownExtension)))
	message = append(message, unknownExtension...)
	message[4] = typeExtended
	binary.BigEndian.PutUint32(message, uint32(len(message)-4))
	return message
}

// The flags of a request to open have six bits of the protocol. Above them is the mode, if there is one.
const (
	openFlags = 1<<6 - 1
	modeShift = 16
	modeGiven = 1 << 31
)

// The attributes of a file begin with flags that say which of them follow, in this order.
const (
	hasSize  = 1
	hasOwner = 2
	hasMode  = 4
)

// moveMode puts the mode for a new file into the flags of a request, which begins with the path here. What is too short is
// for the library to refuse.
func moveMode(request []byte) {
	if len(request) < 4 {
		return
	}
	path := int64(binary.BigEndian.Uint32(request))
	if int64(len(request)) < 4+path+8 {
		return
	}
	flags := request[4+path:]
	wanted := binary.BigEndian.Uint32(flags) & openFlags
	given := binary.BigEndian.Uint32(flags[4:])
	attributes := flags[8:]
	skipped := 0
	if given&hasSize != 0 {
		skipped += 8
	}
	if given&hasOwner != 0 {
		skipped += 8
	}
	if given&hasMode != 0 && len(attributes) >= skipped+4 {
		mode := binary.BigEndian.Uint32(attributes[skipped:])
		wanted |= modeGiven | mode&0o777<<modeShift
	}
	binary.BigEndian.PutUint32(flags, wanted)
}

// newFileMode returns the mode that a client wants for a new file.
func newFileMode(flags uint32) os.FileMode {
	if flags&modeGiven == 0 {
		return 0o666
	}
	return os.FileMode(flags>>modeShift) & 0o777
}
