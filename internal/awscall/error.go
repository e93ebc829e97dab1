package awscall

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// Error is an answer of AWS that is no success. The retryer reads it by its methods.
type Error struct {
	// Status is HTTP's.
	Status int
	// Code and Message are the service's words; empty where it had none. They are cut at 512 bytes.
	Code, Message string
}

func (e *Error) Error() string {
	return strings.TrimRight(fmt.Sprintf("status %d: %s: %s", e.Status, e.Code, e.Message), ": ")
}

// HTTPStatusCode is the status.
func (e *Error) HTTPStatusCode() int { return e.Status }

// ErrorCode is the code.
func (e *Error) ErrorCode() string { return e.Code }

// newError reads an answer as JSON, and by words, where that is not nil. A code may have a
// namespace before a '#', and an address behind a ':'.
func newError(status int, header http.Header, body []byte,
	words func([]byte) (code, message string)) *Error {
	var said struct {
		Type    string `json:"__type"`
		Code    string `json:"code"`
		Message string `json:"message"`
	}
	// What is neither has no words: the status stands for it.
	_ = json.Unmarshal(body, &said)
	if words != nil && said.Message == "" {
		said.Code, said.Message = words(body)
	}
	code := cmp.Or(header.Get("X-Amzn-Errortype"), said.Type, said.Code)
	code, _, _ = strings.Cut(code[strings.LastIndex(code, "#")+1:], ":")
	return &Error{Status: status, Code: bounded(code), Message: bounded(said.Message)}
}

// maxText bounds what is kept of a service's own words, in bytes.
const maxText = 512

func bounded(text string) string { return strings.ToValidUTF8(text[:min(len(text), maxText)], "") }
