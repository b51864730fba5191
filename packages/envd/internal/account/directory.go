package account

import (
	"os"
	"os/user"
	"strconv"
	"sync"
	"syscall"
)

// Names turns the numbers on a file into names. A number without a name becomes its decimal text.
type Names interface {
	User(uid uint32) string
	Group(gid uint32) string
}

// A Directory knows the users of the system. It reads the account files again when they have changed.
type Directory struct {
	passwd, group string
	single        *User

	mutex   sync.Mutex
	version [2]fileVersion
	cached  *accounts
}

// NewDirectory returns the directory of /etc/passwd and /etc/group.
func NewDirectory() *Directory {
	return &Directory{passwd: "/etc/passwd", group: "/etc/group"}
}

// NewSingle returns a directory in which the known names ("user", "root", the daemon's own) are the daemon's own
// account, with another home.
func NewSingle(home string) *Directory {
	self := own()
	self.Home = home
	directory := NewDirectory()
	directory.single = &self
	return directory
}

// Find returns the user of a name.
func (d *Directory) Find(name string) (User, bool) {
	if d.single != nil {
		found := *d.single
		known := name == "user" || name == "root" || name == found.Name
		found.Name = name
		return found, known
	}
	found, known := d.accounts().users[name]
	// An image may come without account files, and root is there all the same.
	if !known && name == "root" {
		return User{Name: "root", Home: "/root", Shell: "/bin/sh"}, true
	}
	return found, known
}

// Names returns the names as of now. A listing takes them once.
func (d *Directory) Names() Names { return d.accounts() }

func (a *accounts) User(uid uint32) string  { return nameOf(a.userNames, uid) }
func (a *accounts) Group(gid uint32) string { return nameOf(a.groupNames, gid) }

func nameOf(names map[uint32]string, id uint32) string {
	if name, known := names[id]; known {
		return name
	}
	return strconv.FormatUint(uint64(id), 10)
}

func (d *Directory) accounts() *accounts {
	version := [2]fileVersion{versionOf(d.passwd), versionOf(d.group)}
	d.mutex.Lock()
	defer d.mutex.Unlock()
	if d.cached == nil || d.version != version {
		d.cached = parse(read(d.passwd, version[0]), read(d.group, version[1]))
		d.version = version
	}
	return d.cached
}

// A fileVersion differs when a file's content may. It is zero for what is no file: opening that could wait for ever.
type fileVersion struct {
	inode        uint64
	size         int64
	mtime, ctime int64
}

func versionOf(path string) fileVersion {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return fileVersion{}
	}
	stat := info.Sys().(*syscall.Stat_t)
	return fileVersion{stat.Ino, stat.Size, info.ModTime().UnixNano(), changeTime(stat)}
}

func read(path string, version fileVersion) string {
	if version == (fileVersion{}) {
		return ""
	}
	text, _ := os.ReadFile(path)
	return string(text)
}

// own returns the account of this process. A number without an account is common in containers.
func own() User {
	self := User{UID: uint32(os.Getuid()), GID: uint32(os.Getgid()), Home: "/", Shell: "/bin/sh"}
	self.Name = strconv.Itoa(os.Getuid())
	if found, err := user.Current(); err == nil {
		self.Name = found.Username
	}
	groups, _ := os.Getgroups()
	for _, group := range groups {
		if uint32(group) != self.GID {
			self.Groups = append(self.Groups, uint32(group))
		}
	}
	return self
}
