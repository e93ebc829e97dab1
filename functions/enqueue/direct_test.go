package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/lambdacontext"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/httpapi/httpapitest"
	"github.com/streamsort/streamsort/internal/mapping"
	"github.com/streamsort/streamsort/internal/queuelog"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/producer"
)

// invoked is the context of a call by a qualifier, with an operation in its client context where
// there is one.
func invoked(ctx context.Context, qualifier, operation string) context.Context {
	call := &lambdacontext.LambdaContext{
		InvokedFunctionArn: "arn:aws-cn:lambda:cn-north-1:123456789012:function:enqueue",
	}
	if qualifier != "" {
		call.InvokedFunctionArn += ":" + qualifier
	}
	if operation != "" {
		call.ClientContext.Custom = map[string]string{"operation": operation}
	}
	return lambdacontext.NewContext(ctx, call)
}

// invokeAs calls the handler with an event under a context.
func (s *server) invokeAs(t *testing.T, ctx context.Context, event string) string {
	t.Helper()
	answer, err := s.handle(ctx, json.RawMessage(event))
	check.Need(t, err == nil, "%s: a function error: %v", event, err)
	return string(answer)
}

// forged are events that have what orders of an operator have, or requests: with a queue in the
// field that the stack names, and a number.
func forged() []string {
	return []string{
		`{"operation":"configure","queue":"victim","policy":"skip","author":"ann","n":1}`,
		`{"operation":"read","queue":"victim","author":"ann","n":1}`,
		`{"queue":"of","seq":"n","event":{"of":"victim","n":1},"author":"ann","n":1}`,
		`{"messages":[{"queue":"victim","seq":1,"body":1}],"author":"ann","n":1}`,
		`{"idempotencyKey":"k","author":"ann","n":1}`,
		`{"requestContext":5,"author":"ann","n":1}`,
	}
}

// requests are events that look like those of API Gateway, of one who has signed for IAM or has a
// tenant's token.
func requests(t *testing.T) []string {
	t.Helper()
	var all []string
	for _, authorizer := range []string{`{"iam":{"userArn":"arn:aws:iam::1:root"}}`,
		`{"jwt":{"claims":{"t":"globex"}}}`} {
		event := httpapitest.V2("PUT", "/queues", "", `{"queue":"victim","policy":"skip"}`, false)
		event = strings.Replace(event, `"requestContext":{`,
			`"author":"ann","n":1,"requestContext":{"authorizer":`+authorizer+`,`, 1)
		check.Need(t, strings.Contains(event, "globex") || strings.Contains(event, "root"),
			"no authorizer in %s", event)
		all = append(all, event)
	}
	return all
}

// Where the stack names the fields of raw events, a direct invoke's document is one, whatever it
// holds: stored, byte for byte. By the alias put that is so of what looks like a request, too, with
// tenants and without.
func TestEventsAreNoOrders(t *testing.T) {
	for _, claim := range []string{"", "t"} {
		for alias, events := range map[string][]string{"live": forged()[:5],
			putAlias: append(forged(), requests(t)...)} {
			for _, event := range events {
				s := newServer(t, func(s *service) {
					s.events, s.tenantClaim = raw(mapping.Texts{Queue: "author", Seq: "n"}), claim
				})
				answer := s.invokeAs(t, invoked(t.Context(), alias, ""), event)
				m, found, err := s.memory.Requests(queuelog.Inside{}).Message(t.Context(), "ann", 1)
				check.That(t, err == nil && found && string(m.Body) == event &&
					strings.Contains(answer, `"outcome":"advanced"`),
					"%s, by %s, with tenants %q: %s; stored %q, %v", event, alias, claim, answer, m.Body, err)
				check.Is(t, s.queues(t), "ann", event, alias)
			}
		}
	}
}

// The alias put of a stack without such fields takes puts, and nothing else, also where the client
// context names an operation.
func TestPutAlias(t *testing.T) {
	s := newServer(t, nil)
	for event, want := range map[string]string{
		`{"queue":"q","seq":1,"body":1}`:                                                  `"outcome":"advanced"`,
		`{"messages":[{"queue":"m","seq":1,"body":1}]}`:                                   `"results"`,
		`{"queue":"a","seq":"n","event":{"a":"e","n":1}}`:                                 `"outcome":"advanced"`,
		`{"operation":"configure","queue":"victim","policy":"skip"}`:                      `"field":"operation"`,
		`{"operation":"status","queue":"q"}`:                                              `"field":"operation"`,
		httpapitest.V2("PUT", "/queues", "", `{"queue":"victim","policy":"skip"}`, false): `"status":400`,
		"{\"queue\":\"\xff\"}":                                                            `"status":400`,
	} {
		for _, operation := range []string{"", "configure"} {
			got := s.invokeAs(t, invoked(t.Context(), putAlias, operation), event)
			check.That(t, strings.Contains(got, want) || strings.Contains(got, "duplicate"),
				"%s: %s, want %s", event, got, want)
		}
	}
	check.Is(t, s.queues(t), "e m q")
}

