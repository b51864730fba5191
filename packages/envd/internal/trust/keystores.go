package trust

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"time"
)

var keystores = []string{"/etc/ssl/certs/java/cacerts", "/opt/java/openjdk/lib/security/cacerts"}

const (
	jvms        = "/usr/lib/jvm"
	keytoolTime = 15 * time.Second
)

// A Runner runs a program to its end. It fails when the program does.
type Runner func(ctx context.Context, program string, arguments []string) error

// importIntoKeystores leaves a keystore as it is that cannot be changed: Java is one of many programs here.
func (t tree) importIntoKeystores(ctx context.Context, run Runner) {
	ctx, stop := context.WithTimeout(ctx, keytoolTime)
	defer stop()
	paths := slices.Clone(keystores)
	versions, _ := os.ReadDir(t.at(jvms))
	for _, version := range versions {
		paths = append(paths, filepath.Join(jvms, version.Name(), "lib/security/cacerts"))
	}
	var done []string
	for _, path := range t.existing(paths) {
		store, err := filepath.EvalSymlinks(path)
		if err != nil || slices.Contains(done, store) {
			continue
		}
		done = append(done, store)
		for _, keytool := range []string{filepath.Join(store, "../../../bin/keytool"), t.at("/usr/bin/keytool")} {
			if isFile(keytool) {
				t.importWith(ctx, run, keytool, store)
				break
			}
		}
	}
}

func (t tree) importWith(ctx context.Context, run Runner, keytool, store string) {
	common := []string{"-keystore", store, "-storepass", "changeit", "-alias", "svc-egress"}
	run(ctx, keytool, append([]string{"-delete"}, common...))
	run(ctx, keytool, append([]string{"-importcert", "-noprompt", "-trustcacerts", "-file", t.at(local)}, common...))
}
