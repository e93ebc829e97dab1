package tenancy_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/streamsort/streamsort/internal/httpapi/httpapitest"
)

// What becomes of a text that a tenant writes into a request.
const (
	// scoped: the tenant is put before it (Scope.Full), which TestTenants of localstack tries with
	// names of another's.
	scoped = "scoped"
	// owned: it has a stored name inside, which must be the tenant's (Scope.Owns).
	owned = "owned"
	// under: it names what stands under a queue, a tag or an edge of the request.
	under = "under"
	// content: it is passed on, and names nothing.
	content = "content"
	// way: it says where in the tenant's own event a scoped name is found.
	way = "way"
	// choice: it is one of a few words, a number, a time or a duration.
	choice = "choice"
	// operators: a tenant who gives it is refused.
	operators = "operators"
)

// fields are all texts of all requests that a tenant may make, by the field's name; those of one
// operation alone stand under its name too.
var fields = map[string]string{
	"prefix": scoped, "queueStatus after": owned, "chainStatus after": owned, "state": choice,
	"queue": scoped, "tag": scoped, "edge": owned, "parent": owned,
	"putMessages id": scoped, "putMessages prev": scoped, "putMessages Idempotency-Key": scoped, "onClaim replies.id": scoped,
	"putMessages each": way,

	"consumer": under, "request": under, "token": under, "batch": under, "children": under, "tree": under,
	"operate id": under, "operateConsumer id": under, "eraseQueue id": under, "consumerStatus after": under, "listOperations after": under, "listEndpoints after": under,

	"body": content, "bodyBase64": content, "contentType": content, "attributes": content, "reason": content,
	"stamp": content, "stampBase64": content, "putMessages event": content, "key": content, "keyType": content,
	"traceparent": content, "tracestate": content, "X-Amzn-Trace-Id": content, "url": content, "paused": content,
	// No reply has these: it is refused.
	"onClaim replies.prev": content,

	"seq": choice, "seqs": choice, "readMessages after": choice, "to": choice, "first": choice, "start": choice,
	"kind": choice, "policy": choice, "gapAfter": choice, "mode": choice, "settle": choice, "late": choice, "clockAhead": choice, "action": choice, "outcome": choice, "operation": choice,
	"tenant": operators, "eraseQueue after": operators,

	"putMessages Content-Encoding": choice, "deadline": choice, "idle": choice, "until": choice,
}

// A developer who adds a field to a request says here what becomes of a tenant's text in it.
func TestEachFieldIsJudged(t *testing.T) {
	judged := map[string]bool{}
	for path, item := range httpapitest.Contract(t).Paths.Map() {
		if strings.HasPrefix(path, "/webhooks/") {
			continue // a sender is no tenant
		}
		for _, operation := range item.Operations() {
			texts := map[string]bool{}
			for _, p := range operation.Parameters {
				collect(texts, p.Value.Name, p.Value.Schema)
			}
			if operation.RequestBody != nil {
				collect(texts, "", operation.RequestBody.Value.Content["application/json"].Schema)
			}
			for _, name := range slices.Sorted(maps.Keys(texts)) {
				key := operation.OperationID + " " + name
				if fields[key] == "" {
					key = name[strings.LastIndex(name, ".")+1:]
				}
				if fields[key] == "" {
					t.Errorf("%s: the text %s is not on the list: is it a name?", operation.OperationID, name)
				}
				judged[key] = true
			}
		}
	}
	for key := range fields {
		if !judged[key] {
			t.Errorf("%s is on the list, and no request has it", key)
		}
	}
}

// lists are the members that hold the messages or operations of one call: what is in them is as
// what stands alone.
var lists = []string{"messages", "operations"}

// collect gathers the names of what may be a text in a schema.
func collect(texts map[string]bool, name string, ref *openapi3.SchemaRef) {
	s := ref.Value
	for _, part := range slices.Concat(s.AnyOf, s.OneOf, s.AllOf) {
		collect(texts, name, part)
	}
	for member, of := range s.Properties {
		inner := strings.TrimPrefix(name+"."+member, ".")
		if slices.Contains(lists, member) {
			inner = name
		}
		collect(texts, inner, of)
	}
	if s.Items != nil {
		collect(texts, name, s.Items)
	}
	if s.Type.Permits("string") && len(s.AnyOf)+len(s.OneOf)+len(s.AllOf) == 0 {
		texts[name] = true
	}
	if s.Type.Is("object") && len(s.Properties) == 0 {
		if name == "" {
			name = "event"
		}
		texts[name] = true
	}
}
