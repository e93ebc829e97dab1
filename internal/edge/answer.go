package edge

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"
)

// ProblemBase is what the types of problems begin with; docs/problems.md
// describes each.
const ProblemBase = "https://streamsort.dev/problems/"

// Problem is an answer that says what is wrong: a problem document of RFC 9457.
type Problem struct {
	// Status is the HTTP status.
	Status int
	// Type names the kind of problem, without ProblemBase. It never changes
	// its meaning.
	Type string
	// Title says what the type means, Detail what is wrong here.
	Title, Detail string
	// Errors are the fields that are out of their bounds.
	Errors []FieldError
	// RetryAfter, if not 0, is after how many seconds to try again.
	RetryAfter int
	// Allow are the methods that the resource has.
	Allow string
	// More are members of the type's own.
	More map[string]any
}

// FieldError says what is wrong with a field, and what its bound is.
type FieldError struct {
	Field  string `json:"field"`
	Detail string `json:"detail"`
}

// Invalid is the problem of a field that is out of its bounds.
func Invalid(field, detail string) *Problem {
	return &Problem{
		Status: http.StatusBadRequest, Type: "invalid", Title: "The request is not valid",
		Errors: []FieldError{{field, detail}},
	}
}

func (p *Problem) document() map[string]any {
	document := map[string]any{"type": ProblemBase + p.Type, "title": p.Title, "status": p.Status}
	detail := p.Detail
	if detail == "" && len(p.Errors) > 0 {
		detail = p.Errors[0].Field + " " + p.Errors[0].Detail
	}
	if detail != "" {
		document["detail"] = detail
	}
	if len(p.Errors) > 0 {
		document["errors"] = p.Errors
	}
	for name, value := range p.More {
		document[name] = value
	}
	return document
}

// response is what API Gateway and function URLs take, in both versions.
type response struct {
	StatusCode      int               `json:"statusCode"`
	Headers         map[string]string `json:"headers"`
	Body            string            `json:"body"`
	IsBase64Encoded bool              `json:"isBase64Encoded"`
}

// Answer writes a document, which must have a member "status" of the same
// value, in the shape that the request came in.
func (r *Request) Answer(status int, document any) (json.RawMessage, error) {
	return r.write(status, map[string]string{"content-type": "application/json"}, document)
}

// Problem writes a problem document in the shape that the request came in.
func (r *Request) Problem(p *Problem) (json.RawMessage, error) {
	headers := map[string]string{"content-type": "application/problem+json"}
	if p.RetryAfter > 0 {
		headers["retry-after"] = strconv.Itoa(p.RetryAfter)
	}
	if p.Allow != "" {
		headers["allow"] = p.Allow
	}
	return r.write(p.Status, headers, p.document())
}

func (r *Request) write(status int, headers map[string]string, document any) (json.RawMessage, error) {
	body, err := Marshal(document)
	if err != nil || r.shape == direct {
		return body, err
	}
	return json.Marshal(response{StatusCode: status, Headers: headers, Body: string(body)})
}

// Marshal is json.Marshal without the escapes for HTML, which would change the
// bodies of messages.
func Marshal(document any) ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(document)
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), err
}
