package files

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"net/http"
	"strconv"
	"strings"
	"time"

	"svc.example/envd/internal/sandbox"
)

// An operation is what a signature permits.
type operation string

const (
	read  operation = "read"
	write operation = "write"
)

// checkAccess lets a request for a file pass by token or by signature. A token header that is there decides alone.
func checkAccess(token *sandbox.Token, header http.Header, query query, operation operation, now time.Time) error {
	secret, required := token.Reveal()
	if !required {
		return nil
	}
	if shown, given := joined(header, "X-Access-Token"); given {
		if token.Matches(shown, true) {
			return nil
		}
		return fail(http.StatusUnauthorized, "invalid access token")
	}
	expiration, expires, err := parseExpiration(query["signature_expiration"])
	if err != nil {
		return err
	}
	signature := query["signature"]
	if signature == "" {
		return fail(http.StatusUnauthorized, "missing access token or signature")
	}
	fields := []string{query["path"], string(operation), query["username"], secret}
	if expires {
		fields = append(fields, strconv.FormatInt(expiration, 10))
	}
	// A plus that was not escaped has become a space on its way through the query.
	if !sameText(strings.ReplaceAll(signature, " ", "+"), sign(fields)) {
		return fail(http.StatusUnauthorized, "invalid signature")
	}
	if expires && expiration < now.Unix() {
		return fail(http.StatusUnauthorized, "signature has expired")
	}
	return nil
}

// sign makes a signature as clients do, of path, operation, user name, token and, where there is one, expiration.
func sign(fields []string) string {
	digest := sha256.Sum256([]byte(strings.Join(fields, ":")))
	return "v1_" + base64.RawStdEncoding.EncodeToString(digest[:])
}

func parseExpiration(text string) (seconds int64, given bool, err error) {
	if text == "" {
		return 0, false, nil
	}
	seconds, err = strconv.ParseInt(text, 10, 64)
	if err != nil || len(strings.TrimPrefix(text, "-")) > 18 || text[0] == '+' {
		return 0, false, fail(http.StatusBadRequest, "signature_expiration is not a number of seconds")
	}
	return seconds, true, nil
}

func sameText(a, b string) bool {
	first, second := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(first[:], second[:]) == 1
}
