package trust

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const other = "-----BEGIN CERTIFICATE-----\nb3RoZXI=\n-----END CERTIFICATE-----\n"

func authority(t *testing.T, subject pkix.Name) string {
	t.Helper()
	key, _ := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	template := x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: subject, NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, &template, &template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}

func openssl(t *testing.T, arguments ...string) string {
	t.Helper()
	if _, err := exec.LookPath("openssl"); err != nil {
		t.Skip("there is no openssl to compare with")
	}
	output, err := exec.Command("openssl", arguments...).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(output))
}

// system makes a directory in place of / that has one bundle.
func system(t *testing.T) tree {
	root := tree{t.TempDir()}
	os.MkdirAll(root.at("/etc/ssl/certs"), 0o755)
	os.WriteFile(root.at(bundles[0]), []byte(other), 0o644)
	return root
}

func trust(t *testing.T, root tree, text string) map[string]string {
	t.Helper()
	variables, err := Authority(context.Background(), text, root.root, func(context.Context, string, []string) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	return variables
}

func text(path string) string {
	content, _ := os.ReadFile(path)
	return string(content)
}

func TestHashIsTheOneOfOpenSSL(t *testing.T) {
	for _, name := range []pkix.Name{
		{CommonName: "a"},
		{Country: []string{"DE"}, Organization: []string{"Two  Words"}, OrganizationalUnit: []string{"Ünit"}, CommonName: "UPPER lower"},
		{CommonName: strings.Repeat("long ", 12) + "end", Locality: []string{"Somewhere"}, SerialNumber: "7"},
	} {
		made := authority(t, name)
		file := filepath.Join(t.TempDir(), "ca.pem")
		os.WriteFile(file, []byte(made), 0o644)
		block, _ := pem.Decode([]byte(made))
		certificate, _ := x509.ParseCertificate(block.Bytes)
		hash, err := subjectHash(certificate)
		if want := openssl(t, "x509", "-hash", "-noout", "-in", file); err != nil || hash != want {
			t.Errorf("%v: %s, %v; want %s", name, hash, err, want)
		}
	}
}

func TestAuthorityIsAddedWhereProgramsLook(t *testing.T) {
	root := system(t)
	made := authority(t, pkix.Name{Organization: []string{"Svc Test"}, CommonName: "svc egress  Authority"})
	variables := trust(t, root, made)
	bundle := text(root.at(bundles[0]))
	if !strings.HasPrefix(bundle, other) || !strings.Contains(bundle, made) || text(root.at(local)) != made {
		t.Error("the bundle or the local certificate is not as wanted")
	}
	for _, name := range []string{"SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO", "PIP_CERT"} {
		if variables[name] != root.at(bundles[0]) {
			t.Errorf("%s is %s", name, variables[name])
		}
	}
	if got := openssl(t, "verify", "-CApath", root.at(hashed), root.at(local)); !strings.Contains(got, "OK") {
		t.Error(got)
	}
}

func TestAuthorityIsAddedOnceAndReplacesAnEarlierOne(t *testing.T) {
	root := system(t)
	made, next := authority(t, pkix.Name{CommonName: "one"}), authority(t, pkix.Name{CommonName: "next"})
	trust(t, root, made)
	once := text(root.at(bundles[0]))
	trust(t, root, made)
	if text(root.at(bundles[0])) != once {
		t.Error("the second time changed the bundle")
	}
	trust(t, root, next)
	if bundle := text(root.at(bundles[0])); !strings.Contains(bundle, next) || strings.Contains(bundle, made) {
		t.Error("the earlier authority was not replaced")
	}
}

func TestAnEmptyTextTakesEverythingBack(t *testing.T) {
	root := system(t)
	trust(t, root, authority(t, pkix.Name{CommonName: "one"}))
	if variables := trust(t, root, ""); len(variables) != 0 || text(root.at(bundles[0])) != other {
		t.Error("something was left in the bundle")
	}
	entries, _ := os.ReadDir(root.at(hashed))
	if len(entries) != 1 || text(root.at(local)) != "" {
		t.Errorf("left: %v", entries)
	}
}

func TestLinksStayAndTakenNamesAreKept(t *testing.T) {
	root := system(t)
	os.MkdirAll(root.at("/etc/pki/tls/certs"), 0o755)
	os.Symlink("../../../ssl/certs/ca-certificates.crt", root.at(bundles[1]))
	made := authority(t, pkix.Name{CommonName: "one"})
	block, _ := pem.Decode([]byte(made))
	certificate, _ := x509.ParseCertificate(block.Bytes)
	hash, _ := subjectHash(certificate)
	os.WriteFile(filepath.Join(root.at(hashed), hash+".0"), []byte(other), 0o644)
	trust(t, root, made)
	if _, err := os.Readlink(root.at(bundles[1])); err != nil {
		t.Error(err)
	}
	if strings.Count(text(root.at(bundles[0])), made) != 1 {
		t.Error("the bundle does not have the authority once")
	}
	if text(filepath.Join(root.at(hashed), fmt.Sprintf("%s.1", hash))) != made {
		t.Error("the next hashed name does not lead to the authority")
	}
}

func TestABundleIsMadeWhereThereIsNone(t *testing.T) {
	root := system(t)
	os.Remove(root.at(bundles[0]))
	made := authority(t, pkix.Name{CommonName: "one"})
	trust(t, root, made)
	bundle := text(root.at(bundles[0]))
	if strings.Count(bundle, "BEGIN CERTIFICATE") < 100 || !strings.Contains(bundle, made) {
		t.Errorf("%d certificates", strings.Count(bundle, "BEGIN CERTIFICATE"))
	}
}

func TestKeytoolIsAskedWhereThereIsAKeystore(t *testing.T) {
	root := system(t)
	java := root.at("/usr/lib/jvm/java-17")
	os.MkdirAll(filepath.Join(java, "lib/security"), 0o755)
	os.MkdirAll(filepath.Join(java, "bin"), 0o755)
	os.WriteFile(filepath.Join(java, "lib/security/cacerts"), nil, 0o644)
	os.WriteFile(filepath.Join(java, "bin/keytool"), nil, 0o755)
	var calls []string
	run := func(_ context.Context, program string, arguments []string) error {
		calls = append(calls, filepath.Base(program)+" "+strings.Join(arguments, " "))
		return nil
	}
	if _, err := Authority(context.Background(), authority(t, pkix.Name{CommonName: "one"}), root.root, run); err != nil {
		t.Fatal(err)
	}
	if len(calls) != 2 || !strings.HasPrefix(calls[0], "keytool -delete ") || !strings.HasPrefix(calls[1], "keytool -importcert -noprompt ") {
		t.Errorf("%q", calls)
	}
}