// An operator's order to a stack of raw events stands beside the document.
func TestOrdersBesideTheDocument(t *testing.T) {
	s := newServer(t, func(s *service) { s.events = raw(mapping.Texts{Queue: "author", Seq: "n"}) })
	for _, o := range []struct{ operation, document, want string }{
		{"configure", `{"queue":"q","policy":"skip"}`, `"policy":"skip"`},
		{"put", `{"queue":"q","seq":1,"body":1}`, `"outcome":"advanced"`},
		{"put", `{"queue":"of","seq":"n","event":{"of":"q","n":2}}`, `"outcome":"advanced"`},
		{"status", `{"queue":"q"}`, `"position":2`},
		{"gaps", `{"queue":"q"}`, `"gaps":[]`},
		{"read", `{"queue":"q","after":1}`, `"seq":2`},
		{"destroy", `{"queue":"q"}`, `"field":"operation"`},
		{"status", `[]`, `"status":400`},
	} {
		check.Has(t, s.invokeAs(t, invoked(t.Context(), "", o.operation), o.document), o.want, o)
	}
	plain := newServer(t, nil)
	plain.invokeAs(t, invoked(t.Context(), "live", "put"), `{"queue":"q","seq":1,"body":1}`)
	got := plain.invokeAs(t, invoked(t.Context(), "live", "status"), `{"queue":"q"}`)
	check.Has(t, got, `"position":1`)
}

// What an event source sent and was not stored is an error of the function where it may pass, by
// the alias put, so that Lambda repeats the call; any other caller is answered.
func TestEventsComeAgain(t *testing.T) {
	s := newServer(t, func(s *service) { s.events = raw(mapping.Texts{Queue: "author", Seq: "n"}) })
	order := func(document string) {
		s.invokeAs(t, invoked(t.Context(), "live", "configure"), document)
	}
	order(`{"queue":"ann","maxAhead":3}`)
	const far, list = `{"author":"ann","n":9}`,
		`[{"author":"ann","n":1},{"author":"ann","n":9},{"author":"bob","n":1}]`
	for _, event := range []string{far, list} {
		answer, err := s.handle(invoked(t.Context(), putAlias, ""), json.RawMessage(event))
		check.That(t, err != nil && answer == nil, "%s, by put: %s, %v", event, answer, err)
		check.Has(t, s.invokeAs(t, invoked(t.Context(), "live", ""), event), `"status":429`, event)
	}
	order(`{"queue":"ann","maxAhead":30}`)
	answer := s.invokeAs(t, invoked(t.Context(), putAlias, ""), list)
	check.That(t, strings.Count(answer, `"outcome":"duplicate"`) == 2 &&
		strings.Count(answer, `"outcome":"parked"`) == 1, "repeated: %s", answer)
	// What is wrong for good would only come again.
	for _, event := range []string{`{"author":"ann"}`, `[]`, `7`, `{"author":"bob","n":1,"other":1}`} {
		check.Has(t, s.invokeAs(t, invoked(t.Context(), putAlias, ""), event), `"status":4`, event)
	}
}

// doors are the aliases by which POST /messages comes: those of the HTTP API and of the function
// URL.
var doors = []string{"live", urlAlias}

// through has requests come by an alias.
func (s *server) through(t *testing.T, alias string) {
	s.Client = httpapitest.New(t,
		func(ctx context.Context, raw json.RawMessage) (json.RawMessage, error) {
			return s.handle(invoked(ctx, alias, ""), raw)
		})
}

// TestFunctionURL: by the alias of the function URL the function puts, as by the HTTP API, and
// answers nothing else.
func TestFunctionURL(t *testing.T) {
	s := newServer(t, nil)
	s.through(t, urlAlias)
	s.Want("one", s.put(1, `"a"`), 200, `"outcome":"advanced"`)
	s.Want("a batch",
		s.post("", `{"messages":[{"queue":"q","seq":2,"body":1},{"queue":"q","seq":4,"body":1}]}`), 200,
		`"outcome":"parked"`)
	s.Want("read", s.get("/messages", "queue=q"), 405, "problems/no-method")
	s.Want("set up", s.Request("PUT", "/queues", "", `{"queue":"q","policy":"skip"}`), 404,
		"problems/no-route")
	for _, direct := range []string{`{"queue":"q","seq":3,"body":1}`,
		`{"operation":"configure","queue":"q","policy":"skip"}`} {
		check.Has(t, s.invokeAs(t, invoked(t.Context(), urlAlias, ""), direct),
			`"code":"misplaced"`, direct)
	}
}

