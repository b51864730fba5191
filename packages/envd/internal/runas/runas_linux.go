// Package runas does file operations with the rights of a user.
//
// The daemon is root. Root that acts on paths of a user follows links which that user could not, and is refused what
// the user may do where the host sets fs.protected_*. So each operation runs on a thread that has the user's groups, fsgid
// and fsuid: the kernel then takes root's capabilities over files away from it, and what it creates belongs to the user.
// For everything else the thread stays root's. gVisor has no fsuid: there the thread has the user's effective ids.
package runas

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
	"svc.example/envd/internal/account"
)

// privileged tells whether this process may take on users. In single-user mode it may not.
var privileged = os.Getuid() == 0

// Disable makes Do run every action as the daemon itself. It is called before anything else, if at all.
func Disable() { privileged = false }

// Do runs the action with the rights of the user and returns its error. The action must stay on its goroutine: another one
// would run with the daemon's rights. A file that it opens keeps the user's rights wherever it is used later.
func Do(user account.User, action func() error) error {
	if !privileged || isRoot(user) {
		return action()
	}
	runtime.LockOSThread()
	if err := become(user.UID, user.GID, user.Groups); err != nil {
		// The thread ends with its goroutine, as it stays locked.
		return err
	}
	// Also when the action panics: the goroutine may go on to serve another user.
	defer func() {
		if become(0, 0, nil) == nil {
			runtime.UnlockOSThread()
		}
		StayDumpable()
	}()
	return action()
}

func isRoot(user account.User) bool { return user.UID == 0 && user.GID == 0 && len(user.Groups) == 0 }

// become gives this thread the rights of a user over files. The functions of x/sys change all threads, so the calls are made by
// number.
func become(uid, gid uint32, groups []uint32) error {
	steps := []func() syscall.Errno{
		func() syscall.Errno { return setGroups(groups) },
		func() syscall.Errno { return take(unix.SYS_SETFSGID, unix.SYS_SETRESGID, gid) },
		func() syscall.Errno { return take(unix.SYS_SETFSUID, unix.SYS_SETRESUID, uid) },
	}
	if uid == 0 {
		// Only root may change its groups.
		slices.Reverse(steps)
	}
	for _, step := range steps {
		if errno := step(); errno != 0 {
			return fmt.Errorf("cannot take on user %d: %w", uid, errno)
		}
	}
	return nil
}

func setGroups(groups []uint32) syscall.Errno {
	_, _, errno := unix.RawSyscall(unix.SYS_SETGROUPS, uintptr(len(groups)), uintptr(unsafe.Pointer(unsafe.SliceData(groups))), 0)
	return errno
}

// none is a number that belongs to nobody: calls that get it change nothing.
const none = ^uintptr(0)

// hasFileIDs tells whether the kernel keeps the ids of file operations apart. An effective id would give the user more than files:
// the entries of the thread in /proc, such as oom_score_adj, and its scheduling.
var hasFileIDs = func() bool {
	_, _, errno := unix.RawSyscall(unix.SYS_SETFSUID, none, 0, 0)
	return errno == 0
}()

// take takes on an id for files, or where there is no such thing, as the effective one: the real and the saved one stay.
func take(forFiles, all uintptr, id uint32) syscall.Errno {
	if !hasFileIDs {
		_, _, errno := unix.RawSyscall(all, none, uintptr(id), none)
		return errno
	}
	// The call returns the id from before, and no error.
	unix.RawSyscall(forFiles, uintptr(id), 0, 0)
	if now, _, _ := unix.RawSyscall(forFiles, none, 0, 0); uint32(now) != id {
		return unix.EPERM
	}
	return 0
}

// ActingUser returns the number of the user whose rights this thread has.
func ActingUser() uint32 {
	if !hasFileIDs {
		return uint32(os.Geteuid())
	}
	now, _, _ := unix.RawSyscall(unix.SYS_SETFSUID, none, 0, 0)
	return uint32(now)
}
