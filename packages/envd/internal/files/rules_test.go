package files

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"svc.example/envd/internal/sandbox"
)

func TestParseRange(t *testing.T) {
	for header, want := range map[string]string{
		"":                         "whole",
		"bytes=0-4":                "0-4",
		"BYTES=5-":                 "5-9",
		"bytes=-3":                 "7-9",
		"bytes=-300":               "0-9",
		"bytes=9-100":              "9-9",
		"bytes=0-1, 4-5":           "whole",
		"bytes=0-1, 44-5":          "bad",
		"bytes=0-1, 44-":           "whole",
		"items=0-1":                "whole",
		"bytes=10-":                "bad",
		"bytes=-0":                 "bad",
		"bytes=5-2":                "bad",
		"bytes=a-b":                "bad",
		"bytes=+1-2":               "bad",
		"bytes=-":                  "bad",
		"bytes=":                   "bad",
		"nonsense":                 "bad",
		"bytes=1-9999999999999999": "bad",
	} {
		kind, bytes := parseRange(header, 10)
		got := map[rangeKind]string{whole: "whole", bad: "bad", part: fmt.Sprintf("%d-%d", bytes.first, bytes.last)}[kind]
		if got != want {
			t.Errorf("of ten bytes, %q is %s, not %s", header, got, want)
		}
	}
}

func FuzzParseRange(f *testing.F) {
	f.Add("bytes=0-4", int64(10))
	f.Add("bytes=-1,5-", int64(0))
	f.Fuzz(func(t *testing.T, header string, size int64) {
		if size < 0 {
			return
		}
		kind, bytes := parseRange(header, size)
		if kind == part && (bytes.first < 0 || bytes.first > bytes.last || bytes.last >= size) {
			t.Errorf("%q of %d bytes: %v", header, size, bytes)
		}
	})
}

func TestChooseForm(t *testing.T) {
	for header, want := range map[string]form{
		"":                  identity,
		"gzip, deflate, br": gzipped,
		"gzip;q=0":          identity,
		"GZip; q=0.5":       gzipped,
		"*":                 gzipped,
		"br":                identity,
		"identity":          identity,
		"br, identity;q=0":  unacceptable,
		"*;q=0":             unacceptable,
		"gzip, *;q=0":       gzipped,
		"gzip;q=x":          identity,
	} {
		if got := chooseForm(header, false); got != want {
			t.Errorf("Accept-Encoding %q is answered with %q, not %q", header, got, want)
		}
	}
	if got := chooseForm("gzip", true); got != identity {
		t.Errorf("a range is answered with %q", got)
	}
	if got := chooseForm("gzip, identity;q=0", true); got != unacceptable {
		t.Errorf("a range for which identity is ruled out is answered with %q", got)
	}
}

func TestInlineDisposition(t *testing.T) {
	for name, want := range map[string]string{
		"a.txt":    `inline; filename="a.txt"`,
		`a "b"\c`:  `inline; filename="a \"b\"\\c"`,
		"ü\n":      `inline; filename="__"; filename*=UTF-8''%C3%BC%0A`,
		"it's (ö)": `inline; filename="it's (_)"; filename*=UTF-8''it%27s%20%28%C3%B6%29`,
		"\xff":     `inline; filename="_"; filename*=UTF-8''%EF%BF%BD`,
	} {
		if got := inlineDisposition(name); got != want {
			t.Errorf("%q makes %s, not %s", name, got, want)
		}
	}
}

func TestConditions(t *testing.T) {
	modified, _ := time.Parse(time.RFC3339Nano, "2026-01-01T00:00:00.5Z")
	current := validators{`"x"`, modified}
	const exact, before = "Thu, 01 Jan 2026 00:00:00 GMT", "Wed, 31 Dec 2025 23:59:59 GMT"
	for _, row := range []struct {
		header http.Header
		want   int
	}{
		{http.Header{}, 0},
		{http.Header{"If-None-Match": {`"x"`}}, 304},
		{http.Header{"If-None-Match": {`"y", W/"x"`}}, 304},
		{http.Header{"If-None-Match": {`"y"`, `"x"`}}, 304},
		{http.Header{"If-None-Match": {"*"}}, 304},
		{http.Header{"If-None-Match": {`"y"`}, "If-Modified-Since": {exact}}, 0},
		{http.Header{"If-Modified-Since": {exact}}, 304},
		{http.Header{"If-Modified-Since": {before}}, 0},
		{http.Header{"If-Modified-Since": {"garbage"}}, 0},
		{http.Header{"If-Match": {`"y"`}}, 412},
		{http.Header{"If-Match": {`W/"x"`}}, 412},
		{http.Header{"If-Match": {`"x"`}}, 0},
		{http.Header{"If-Unmodified-Since": {before}}, 412},
		{http.Header{"If-Unmodified-Since": {exact}}, 0},
	} {
		if got := current.evaluate(row.header); got != row.want {
			t.Errorf("%v gives %d, not %d", row.header, got, row.want)
		}
	}
	for condition, want := range map[string]bool{`"x"`: true, `W/"x"`: false, exact: true, before: false, "garbage": false} {
		if got := current.rangeApplies(http.Header{"If-Range": {condition}}); got != want {
			t.Errorf("If-Range %s lets a range pass: %v", condition, got)
		}
	}
	if !current.rangeApplies(http.Header{}) {
		t.Error("a range needs no condition")
	}
}