// serveLambda is Lambda's API with this function, by its aliases.
func serveLambda(t *testing.T, handle httpapitest.Handler) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		path, _ := url.PathUnescape(
			strings.TrimSuffix(strings.TrimPrefix(r.URL.Path, "/2015-03-31/functions/"), "/invocations"))
		_, alias, _ := strings.Cut(path, "enqueue:")
		text, wrong := base64.StdEncoding.DecodeString(r.Header.Get("X-Amz-Client-Context"))
		var beside struct{ Custom map[string]string }
		check.That(t, err == nil && wrong == nil && json.Unmarshal(text, &beside) == nil &&
			strings.HasPrefix(r.Header.Get("Authorization"), "AWS4-HMAC-SHA256"),
			"%s, %s: %v, %v", r.URL, text, err, wrong)
		answer, err := handle(invoked(context.WithoutCancel(r.Context()), alias,
			beside.Custom["operation"]), body)
		if err != nil {
			w.Header().Set("X-Amz-Function-Error", "Unhandled")
			answer, _ = json.Marshal(map[string]string{"errorMessage": err.Error(), "errorType": "Problem"})
		}
		_, _ = w.Write(answer)
	}))
	t.Cleanup(server.Close)
	t.Setenv("AWS_ENDPOINT_URL_LAMBDA", server.URL)
	t.Setenv("AWS_ACCESS_KEY_ID", "local")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "local")
	t.Setenv("AWS_REGION", "eu-central-1")
}

// TestInvoke: the producer by a direct invoke, by both aliases, of a stack with raw events and
// without. What is too far ahead waits until the missing one has come, also by the alias put, which
// does not say which it is.
func TestInvoke(t *testing.T) {
	for _, alias := range []string{"live", putAlias} {
		t.Run(alias, func(t *testing.T) {
			s := newServer(t, nil)
			serveLambda(t, s.handle)
			s.Want("bounded", s.Request("PUT", "/queues", "", `{"queue":"q","maxAhead":3}`), 200)
			transport := check.Get(
				producer.Invoke("arn:aws:lambda:eu-west-1:123456789012:function:enqueue:"+alias, ""))
			p := check.Get(producer.New(transport,
				&producer.Options{MinBackOff: time.Millisecond, MaxBackOff: 20 * time.Millisecond}))
			ctx := t.Context()
			var futures []*producer.Future
			for _, seq := range []int64{9, 8, 7, 6, 5, 4, 3, 2, 1} {
				f := check.Get(p.Send(ctx, producer.Message{Queue: "q", Seq: &seq, Body: fmt.Append(nil, seq)}))
				futures = append(futures, f)
			}
			for _, f := range futures {
				check.Get(f.Wait(ctx))
			}
			check.OK(t, p.Close(ctx))
			s.Want("all", s.get("/queues", "queue=q"), 200, `"position":9`)
		})
	}
}

// TestProducerKeepsBodies: each body is read back byte for byte, whatever it is, with all that
// stands beside it.
func TestProducerKeepsBodies(t *testing.T) {
	s := newServer(t, nil)
	serveLambda(t, s.handle)
	p := check.Get(producer.New(check.Get(producer.Invoke("enqueue:live", "")), nil))
	bodies := []string{
		`{"a":1}`, ` {"a" : 1}`, "{\"a\":\t1}\n", `"<&>\u2028"`, "\u2028", "", "nul", "null", `"` + "\xff" + `"`, strings.Repeat("[", 5000) + strings.Repeat("]", 5000), `-0.10e+3`, "\x00\x01",
	}
	const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	var futures []*producer.Future
	for i, body := range bodies {
		seq := int64(i + 1)
		f := check.Get(p.Send(t.Context(), producer.Message{
			Queue: "q\"\\\n\u2028<ü>", Seq: &seq, ID: fmt.Sprint("id\t", i), Body: []byte(body),
			Attributes:  map[string]string{"a\"": "\x01", "b": ""},
			Traceparent: traceparent, Tracestate: "vendor=1",
		}))
		futures = append(futures, f)
	}
	check.OK(t, p.Close(t.Context()))
	for i, f := range futures {
		r := check.Get(f.Wait(t.Context()))
		check.That(t, r.Outcome == cursor.Advanced && r.Seq == int64(i+1), "%q: %+v", bodies[i], r)
	}
	i := 0
	for m, err := range s.sorter(t).Read(t.Context(), "q\"\\\n\u2028<ü>", 0, int64(len(bodies))) {
		check.That(t, err == nil && string(m.Body) == bodies[i] && m.ID == fmt.Sprint("id\t", i) &&
			m.Attributes["a\""] == "\x01" && len(m.Attributes) == 2 &&
			m.Trace == (cursor.Trace{Parent: traceparent, State: "vendor=1"}),
			"%.100q came out as %+v, %v", bodies[i], m, err)
		i++
	}
	check.That(t, i == len(bodies), "%d of %d messages", i, len(bodies))
}
