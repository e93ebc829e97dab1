package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"

	"github.com/aws/aws-lambda-go/lambdacontext"

	"github.com/streamsort/streamsort/internal/calllog"
	"github.com/streamsort/streamsort/internal/emf"
	"github.com/streamsort/streamsort/internal/strictjson"
	"github.com/streamsort/streamsort/internal/tenancy"
	"github.com/streamsort/streamsort/pkg/invalid"
)

// API answers the requests of one function.
type API struct {
	Routes []Route
	// Direct finds the operation of a direct invoke's document: see [Direct].
	Direct func(*Call) (Operation, error)
	// Aliases are the operations of those of the function's aliases that have one: whatever such an
	// alias is called with is that operation's document, also what looks like an event of API
	// Gateway. A problem that may pass is an error of the function there: an event source reads no
	// answer, but Lambda repeats its call.
	Aliases map[string]Operation
	// Doors are the routes of those of the function's aliases that have a function URL of their
	// own: by such an alias there are no others, and no direct invokes.
	Doors map[string][]Route
	// Any, where it is set, answers every request, whatever its resource and its body are: Routes
	// and direct invokes are of no use then.
	Any Operation
	// Problem is what an error of the function's own is to the caller, nil for one that is no
	// problem; Problem may be nil, and the rest is for ProblemOf.
	Problem func(error) *Problem
	// TenantClaim is the claim of a caller's token that holds its tenant; empty where there are no
	// tenants, and every caller names all things in full.
	TenantClaim string
	// Log says which calls are logged that go well; the others always are.
	Log calllog.Log
}

// Route is an operation, as requests and direct invokes ask for it.
type Route struct {
	// Method and Resource are those of requests. A direct invoke's members are the parameters where
	// the method is GET or DELETE, and else the body. Without a resource there are direct invokes
	// only.
	Method, Resource string
	// Name is the member "operation" of a direct invoke; empty if absent.
	Name string
	Do   Operation
}

// Operation answers a call: with a status and a document that has a member "status" of the same
// value, or with an error, which [API].Problem or [ProblemOf] turns into the caller's answer.
type Operation func(context.Context, *Call) (status int, document any, err error)

// Call is one request, whose names its names are, and the metrics of answering it.
type Call struct {
	Request
	tenancy.Scope
	Metrics *emf.Metrics
	// Refused is how many parts of a call that is answered as a whole were refused, or failed: it
	// is logged then.
	Refused int
}

// Handle is the handler of the function. A caller's mistake is a problem document, never a function
// error. Errors is counted here.
func (a *API) Handle(ctx context.Context, metrics *emf.Metrics,
	raw json.RawMessage) (answer json.RawMessage, err error) {
	c := &Call{Metrics: metrics}
	defer func() {
		if r := recover(); r != nil {
			// A panic must not end the process: the caller gets an answer, and the next one no cold
			// start.
			c.Metrics.Count("Errors", 1)
			slog.ErrorContext(ctx, "panic", "cause", fmt.Sprint(r))
			answer, err = c.failed(unexpected())
		}
	}()
	status, document, err := a.do(ctx, c, raw)
	if err != nil {
		var problem *Problem
		if a.Problem != nil {
			problem = a.Problem(err)
		}
		if problem == nil {
			problem = ProblemOf(ctx, c.Scope, err)
		}
		c.name(problem)
		if problem.Status >= http.StatusInternalServerError {
			c.Metrics.Count("Errors", 1)
		}
		slog.InfoContext(ctx, "answered", c.logged("status", problem.Status, "problem", problem.Type)...)
		return c.failed(problem)
	}
	if c.Refused > 0 {
		slog.InfoContext(ctx, "answered", c.logged("status", status, "refused", c.Refused)...)
	} else {
		a.Log.Success(ctx, c.logged("status", status)...)
	}
	return c.Answer(status, document)
}

// name ends a problem's detail with the names that it is about, as the request has them.
func (c *Call) name(p *Problem) {
	if len(p.Names) == 0 {
		return
	}
	members, _ := strictjson.Members(c.Body) // a body that is no object names nothing
	var named []string
	for _, name := range p.Names {
		value := c.Query.Get(name)
		if value == "" {
			value, _ = strictjson.Text(strictjson.Get(members, name))
		}
		if value != "" {
			named = append(named, fmt.Sprintf("%s %q", name, value))
		}
	}
	if len(named) > 0 {
		p.Detail += " (" + strings.Join(named, ", ") + ")"
	}
}

func (c *Call) failed(p *Problem) (json.RawMessage, error) {
	if c.Alias != "" && p.MayPass() {
		return nil, p
	}
	return c.Problem(p)
}

func (a *API) do(ctx context.Context, c *Call,
	raw json.RawMessage) (status int, document any, err error) {
	if alias := aliasOf(ctx); a.Aliases[alias] != nil {
		c.Request = Request{Direct: true, Alias: alias, Body: raw}
		if err = c.checkJSON(); err != nil {
			return 0, nil, err
		}
		return a.Aliases[alias](ctx, c)
	}
	read := Decode
	if a.Any != nil {
		read = decode
	}
	if c.Request, err = read(raw); err != nil {
		return 0, nil, err
	}
	// {"custom":{"operation":"status"}}: only who calls Invoke, and waits for the answer, can give a
	// client context; no event source does.
	if invoked, ok := lambdacontext.FromContext(ctx); ok && c.Direct {
		c.Operation = invoked.ClientContext.Custom["operation"]
	}
	if c.Scope, err = a.scope(raw, &c.Request); err != nil {
		return 0, nil, err
	}
	do, err := a.route(ctx, c)
	if err != nil {
		return 0, nil, err
	}
	return do(ctx, c)
}

