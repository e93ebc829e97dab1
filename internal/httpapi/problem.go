package httpapi

import (
	"net/http"

	"github.com/streamsort/streamsort/internal/tenancy"
)

// ProblemBase is what the types of problems begin with; docs/problems.md
// describes each.
const ProblemBase = "https://streamsort.dev/problems/"

// Problem is an answer that says what is wrong: a problem document of RFC 9457.
// Whatever answers a call may return one as its error.
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

// Error is the problem in a sentence: the detail, or what is wrong with the first
// field.
func (p *Problem) Error() string {
	if p.Detail == "" && len(p.Errors) > 0 {
		return p.Errors[0].Field + " " + p.Errors[0].Detail
	}
	return p.Detail
}

func (p *Problem) document() map[string]any {
	document := map[string]any{"type": ProblemBase + p.Type, "title": p.Title, "status": p.Status}
	if detail := p.Error(); detail != "" {
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

// NotJSON is the problem of a body that must be JSON and is none by its content
// type.
func NotJSON() *Problem {
	return &Problem{
		Status: http.StatusUnsupportedMediaType, Type: "not-json", Title: "The request is not JSON",
		Errors: []FieldError{{"content-type", "must be application/json or end in +json"}},
	}
}

// shorten takes the tenant off the names that the problem quotes.
func (p *Problem) shorten(scope tenancy.Scope) {
	p.Detail = scope.Told(p.Detail)
	for i, e := range p.Errors {
		p.Errors[i].Detail = scope.Told(e.Detail)
	}
}
