package disk

import "os"

// actingUser returns the number of the user whose rights this thread has.
func actingUser() uint32 { return uint32(os.Geteuid()) }
