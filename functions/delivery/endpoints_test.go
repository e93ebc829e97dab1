package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/ddbtest"
	"github.com/streamsort/streamsort/internal/endpoint"
	"github.com/streamsort/streamsort/internal/httpapi/httpapitest"
	"github.com/streamsort/streamsort/internal/request"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/delivery"
)

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
			return s.as(tenant, "PUT", "/endpoints", "",
				fmt.Sprintf(`{"consumer":"hooks",%s,"url":"https://example.com/%s"}`, members, path))
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
				a := s.as(tenant, "GET", "/endpoints", "consumer=hooks&limit=2&after="+after, "")
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
		s.Want("another's", s.as("acme-eu", "DELETE", "/endpoints", "consumer=hooks&queue=orders", ""),
			404, "no-endpoint")
		s.Want("another's, by its whole name",
			s.as("acme-eu", "DELETE", "/endpoints",
				"consumer=hooks&queue="+url.QueryEscape("@acme/orders"), ""), 404)
		s.Want("one's own", s.as("acme", "DELETE", "/endpoints", "consumer=hooks&queue=orders", ""), 200)
		s.Want("again", s.as("acme", "DELETE", "/endpoints", "consumer=hooks&queue=orders", ""), 404,
			`(queue \"orders\", consumer \"hooks\")`)
		check.Is(t, s.of("@acme/orders"), "https://example.com/acme")
		s.Want("what was done",
			s.Request("GET", "/operations", "queue="+url.QueryEscape("@acme/orders"), ""), 200,
			`"action":"removeEndpoint"`, `"action":"endpoint"`, `"host":"example.com"`,
			`"outcome":"refused"`)
		// No queue has the name of their partition.
		s.Want("a queue of that name", s.Request("POST", "/consumers", "",
			`{"queue":"endpoints acme","consumer":"c"}`), 400, "must not begin with")
	})
}

