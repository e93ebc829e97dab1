package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/ddbtest"
	"github.com/streamsort/streamsort/internal/endpoint"
	"github.com/streamsort/streamsort/internal/httpapi/httpapitest"
	"github.com/streamsort/streamsort/internal/runtime"
	"github.com/streamsort/streamsort/pkg/cursor"
)

// as asks as a tenant, or as an operator without one.
func (s *server) as(tenant, method, query, body string) httpapitest.Answer {
	s.t.Helper()
	if tenant == "" {
		return s.Request(method, "/endpoints", query, body)
	}
	tenants := &service{deliverer: s.deliverer, sorter: s.sorter, now: func() time.Time { return s.now }, tenantClaim: "org", endpoints: s.endpoints(), rules: s.rules}
	return httpapitest.New(s.t, runtime.Around(&s.logs, headroom, tenants.api().Handle)).RequestAs("org", tenant, method, "/endpoints", query, body)
}

func secretOf(t *testing.T, a httpapitest.Answer) string {
	t.Helper()
	var e struct{ Secret string }
	check.OK(t, json.Unmarshal([]byte(a.Body), &e))
	return e.Secret
}

// of is the URL of a queue's endpoint; empty where it has none.
func (s *server) of(queue string) string {
	e, err := s.endpoints().Of(s.t.Context(), "hooks", queue)
	check.Need(s.t, err == nil || errors.Is(err, endpoint.ErrNone), "%v", err)
	return e.URL
}

// TestEndpoints: a tenant manages its own, and sees and touches nobody else's; a queue has that of
// its name, else that of its longest prefix.
func TestEndpoints(t *testing.T) {
	onEach(t, func(s *server) {
		put := func(tenant, members, path string) httpapitest.Answer {
			return s.as(tenant, "PUT", "", fmt.Sprintf(`{"consumer":"hooks",%s,"url":"https://example.com/%s"}`, members, path))
		}
		for _, c := range []struct{ tenant, members, path string }{
			{"", `"prefix":""`, "all"},
			{"", `"queue":"orders"`, "orders"},
			{"", `"prefix":"shop/"`, "shop"},
			{"", `"prefix":"shop/eu/"`, "eu"},
			{"acme", `"prefix":""`, "acme"},
			{"acme", `"queue":"orders"`, "acme-orders"},
			{"acme-eu", `"prefix":"shop/"`, "acme-eu"},
		} {
			a := put(c.tenant, c.members, c.path)
			s.Want(c.path, a, 200, `"secret":"whsec_`)
			// The same again changes nothing, and shows no secret.
			check.Is(t, secretOf(t, put(c.tenant, c.members, c.path)), "", c.path)
		}
		for queue, want := range map[string]string{
			"orders": "orders", "orders/": "all", "other": "all", "shop/x": "shop", "shop/eu/x": "eu", "shop/eu": "shop", "@!/x": "all",
			"@acme/orders": "acme-orders", "@acme/shop/x": "acme", "@acme-eu/shop/x": "acme-eu", "@acme-eu/x": "", "@new/orders": "",
		} {
			check.Is(t, strings.TrimPrefix(s.of(queue), "https://example.com/"), want, queue)
		}
		for tenant, want := range map[string]int{"": 4, "acme": 2, "acme-eu": 1, "new": 0} {
			n, after := 0, ""
			for range 10 {
				a := s.as(tenant, "GET", "consumer=hooks&limit=2&after="+after, "")
				s.Want("list", a, 200)
				check.That(t, !strings.Contains(a.Body, "whsec_") && !strings.Contains(a.Body, "@"),
					"%s sees %s", tenant, a.Body)
				var page struct {
					Endpoints []struct{ URL string }
					Next      string
				}
				check.OK(t, json.Unmarshal([]byte(a.Body), &page))
				n += len(page.Endpoints)
				if after = page.Next; after == "" {
					break
				}
			}
			check.That(t, n == want, "%q has %d endpoints, want %d", tenant, n, want)
		}
		s.Want("another's", s.as("acme-eu", "DELETE", "consumer=hooks&queue=orders", ""), 404, "no-endpoint")
		s.Want("another's, by its whole name", s.as("acme-eu", "DELETE", "consumer=hooks&queue="+url.QueryEscape("@acme/orders"), ""), 404)
		s.Want("one's own", s.as("acme", "DELETE", "consumer=hooks&queue=orders", ""), 200)
		s.Want("again", s.as("acme", "DELETE", "consumer=hooks&queue=orders", ""), 404)
		check.Is(t, s.of("@acme/orders"), "https://example.com/acme")
		s.Want("what was done", s.Request("GET", "/operations", "queue="+url.QueryEscape("@acme/orders"), ""), 200,
			`"action":"removeEndpoint"`, `"action":"endpoint"`, `"host":"example.com"`, `"outcome":"refused"`)
		// No queue has the name of their partition.
		s.Want("a queue of that name", s.Request("POST", "/consumers", "", `{"queue":"endpoints acme","consumer":"c"}`), 400, "must not begin with")
	})
}

// TestAnEndpointWakesItsQueueUp: what waited for one goes on; an endpoint may be there before its
// queue.
func TestAnEndpointWakesItsQueueUp(t *testing.T) {
	onEach(t, func(s *server) {
		s.put("q", 1)
		for _, queue := range []string{"q", "not yet"} {
			s.Want(queue, s.as("", "PUT", "", `{"consumer":"hooks","queue":"`+queue+`","url":"https://example.com/"}`), 200)
		}
		it := check.Get(s.sorter.Status(t.Context(), "q"))
		check.That(t, it.Notified.Equal(s.now), "%+v", it.Notified)
		check.Fails(t, check.Err(s.sorter.Status(t.Context(), "not yet")), cursor.ErrNoQueue)
	})
}

