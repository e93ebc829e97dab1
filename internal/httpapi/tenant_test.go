package httpapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/httpapi"
	"github.com/streamsort/streamsort/pkg/invalid"
)

// asked answers with whose names the call's are.
func asked(_ context.Context, c *httpapi.Call) (int, any, error) {
	full, problem := c.Full("queue", "q")
	return http.StatusOK, map[string]any{"status": 200, "tenant": c.Tenant(), "full": full}, problem
}

func answer(t *testing.T, claim, event string) string {
	t.Helper()
	api := &httpapi.API{
		Routes:      []httpapi.Route{{Method: http.MethodGet, Resource: "queues", Do: asked}},
		Direct:      func(*httpapi.Call) (httpapi.Operation, error) { return asked, nil },
		TenantClaim: claim,
	}
	return handled(t, api, event)
}

// v2 and v1 are events of an HTTP API and of a REST API, with what they say of the caller.
func v2(authorizer string) string {
	return fmt.Sprintf(`{"version":"2.0","rawPath":"/queues","headers":{"x-tenant":"evil"},"rawQueryString":"tenant=evil",`+
		`"requestContext":{"authorizer":%s,"http":{"method":"GET"}}}`, authorizer)
}

func v1(authorizer, identity string) string {
	return fmt.Sprintf(`{"path":"/prod/queues","httpMethod":"GET","headers":{"x-tenant":"evil"},"requestContext":{"authorizer":%s,"identity":%s}}`, authorizer, identity)
}

// The tenant is what was verified, or the call is nobody's.
func TestWhoseNames(t *testing.T) {
	const operator, acme = `\"full\":\"q\"`, `\"full\":\"@acme/q\"`
	for _, c := range []struct{ event, want string }{
		{v2(`{"jwt":{"claims":{"org":"acme"}}}`), acme},
		{v2(`{"jwt":{"claims":{"org":"acme","exp":17,"x":{"y":1}},"scopes":["a"]}}`), acme},
		{v2(`{"jwt":{"claims":{"org":"acme"}},"iam":{"userArn":"a"}}`), acme},
		{v2(`{"iam":{"userArn":"arn:aws:iam::000000000000:user/ann"}}`), operator},
		{v1(`{"claims":{"org":"acme"}}`, `{"userArn":"arn"}`), acme},
		{v1(`null`, `{"userArn":"arn:aws:iam::000000000000:user/ann"}`), operator},

		{v2(`null`), "no verified token"},
		{v2(`{}`), "no verified token"},
		{v2(`{"jwt":{}}`), "no verified token"},
		{v2(`{"iam":null}`), "no verified token"},
		{v2(`{"lambda":{"org":"acme"}}`), "no verified token"},
		{v2(`{"claims":{"org":"acme"}}`), "no verified token"},
		{v2(`{"jwt":{"claims":["org","acme"]}}`), "no verified token"},
		{v2(`"acme"`), "no verified token"},
		{v2(`{"jwt":{"claims":{}}}`), "no claim org"},
		{v2(`{"jwt":{"claims":{"Org":"acme","sub":"acme"}}}`), "no claim org"},
		{v2(`{"jwt":{"claims":{"org":7}}}`), "org must be a string"},
		{v2(`{"jwt":{"claims":{"org":["acme"]}}}`), "org must be a string"},
		{v2(`{"jwt":{"claims":{"org":null}}}`), "org must be a string"},
		{v2(`{"jwt":{"claims":{"org":""}}}`), "org has 0 bytes"},
		{v2(`{"jwt":{"claims":{"org":"[acme globex]"}}}`), "org has the character"},
		{v2(`{"jwt":{"claims":{"org":"a/b"}}}`), "org has the character"},
		{v2(`{"jwt":{"claims":{"org":"` + strings.Repeat("a", 65) + `"}}}`), "org has 65 bytes"},
		{v1(`{"org":"acme"}`, `{"userArn":null}`), "no verified token"},
		{v1(`{"claims":"acme"}`, `{"userArn":"arn"}`), "no verified token"},
		{v1(`null`, `{"sourceIp":"127.0.0.1"}`), "no verified token"},
		{v1(`{"jwt":{"claims":{"org":"acme"}}}`, `{}`), "no verified token"},
	} {
		got := answer(t, "org", c.event)
		check.That(t, strings.Contains(got, c.want), "%s\n%s, want %s", c.event, got, c.want)
		refused := strings.Contains(got, `"statusCode":403`)
		check.That(t, refused != (c.want == operator || c.want == acme), "%s\n%s", c.event, got)
		got = answer(t, "", c.event)
		check.That(t, strings.Contains(got, operator), "without tenants: %s\n%s", c.event, got)
	}
}