// TestAnEndpointWakesItsQueueUp: what waited for one goes on; an endpoint may be there before its
// queue.
func TestAnEndpointWakesItsQueueUp(t *testing.T) {
	onEach(t, func(s *server) {
		s.put("q", 1)
		for _, queue := range []string{"q", "not yet"} {
			s.Want(queue, s.as("", "PUT", "/endpoints", "",
				`{"consumer":"hooks","queue":"`+queue+`","url":"https://example.com/"}`), 200)
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
		first := secretOf(t, s.as("", "PUT", "/endpoints", "", members+`}`))
		a := s.as("", "PUT", "/endpoints", "", members+`,"rotate":true}`)
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
		s.Want("changed",
			s.as("", "PUT", "/endpoints", "", `{"consumer":"hooks","queue":"q","paused":"they asked"}`), 200,
			`"paused":{"reason":"they asked"`, `"url":"https://example.com/"`)
		check(second, first)
		s.now = s.now.Add(endpoint.KeptSecret)
		check(second)
		third := secretOf(t, s.as("", "PUT", "/endpoints", "", members+`,"rotate":true}`))
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
		change(`"url":"http://example.com/"`):                                              "without TLS",
		change(`"url":"https://127.0.0.1/"`):                                               "not a public one",
		change(`"url":"https://[2600:1f18:1::5]/"`):                                        "not a public one",
		change(`"url":"https://example.com/","paused":true`):                               "paused",
		change(`"url":"https://example.com/","rotate":"yes"`):                              "rotate",
		change(`"url":"https://example.com/","secret":"x"`):                                "secret",
		change(`"url":"https://example.com/","paused":"` + strings.Repeat("x", 257) + `"`): "at most 256",
	} {
		s.Want(body, s.as("acme", "PUT", "/endpoints", "", body), 400, want)
	}
	// Where it is known which consumers have endpoints, others get none; what is there may be taken
	// away.
	of := s.with(func(of *service) { of.hooks = []string{"hooks", "other"} })
	s.Want("another consumer",
		of.Request("PUT", "/endpoints", "",
			`{"consumer":"hook","queue":"q","url":"https://example.com/"}`), 400,
		"consumer has no endpoints: hooks, other may")
	s.Want("a known one", of.Request("PUT", "/endpoints", "",
		`{"consumer":"other","queue":"q","url":"https://example.com/"}`), 200)
	s.Want("one that is gone", of.Request("DELETE", "/endpoints", "consumer=hook&queue=q", ""), 404)

	inner := change(`"url":"http://10.1.2.3:8080/"`)
	s.Want("what the owner allows", s.as("", "PUT", "/endpoints", "", inner), 200)
	for _, place := range []string{`"queue":"@acme/q"`, `"prefix":"@acme/"`} {
		// What is a tenant's is sent to what tenants may have, whichever caller made it.
		s.Want("nor of what is a tenant's",
			s.as("", "PUT", "/endpoints", "", `{"consumer":"hooks",`+place+
				`,"url":"http://10.1.2.3:8080/"}`), 400, "without TLS")
	}
	s.Want("is not a tenant's", s.as("acme", "PUT", "/endpoints", "", inner), 400, "without TLS")
	for _, query := range []string{"consumer=a%20b", "after=%21", "after=AAAA&consumer=hooks",
		"limit=0", "x=y"} {
		s.Want(query, s.as("acme", "GET", "/endpoints", query, ""), 400)
	}
	s.Want("no place", s.as("acme", "DELETE", "/endpoints", "consumer=c", ""), 400, "queue")
}

func (s *server) erase(more string) httpapitest.Answer {
	s.t.Helper()
	return s.Request("DELETE", "/queues", "reason=why&"+more, "")
}

func TestErase(t *testing.T) {
	onEach(t, func(s *server) {
		s.Want("a queue that is not there", s.erase("queue=q"), 404, `"code":"no-queue"`)
		s.billing(5)
		s.Want("dry", s.Request("DELETE", "/queues", "queue=q&dryRun=true", ""), 200,
			`"stored":{"messages":5,"arrivals":0},"more":false,"consumers":[{"consumer":"billing","state":"catching-up","delivered":0,"lag":5}]`)
		s.Want("without a reason", s.Request("DELETE", "/queues", "queue=q", ""), 400, `"field":"reason"`)
		s.Want("nothing was done", s.status(), 200, `"lag":5`)

		s.Want("erased", s.erase("queue=q&id=op"), 202,
			`"id":"op","queue":"q","state":"settling"`, `"last":5`,
			`"until":"`+s.now.Add(time.Hour).Format(time.RFC3339), `"deleted":{"messages":5,"arrivals":0}`)
		s.Want("again", s.erase("queue=q&id=op"), 202, `"state":"settling"`,
			`"deleted":{"messages":0,"arrivals":0}`)
		s.Want("its id for another reason", s.Request("DELETE", "/queues", "queue=q&reason=other&id=op",
			""), 409, `"code":"id-taken"`, `"id":"op"`)
		s.Want("a consumer", s.create(`{"queue":"q","consumer":"billing"}`), 410, `"code":"erased"`,
			`"field":"queue"`)
		s.Want("consumers", s.status(), 410, `"code":"erased"`)
		s.Want("a claim", s.Request("POST", "/claims", "",
			`{"queue":"q","consumer":"billing","request":"r"}`), 404, `"code":"no-consumer"`)
		s.Want("an operation", s.operate("pause", ""), 404, `"code":"no-consumer"`)
		s.Want("the audit log", s.Request("GET", "/operations", "queue=q", ""), 200,
			`"id":"op","action":"erase","reason":"why","who":{"kind":"none"},"outcome":"done"`, `"action":"create"`)

		s.now = s.now.Add(cursor.EraseGrace)
		check.Get(s.sorter.Sweep(s.t.Context(), cursor.SweepOptions{}))
		s.Want("after the grace", s.erase("queue=q&id=op"), 200, `"state":"erased"`,
			`"emptied":"`+s.now.Format(time.RFC3339))
		check.Has(s.t, s.Invoke(`{"operation":"erase","queue":"q","reason":"why","id":"op"}`),
			`"state":"erased"`)
	})
}

// restart-keys is of a queue, is done once for its id, and is on record.
func TestRestartKeys(t *testing.T) {
	onEach(t, func(s *server) {
		restart := func(more string) httpapitest.Answer {
			return s.Request("POST", "/operations", "",
				`{"action":"restart-keys","queue":"keyed","reason":"the meter was reset"`+more+`}`)
		}
		s.Want("of no queue", restart(""), 404, `"code":"no-queue"`)
		put := func(key int) {
			s.t.Helper()
			m := cursor.Message{KeyParts: []any{key}, KeyType: "number", Queue: "keyed", ID: fmt.Sprint(key)}
			r := s.sorter.Put(s.t.Context(), m)[0]
			check.Need(s.t, r.Err == nil && r.Outcome == cursor.Waiting, "%+v, %v", r, r.Err)
		}
		put(900)
		s.Want("with a consumer", restart(`,"consumer":"billing"`), 400, `"field":"consumer"`)
		for range 2 {
			s.Want("done", restart(`,"id":"op"`), 200,
				`{"status":200,"id":"op","action":"restart-keys","queue":"keyed"}`)
			s.now = s.now.Add(time.Second) // each order is on record under its time
		}
		put(1)
		s.Want("its id for another reason", s.Request("POST", "/operations", "",
			`{"action":"restart-keys","queue":"keyed","reason":"r","id":"op"}`), 409, `"code":"id-taken"`)
		s.put("q", 1)
		s.Want("a numbered queue", s.Request("POST", "/operations", "",
			`{"action":"restart-keys","queue":"q","reason":"r"}`), 400, `"field":"queue"`, "keyed")
		a := s.Request("GET", "/operations", "queue=keyed", "")
		s.Want("the audit log", a, 200, `"id":"op","action":"restart-keys","reason":"the meter was reset","who":{"kind":"none"},"outcome":"done"`)
		check.Is(s.t, strings.Count(a.Body, `"action"`), 1, a.Body)
		cur, err := s.sorter.Status(s.t.Context(), "keyed")
		check.That(s.t, err == nil && cur.Position == 2, "%+v, %v", cur, err)
	})
}

func (s *server) secrets() (n int) {
	s.t.Helper()
	for _, tenant := range []string{"", "acme", "globex"} {
		page, _ := check.Get2(s.endpoints().List(s.t.Context(), tenant, "", "", 1000))
		n += len(page)
	}
	return n
}

// An erased queue has no endpoint, for whichever consumer, however late one is put, and takes none:
// its neighbours, and the prefix, keep theirs.
func TestEraseTakesTheQueuesEndpoint(t *testing.T) {
	onEach(t, func(s *server) {
		s.put("q", 1)
		endpoint := func(consumer, name string) string {
			return `{"consumer":"` + consumer + `",` + name + `,"url":"https://example.com/"}`
		}
		for _, body := range []string{
			endpoint("hooks", `"queue":"q"`), endpoint("more", `"queue":"q"`),
			endpoint("hooks", `"queue":"q r"`), endpoint("hooks", `"queue":"q1"`), endpoint("hooks", `"prefix":""`),
		} {
			s.Want(body, s.Request("PUT", "/endpoints", "", body), 200)
		}
		s.Want("erased", s.erase("queue=q&id=op"), 202, `"state":"settling"`)
		check.Is(t, s.secrets(), 3)
		s.Want("of an erased queue", s.Request("PUT", "/endpoints", "", endpoint("hooks", `"queue":"q"`)),
			410, `"code":"erased"`)

		// One that looked at the queue before is late.
		late := endpointOf("q")
		_, _, err := s.endpoints().Put(t.Context(), late)
		check.OK(t, err)
		s.now = s.now.Add(cursor.EraseGrace)
		check.Get(s.deliverer.Sweep(t.Context(), delivery.SweepOptions{Erase: s.endpoints().EraseQueue}))
		check.Is(t, s.secrets(), 3)
		s.Want("after the grace", s.erase("queue=q&id=op"), 200, `"state":"erased"`)
	})
}

func endpointOf(queue string) endpoint.Change {
	return endpoint.Change{Place: endpoint.Place{Consumer: "hooks", Name: queue},
		URL: "https://example.com/"}
}

// A tenant's endpoints go with it, behind its queues; nobody else's do. So who gets the name next
// sends nothing to the old URL.
func TestEraseTenantTakesItsEndpoints(t *testing.T) {
	onEach(t, func(s *server) {
		all := func() string { return s.of("@acme/next") + s.of("@acme/q") + s.of("@acme/shop/x") }
		for _, body := range []string{`"prefix":"@acme/"`, `"queue":"@acme/q"`, `"prefix":"@acme/shop/"`,
			`"queue":"@globex/q"`, `"prefix":""`} {
			body = `{"consumer":"hooks",` + body + `,"url":"https://example.com/"}`
			s.Want(body, s.Request("PUT", "/endpoints", "", body), 200)
		}
		s.put("@acme/q", 1)
		s.put("@acme/r", 1)
		s.Want("dry", s.Request("DELETE", "/queues", "tenant=acme&dryRun=true", ""), 200, `"endpoints":3`)
		check.That(t, all() != "" && s.secrets() == 5, "a dry run deletes: %d are left", s.secrets())
		// While a queue is live, the endpoints are there.
		s.before = func(r ddb.Request) {
			if _, deletes := r.(ddb.Delete); !deletes || !strings.HasPrefix(r.On().Name, "consumers") {
				return
			}
			for _, queue := range []string{"@acme/q", "@acme/r"} {
				_, err := s.sorter.Status(context.Background(), queue)
				check.That(t, err != nil, "an endpoint is deleted while %s is live", queue)
			}
		}
		s.Want("erased", s.erase("tenant=acme&id=op"), 200, `"endpoints":3`, `"queue":"@acme/r"`)
		s.before = nil
		if got := all(); got != "" || s.secrets() != 2 {
			t.Errorf("%d are left, and the next owner's queue goes to %q", s.secrets(), got)
		}
		check.That(t, s.of("@globex/q") != "" && s.of("other") != "", "others have lost theirs")
		s.Want("again", s.erase("tenant=acme&id=op"), 200, `"tenant":"acme"`)
		s.Want("on record", s.Request("GET", "/operations", "queue="+url.QueryEscape("@acme/"), ""), 200,
			`"action":"erase","reason":"why"`, `"outcome":"done"`)
		s.Want("without a reason", s.Request("DELETE", "/queues", "tenant=nobody", ""), 400,
			`"field":"reason"`)
	})
}

// A consumer whose replies find no room stays until they do: the rest goes.
func TestEraseWhileRepliesFindNoRoom(t *testing.T) {
	s := newServer(t, ddbtest.Memory)
	ahead, seq := int64(1), int64(3)
	check.Get(s.sorter.Configure(t.Context(), "n", cursor.Change{MaxAhead: &ahead}))
	s.billing(1)
	done := s.deliver("q", "billing", func(b delivery.Batch) error {
		return b.Reply(delivery.Reply{Queue: "n", Seq: &seq, Body: []byte(`"far"`)})
	})
	check.Need(t, done.Outcome == delivery.Full, "%+v, want replies that wait", done)
	s.now = s.now.Add(20 * time.Minute)
	s.Want("erased", s.erase("queue=q&id=op"), 202, `"id":"op","queue":"q","state":"erasing"`,
		`"deleted":{"messages":1,"arrivals":0}`)
	s.put("n", 2)
	s.Want("again, with room", s.erase("queue=q&id=op"), 202, `"state":"settling"`)
	// What is not understood names its field.
	for query, want := range map[string]string{
		"":                    `"field":"queue"`,
		"queue=q&tenant=acme": `"field":"tenant"`,
		"queue=q&after=q":     `"field":"after"`,
		"tenant=a/b":          `"field":"tenant"`,
		"queue=q&id=" + url.QueryEscape(strings.Repeat("x", 65)): `"field":"id"`,
	} {
		a := s.Raw(httpapitest.V2("DELETE", "/queues", "reason=why&"+query, "", false))
		check.That(t, a.Status == 400 && strings.Contains(a.Body, want), "%s: %+v", query, a)
	}
	a := s.Raw(httpapitest.V2("DELETE", "/queues", "queue=q&dryRun=perhaps", "", false))
	check.That(t, a.Status == 400 && strings.Contains(a.Body, `"field":"dryRun"`), "%+v", a)
}

// An operator erases all queues of a tenant; a tenant erases queues of its own only.
func TestEraseTenant(t *testing.T) {
	s := newTenantServer(t)
	for i := range 5 {
		s.put(fmt.Sprintf("@acme/q%d", i), 1)
	}
	s.put("@globex/q", 1)
	s.put("@acm/q", 1)
	as := func(authorizer, query string) httpapitest.Answer {
		t.Helper()
		return s.by(authorizer, "DELETE", "/queues", query, "")
	}
	s.Want("its own", as(ben, "queue=q0&reason=why"), 202, `"queue":"q0","state":"settling"`)
	s.Want("another's", as(ben, "queue=@globex/q&reason=why"), 404, `"code":"no-queue"`)
	s.Want("a tenant's, by a tenant", as(ben, "tenant=acme&reason=why"), 400, `"field":"tenant"`)
	s.Want("without a reason", as(ann, "tenant=acme"), 400, `"field":"reason"`)
	a := as(ann, "tenant=acme&dryRun=true")
	s.Want("dry", a, 200, `"queue":"@acme/q1","state":"live","last":1`)
	check.Is(t, strings.Count(a.Body, `"state":"live"`), 4, a.Body)
	a = as(ann, "tenant=acme&reason=why&id=op")
	s.Want("erased", a, 200, `"tenant":"acme"`)
	n := strings.Count(a.Body, `"state":"erasing"`)
	check.That(t, n == 5 && !strings.Contains(a.Body, "next"), "%d queues are erased: %s", n, a.Body)
	for _, queue := range []string{"@globex/q", "@acm/q"} {
		_, err := s.sorter.Status(t.Context(), queue)
		check.That(t, err == nil, "%s: %v", queue, err)
	}
	operations, _, err := s.deliverer.Inside(request.Inside{}).Audit(t.Context(), "@acme/q3", "")
	check.That(t, err == nil && len(operations) == 1 && operations[0].Kind == "erase" &&
		operations[0].Who.Name == "arn:aws:iam::1:user/ann",
		"%+v, %v", operations, err)
}
