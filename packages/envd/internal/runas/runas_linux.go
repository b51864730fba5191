// Package runas does file operations with the rights of a user.
//
// The daemon is root. Root that acts on paths of a user follows links which that user could not, and is refused what
// the user may do where the host sets fs.protected_*. So each operation runs on a thread that has the user's effective
// user, group and groups: the kernel then takes root's capabilities away from it, and what it creates belongs to the
// user. The real and the saved user stay root, so that nobody else may signal or trace the daemon. (setfsuid would do,
// but gVisor does not have it.)
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

// become gives this thread the effective user, group and supplementary groups. The functions of x/sys change all threads, so the
// calls are made by number.
func become(uid, gid uint32, groups []uint32) error {
	steps := []func() syscall.Errno{
		func() syscall.Errno { return setGroups(groups) },
		func() syscall.Errno { return setEffective(unix.SYS_SETRESGID, gid) },
		func() syscall.Errno { return setEffective(unix.SYS_SETRESUID, uid) },
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

// setEffective changes the effective number alone: the real and the saved one stay.
func setEffective(call uintptr, id uint32) syscall.Errno {
	_, _, errno := unix.RawSyscall(call, ^uintptr(0), uintptr(id), ^uintptr(0))
	return errno
}
