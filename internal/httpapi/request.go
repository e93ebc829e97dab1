// Package httpapi answers the requests of one function's API, in any of the shapes that Lambda
// passes: it distinguishes the events that one binary serves ([Decode]), finds the operation that
// is asked for ([API]), and writes its answer, or a problem document ([Problem]), in the event's
// own shape.
//
// Nothing that a caller sends makes it panic, and nothing of it is logged here.
package httpapi

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/streamsort/streamsort/internal/cloudevents"
	"github.com/streamsort/streamsort/internal/strictjson"
	"github.com/streamsort/streamsort/internal/tenancy"
	"github.com/streamsort/streamsort/internal/xray"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/invalid"
)

// RequestBody is the field of a problem with the whole body of a request. A message's is "body".
const RequestBody = "request body"

// MaxBody is the most bytes that the body of a request may have: 6 MB, as Lambda's own limit.
const MaxBody = 6 << 20

type shape int

const (
	direct  shape = iota // the whole event, of a direct invoke
	payload              // HTTP API v2 and function URLs
	rest                 // REST API, v1
)

// Request is a request in any of the shapes.
type Request struct {
	// Direct is true for a direct invoke: Body is the event, and nothing else is set.
	Direct bool
	// Alias is the one of [API].Aliases by which the function was invoked; empty for any other.
	Alias string
	// Operation is what a direct invoke's client context names as its operation; empty where it
	// names none. It is not in the event: who made that has no say.
	Operation string
	Method    string
	// Resource is the last part of the path: stages and base paths stand before it.
	Resource string
	Query    url.Values
	// Body is without its Content-Encoding; Packed is as it came where it had one, else nil.
	Body, Packed []byte
	// IdempotencyKey is the header of that name, without quotes and parameters; or empty.
	IdempotencyKey string
	// Headers are all headers by their names in small letters. API Gateway joins the values of one
	// that stands twice by commas; names that differ by the case of their letters only are joined
	// in the same way here.
	Headers map[string]string

	shape  shape
	caller tenancy.Caller
}

// event is what is read of the events of API Gateway and of function URLs.
type event struct {
	RequestContext *struct {
		HTTP *struct {
			Method string `json:"method"`
		} `json:"http"`
		// As they came: what they hold is for callerOf to judge.
		Authorizer json.RawMessage `json:"authorizer"`
		Identity   json.RawMessage `json:"identity"`
	} `json:"requestContext"`
	RawPath               string              `json:"rawPath"`
	RawQueryString        string              `json:"rawQueryString"`
	HTTPMethod            string              `json:"httpMethod"`
	Path                  string              `json:"path"`
	QueryStringParameters map[string]string   `json:"queryStringParameters"`
	MultiValue            map[string][]string `json:"multiValueQueryStringParameters"`
	Headers               map[string]string   `json:"headers"`
	Body                  *string             `json:"body"`
	IsBase64Encoded       bool                `json:"isBase64Encoded"`
}

// Decode finds out which shape an event has, and reads it: a body must be JSON by its content type,
// and valid UTF-8. The request is good for answering even where there is an error.
//
// API Gateway is known by its requestContext:
// https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-develop-integrations-lambda.html
func Decode(raw json.RawMessage) (Request, error) {
	r, err := decode(raw)
	if err == nil {
		err = r.checkJSON()
	}
	if key, ok := r.Headers["idempotency-key"]; ok && err == nil {
		err = r.setIdempotencyKey(key)
	}
	return r, err
}

// decode is Decode of any body, whose bytes are those that the caller sent.
func decode(raw json.RawMessage) (Request, error) {
	var e event
	if err := json.Unmarshal(raw, &e); err != nil || e.RequestContext == nil {
		// A document of the caller's own may have members of these names with other types: what is
		// no event of AWS's is the document.
		return Request{Direct: true, Body: raw, shape: direct}, nil
	}
	r := Request{shape: rest, Method: e.HTTPMethod, Query: url.Values{}}
	path := e.Path
	if e.RequestContext.HTTP != nil {
		r.shape, r.Method, path = payload, e.RequestContext.HTTP.Method, e.RawPath
		query, err := url.ParseQuery(e.RawQueryString)
		if err != nil {
			return r, invalid.New(invalid.Malformed, "query", "is not a query string: "+err.Error())
		}
		r.Query = query
	}
	r.caller = callerOf(r.shape, e.RequestContext.Authorizer, e.RequestContext.Identity)
	for name, value := range e.QueryStringParameters {
		if r.shape == rest {
			r.Query.Set(name, value)
		}
	}
	maps.Copy(r.Query, e.MultiValue)
	r.Resource = path[strings.LastIndex(path, "/")+1:]
	if e.Body != nil {
		r.Body = []byte(*e.Body)
	}
	if e.IsBase64Encoded {
		body, err := base64.StdEncoding.DecodeString(string(r.Body))
		if err != nil {
			return r, invalid.New(invalid.Malformed, RequestBody,
				"is not base64, and the event says so: "+err.Error())
		}
		r.Body = body
	}
	if len(r.Body) > MaxBody {
		return r, tooLarge()
	}
	r.setHeaders(e.Headers)
	if err := r.checkUTF8(raw); err != nil {
		return r, err
	}
	return r, r.unpack()
}

