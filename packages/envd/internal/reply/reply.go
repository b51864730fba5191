// Package reply writes the daemon's answers in JSON.
package reply

import (
	"encoding/json"
	"net/http"
	"strconv"
)

// JSON answers with a value.
func JSON(response http.ResponseWriter, status int, value any) {
	body, err := json.Marshal(value)
	if err != nil {
		Error(response, http.StatusInternalServerError, err.Error())
		return
	}
	header := response.Header()
	header.Set("Content-Type", "application/json; charset=utf-8")
	header.Set("Content-Length", strconv.Itoa(len(body)))
	response.WriteHeader(status)
	response.Write(body)
}

// Error answers with the record that every refusal of a route has.
func Error(response http.ResponseWriter, status int, message string) {
	response.Header().Set("X-Content-Type-Options", "nosniff")
	JSON(response, status, struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	}{status, message})
}
