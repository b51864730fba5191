package files

import (
	"bytes"
	"cmp"
	"io"
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"
)

// A formPart is one part of a multipart/form-data body.
type formPart struct {
	// name is that of its Content-Disposition; empty when it has none.
	name     string
	filename string
	// content is to be read before the next part comes; what is left is skipped.
	content io.Reader
}

// readParts calls with each part of a body. A body that is not multipart, or ends early, is a failure with status 400.
func readParts(body io.Reader, boundary string, each func(formPart) error) error {
	form := newMultipart(body, boundary)
	// Bytes in front of the first part mean nothing.
	if err := form.skipContent(); err != nil {
		return err
	}
	for {
		isPart, err := form.startPart()
		if err != nil {
			return err
		}
		if !isPart {
			break
		}
		part, err := form.readHeaders()
		if err != nil {
			return err
		}
		form.inContent = true
		if err := each(part); err != nil {
			return err
		}
		if err := form.skipContent(); err != nil {
			return err
		}
	}
	// The epilogue means nothing, but the client may still be sending it.
	_, err := io.Copy(io.Discard, body)
	return err
}

const (
	maxPartHeaderBytes  = 16 * 1024
	maxBoundaryPadding  = 1024
	formBufferBytes     = 64 * 1024
	lineEnd, headersEnd = "\r\n", "\r\n\r\n"
)

// A multipartForm reads a multipart body. It holds one piece of it. Package mime/multipart takes a body that was cut within the headers
// of a part for a whole one, which would report files as written that are missing.
type multipartForm struct {
	body      io.Reader
	delimiter []byte
	buffer    []byte
	// held is the part of the buffer that was read and not used.
	held      []byte
	inContent bool
}

func newMultipart(body io.Reader, boundary string) *multipartForm {
	f := &multipartForm{body: body, delimiter: []byte(lineEnd + "--" + boundary), inContent: true}
	f.buffer = make([]byte, formBufferBytes)
	// A body may start with its first boundary, without the line end that belongs to all others.
	f.held = append(f.buffer[:0], lineEnd...)
	return f
}

// fill reads more. The end of the body is an error here.
func (f *multipartForm) fill() error {
	f.held = f.buffer[:copy(f.buffer, f.held)]
	length, err := f.body.Read(f.buffer[len(f.held):])
	f.held = f.buffer[:len(f.held)+length]
	switch {
	case length > 0 || err == nil:
		return nil
	case err == io.EOF:
		return malformed("unexpected end")
	}
	return err
}

// startPart reads the rest of a delimiter's line. It returns false after the last part.
func (f *multipartForm) startPart() (bool, error) {
	for len(f.held) < 2 {
		if err := f.fill(); err != nil {
			return false, err
		}
	}
	if string(f.held[:2]) == "--" {
		return false, nil
	}
	padding, err := f.until(lineEnd, maxBoundaryPadding)
	if err != nil || len(bytes.Trim(padding, " \t")) > 0 {
		return false, cmp.Or(err, malformed("bad boundary line"))
	}
	// The line end stays: a part without headers has the empty line directly behind it.
	f.held = f.held[len(padding):]
	return true, nil
}

// until waits for a text that begins within the next bytes, up to a limit, and returns what is in front of it.
func (f *multipartForm) until(text string, limit int) ([]byte, error) {
	for {
		end := bytes.Index(f.held, []byte(text))
		if end >= 0 && end <= limit {
			return f.held[:end], nil
		}
		if len(f.held) > limit {
			return nil, malformed("a boundary or the headers of a part are too long")
		}
		if err := f.fill(); err != nil {
			return nil, err
		}
	}
}

func (f *multipartForm) readHeaders() (formPart, error) {
	headers, err := f.until(headersEnd, maxPartHeaderBytes)
	if err != nil {
		return formPart{}, err
	}
	part := formPart{content: f}
	for line := range strings.SplitSeq(string(headers), lineEnd) {
		name, value, _ := strings.Cut(line, ":")
		if !strings.EqualFold(strings.TrimSpace(name), "Content-Disposition") {
			continue
		}
		disposition := parseParameters(value)
		part.name, part.filename = disposition["name"], disposition["filename"]
		extended, err := decodeExtended(disposition["filename*"])
		if err != nil {
			return formPart{}, err
		}
		part.filename = cmp.Or(extended, part.filename)
		break
	}
	f.held = f.held[len(headers)+len(headersEnd):]
	return part, nil
}

// Read returns the content up to the next delimiter, which it takes too.
func (f *multipartForm) Read(into []byte) (int, error) {
	for f.inContent {
		end := bytes.Index(f.held, f.delimiter)
		if end == 0 {
			f.held = f.held[len(f.delimiter):]
			f.inContent = false
			break
		}
		if end == -1 {
			// A delimiter may be cut by the end of what is held.
			end = len(f.held) - len(f.delimiter) + 1
		}
		if end > 0 {
			length := copy(into, f.held[:end])
			f.held = f.held[length:]
			return length, nil
		}
		if err := f.fill(); err != nil {
			return 0, err
		}
	}
	return 0, io.EOF
}

func (f *multipartForm) skipContent() error {
	_, err := io.Copy(io.Discard, struct{ io.Reader }{f})
	return err
}

func malformed(reason string) error {
	return fail(http.StatusBadRequest, "malformed multipart body: %s", reason)
}

// parseParameters reads what follows the first semicolon of a header, names in lower case. In quotes, a backslash escapes
// quotes and backslashes alone: senders leave other ones bare. Unlike package mime it takes values as senders have them,
// such as boundaries with an equals sign.
func parseParameters(header string) map[string]string {
	parameters := map[string]string{}
	_, rest, _ := strings.Cut(header, ";")
	for rest != "" {
		end := strings.IndexAny(rest, ";=")
		if end == -1 {
			break
		}
		name := strings.ToLower(strings.TrimSpace(rest[:end]))
		isValue := rest[end] == '='
		rest = rest[end+1:]
		if !isValue {
			continue
		}
		var value string
		if quoted, isQuoted := strings.CutPrefix(strings.TrimLeft(rest, " \t"), `"`); isQuoted {
			value, rest = unquote(quoted)
			_, rest, _ = strings.Cut(rest, ";")
		} else {
			value, rest, _ = strings.Cut(rest, ";")
			value = strings.TrimSpace(value)
		}
		if _, known := parameters[name]; !known {
			parameters[name] = value
		}
	}
	return parameters
}

// unquote reads up to the closing quote, and returns what is behind it.
func unquote(text string) (value, rest string) {
	var plain strings.Builder
	for index := 0; index < len(text); index++ {
		switch letter := text[index]; {
		case letter == '"':
			return plain.String(), text[index+1:]
		case letter == '\\' && index+1 < len(text) && strings.IndexByte(`"\`, text[index+1]) >= 0:
			index++
			plain.WriteByte(text[index])
		default:
			plain.WriteByte(letter)
		}
	}
	return plain.String(), ""
}

// decodeExtended reads `UTF-8”a%20b`, by RFC 5987. It returns nothing for other character sets.
func decodeExtended(value string) (string, error) {
	charset, rest, found := strings.Cut(value, "'")
	_, encoded, foundBoth := strings.Cut(rest, "'")
	if !found || !foundBoth || !strings.EqualFold(charset, "utf-8") {
		return "", nil
	}
	plain, err := url.PathUnescape(encoded)
	if err != nil || !utf8.ValidString(plain) {
		return "", malformed("bad filename*")
	}
	return plain, nil
}
