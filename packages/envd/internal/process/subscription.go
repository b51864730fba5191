package process

const (
	highWaterBytes = 256 * 1024
	lowWaterBytes  = 64 * 1024
)

// A subscription is one reader of a process. Little more than 256 KiB wait for it, because the program stops when it is so
// far behind. The caller holds the lock of the service for every method.
type subscription struct {
	process *process
	cursor  *cursor
	// wake gets a value when there may be more to read, and when the reader is closed.
	wake   chan struct{}
	full   bool
	closed bool
}

// notify says that there is more to read.
func (s *subscription) notify() {
	if !s.full && s.cursor.backlog() >= highWaterBytes {
		s.full = true
	}
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// read returns the next piece, which must be released. There is none when all of now has been read, or the reader is closed.
func (s *subscription) read() (piece, bool) {
	if s.closed {
		return piece{}, false
	}
	read, ok := s.cursor.read()
	if s.full && s.cursor.backlog() <= lowWaterBytes {
		s.full = false
		s.process.room.Broadcast()
	}
	return read, ok
}

// close ends the reader's interest. It may be called again.
func (s *subscription) close() {
	if s.closed {
		return
	}
	s.closed = true
	s.cursor.close()
	s.process.subscriptions = without(s.process.subscriptions, s)
	s.process.room.Broadcast()
	s.notify()
}
