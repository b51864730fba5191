package process

import (
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"
)

const someParent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

func trace(parent, state string) map[string]string {
	return traceVariables(http.Header{"Traceparent": {parent}, "Tracestate": {state}})
}

func TestTraceBecomesVariables(t *testing.T) {
	state := "rojo=00f067aa0ba902b7, 1tenant@vendor=t61rcWkgMzE"
	want := map[string]string{"TRACEPARENT": someParent, "TRACESTATE": state}
	if got := trace(someParent, state); !maps.Equal(got, want) {
		t.Error(got)
	}
	two := http.Header{"Traceparent": {someParent}, "Tracestate": {"a=1", "b=2"}}
	if got := traceVariables(two)["TRACESTATE"]; got != "a=1, b=2" {
		t.Error(got)
	}
}

func TestTraceOfAnotherFormIsLeftOut(t *testing.T) {
	for name, parent := range map[string]string{
		"nothing":                   "",
		"a trace ID of zeros":       "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
		"a parent ID of zeros":      "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
		"capital letters":           strings.ToUpper(someParent),
		"the forbidden version":     "ff" + someParent[2:],
		"a version that is unknown": "01" + someParent[2:],
		"more behind it":            someParent + "-x",
		"two of them":               someParent + ", " + someParent,
		"an ID that is too short":   "00-4bf92f3577b34da6a3ce929d0e0e473-00f067aa0ba902b7-01",
		"a command":                 "$(reboot)",
		"a second variable":         someParent + "\tLD_PRELOAD=/tmp/x",
	} {
		if got := trace(parent, "a=b"); got != nil {
			t.Error(name, got)
		}
	}
}

func TestTraceWithAStateOfAnotherFormKeepsItsID(t *testing.T) {
	var members []string
	for number := range 33 {
		members = append(members, fmt.Sprintf("a%d=b", number))
	}
	for name, state := range map[string]string{
		"nothing":                         "",
		"no value":                        "a",
		"an empty value":                  "a=",
		"a capital key":                   "A=b",
		"a key that begins with a number": "1a=b",
		"two tenants":                     "a@b@c=d",
		"a second equals sign":            "a=b=c",
		"a space at the end of a value":   "a=b ,c= ",
		"a character that cannot be seen": "a=b\u00e9",
		"33 members":                      strings.Join(members, ","),
		"more than 512 characters":        "a=" + strings.Repeat("b", 250) + ",c=" + strings.Repeat("d", 260),
	} {
		if got := trace(someParent, state); len(got) != 1 || got["TRACEPARENT"] != someParent {
			t.Error(name, got)
		}
	}
}