func TestParseMetadata(t *testing.T) {
	of := func(name, value string) http.Header { return http.Header{"X-Metadata-" + name: {value}} }
	found, err := parseMetadata(http.Header{"X-Metadata-A.b": {"v w"}, "Host": {"x"}})
	if err != nil || !maps.Equal(found, map[string]string{"a.b": "v w"}) {
		t.Error(found, err)
	}
	for _, fits := range []http.Header{of(strings.Repeat("k", 246), "v"), of("A", strings.Repeat("v", 4095)), of("A", "")} {
		if _, err := parseMetadata(fits); err != nil {
			t.Error(err)
		}
	}
	for text, header := range map[string]http.Header{
		"1 to 246 token": of(strings.Repeat("k", 247), "v"),
		"token":          of("", "v"),
		"ASCII":          of("A", "ü"),
		"printable":      of("A", "\xe9"),
		"4096":           of("A", strings.Repeat("v", 4096)),
	} {
		if _, err := parseMetadata(header); err == nil || !strings.Contains(err.Error(), text) || toFailure(err, "").status != 400 {
			t.Errorf("%q is not why it is refused: %v", text, err)
		}
	}
}

func TestFailures(t *testing.T) {
	for errno, want := range map[syscall.Errno]string{
		syscall.ENOTSUP: "400 /a: the file system keeps no metadata of files",
		syscall.ENOENT:  "404 /a: no such file or directory",
		syscall.ENOSPC:  "507 /a: no space left on device",
		syscall.EIO:     "500 /a: input/output error",
	} {
		refusal := toFailure(fmt.Errorf("somewhere: %w", errno), "/a")
		if got := fmt.Sprintf("%d %s", refusal.status, refusal.message); got != want {
			t.Errorf("%q, not %q", got, want)
		}
	}
}

func TestParseQuery(t *testing.T) {
	for text, want := range map[string]string{
		"path=a+b%20c":     "a b c",
		"path=100%":        "100%",
		"path=%zz%4":       "%zz%4",
		"path=a;b":         "a;b",
		"path=a%3Db=c":     "a=b=c",
		"path=first&path=": "first",
		"p%61th=x":         "x",
		"path=%C3%BC%ff":   "ü\xff",
		"":                 "",
		"path":             "",
	} {
		if got := parseQuery(text)["path"]; got != want {
			t.Errorf("%q has the path %q, not %q", text, got, want)
		}
	}
}

func TestCheckAccess(t *testing.T) {
	var token sandbox.Token
	now := time.Unix(1_800_000_000, 0)
	check := func(query query, header http.Header) string {
		err := checkAccess(&token, header, query, read, now)
		if err == nil {
			return ""
		}
		var refusal *failure
		errors.As(err, &refusal)
		return fmt.Sprint(refusal.status, " ", refusal.message)
	}
	if got := check(query{}, nil); got != "" {
		t.Errorf("without a token everything passes, but: %s", got)
	}
	token.Set("the-token")
	signed := func(fields ...string) string { return sign(fields) }
	good := signed("f", "read", "", "the-token")
	for _, row := range []struct {
		query query
		token []string
		want  string
	}{
		{query{"path": "f"}, []string{"the-token"}, ""},
		{query{"path": "f", "signature": good}, nil, ""},
		{query{"path": "f", "signature": strings.ReplaceAll(good, "+", " ")}, nil, ""},
		{query{"path": "f", "signature": good}, []string{"wrong"}, "401 invalid access token"},
		{query{"path": "f"}, nil, "401 missing access token or signature"},
		{query{"path": "g", "signature": good}, nil, "401 invalid signature"},
		{query{"path": "f", "signature": good + "="}, nil, "401 invalid signature"},
		{query{"path": "f", "username": "root", "signature": good}, nil, "401 invalid signature"},
		{query{"path": "f", "signature": signed("f", "write", "", "the-token")}, nil, "401 invalid signature"},
		{query{"path": "f", "signature": signed("f", "read", "", "the-token", "1800000000"), "signature_expiration": "1800000000"}, nil, ""},
		{query{"path": "f", "signature": signed("f", "read", "", "the-token", "1799999999"), "signature_expiration": "1799999999"}, nil, "401 signature has expired"},
		{query{"path": "f", "signature": good, "signature_expiration": "1800000005"}, nil, "401 invalid signature"},
		{query{"path": "f", "signature": good, "signature_expiration": "soon"}, nil, "400 signature_expiration is not a number of seconds"},
	} {
		header := http.Header{}
		if row.token != nil {
			header["X-Access-Token"] = row.token
		}
		if got := check(row.query, header); got != row.want {
			t.Errorf("%v with token %v: %q, not %q", row.query, row.token, got, row.want)
		}
	}
}
