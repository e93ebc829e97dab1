package httpapi

import (
	"maps"
	"net/http"

	"github.com/streamsort/streamsort/internal/tenancy"
	"github.com/streamsort/streamsort/pkg/invalid"
)

// ProblemBase is what the types of problems begin with; docs/reference/errors.md describes each.
const ProblemBase = "https://streamsort.dev/problems/"

// Problem is an answer that says what is wrong: a problem document of RFC 9457. Whatever answers a
// call may return one as its error.
type Problem struct {
	// Status is the HTTP status.
	Status int
	// Type names the kind of problem, without ProblemBase. It never changes its meaning.
	Type string
	// Title says what the type means, Detail what is wrong here.
	Title, Detail string
	// Errors are the fields that are out of their bounds.
	Errors []FieldError
	// RetryAfter, if not 0, is after how many seconds to try again.
	RetryAfter int
	// Allow are the methods that the resource has.
	Allow string
	// AcceptEncoding are the encodings that a body may have, where its own is not taken.
	AcceptEncoding string
	// More are members of the type's own.
	More map[string]any
	// Names are the parameters, or the members of the body, whose values the detail ends with.
	Names []string
}

// FieldError says what is wrong with a field, and what its bound is.
type FieldError struct {
	// Field is the way to it (messages[7].body), Detail says what is wrong, in words that stand
	// behind it.
	Field  string `json:"field"`
	Detail string `json:"detail"`
	// Code is why.
	Code invalid.Code `json:"code"`
	// Index is the place of the element that the field is in, where it is in a list; Other that of
	// the element that it clashes with.
	Index *int `json:"index,omitempty"`
	Other *int `json:"other,omitempty"`
}

// NewProblem is a problem without fields that are wrong. Its detail ends with what the request has
// under the names.
func NewProblem(status int, kind, title, detail string, names ...string) *Problem {
	return &Problem{Status: status, Type: kind, Title: title, Detail: detail, Names: names}
}

// Unavailable is the problem of a request that may be repeated in a second.
func Unavailable(detail string) *Problem {
	return &Problem{Status: http.StatusServiceUnavailable, Type: "unavailable", Title: "Try again",
		Detail: detail, RetryAfter: 1}
}

// NoMethod is the problem of a resource that has only the methods of allow.
func NoMethod(detail, allow string) *Problem {
	return &Problem{Status: http.StatusMethodNotAllowed, Type: "no-method",
		Title: "The resource has no such method", Detail: detail, Allow: allow}
}

// refuses is the problem of a request one field of which is wrong.
func refuses(status int, kind, title string, field FieldError) *Problem {
	return &Problem{Status: status, Type: kind, Title: title, Errors: []FieldError{field}}
}

// newFieldError is the error of a field, with the queue's name as the caller gave it.
func newFieldError(scope tenancy.Scope, wrong *invalid.Error) FieldError {
	said := *wrong
	said.Queue = scope.Short(wrong.Queue)
	f := FieldError{Field: said.Path(), Code: said.Code, Detail: said.What()}
	if len(said.At) > 0 {
		f.Index = &said.At[0].Index
	}
	if said.Twin != nil {
		f.Other = &said.Twin.Index
	}
	return f
}

// Error is the problem in a sentence: the detail, or what is wrong with the first field.
func (p *Problem) Error() string {
	if p.Detail == "" && len(p.Errors) > 0 {
		return p.Errors[0].Field + " " + p.Errors[0].Detail
	}
	return p.Detail
}

// MayPass reports whether the same request may be answered otherwise later.
func (p *Problem) MayPass() bool {
	return p.Status == http.StatusTooManyRequests || p.Status >= http.StatusInternalServerError
}

// Code identifies the problem to programs: the reason why a field is invalid, and the type of every
// other problem.
func (p *Problem) Code() string {
	if p.Type == typeInvalid {
		return string(p.Errors[0].Code)
	}
	return p.Type
}

// typeInvalid is the type of a problem with a field that has no type of its own.
const typeInvalid = "invalid"

func (p *Problem) document() map[string]any {
	document := map[string]any{"type": ProblemBase + p.Type, "code": p.Code(), "title": p.Title,
		"status": p.Status}
	if detail := p.Error(); detail != "" {
		document["detail"] = detail
	}
	if len(p.Errors) > 0 {
		document["errors"] = p.Errors
	}
	maps.Copy(document, p.More)
	return document
}

// NotJSON is the problem of a body that must be JSON and is not by its content type.
func NotJSON() *Problem {
	return refuses(http.StatusUnsupportedMediaType, "not-json", "The request is not JSON",
		FieldError{Field: "content-type", Code: invalid.Malformed,
			Detail: "must be application/json or end in +json"})
}