// A direct invoke is an operator's; what only looks like an event is refused.
func TestDirectInvokesOperate(t *testing.T) {
	check.Has(t, answer(t, "org", `{"queue":"q"}`), `"full":"q"`)
	for _, event := range []string{
		`{"requestContext":{"authorizer":{"jwt":{"claims":{"org":"acme"}}},"http":{"method":7}}}`,
		`{"requestContext":"x"}`, `{"requestContext":{},"headers":[]}`,
	} {
		got := answer(t, "org", event)
		check.Has(t, got, `"status":400`, event)
		check.Has(t, got, "requestContext", event)
	}
}

// A problem names queues as the tenant named them, and another's not at all.
func TestProblemsNameQueuesAsTheyWereGiven(t *testing.T) {
	for queue, want := range map[string]string{
		"@acme/q": `queue \"q\" is not there`, "@acme/@acme/q": `queue \"@acme/q\" is not there`, "@acmee/q": `queue is not there`, "q": `queue is not there`,
	} {
		refuse := func(context.Context, *httpapi.Call) (int, any, error) {
			return 0, nil,
				&invalid.Error{Field: "queue", Code: invalid.Clash, Problem: "is not there", Queue: queue}
		}
		a := &httpapi.API{
			Routes:      []httpapi.Route{{Method: http.MethodGet, Resource: "queues", Do: refuse}},
			TenantClaim: "org",
		}
		var answer struct{ Body string }
		text := handled(t, a, v2(`{"jwt":{"claims":{"org":"acme"}}}`))
		check.OK(t, json.Unmarshal([]byte(text), &answer))
		check.Has(t, answer.Body, want, queue)
	}
}

// The caller is what the gateway verified, and never what the caller says.
func TestIdentity(t *testing.T) {
	long := strings.Repeat("é", 1500)
	for _, c := range []struct {
		event string
		want  httpapi.Identity
	}{
		{v2(`{"iam":{"userArn":"arn:aws:iam::1:user/ann","accessKey":"AKID"}}`), httpapi.Identity{Kind: "iam", Name: "arn:aws:iam::1:user/ann"}},
		{v1(`null`, `{"userArn":"arn:aws:sts::1:assumed-role/ops/ann"}`), httpapi.Identity{Kind: "iam", Name: "arn:aws:sts::1:assumed-role/ops/ann"}},
		{v2(`{"jwt":{"claims":{"sub":"ben","client_id":"app","azp":"other"}}}`), httpapi.Identity{Kind: "jwt", Name: "ben", Client: "app"}},
		{v2(`{"jwt":{"claims":{"sub":"ben","azp":"app"}}}`), httpapi.Identity{Kind: "jwt", Name: "ben", Client: "app"}},
		{v2(`{"jwt":{"claims":{"sub":7}},"iam":{"userArn":"a"}}`), httpapi.Identity{Kind: "jwt"}},
		{v2(`{"jwt":{"claims":{"sub":"` + long + `"}}}`), httpapi.Identity{Kind: "jwt", Name: strings.Repeat("é", 1024)}},
		{v2(`{"lambda":{"sub":"evil"}}`), httpapi.Identity{Kind: "none"}},
		{v2(`null`), httpapi.Identity{Kind: "none"}},
		{`{"queue":"q","sub":"evil","userArn":"evil"}`, httpapi.Identity{Kind: "direct"}},
	} {
		r, err := httpapi.Decode(json.RawMessage(c.event))
		got := r.Identity()
		check.That(t, err == nil && got == c.want, "%s: %+v, %v; want %+v", c.event, got, err, c.want)
	}
}
