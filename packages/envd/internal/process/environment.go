package process

import (
	"maps"
	"slices"

	"svc.example/envd/internal/account"
	"svc.example/envd/internal/sandbox"
)

const defaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// environment returns the variables of a new process. Later sources win: the daemon's PATH, the account, those of a trusted
// authority, the sandbox's, the trace of the request, the request's own. Nothing else is inherited.
func environment(user account.User, state *sandbox.State, trace, request map[string]string, path string) map[string]string {
	if path == "" {
		path = defaultPath
	}
	variables := map[string]string{"PATH": path, "HOME": user.Home, "USER": user.Name, "LOGNAME": user.Name}
	for _, source := range []map[string]string{state.TrustEnv(), state.Env(), trace, request} {
		maps.Copy(variables, source)
	}
	return variables
}

// pairs writes variables as a program gets them.
func pairs(variables map[string]string) []string {
	all := make([]string, 0, len(variables))
	for name, value := range variables {
		all = append(all, name+"="+value)
	}
	slices.Sort(all)
	return all
}
