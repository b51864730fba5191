// Package initstate takes what the platform sets: POST /init.
package initstate

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"
)

// A request of the platform, checked. Nil fields stay as they are.
type initRequest struct {
	accessToken string
	env         map[string]string
	user        string
	workdir     *string
	at          time.Time
	hostname    string
	// caBundle is the PEM of an authority that programs shall trust; empty: of none any more.
	caBundle *string
	// quiesced true: requests wait until it is false, because a copy of this memory is about to be made.
	quiesced *bool
}

var (
	errNotJSON     = errors.New("the body is not JSON")
	oneCertificate = regexp.MustCompile(`^-----BEGIN CERTIFICATE-----\r?\n[A-Za-z0-9+/=\r\n]+-----END CERTIFICATE-----\s*$`)
	hostName       = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9.-]{0,63}$`)
)

// parse reads the body. Unknown fields are ignored. Its errors name the field that is wrong and never its value, which may be
// secret.
func parse(body []byte) (*initRequest, error) {
	var fields map[string]json.RawMessage
	if strings.TrimSpace(string(body)) != "" {
		if !json.Valid(body) {
			return nil, errNotJSON
		}
		if json.Unmarshal(body, &fields) != nil || fields == nil {
			return nil, errors.New("the body is not an object")
		}
	}
	reader := fieldReader{fields: fields}
	request := &initRequest{workdir: reader.text("defaultWorkdir"), caBundle: reader.text("caBundle")}
	// An empty token would lock everybody out or nobody: it means none given.
	request.accessToken = reader.filled("accessToken")
	request.user = reader.filled("defaultUser")
	request.hostname = reader.filled("hostname")
	timestamp := reader.filled("timestamp")
	reader.into("quiesced", "a boolean", &request.quiesced)
	request.env = reader.variables("envVars")
	if reader.err != nil {
		return nil, reader.err
	}
	if request.hostname != "" && !hostName.MatchString(request.hostname) {
		return nil, errors.New("hostname is not a host name")
	}
	if request.caBundle != nil && strings.TrimSpace(*request.caBundle) == "" {
		*request.caBundle = ""
	} else if request.caBundle != nil && !oneCertificate.MatchString(*request.caBundle) {
		return nil, errors.New("caBundle is not one certificate as PEM")
	}
	if timestamp != "" {
		at, err := time.Parse(time.RFC3339Nano, timestamp)
		if err != nil {
			return nil, errors.New("timestamp is not an RFC 3339 time")
		}
		request.at = at
	}
	return request, nil
}

// A fieldReader reads fields of an object and keeps the first error.
type fieldReader struct {
	fields map[string]json.RawMessage
	err    error
}

func (r *fieldReader) into(name, kind string, value any) {
	raw, given := r.fields[name]
	if given && json.Unmarshal(raw, value) != nil && r.err == nil {
		r.err = fmt.Errorf("%s is not %s", name, kind)
	}
}

func (r *fieldReader) text(name string) *string {
	var value *string
	r.into(name, "a string", &value)
	return value
}

func (r *fieldReader) filled(name string) string {
	if value := r.text(name); value != nil {
		return *value
	}
	return ""
}

func (r *fieldReader) variables(name string) map[string]string {
	var raw map[string]json.RawMessage
	r.into(name, "an object", &raw)
	if raw == nil {
		return nil
	}
	variables := make(map[string]string, len(raw))
	for key, text := range raw {
		var value *string
		if json.Unmarshal(text, &value) != nil || value == nil {
			if r.err == nil {
				r.err = fmt.Errorf("%s.%s is not a string", name, key)
			}
			continue
		}
		variables[key] = *value
	}
	return variables
}