// checkUTF8 refuses what would be stored otherwise than it was sent: a JSON reader replaces each
// byte that is not UTF-8.
func (r *Request) checkUTF8(raw json.RawMessage) error {
	for _, name := range slices.Sorted(maps.Keys(r.Headers)) {
		if strings.ContainsRune(r.Headers[name], utf8.RuneError) {
			return invalid.New(invalid.Malformed, name,
				"has a byte that is not UTF-8: send UTF-8, or ASCII with percent signs")
		}
	}
	if !utf8.Valid(raw) {
		return invalid.New(invalid.Malformed, RequestBody, "is not valid UTF-8")
	}
	return nil
}

// setHeaders takes the headers in the order of their names, so that two of one name come out the
// same way each time.
func (r *Request) setHeaders(headers map[string]string) {
	r.Headers = make(map[string]string, len(headers))
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		lower := strings.ToLower(name)
		if before, twice := r.Headers[lower]; twice {
			r.Headers[lower] = before + "," + headers[name]
			continue
		}
		r.Headers[lower] = headers[name]
	}
}

// keyItem is a structured field's item that is a string, with parameters (RFC 9651, section 3.3).
var keyItem = func() *regexp.Regexp {
	const text = `"(?:[ !#-\[\]-~]|\\["\\])*"`
	const value = `-?[0-9]{1,15}(?:\.[0-9]{1,3})?|` + text +
		"|[A-Za-z*][!#$%&'*+.^_`|~0-9A-Za-z:/-]*|:[A-Za-z0-9+/=]*:|\\?[01]"
	return regexp.MustCompile(`^ *(` + text + `)(?:; *[a-z*][a-z0-9_.*-]*(?:=(?:` + value + `))?)* *$`)
}()

var unescaped = strings.NewReplacer(`\"`, `"`, `\\`, `\`)

// setIdempotencyKey takes the header: a string in quotes, with parameters that mean nothing here,
// as the draft standard has it; or a text without quotes, as most callers do.
// https://datatracker.ietf.org/doc/draft-ietf-httpapi-idempotency-key-header/
func (r *Request) setIdempotencyKey(value string) error {
	if strings.HasPrefix(strings.TrimLeft(value, " "), `"`) {
		item := keyItem.FindStringSubmatch(value)
		if item == nil {
			return invalid.New(invalid.Malformed, "Idempotency-Key",
				`begins with a quote, and is no string of a structured field, such as "8e03978e-40d5-43dd-bc93-6894a57f9324"`)
		}
		value = unescaped.Replace(item[1][1 : len(item[1])-1])
	}
	if value == "" || len(value) > maxIdempotencyKey {
		return invalid.New(invalid.TextCode(value, maxIdempotencyKey), "Idempotency-Key",
			fmt.Sprintf("has %d bytes: it must have 1 to %d", len(value), maxIdempotencyKey))
	}
	r.IdempotencyKey = value
	return nil
}

// maxIdempotencyKey is the longest Idempotency-Key, in bytes: as long as an id.
const maxIdempotencyKey = 1024

func (r *Request) checkJSON() error {
	if len(r.Body) == 0 || r.Method == http.MethodPost && r.Resource == "messages" &&
		cloudevents.ModeOf(r.Headers) == cloudevents.Binary { // its data is of any type
		return nil
	}
	if kind := r.Headers["content-type"]; kind != "" && !strictjson.IsJSON(kind) {
		return NotJSON()
	}
	if !utf8.Valid(r.Body) {
		return invalid.New(invalid.Malformed, RequestBody, "is not valid UTF-8")
	}
	r.Body = WithoutMark(r.Body)
	return nil
}

// WithoutMark is a text without the byte order mark before it.
func WithoutMark(text []byte) []byte { return bytes.TrimPrefix(text, []byte("\xef\xbb\xbf")) }

// Trace is the trace context that the headers bring: traceparent and tracestate, else that of
// X-Ray. None where none is right.
func (r *Request) Trace() cursor.Trace {
	if t := cursor.TraceOf(r.Headers["traceparent"], r.Headers["tracestate"]); t.Parent != "" {
		return t
	}
	return xray.Trace(r.Headers["x-amzn-trace-id"])
}

// One is the query parameter of that name: "" where it is missing, an error
// where it stands twice.
func (r *Request) One(name string) (string, error) {
	values := r.Query[name]
	switch len(values) {
	case 0:
		return "", nil
	case 1:
		return values[0], nil
	}
	return "", invalid.New(invalid.Clash, name, "is given more than once")
}
