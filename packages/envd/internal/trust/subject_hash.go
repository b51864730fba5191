package trust

import (
	"crypto/sha1"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/binary"
	"fmt"
	"strings"
)

// subjectHash returns the name under which OpenSSL looks an authority up in a directory of certificates (`openssl x509
// -subject_hash`): the first four bytes, as a number, of SHA-1 over the subject in its canonical form. It fails for a subject
// with values that are no text.
func subjectHash(certificate *x509.Certificate) (string, error) {
	var subject pkix.RDNSequence
	if _, err := asn1.Unmarshal(certificate.RawSubject, &subject); err != nil {
		return "", err
	}
	var canonical []byte
	for _, set := range subject {
		for index := range set {
			value, ok := set[index].Value.(string)
			if !ok {
				return "", fmt.Errorf("the value of %v is no text", set[index].Type)
			}
			set[index].Value = asn1.RawValue{Tag: asn1.TagUTF8String, Bytes: []byte(canonicalText(value))}
		}
		encoded, err := asn1.Marshal(set)
		if err != nil {
			return "", err
		}
		canonical = append(canonical, encoded...)
	}
	digest := sha1.Sum(canonical)
	return fmt.Sprintf("%08x", binary.LittleEndian.Uint32(digest[:4])), nil
}

// canonicalText has letters of ASCII in lower case, and single spaces.
func canonicalText(text string) string {
	lower := strings.Map(func(letter rune) rune {
		if letter >= 'A' && letter <= 'Z' {
			return letter + 'a' - 'A'
		}
		return letter
	}, text)
	return strings.Join(strings.Fields(lower), " ")
}
