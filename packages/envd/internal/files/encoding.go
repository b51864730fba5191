package files

import (
	"strconv"
	"strings"
)

// A form is how a body may be sent.
type form string

const (
	identity form = "identity"
	gzipped  form = "gzip"
	// unacceptable: the client takes neither.
	unacceptable form = ""
)

// chooseForm reads Accept-Encoding. With plainOnly the answer is to a range or a condition, which are about the identity
// form.
func chooseForm(header string, plainOnly bool) form {
	weights := parseWeights(header)
	weight := func(fallback float64, names ...string) float64 {
		for _, name := range append(names, "*") {
			if given, found := weights[name]; found {
				return given
			}
		}
		return fallback
	}
	switch {
	case !plainOnly && weight(0, "gzip", "x-gzip") > 0:
		return gzipped
	// It is acceptable unless it is ruled out, by name or by `*;q=0`.
	case weight(1, "identity") > 0:
		return identity
	}
	return unacceptable
}

func parseWeights(header string) map[string]float64 {
	weights := map[string]float64{}
	for item := range strings.SplitSeq(strings.ToLower(header), ",") {
		name, parameters, _ := strings.Cut(item, ";")
		if name = strings.TrimSpace(name); name == "" {
			continue
		}
		weights[name] = 1
		for parameter := range strings.SplitSeq(parameters, ";") {
			if quality, found := strings.CutPrefix(strings.TrimSpace(parameter), "q="); found {
				weights[name], _ = strconv.ParseFloat(strings.TrimSpace(quality), 64)
				break
			}
		}
	}
	return weights
}
