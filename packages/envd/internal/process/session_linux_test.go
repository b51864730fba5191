package process

import "testing"

func TestParseStat(t *testing.T) {
	for line, want := range map[string]struct {
		state          byte
		group, session int
		ok             bool
	}{
		"12 (sh) S 1 12 11 0 -1":    {'S', 12, 11, true},
		"12 (a) Z (b) c) Z 1 2 3 4": {'Z', 2, 3, true},
		"12 (sh) S":                 {},
		"":                          {},
		"12 (sh) S x y z":           {'S', 0, 0, false},
	} {
		state, group, session, ok := parseStat([]byte(line))
		if ok != want.ok || ok && (state != want.state || group != want.group || session != want.session) {
			t.Errorf("%q: %c %d %d %v", line, state, group, session, ok)
		}
	}
}
