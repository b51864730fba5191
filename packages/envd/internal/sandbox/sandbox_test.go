package sandbox

import (
	"context"
	"net/http"
	"testing"
	"time"
)

func TestTokenOfAnImageLetsTheOneBeforeThrough(t *testing.T) {
	var token Token
	if token.Required() || !token.Matches("", false) {
		t.Error("a token is asked for before there is one")
	}
	token.Set("first")
	if token.Matches("", false) || token.Matches("wrong", true) || !token.Matches("first", true) {
		t.Error("the token is not compared")
	}
	token.ReplaceForImage("image")
	token.ReplaceForImage("image")
	if !token.Matches("first", true) || !token.MatchesPrevious("first", true) || token.MatchesPrevious("image", true) {
		t.Error("the token from before the image does not count")
	}
	token.Set("second")
	if token.Matches("first", true) || token.Matches("image", true) || !token.Matches("second", true) {
		t.Error("an old token still counts")
	}
}

func TestGateHoldsUntilItIsOpened(t *testing.T) {
	for _, original := range []bool{true, false} {
		var gate Gate
		gate.Close()
		passed := make(chan bool)
		go func() { passed <- gate.Pass(context.Background(), func() {}) }()
		select {
		case <-passed:
			t.Fatal("a closed gate let a request through")
		case <-time.After(20 * time.Millisecond):
		}
		gate.Open(original)
		if got := <-passed; got != original {
			t.Errorf("original %v: passed %v", original, got)
		}
		if !gate.Pass(context.Background(), func() {}) {
			t.Error("an open gate holds requests")
		}
	}
}

func TestGateDropsRequestsWhoseCallerLeft(t *testing.T) {
	var gate Gate
	gate.Close()
	left, leave := context.WithCancel(context.Background())
	leave()
	if gate.Pass(left, func() {}) {
		t.Error("a request passed whose caller has left")
	}
}

func TestUserOfARequest(t *testing.T) {
	state := NewSingle("/home/x")
	for header, want := range map[string]string{
		"": "user", "Basic cm9vdDo=": "root", "basic  cm9vdA": "root", "Basic !!!": "user", "Bearer cm9vdDo=": "user", "Basic Og==": "user",
	} {
		user, err := state.RequestUser(http.Header{"Authorization": {header}})
		if err != nil || user.Name != want {
			t.Errorf("%q: %q, %v", header, user.Name, err)
		}
	}
	if _, err := state.RequestUser(http.Header{"Authorization": {"Basic bm9ib2R5LWhlcmU6"}}); err == nil {
		t.Error("an unknown user is taken")
	}
}
