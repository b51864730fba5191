// Package account reads the users and groups of the system that the daemon runs in.
package account

import (
	"cmp"
	"strconv"
	"strings"
)

// A User is an account of the operating system, as a process or a file's owner needs it.
type User struct {
	Name string
	UID  uint32
	GID  uint32
	// Groups are the supplementary ones; the primary one is not repeated.
	Groups []uint32
	Home   string
	Shell  string
}

// accounts are what /etc/passwd and /etc/group say together.
type accounts struct {
	users      map[string]User
	userNames  map[uint32]string
	groupNames map[uint32]string
}

// parse reads the texts of both account files. Malformed lines are skipped; the first line of a name or number wins,
// as in libc.
func parse(passwd, group string) *accounts {
	found := &accounts{map[string]User{}, map[uint32]string{}, map[uint32]string{}}
	for fields := range lines(passwd, 7) {
		uid, uidOK := parseID(fields[2])
		gid, gidOK := parseID(fields[3])
		name := fields[0]
		if name == "" || !uidOK || !gidOK {
			continue
		}
		if _, known := found.users[name]; !known {
			found.users[name] = User{
				Name: name, UID: uid, GID: gid, Home: cmp.Or(fields[5], "/"), Shell: cmp.Or(fields[6], "/bin/sh"),
			}
		}
		if _, known := found.userNames[uid]; !known {
			found.userNames[uid] = name
		}
	}
	for fields := range lines(group, 4) {
		name := fields[0]
		gid, ok := parseID(fields[2])
		if name == "" || !ok {
			continue
		}
		if _, known := found.groupNames[gid]; !known {
			found.groupNames[gid] = name
		}
		for member := range strings.SplitSeq(fields[3], ",") {
			found.join(strings.TrimSpace(member), gid)
		}
	}
	return found
}

func (a *accounts) join(name string, gid uint32) {
	user, known := a.users[name]
	if !known || user.GID == gid {
		return
	}
	for _, group := range user.Groups {
		if group == gid {
			return
		}
	}
	user.Groups = append(user.Groups, gid)
	a.users[name] = user
}

// lines yields the fields of each line, as many as wanted; missing ones are empty.
func lines(text string, fields int) func(yield func([]string) bool) {
	return func(yield func([]string) bool) {
		for line := range strings.SplitSeq(text, "\n") {
			if line == "" || line[0] == '#' {
				continue
			}
			parts := strings.Split(line, ":")
			for len(parts) < fields {
				parts = append(parts, "")
			}
			if !yield(parts) {
				return
			}
		}
	}
}

func parseID(text string) (uint32, bool) {
	id, err := strconv.ParseUint(text, 10, 32)
	return uint32(id), err == nil
}
