package watch

import (
	"os"
	"strconv"
	"strings"
)

var networkTypes = map[string]bool{
	"nfs": true, "nfs4": true, "cifs": true, "smb3": true, "smbfs": true, "9p": true, "ceph": true, "afs": true, "coda": true,
	"ncpfs": true, "lustre": true,
}

// The rest of the FUSE family reaches over the network more often than not: sshfs, s3fs, rclone, gcsfuse.
var localFuse = map[string]bool{
	"fuse.fuse-overlayfs": true, "fuse.lxcfs": true, "fuse.mergerfs": true, "fuse.portal": true, "fuse.bindfs": true,
}

// OnNetworkMount tells whether a directory, given without links in it, is on a file system that does not report what others
// change.
func OnNetworkMount(path string) bool {
	table, _ := os.ReadFile("/proc/self/mounts")
	return isNetworkType(mountType(path, string(table)))
}

// mountType returns the type of the file system that a path is on, by the kernel's table of mounts; empty when the table
// does not say.
func mountType(path, table string) string {
	longest, found := 0, ""
	for line := range strings.SplitSeq(table, "\n") {
		fields := strings.SplitN(line, " ", 4)
		if len(fields) < 3 {
			continue
		}
		point := unescapeOctal(fields[1])
		// The root is the sandbox's own, whatever a runtime calls it. Of two mounts the later one is visible.
		if point == "/" || (path != point && !strings.HasPrefix(path, point+"/")) {
			continue
		}
		if len(point) >= longest {
			longest, found = len(point), fields[2]
		}
	}
	return found
}

func isNetworkType(name string) bool {
	isFuse := name == "fuse" || strings.HasPrefix(name, "fuse.")
	return networkTypes[name] || (isFuse && !localFuse[name])
}

// unescapeOctal reads what the table has as `\040`: spaces, tabs, newlines and backslashes.
func unescapeOctal(text string) string {
	var plain strings.Builder
	for {
		before, after, escaped := strings.Cut(text, `\`)
		plain.WriteString(before)
		if !escaped {
			return plain.String()
		}
		text = after
		if len(after) >= 3 {
			if code, err := strconv.ParseUint(after[:3], 8, 8); err == nil {
				plain.WriteByte(byte(code))
				text = after[3:]
				continue
			}
		}
		plain.WriteByte('\\')
	}
}
