package files

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

type partText struct{ name, filename, content string }

func partsOf(body io.Reader) (found []partText, err error) {
	err = readParts(body, "B", func(part formPart) error {
		content, err := io.ReadAll(part.content)
		found = append(found, partText{part.name, part.filename, string(content)})
		return err
	})
	return found, err
}

const form1 = "preamble\r\n--B\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a \\\"b\\\".txt\"\r\n\r\none\r\n--\r\n-B\r\n" +
	"--B \r\ncontent-disposition: form-data; name=other\r\nX: y\r\n\r\n\r\n--B\r\n\r\nbare\r\n--B--\r\nepilogue"

func TestReadParts(t *testing.T) {
	want := []partText{{"file", `a "b".txt`, "one\r\n--\r\n-B"}, {"other", "", ""}, {"", "", "bare"}}
	for name, body := range map[string]io.Reader{
		"whole":       strings.NewReader(form1),
		"one by one":  iotest.OneByteReader(strings.NewReader(form1)),
		"half a read": iotest.HalfReader(strings.NewReader(form1)),
	} {
		if found, err := partsOf(body); err != nil || !slices.Equal(found, want) {
			t.Errorf("%s: %q, %v", name, found, err)
		}
	}
}

func TestContentThatIsNotReadIsSkipped(t *testing.T) {
	body := "--B\r\n\r\nlong\r\n--B\r\nContent-Disposition: form-data; name=\"b\"\r\n\r\nx\r\n--B--"
	var names []string
	err := readParts(strings.NewReader(body), "B", func(part formPart) error {
		names = append(names, part.name)
		return nil
	})
	if err != nil || !slices.Equal(names, []string{"", "b"}) {
		t.Error(names, err)
	}
}

func TestMalformedBodiesAreRefused(t *testing.T) {
	for body, reason := range map[string]string{
		"":                                  "unexpected end",
		"no boundary at all":                "unexpected end",
		"--B\r\n\r\ncut":                    "unexpected end",
		"--B\r\nHeader: only":               "unexpected end",
		"--Bx\r\n\r\n\r\n--B":               "boundary line",
		"--B":                               "unexpected end",
		"--B\r\n\r\nx\r\n--B":               "unexpected end",
		"--B" + strings.Repeat(" ", 70_000): "too long",
		"--B\r\n" + strings.Repeat("h", 20_000) + "\r\n\r\n": "too long",
	} {
		_, err := partsOf(strings.NewReader(body))
		if err == nil || !strings.HasPrefix(err.Error(), "malformed multipart body: ") || !strings.Contains(err.Error(), reason) {
			t.Errorf("%.30q: %v", body, err)
		} else if toFailure(err, "").status != 400 {
			t.Errorf("%.30q is answered with %d", body, toFailure(err, "").status)
		}
	}
}

func TestParseParameters(t *testing.T) {
	for header, want := range map[string]string{
		"multipart/form-data; boundary=abc":                          "abc",
		"multipart/form-data; Boundary=a=b/c:d":                      "a=b/c:d",
		`multipart/form-data; charset=x; boundary="a b\"c"`:          `a b"c`,
		`form-data; name="a; boundary=no"; boundary = yes ; x=y`:     "yes",
		`form-data; boundary="c:\dir\\file"`:                         `c:\dir\file`,
		`form-data; boundary="open`:                                  "open",
		"multipart/form-data; flag; boundary=first; boundary=second": "first",
		"multipart/form-data":                                        "",
	} {
		if got := parseParameters(header)["boundary"]; got != want {
			t.Errorf("%s: %q, not %q", header, got, want)
		}
	}
}

func TestTheExtendedFileNameWins(t *testing.T) {
	of := func(disposition string) (string, error) {
		found, err := partsOf(strings.NewReader("--B\r\nContent-Disposition: " + disposition + "\r\n\r\n\r\n--B--"))
		if err != nil {
			return "", err
		}
		return found[0].filename, nil
	}
	if name, err := of(`form-data; name="file"; filename="x"; filename*=UTF-8''%C3%BC%20y`); name != "ü y" || err != nil {
		t.Error(name, err)
	}
	if name, err := of(`form-data; filename="x"; filename*=KOI8-R''%C3`); name != "x" || err != nil {
		t.Error(name, err)
	}
	if _, err := of(`form-data; filename*=utf-8''%zz`); err == nil {
		t.Error("a broken escape is refused")
	}
}

func FuzzReadParts(f *testing.F) {
	f.Add([]byte(form1))
	f.Add([]byte("--B\r\n\r\ncut"))
	f.Fuzz(func(t *testing.T, body []byte) {
		whole, wholeErr := partsOf(bytes.NewReader(body))
		cut, cutErr := partsOf(iotest.OneByteReader(bytes.NewReader(body)))
		if (wholeErr == nil) != (cutErr == nil) || (wholeErr == nil && !slices.Equal(whole, cut)) {
			t.Errorf("whole: %q, %v; cut: %q, %v", whole, wholeErr, cut, cutErr)
		}
		if wholeErr != nil && toFailure(wholeErr, "").status != 400 {
			t.Error(wholeErr)
		}
	})
}
