package process

import (
	"runtime"
	"strings"
	"testing"
	"time"
)

// eventually waits for something that has no event to wait for, in another process.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !holds(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited too long for %s", what)
		}
	}
}

// waiting tells whether a goroutine rests in a select of the function.
func waiting(function string) bool {
	stacks := make([]byte, 1<<20)
	for stack := range strings.SplitSeq(string(stacks[:runtime.Stack(stacks, true)]), "\n\n") {
		if strings.Contains(stack, "[select") && strings.Contains(stack, function) {
			return true
		}
	}
	return false
}
