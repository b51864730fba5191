package account

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"
)

func TestGroupsOfAUser(t *testing.T) {
	found := parse(
		"root:x:0:0:root:/root:/bin/bash\nann:x:1000:1000:Ann,,,:/home/ann:/bin/zsh\n",
		"root:x:0:\nann:x:1000:ann\nsudo:x:27:bob,ann\ndisk:x:6:bob\n",
	)
	want := User{Name: "ann", UID: 1000, GID: 1000, Groups: []uint32{27}, Home: "/home/ann", Shell: "/bin/zsh"}
	if got := found.users["ann"]; !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
}

func TestMalformedLinesAndRepeatedNames(t *testing.T) {
	found := parse("# comment\n\nbad\nx:y:z\nneg:x:-1:0::/:\na:x:5:5::/a:\na:x:6:6::/b:\nb:x:5:5::/c:", "")
	if len(found.users) != 2 {
		t.Errorf("%+v", found.users)
	}
	if first := found.users["a"]; first.UID != 5 || first.Home != "/a" || first.Shell != "/bin/sh" {
		t.Errorf("%+v", first)
	}
	if name := found.User(5); name != "a" {
		t.Errorf("user 5 is %s", name)
	}
}

func TestUsersThatAreAddedLater(t *testing.T) {
	folder := t.TempDir()
	directory := &Directory{passwd: filepath.Join(folder, "passwd"), group: filepath.Join(folder, "group")}
	if _, known := directory.Find("late"); known {
		t.Error("a user is known before it is there")
	}
	if root, known := directory.Find("root"); !known || root.Home != "/root" {
		t.Errorf("root without account files: %+v, %v", root, known)
	}
	os.WriteFile(directory.passwd, []byte("late:x:7:8::/late:/bin/sh\n"), 0o644)
	if user, known := directory.Find("late"); !known || user.UID != 7 || user.GID != 8 {
		t.Errorf("%+v, %v", user, known)
	}
	os.WriteFile(directory.group, []byte("g:x:9:late\n"), 0o644)
	if user, _ := directory.Find("late"); !reflect.DeepEqual(user.Groups, []uint32{9}) {
		t.Errorf("groups %v", user.Groups)
	}
	if names := directory.Names(); names.User(7) != "late" || names.Group(4242) != "4242" {
		t.Errorf("%s, %s", names.User(7), names.Group(4242))
	}
}

func TestSingleUser(t *testing.T) {
	directory := NewSingle("/some/dir")
	for _, name := range []string{"user", "root"} {
		if user, known := directory.Find(name); !known || user.Name != name || user.Home != "/some/dir" {
			t.Errorf("%s: %+v, %v", name, user, known)
		}
	}
	if _, known := directory.Find("nobody-like-this"); known {
		t.Error("an unknown user is known")
	}
}
