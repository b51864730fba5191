package runas

import "golang.org/x/sys/unix"

// StayDumpable undoes what the kernel does when a thread of the daemon, or a child that still shares its memory, takes on
// another user: it makes the whole process one that only the namespace which it was started in may look into. After a
// restore that is not the sandbox's, and no second checkpoint could be made.
func StayDumpable() { unix.Prctl(unix.PR_SET_DUMPABLE, 1, 0, 0, 0) }
