package edge

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/streamsort/streamsort/internal/emf"
)

// API answers the requests of one function.
type API struct {
	// Routes are the operations by resource and method.
	Routes map[string]map[string]Operation
	// Direct finds the operation of a direct invoke's document, and makes its
	// members what HTTP has: see [Call.SetBody] and [Call.SetQuery].
	Direct func(*Call) (Operation, *Problem)
	// Any, where it is set, answers every request, whatever its resource and its
	// body are: Routes and Direct are of no use then.
	Any Operation
	// TenantClaim is the claim of a caller's token that holds its tenant; empty
	// where there are no tenants, and every caller names all things in full.
	TenantClaim string
	// Emitter writes the metrics of each call, of which Errors is counted here.
	Emitter *emf.Emitter
}

// Operation answers a call: with a status and a document that has a member
// "status" of the same value, or with a problem.
type Operation func(context.Context, *Call) (int, any, *Problem)

// Call is one request, whose names its names are, and the metrics of answering it.
type Call struct {
	Request
	Scope
	Metrics *emf.Metrics
}

// Handle is the handler that Lambda calls. A caller's mistake is a problem
// document, never a function error.
func (a *API) Handle(ctx context.Context, raw json.RawMessage) (answer json.RawMessage, err error) {
	read := Decode
	if a.Any != nil {
		read = decode
	}
	request, problem := read(raw)
	c := &Call{Request: request, Metrics: a.Emitter.Begin()}
	defer c.Metrics.Flush()
	defer func() {
		if r := recover(); r != nil {
			// A fault of ours must not end the process: the caller is owed an
			// answer, and the next one would pay for a cold start.
			c.Metrics.Count("Errors", 1)
			slog.ErrorContext(ctx, "panic", "cause", fmt.Sprint(r))
			answer, err = request.Problem(unexpected())
		}
	}()
	do := Operation(nil)
	if problem == nil {
		c.Scope, problem = a.scope(raw, &request)
	}
	if problem == nil {
		do, problem = a.route(c)
	}
	status, document := 0, any(nil)
	if problem == nil {
		status, document, problem = do(ctx, c)
	}
	if problem != nil {
		if problem.Status >= http.StatusInternalServerError {
			c.Metrics.Count("Errors", 1)
		}
		slog.InfoContext(ctx, "answered", c.told("status", problem.Status, "problem", problem.Type)...)
		c.shorten(problem)
		return request.Problem(problem)
	}
	slog.InfoContext(ctx, "answered", c.told("status", status)...)
	return request.Answer(status, document)
}

// told is what is logged of a call: its tenant too, where there is one.
func (c *Call) told(fields ...any) []any {
	if c.tenant == "" {
		return fields
	}
	return append(fields, "tenant", c.tenant)
}

// route is the operation that a call asks for.
func (a *API) route(c *Call) (Operation, *Problem) {
	if a.Any != nil {
		return a.Any, nil
	}
	if c.Direct {
		return a.Direct(c)
	}
	methods, ok := a.Routes[c.Resource]
	if !ok {
		return nil, &Problem{
			Status: http.StatusNotFound, Type: "no-route", Title: "There is no such resource",
			Detail: "the resources are /" + strings.Join(slices.Sorted(maps.Keys(a.Routes)), ", /"),
		}
	}
	do, ok := methods[c.Method]
	if !ok {
		allow := strings.Join(slices.Sorted(maps.Keys(methods)), ", ")
		return nil, &Problem{
			Status: http.StatusMethodNotAllowed, Type: "no-method", Title: "The resource has no such method",
			Detail: c.Resource + " has " + allow, Allow: allow,
		}
	}
	return do, nil
}

// TakeMember takes the member of a name out of a document's members; nil where
// there is none.
func TakeMember(members []Member, name string) (value json.RawMessage, rest []Member) {
	rest = make([]Member, 0, len(members))
	for _, m := range members {
		if m.Name == name {
			value = m.Value
			continue
		}
		rest = append(rest, m)
	}
	return value, rest
}

// Without is a document without its member of a name; the values of the others
// stay as they are, byte for byte.
func Without(document json.RawMessage, name string) (json.RawMessage, error) {
	members, err := Members(document)
	if err != nil {
		return nil, err
	}
	_, rest := TakeMember(members, name)
	return object(rest)
}

// object writes members, their values byte for byte.
func object(members []Member) (json.RawMessage, error) {
	var body strings.Builder
	for i, m := range members {
		if i > 0 {
			body.WriteByte(',')
		}
		key, err := json.Marshal(m.Name)
		if err != nil {
			return nil, err
		}
		body.Write(key)
		body.WriteByte(':')
		body.Write(m.Value)
	}
	return json.RawMessage("{" + body.String() + "}"), nil
}

// SetBody makes members of a direct invoke's document the body of the request,
// their values byte for byte.
func (c *Call) SetBody(members []Member) *Problem {
	body, err := object(members)
	if err != nil {
		return Invalid("event", err.Error())
	}
	c.Body = body
	return nil
}

// SetQuery makes members of a direct invoke's document the parameters of the
// request.
func (c *Call) SetQuery(members []Member) *Problem {
	c.Query = map[string][]string{}
	for _, m := range members {
		value := string(m.Value)
		if strings.HasPrefix(value, `"`) {
			text, err := Text(m.Value)
			if err != nil {
				return Invalid(m.Name, err.Error())
			}
			value = text
		}
		c.Query.Set(m.Name, value)
	}
	return nil
}

// Bounds of the parameter limit.
const defaultLimit, maxLimit = 100, 1000

// Limit is the parameter limit: an integer from 1 to 1000, 100 where it is
// missing.
func (r *Request) Limit() (int, *Problem) {
	text, problem := r.One("limit")
	if problem != nil || text == "" {
		return defaultLimit, problem
	}
	limit, err := strconv.Atoi(text)
	if err != nil || limit < 1 || limit > maxLimit {
		return 0, Invalid("limit", fmt.Sprintf("must be an integer from 1 to %d", maxLimit))
	}
	return limit, nil
}
