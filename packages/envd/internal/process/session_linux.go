package process

import (
	"bytes"
	"os"
	"strconv"
	"syscall"
)

// signalSession signals every process of a session. SIGKILL goes on until there is nobody new: one that is being killed
// can fork no more, and what it forked before is found by the next look.
func signalSession(session int, number syscall.Signal) error {
	signalled := map[int]bool{}
	for {
		members, err := sessionMembers(session)
		if err != nil {
			return err
		}
		fresh := false
		for _, one := range members {
			if signalled[one.pid] {
				continue
			}
			fresh, signalled[one.pid] = true, true
			if number == syscall.SIGKILL {
				// The group at once, so that none of it forks meanwhile.
				syscall.Kill(-one.group, number)
			}
			if failed := syscall.Kill(one.pid, number); failed != nil && failed != syscall.ESRCH {
				err = failed
			}
		}
		if err != nil || !fresh || number != syscall.SIGKILL {
			return err
		}
	}
}

type member struct{ pid, group int }

// sessionMembers returns the living processes of a session.
func sessionMembers(session int) ([]member, error) {
	proc, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	defer proc.Close()
	names, err := proc.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	var members []member
	stat := make([]byte, 512)
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		state, group, of, ok := readStat(name, stat)
		if ok && of == session && state != 'Z' && state != 'X' {
			members = append(members, member{pid, group})
		}
	}
	return members, nil
}

// readStat reads state, process group and session of a process. It is false for one that has ended.
func readStat(pid string, into []byte) (state byte, group, session int, ok bool) {
	fd, err := syscall.Open("/proc/"+pid+"/stat", syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return 0, 0, 0, false
	}
	size, err := syscall.Read(fd, into)
	syscall.Close(fd)
	if err != nil || size <= 0 {
		return 0, 0, 0, false
	}
	return parseStat(into[:size])
}

// parseStat reads a line of /proc/PID/stat. The name in parentheses may hold anything.
func parseStat(line []byte) (state byte, group, session int, ok bool) {
	fields := bytes.Fields(line[bytes.LastIndexByte(line, ')')+1:])
	if len(fields) < 4 {
		return 0, 0, 0, false
	}
	group, groupErr := strconv.Atoi(string(fields[2]))
	session, sessionErr := strconv.Atoi(string(fields[3]))
	return fields[0][0], group, session, groupErr == nil && sessionErr == nil
}