// TestRotation: both secrets sign for a day, and then the new one alone.
func TestRotation(t *testing.T) {
	onEach(t, func(s *server) {
		const members = `{"consumer":"hooks","queue":"q","url":"https://example.com/"`
		first := secretOf(t, s.as("", "PUT", "", members+`}`))
		a := s.as("", "PUT", "", members+`,"rotate":true}`)
		s.Want("rotated", a, 200, `"oldSecretUntil"`)
		second := secretOf(t, a)
		check := func(want ...string) {
			t.Helper()
			e := check.Get(s.endpoints().Of(t.Context(), "hooks", "q"))
			got := strings.Join(e.Secrets(s.now), " ")
			check.That(t, got == strings.Join(want, " ") && first != second, "signed with %s", got)
		}
		check(second, first)
		// Without a URL, that stays.
		s.Want("changed", s.as("", "PUT", "", `{"consumer":"hooks","queue":"q","paused":"they asked"}`), 200, `"paused":{"reason":"they asked"`, `"url":"https://example.com/"`)
		check(second, first)
		s.now = s.now.Add(endpoint.KeptSecret)
		check(second)
		third := secretOf(t, s.as("", "PUT", "", members+`,"rotate":true}`))
		check(third, second)
	})
}

func TestEndpointsRefused(t *testing.T) {
	s := newServer(t, ddbtest.Memory)
	change := func(more string) string { return `{"consumer":"hooks","queue":"q",` + more + `}` }
	for body, want := range map[string]string{
		`{"queue":"q","url":"https://example.com/"}`:                                               "consumer",
		`{"consumer":"a b","queue":"q","url":"https://example.com/"}`:                              "consumer",
		`{"consumer":"c","url":"https://example.com/"}`:                                            "queue",
		`{"consumer":"c","queue":"q","prefix":"","url":"https://example.com/"}`:                    "queue",
		`{"consumer":"c","queue":"","url":"https://example.com/"}`:                                 "queue",
		`{"consumer":"c","prefix":"shop","url":"https://example.com/"}`:                            "must end with a slash",
		`{"consumer":"c","prefix":"1/2/3/4/5/6/7/8/9/","url":"https://a.example"}`:                 "more than 8 slashes",
		`{"consumer":"c","queue":"` + strings.Repeat("q", 801) + `","url":"https://example.com/"}`: "takes 800",
		change(`"paused":"no"`):                                                            "url is missing",
		change(`"url":""`):                                                                 "url is missing",
		change(`"url":"http://example.com/"`):                                              "without TLS",
		change(`"url":"https://127.0.0.1/"`):                                               "not a public one",
		change(`"url":"https://2130706433/"`):                                              "ends in a number",
		change(`"url":"https://[::ffff:127.0.0.1]/"`):                                      "written as an IPv6 one",
		change(`"url":"https://[64:ff9b::7f00:1]/"`):                                       "not a public one",
		change(`"url":"https://169.254.169.254/latest/meta-data/"`):                        "not a public one",
		change(`"url":"https://[2600:1f18:1::5]/"`):                                        "not a public one",
		change(`"url":"https://user@example.com/"`):                                        "a user",
		change(`"url":"https://example.com/","paused":true`):                               "paused",
		change(`"url":"https://example.com/","rotate":"yes"`):                              "rotate",
		change(`"url":"https://example.com/","secret":"x"`):                                "secret",
		change(`"url":"https://example.com/","paused":"` + strings.Repeat("x", 257) + `"`): "at most 256",
	} {
		s.Want(body, s.as("acme", "PUT", "", body), 400, want)
	}
	// Where it is known which consumers have endpoints, others get none; what is there may be taken
	// away.
	known := &service{deliverer: s.deliverer, sorter: s.sorter, now: func() time.Time { return s.now }, endpoints: s.endpoints(), hooks: []string{"hooks", "other"}}
	of := httpapitest.New(t, runtime.Around(&s.logs, headroom, known.api().Handle))
	s.Want("another consumer", of.Request("PUT", "/endpoints", "", `{"consumer":"hook","queue":"q","url":"https://example.com/"}`), 400, "consumer has no endpoints: hooks, other may")
	s.Want("a known one", of.Request("PUT", "/endpoints", "", `{"consumer":"other","queue":"q","url":"https://example.com/"}`), 200)
	s.Want("one that is gone", of.Request("DELETE", "/endpoints", "consumer=hook&queue=q", ""), 404)

	inner := change(`"url":"http://10.1.2.3:8080/"`)
	s.Want("what the owner allows", s.as("", "PUT", "", inner), 200)
	for _, place := range []string{`"queue":"@acme/q"`, `"prefix":"@acme/"`} {
		// What is a tenant's is sent to what tenants may have, whichever caller made it.
		s.Want("nor of what is a tenant's", s.as("", "PUT", "", `{"consumer":"hooks",`+place+`,"url":"http://10.1.2.3:8080/"}`), 400, "without TLS")
	}
	s.Want("is not a tenant's", s.as("acme", "PUT", "", inner), 400, "without TLS")
	for _, query := range []string{"consumer=a%20b", "after=%21", "after=AAAA&consumer=hooks", "limit=0", "x=y"} {
		s.Want(query, s.as("acme", "GET", query, ""), 400)
	}
	s.Want("no place", s.as("acme", "DELETE", "consumer=c", ""), 400, "queue")
}
