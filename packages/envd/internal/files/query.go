package files

import "strings"

// A query has the first value of each name. Unlike net/url it takes what browsers do: an escape that is none stands for
// itself, and a semicolon is a character.
type query map[string]string

func parseQuery(text string) query {
	found := query{}
	for pair := range strings.SplitSeq(text, "&") {
		name, value, _ := strings.Cut(pair, "=")
		name = unescape(name)
		if _, known := found[name]; !known && pair != "" {
			found[name] = unescape(value)
		}
	}
	return found
}

func unescape(text string) string {
	var plain strings.Builder
	for index := 0; index < len(text); index++ {
		switch letter := text[index]; {
		case letter == '+':
			plain.WriteByte(' ')
		case letter == '%' && index+2 < len(text) && hex(text[index+1]) >= 0 && hex(text[index+2]) >= 0:
			plain.WriteByte(byte(hex(text[index+1])<<4 | hex(text[index+2])))
			index += 2
		default:
			plain.WriteByte(letter)
		}
	}
	return plain.String()
}

// hex returns the value of a hexadecimal digit; -1 for anything else.
func hex(digit byte) int { return strings.IndexByte("0123456789abcdef", digit|0x20) }
