// Package trust makes the programs of a system trust a certificate authority.
package trust

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// bundles are where distributions keep the certificates that everything trusts, in one file.
var bundles = []string{
	"/etc/ssl/certs/ca-certificates.crt",
	"/etc/pki/tls/certs/ca-bundle.crt",
	"/etc/ssl/ca-bundle.pem",
	"/etc/ssl/cert.pem",
}

const (
	// local is where `update-ca-certificates` takes further ones from, so that ours survives it.
	local  = "/usr/local/share/ca-certificates/svc-egress.crt"
	hashed = "/etc/ssl/certs"
	name   = "svc-egress.pem"
	begin  = "# svc egress authority: begin\n"
	end    = "# svc egress authority: end\n"
)

// Authority makes the programs below root trust a certificate authority: the system's bundle, the directory of hashed names, the
// keystores of Java. It does nothing that is done already. An empty text takes back what was done. It returns the variables
// of new processes, for programs that do not read the system's bundle by themselves.
func Authority(ctx context.Context, text, root string, run Runner) (map[string]string, error) {
	tree := tree{root}
	if text == "" {
		return map[string]string{}, tree.forget()
	}
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		return nil, errors.New("the certificate of the authority is not PEM")
	}
	certificate, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("the certificate of the authority cannot be read: %w", err)
	}
	text = string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate.Raw}))
	if err := putFile(tree.at(local), text); err != nil {
		return nil, err
	}
	found := tree.existing(bundles)
	if len(found) == 0 {
		// A program that is pointed at a bundle trusts nothing else.
		if err := putFile(tree.at(bundles[0]), wellKnown()); err != nil {
			return nil, err
		}
		found = []string{tree.at(bundles[0])}
	}
	for _, file := range found {
		if err := putBlock(file, text); err != nil {
			return nil, err
		}
	}
	if err := tree.linkHashed(certificate); err != nil {
		return nil, err
	}
	tree.importIntoKeystores(ctx, run)
	return map[string]string{
		"NODE_EXTRA_CA_CERTS": tree.at(local),
		"SSL_CERT_FILE":       found[0],
		"REQUESTS_CA_BUNDLE":  found[0],
		"CURL_CA_BUNDLE":      found[0],
		"GIT_SSL_CAINFO":      found[0],
		"PIP_CERT":            found[0],
	}, nil
}

// A tree is the directory in place of `/`.
type tree struct{ root string }

func (t tree) at(path string) string { return filepath.Join(t.root, path) }

// existing returns those of the paths that are files.
func (t tree) existing(paths []string) []string {
	var found []string
	for _, path := range paths {
		if isFile(t.at(path)) {
			found = append(found, t.at(path))
		}
	}
	return found
}

func (t tree) forget() error {
	for _, file := range t.existing(bundles) {
		if err := putBlock(file, ""); err != nil {
			return err
		}
	}
	entries, _ := os.ReadDir(t.at(hashed))
	for _, entry := range entries {
		path := filepath.Join(t.at(hashed), entry.Name())
		target, _ := os.Readlink(path)
		if entry.Name() == name || hashedName.MatchString(entry.Name()) && target == name {
			if err := os.Remove(path); err != nil {
				return err
			}
		}
	}
	if err := os.Remove(t.at(local)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

var hashedName = regexp.MustCompile(`^[0-9a-f]{8}\.\d+$`)

func (t tree) linkHashed(certificate *x509.Certificate) error {
	directory := t.at(hashed)
	if err := os.MkdirAll(directory, 0o755); err != nil {
		return err
	}
	if err := link(t.at(local), filepath.Join(directory, name)); err != nil {
		return err
	}
	hash, err := subjectHash(certificate)
	if err != nil {
		return nil // The bundle names it all the same.
	}
	// OpenSSL tries .0, .1 and so on until a name is missing.
	for number := 0; ; number++ {
		path := filepath.Join(directory, fmt.Sprintf("%s.%d", hash, number))
		target, err := os.Readlink(path)
		if target == name {
			return nil
		}
		if err != nil && !isFile(path) {
			return link(name, path)
		}
	}
}

func link(target, path string) error {
	if there, _ := os.Readlink(path); there == target {
		return nil
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.Symlink(target, path)
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

func putFile(path, text string) error {
	if there, err := os.ReadFile(path); err == nil && string(there) == text {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o644)
}

// putBlock puts our part at the end of a bundle, in place of an earlier one.
func putBlock(path, text string) error {
	before, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	others := string(before)
	if first, rest, ours := strings.Cut(others, begin); ours {
		if _, last, ended := strings.Cut(rest, end); ended {
			others = first + last
		}
	}
	after := others
	if text != "" && !strings.Contains(others, strings.TrimSpace(text)) {
		if !strings.HasSuffix(after, "\n") {
			after += "\n"
		}
		after += begin + text + end
	}
	if after == string(before) {
		return nil
	}
	return replaceFile(path, after)
}

// replaceFile writes a file so that a concurrent reader sees the whole of it, and a link stays a link.
func replaceFile(path, text string) error {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return err
	}
	info, err := os.Stat(real)
	if err != nil {
		return err
	}
	draft, err := os.CreateTemp(filepath.Dir(real), ".svc-*")
	if err != nil {
		return err
	}
	defer os.Remove(draft.Name())
	_, err = draft.WriteString(text)
	if err = errors.Join(err, draft.Chmod(info.Mode().Perm()), draft.Close()); err != nil {
		return err
	}
	return os.Rename(draft.Name(), real)
}

// wellKnown returns the authorities that browsers trust.
func wellKnown() string {
	var text bytes.Buffer
	for root := range bundle.Roots() {
		pem.Encode(&text, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate})
	}
	return text.String()
}
