package watch

import (
	"encoding/binary"
	"errors"
	"os"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

const wanted = unix.IN_CREATE | unix.IN_DELETE | unix.IN_MOVED_FROM | unix.IN_MOVED_TO | unix.IN_MODIFY |
	unix.IN_ATTRIB | unix.IN_EXCL_UNLINK | unix.IN_ONLYDIR

// A Hub has the one inotify descriptor of all trees: the system allows few of them, and all count for root. It is open while
// something is watched.
type Hub struct {
	mutex sync.Mutex
	// descriptor is file's; both are unset while nothing is watched.
	descriptor int
	file       *os.File
	// watches are the directories that a watch descriptor stands for: the kernel has one for each inode, however many ask.
	watches map[int32][]*directory
	buffer  []byte
}

// NewHub returns a hub that watches nothing yet.
func NewHub() *Hub { return &Hub{descriptor: -1, watches: map[int32][]*directory{}} }

// A report is one event of the kernel about a name in a directory.
type report struct {
	directory *directory
	mask      uint32
	cookie    uint32
	name      string
	// number counts the reports of a tree.
	number uint64
}

// add watches a directory. It runs with the rights of the tree's user. A tree that was closed meanwhile gets ErrClosed.
func (h *Hub) add(directory *directory, path string, flags uint32) error {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	if directory.tree.closed {
		return os.ErrClosed
	}
	if h.file == nil {
		if err := h.open(); err != nil {
			return watchError(path, err)
		}
	}
	watch, err := unix.InotifyAddWatch(h.descriptor, path, wanted|flags)
	if err != nil {
		h.closeIfUnused()
		return watchError(path, err)
	}
	directory.watch = int32(watch)
	h.watches[directory.watch] = append(h.watches[directory.watch], directory)
	directory.tree.watched[directory] = true
	return nil
}

// watchError names the limits of the system, whose errors say something else of files.
func watchError(path string, err error) error {
	switch err {
	case unix.ENOSPC:
		return errors.New("the system allows no more watched directories (fs.inotify.max_user_watches)")
	case unix.EMFILE:
		return errors.New("the system allows no more watchers (fs.inotify.max_user_instances)")
	}
	return &os.PathError{Op: "watch", Path: path, Err: err}
}

// remove takes directories out, and their watches unless others need them.
func (h *Hub) remove(directories ...*directory) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	for _, directory := range directories {
		h.removeOne(directory)
	}
	h.closeIfUnused()
}

// removeTree takes a whole tree out for good.
func (h *Hub) removeTree(tree *tree) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	tree.closed = true
	tree.reports = nil
	for directory := range tree.watched {
		h.removeOne(directory)
	}
	h.closeIfUnused()
}

func (h *Hub) removeOne(gone *directory) {
	if !gone.tree.watched[gone] {
		return
	}
	delete(gone.tree.watched, gone)
	others := h.watches[gone.watch][:0]
	for _, other := range h.watches[gone.watch] {
		if other != gone {
			others = append(others, other)
		}
	}
	if len(others) > 0 {
		h.watches[gone.watch] = others
		return
	}
	delete(h.watches, gone.watch)
	// It fails for a directory that was deleted: the kernel has removed the watch.
	unix.InotifyRmWatch(h.descriptor, uint32(gone.watch))
}

func (h *Hub) open() error {
	descriptor, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return err
	}
	h.descriptor, h.file = descriptor, os.NewFile(uintptr(descriptor), "inotify")
	h.buffer = make([]byte, 64*1024)
	go h.read(h.file)
	return nil
}

func (h *Hub) closeIfUnused() {
	if h.file == nil || len(h.watches) > 0 {
		return
	}
	// Closing waits for the reader, which may wait for the lock.
	go h.file.Close()
	h.descriptor, h.file, h.buffer = -1, nil, nil
}

// read passes reports on until the file is closed.
func (h *Hub) read(file *os.File) {
	connection, err := file.SyscallConn()
	for err == nil {
		err = connection.Read(func(uintptr) bool { return h.collect() })
	}
}

// collect passes everything on that the kernel has to report now. It returns false where there was nothing.
func (h *Hub) collect() bool {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	found := false
	for h.file != nil {
		length, err := unix.Read(h.descriptor, h.buffer)
		if err == unix.EINTR {
			continue
		}
		if err != nil || length <= 0 {
			break
		}
		found = true
		h.deliver(h.buffer[:length])
	}
	return found
}

func (h *Hub) deliver(bytes []byte) {
	for len(bytes) >= unix.SizeofInotifyEvent {
		watch := int32(binary.NativeEndian.Uint32(bytes))
		event := report{
			mask:   binary.NativeEndian.Uint32(bytes[4:]),
			cookie: binary.NativeEndian.Uint32(bytes[8:]),
		}
		end := unix.SizeofInotifyEvent + int(binary.NativeEndian.Uint32(bytes[12:]))
		event.name = strings.TrimRight(string(bytes[unix.SizeofInotifyEvent:end]), "\x00")
		bytes = bytes[end:]
		switch {
		case event.mask&unix.IN_Q_OVERFLOW != 0:
			h.reportLoss()
		case event.mask&unix.IN_IGNORED != 0:
			for _, directory := range h.watches[watch] {
				delete(directory.tree.watched, directory)
			}
			delete(h.watches, watch)
		// Without a name it is about the directory itself, which its parent reports too.
		case event.name != "":
			for _, directory := range h.watches[watch] {
				event.directory = directory
				directory.tree.report(event)
			}
		}
	}
}

func (h *Hub) reportLoss() {
	for _, directories := range h.watches {
		for _, directory := range directories {
			directory.tree.lose()
		}
	}
}
