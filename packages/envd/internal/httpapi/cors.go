package httpapi

import "net/http"

const (
	corsMethods = "HEAD, GET, POST, PUT, PATCH, DELETE"
	corsExposed = "Connect-Content-Encoding, Connect-Accept-Encoding, Content-Encoding, Content-Disposition, " +
		"Content-Range, Accept-Ranges, ETag, Location, Cache-Control, X-Content-Type-Options"
)

// answerCORS marks the response as readable from any web page. It answers a preflight and returns true.
func answerCORS(response http.ResponseWriter, request *http.Request) bool {
	if _, ok := request.Header["Origin"]; !ok {
		return false
	}
	header := response.Header()
	header.Set("Access-Control-Allow-Origin", "*")
	_, asks := request.Header["Access-Control-Request-Method"]
	if request.Method != http.MethodOptions || !asks {
		header.Set("Access-Control-Expose-Headers", corsExposed)
		return false
	}
	// A literal `*` would not cover Authorization, so each header that is asked for is named.
	wanted := request.Header.Get("Access-Control-Request-Headers")
	if wanted == "" {
		wanted = "*"
	}
	header.Set("Access-Control-Allow-Headers", wanted)
	header.Set("Access-Control-Allow-Methods", corsMethods)
	header.Set("Access-Control-Max-Age", "7200")
	header.Set("Vary", "Origin, Access-Control-Request-Method, Access-Control-Request-Headers")
	response.WriteHeader(http.StatusNoContent)
	return true
}
