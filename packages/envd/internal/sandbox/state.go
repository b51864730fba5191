// Package sandbox holds what the platform has set for this sandbox: users, defaults, variables, access token.
// Only POST /init changes it.
package sandbox

import (
	"encoding/base64"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"sync"

	"svc.example/envd/internal/account"
)

// State is what every part of the daemon may look at. Its methods may be called from any goroutine.
type State struct {
	Users *account.Directory
	token Token
	gate  Gate
	// singleUser is the home of the only account; empty: users are as the system has them.
	singleUser string

	mutex    sync.RWMutex
	user     string
	workdir  string
	env      map[string]string
	trustEnv map[string]string
}

// New returns the state of a sandbox with the users of the system.
func New() *State {
	return &State{Users: account.NewDirectory(), user: "root"}
}

// NewSingle returns the state of a daemon that never changes its user. Every known name has this home directory.
func NewSingle(home string) *State {
	return &State{Users: account.NewSingle(home), user: "user", singleUser: home}
}

// SingleUser returns the home of the only account, and whether there is but one.
func (s *State) SingleUser() (home string, ok bool) { return s.singleUser, s.singleUser != "" }

// Token returns the access token's holder.
func (s *State) Token() *Token { return &s.token }

// Gate returns what holds requests while a copy of this memory is made.
func (s *State) Gate() *Gate { return &s.gate }

// DefaultUser returns the name of the user of requests that name none.
func (s *State) DefaultUser() string {
	s.mutex.RLock()
	defer s.mutex.RUnlock()
	return s.user
}

// Workdir returns the default working directory, unresolved; empty: the user's home.
func (s *State) Workdir() string {
	s.mutex.RLock()
	defer s.mutex.RUnlock()
	return s.workdir
}

// Env returns a copy of the variables that every process gets.
func (s *State) Env() map[string]string {
	s.mutex.RLock()
	defer s.mutex.RUnlock()
	return maps.Clone(s.env)
}

// TrustEnv returns a copy of the variables that make processes trust the authority of /init.
func (s *State) TrustEnv() map[string]string {
	s.mutex.RLock()
	defer s.mutex.RUnlock()
	return maps.Clone(s.trustEnv)
}

// A Change holds the fields that a request of the platform sets; nil ones stay.
type Change struct {
	User, Workdir *string
	Env, TrustEnv map[string]string
}

// Apply replaces what is given, all at once.
func (s *State) Apply(change Change) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if change.User != nil {
		s.user = *change.User
	}
	if change.Workdir != nil {
		s.workdir = *change.Workdir
	}
	if change.Env != nil {
		s.env = change.Env
	}
	if change.TrustEnv != nil {
		s.trustEnv = change.TrustEnv
	}
}

// RequestUser returns the account that a call names by HTTP Basic auth (the password is ignored), else the default one.
func (s *State) RequestUser(header http.Header) (account.User, error) {
	name := basicUserName(header.Get("Authorization"))
	if name == "" {
		name = s.DefaultUser()
	}
	user, known := s.Users.Find(name)
	if !known {
		return account.User{}, fmt.Errorf("unknown user %q", name)
	}
	return user, nil
}

// basicUserName returns the user name of a Basic header; empty without such a header.
func basicUserName(header string) string {
	scheme, value, _ := strings.Cut(header, " ")
	if !strings.EqualFold(scheme, "basic") {
		return ""
	}
	value = strings.TrimRight(strings.TrimSpace(value), "=")
	value = strings.NewReplacer("-", "+", "_", "/").Replace(value)
	text, err := base64.RawStdEncoding.DecodeString(value)
	if err != nil {
		return ""
	}
	name, _, _ := strings.Cut(string(text), ":")
	return name
}
