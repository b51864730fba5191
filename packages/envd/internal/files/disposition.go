package files

import (
	"fmt"
	"strings"
)

// inlineDisposition returns `inline` with a file name: plain where it is printable ASCII, and by RFC 5987 where it is not.
func inlineDisposition(name string) string {
	name = strings.ToValidUTF8(name, "\uFFFD")
	var plain, encoded strings.Builder
	isPlain := true
	for _, letter := range name {
		switch {
		case letter < 0x20 || letter > 0x7e:
			isPlain = false
			plain.WriteByte('_')
		case letter == '"' || letter == '\\':
			plain.WriteByte('\\')
			fallthrough
		default:
			plain.WriteRune(letter)
		}
	}
	value := `inline; filename="` + plain.String() + `"`
	if isPlain {
		return value
	}
	for _, letter := range []byte(name) {
		if isWord(string(rune(letter))) && letter < 0x80 || strings.IndexByte("-.!~", letter) >= 0 {
			encoded.WriteByte(letter)
		} else {
			fmt.Fprintf(&encoded, "%%%02X", letter)
		}
	}
	return value + "; filename*=UTF-8''" + encoded.String()
}
