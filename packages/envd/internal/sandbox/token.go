package sandbox

import (
	"crypto/sha256"
	"crypto/subtle"
	"sync"
)

// Token is the daemon's access token; there is none until /init gives one.
type Token struct {
	mutex    sync.RWMutex
	current  string
	set      bool
	previous *[sha256.Size]byte
}

// Required tells whether a token is set.
func (t *Token) Required() bool {
	t.mutex.RLock()
	defer t.mutex.RUnlock()
	return t.set
}

// Matches compares in constant time. Everything matches while no token is set.
func (t *Token) Matches(candidate string, given bool) bool {
	t.mutex.RLock()
	defer t.mutex.RUnlock()
	switch {
	case !t.set:
		return true
	case !given:
		return false
	}
	shown, right := sha256.Sum256([]byte(candidate)), sha256.Sum256([]byte(t.current))
	if subtle.ConstantTimeCompare(shown[:], right[:]) == 1 {
		return true
	}
	return t.isPrevious(shown)
}

// MatchesPrevious tells whether it is the token from before ReplaceForImage, which is taken until the next Set.
func (t *Token) MatchesPrevious(candidate string, given bool) bool {
	t.mutex.RLock()
	defer t.mutex.RUnlock()
	return given && t.isPrevious(sha256.Sum256([]byte(candidate)))
}

func (t *Token) isPrevious(shown [sha256.Size]byte) bool {
	return t.previous != nil && subtle.ConstantTimeCompare(shown[:], t.previous[:]) == 1
}

// Reveal returns the token itself, for signatures alone, and whether there is one.
func (t *Token) Reveal() (string, bool) {
	t.mutex.RLock()
	defer t.mutex.RUnlock()
	return t.current, t.set
}

// Set replaces the token. The one before is taken no longer.
func (t *Token) Set(token string) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.current, t.set, t.previous = token, true, nil
}

// ReplaceForImage sets a token that may be in a copy of this memory, because it opens nothing else. Of the token before
// only a digest is kept.
func (t *Token) ReplaceForImage(token string) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	if t.previous == nil && t.set {
		digest := sha256.Sum256([]byte(t.current))
		t.previous = &digest
	}
	t.current, t.set = token, true
}
