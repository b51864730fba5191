package files

import (
	"net/http"
	"strings"
)

const (
	metadataHeader   = "X-Metadata-"
	maxMetadataKey   = 246
	maxMetadataBytes = 4096
)

// parseMetadata reads the metadata of an upload from its headers; keys are lower case. Keys are 1 to 246 bytes of token
// characters, values printable ASCII, all together 4096 bytes at most.
func parseMetadata(header http.Header) (map[string]string, error) {
	metadata := map[string]string{}
	total := 0
	for name := range header {
		key, found := strings.CutPrefix(name, metadataHeader)
		if !found {
			continue
		}
		key = strings.ToLower(key)
		value, _ := joined(header, name)
		if !isToken(key) || len(key) > maxMetadataKey {
			return nil, fail(http.StatusBadRequest, "metadata key %q is not 1 to %d token characters", key, maxMetadataKey)
		}
		if strings.IndexFunc(value, isNotPrintable) != -1 {
			return nil, fail(http.StatusBadRequest, "metadata %s: value is not printable ASCII", key)
		}
		total += len(key) + len(value)
		metadata[key] = value
	}
	if total > maxMetadataBytes {
		return nil, fail(http.StatusBadRequest, "metadata is longer than %d bytes", maxMetadataBytes)
	}
	return metadata, nil
}

func isNotPrintable(letter rune) bool { return letter < 0x20 || letter > 0x7e }

func isToken(text string) bool {
	return text != "" && strings.IndexFunc(text, func(letter rune) bool {
		return !strings.ContainsRune("!#$%&'*+.^_`|~-", letter) &&
			!(letter >= '0' && letter <= '9') && !(letter >= 'a' && letter <= 'z')
	}) == -1
}
