package process

import (
	"net/http"
	"strings"
)

const (
	// longestTraceState is the longest `tracestate` that is handed on, in characters, and mostTraceMembers its most members.
	longestTraceState = 512
	mostTraceMembers  = 32

	lowerHex   = "0123456789abcdef"
	lower      = "abcdefghijklmnopqrstuvwxyz"
	digits     = "0123456789"
	stateChars = lower + digits + "_-*/"
)

// traceVariables returns the variables that name the trace of the request which starts a program: OpenTelemetry's
// TRACEPARENT and TRACESTATE. There are none for headers that are not exactly as W3C Trace Context, version 00, has them.
func traceVariables(header http.Header) map[string]string {
	parent := joined(header, "Traceparent")
	if !isTraceParent(parent) {
		return nil
	}
	variables := map[string]string{"TRACEPARENT": parent}
	if state := joined(header, "Tracestate"); isTraceState(state) {
		variables["TRACESTATE"] = state
	}
	return variables
}

// joined returns all fields of a header as one, as HTTP allows.
func joined(header http.Header, name string) string { return strings.Join(header.Values(name), ", ") }

func isTraceParent(text string) bool {
	fields := strings.Split(text, "-")
	return len(fields) == 4 && fields[0] == "00" &&
		isID(fields[1], 32) && isID(fields[2], 16) && len(fields[3]) == 2 && consistsOf(fields[3], lowerHex)
}

// isID tells whether it is an ID; one of zeros alone means none.
func isID(text string, length int) bool {
	return len(text) == length && consistsOf(text, lowerHex) && !consistsOf(text, "0")
}

func consistsOf(text, allowed string) bool { return strings.Trim(text, allowed) == "" }

func isTraceState(state string) bool {
	if state == "" || len(state) > longestTraceState {
		return false
	}
	members := 0
	for member := range strings.SplitSeq(state, ",") {
		member = strings.Trim(member, " \t")
		if member == "" {
			continue
		}
		if !isStateMember(member) {
			return false
		}
		members++
	}
	return members > 0 && members <= mostTraceMembers
}

func isStateMember(member string) bool {
	key, value, _ := strings.Cut(member, "=")
	return isStateKey(key) && isStateValue(value)
}

func isStateKey(key string) bool {
	tenant, system, multiple := strings.Cut(key, "@")
	if !multiple {
		return key != "" && len(key) <= 256 && strings.Contains(lower, key[:1]) && consistsOf(key, stateChars)
	}
	return tenant != "" && len(tenant) <= 241 && strings.Contains(lower+digits, tenant[:1]) && consistsOf(tenant, stateChars) &&
		system != "" && len(system) <= 14 && strings.Contains(lower, system[:1]) && consistsOf(system, stateChars)
}

func isStateValue(value string) bool {
	if value == "" || len(value) > 256 || value[len(value)-1] == ' ' {
		return false
	}
	for _, char := range []byte(value) {
		if char < 0x20 || char > 0x7e || char == '=' || char == ',' {
			return false
		}
	}
	return true
}
