package httpapi

import (
	"encoding/json"
	"net/http"
	"strconv"
)

// SendJSON answers with a JSON value.
func SendJSON(response http.ResponseWriter, status int, value any) {
	body, err := json.Marshal(value)
	if err != nil {
		SendError(response, http.StatusInternalServerError, err.Error())
		return
	}
	header := response.Header()
	header.Set("Content-Type", "application/json; charset=utf-8")
	header.Set("Content-Length", strconv.Itoa(len(body)))
	response.WriteHeader(status)
	response.Write(body)
}

// An errorRecord is what every refusal of a route says.
type errorRecord struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

// SendError answers with the daemon's error record.
func SendError(response http.ResponseWriter, status int, message string) {
	response.Header().Set("X-Content-Type-Options", "nosniff")
	SendJSON(response, status, errorRecord{status, message})
}