// aliasOf is the alias, or the version, by which the function was called; empty where it was called
// without one.
func aliasOf(ctx context.Context) string {
	invoked, ok := lambdacontext.FromContext(ctx)
	if !ok {
		return ""
	}
	// arn:PARTITION:lambda:REGION:ACCOUNT:function:NAME:ALIAS
	parts := strings.Split(invoked.InvokedFunctionArn, ":")
	if len(parts) != 8 {
		return ""
	}
	return parts[7]
}

// logged is what is logged of a call: its tenant too, where there is one.
func (c *Call) logged(fields ...any) []any {
	if c.Tenant() == "" {
		return fields
	}
	return append(fields, "tenant", c.Tenant())
}

func (a *API) route(ctx context.Context, c *Call) (Operation, error) {
	if a.Any != nil {
		return a.Any, nil
	}
	routes, door := a.Doors[aliasOf(ctx)]
	switch {
	case door && c.Direct:
		return nil, invalid.New(invalid.Misplaced, "event",
			"is a direct invoke: this alias is for requests to its function URL")
	case c.Direct:
		return a.Direct(c)
	case !door:
		routes = a.Routes
	}
	for _, r := range routes {
		if r.Resource != "" && r.Resource == c.Resource && r.Method == c.Method {
			return r.Do, nil
		}
	}
	return nil, noRoute(routes, c.Resource)
}

func noRoute(routes []Route, resource string) *Problem {
	var resources, methods []string
	for _, r := range routes {
		resources = append(resources, r.Resource)
		if r.Resource == resource {
			methods = append(methods, r.Method)
		}
	}
	if allow := listed(methods, ""); resource != "" && allow != "" {
		return NoMethod(resource+" has "+allow, allow)
	}
	return NewProblem(http.StatusNotFound, "no-route", "There is no such resource",
		"the resources are "+listed(resources, "/"))
}

// listed are the names that are not empty, each once and with what is before it.
func listed(names []string, before string) string {
	slices.Sort(names)
	names = slices.DeleteFunc(slices.Compact(names), func(name string) bool { return name == "" })
	for i := range names {
		names[i] = before + names[i]
	}
	return strings.Join(names, ", ")
}

// Direct finds the operation of a direct invoke among the routes: the one that its client context
// names, or the member "operation" of its document, or, without one, what unnamed says of its
// members. It makes the document's other members what HTTP has.
func Direct(routes []Route, unnamed func([]strictjson.Member) string) func(*Call) (
	Operation, error) {
	return func(c *Call) (Operation, error) {
		members, err := strictjson.Members(c.Body)
		if err != nil {
			return nil, invalid.Named("event", err)
		}
		name := c.Operation
		var value json.RawMessage
		if name == "" {
			if value, members = strictjson.Take(members, "operation"); value == nil {
				name = unnamed(members)
			} else if name, err = strictjson.Text(value); err != nil {
				return nil, invalid.Named("operation", err)
			}
		}
		var names []string
		for _, r := range routes {
			switch {
			case r.Name == "":
			case r.Name != name:
				names = append(names, r.Name)
			case r.Method == http.MethodGet, r.Method == http.MethodDelete:
				return r.Do, c.setQuery(members)
			case value == nil:
				return r.Do, nil // the document is the body
			default:
				if c.Body, err = strictjson.Object(members); err != nil {
					return nil, invalid.Named("event", err)
				}
				return r.Do, nil
			}
		}
		last := len(names) - 1
		return nil, invalid.New(invalid.Unknown, "operation",
			"must be "+strings.Join(names[:last], ", ")+" or "+names[last])
	}
}

func (c *Call) setQuery(members []strictjson.Member) error {
	c.Query = map[string][]string{}
	for _, m := range members {
		value := string(m.Value)
		if strings.HasPrefix(value, `"`) {
			text, err := strictjson.Text(m.Value)
			if err != nil {
				return invalid.Named(m.Name, err)
			}
			value = text
		}
		c.Query.Set(m.Name, value)
	}
	return nil
}

// Parameters reads the parameters of the query into a struct, as [strictjson.DecodeQuery] does.
// Queues among them become those that are stored.
func (c *Call) Parameters(into any, queues ...*string) error {
	return c.full(strictjson.DecodeQuery(c.Query, into), queues)
}

// Read reads the body into a struct, as [strictjson.Decode] does, and as [Call.Parameters]. The
// query has no parameters.
func (c *Call) Read(into any, queues ...*string) error {
	if err := c.Parameters(&struct{}{}); err != nil {
		return err
	}
	err := strictjson.Decode(c.Body, into)
	if wrong := (*invalid.Error)(nil); errors.As(err, &wrong) && wrong.Path() == "" {
		return invalid.Named(RequestBody, err)
	}
	return c.full(err, queues)
}

func (c *Call) full(err error, queues []*string) error {
	for _, queue := range queues {
		if err == nil {
			*queue, err = c.Full("queue", *queue)
		}
	}
	return err
}
