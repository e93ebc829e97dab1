package main

import (
	"encoding/json"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/httpapi/httpapitest"
	"github.com/streamsort/streamsort/internal/queuelog"
	"github.com/streamsort/streamsort/internal/runtime"
	"github.com/streamsort/streamsort/pkg/cursor"
)

// Two tenants name the same queues and ids, and neither meets the other.
func TestTenants(t *testing.T) {
	s := newServer(t, func(s *service) { s.tenantClaim = "org" })
	for _, of := range []string{"acme", "globex"} {
		as := func(method, path, query, body string, status int, parts ...string) {
			t.Helper()
			a := s.RequestAs("org", of, method, path, query, body)
			s.Want(of, a, status, parts...)
			check.That(t, !strings.Contains(a.Body, "@"), "%s gets whole names: %s", of, a.Body)
		}
		as("POST", "/messages", "", `{"queue":"q","seq":1,"id":"i","body":"`+of+`"}`, 200,
			`"advanced","queue":"q"`)
		as("POST", "/messages", "", `{"messages":[{"queue":"q","seq":1,"body":"other"},{"queue":"in","id":"i","body":"`+of+`"}]}`, 200,
			`"outcome":"conflict","queue":"q"`, `"outcome":"advanced","queue":"in"`)
		as("POST", "/messages", "queue=q&seq=n", `{"q":"raw","n":1,"of":"`+of+`"}`, 200, `"queue":"raw"`)
		as("POST", "/messages", "",
			`{"messages":[{"queue":"keyed","key":1,"keyType":"number","id":"i","body":"`+
				of+`"},{"queue":"keyed","key":2,"id":"j","prev":"i","body":2}]}`, 200,
			`"outcome":"waiting","queue":"keyed"`)
		s.now = s.now.Add(time.Minute)
		s.settle(t, "@"+of+"/keyed")
		as("POST", "/messages", "", `{"queue":"keyed","key":1,"id":"i","body":"`+of+`"}`, 200,
			`"duplicate","queue":"keyed","seq":1`)
		as("GET", "/messages", "queue=keyed", "", 200, `{"seq":1,"key":1,"id":"i","body":"`+of+`"`,
			`{"seq":2,"key":2,"id":"j","body":2`)
		as("POST", "/messages", "", `{"queue":"keyed","key":3,"id":"k","prev":"`+
			strings.Repeat("i", 1024)+`","body":1}`, 400, `"field":"prev"`, "the tenant before it takes")
		as("POST", "/messages", "", `{"queue":"","seq":1,"body":1}`, 400, `"field":"queue"`)
		as("POST", "/messages", "", `{"messages":[{"queue":"q","seq":2,"id":"`+strings.Repeat("i", 1024)+
			`","body":1}]}`, 400, `"field":"messages[0].id"`, "the tenant before it takes")
		keyed := func(key, body string) httpapitest.Answer {
			event := strings.Replace(httpapitest.V2("POST", "/messages", "", body, false), `"headers":{`,
				`"headers":{"Idempotency-Key":"`+key+`",`, 1)
			return s.Raw(strings.Replace(event, `"requestContext":{`,
				`"requestContext":{"authorizer":{"jwt":{"claims":{"org":"`+of+`"}}},`, 1))
		}
		s.Want("an over-long key",
			keyed(strings.Repeat("k", 1024), `{"messages":[{"queue":"in","body":1}]}`), 400,
			`"field":"Idempotency-Key"`, "the tenant before it takes")
		half := `{"queue":"big","body":"` + strings.Repeat("x", 200_000) + `"}`
		s.Want("too large together", keyed("k", `{"messages":[`+half+`,`+half+`]}`), 413,
			`together for queue \"big\": at most`)
		as("PUT", "/queues", "", `{"queue":"q","maxAhead":9}`, 200, `"queue":"q"`)
		as("GET", "/queues", "queue=q", "", 200, `"queue":"q"`, `"position":1`)
		as("GET", "/gaps", "queue=q", "", 200, `"queue":"q"`)
		as("GET", "/messages", "queue=q", "", 200, `"queue":"q"`, `"id":"i","body":"`+of+`"`)
		as("GET", "/messages", "queue=in", "", 200, `"id":"i","body":"`+of+`"`)
		m, found, err := s.memory.Requests(queuelog.Inside{}).Message(t.Context(), "@"+of+"/q", 1)
		check.That(t, err == nil && found && m.ID == "@"+of+"/i", "%s: stored as %+v, %v", of, m, err)
	}
	_, found, _ := s.memory.Requests(queuelog.Inside{}).Message(t.Context(), "q", 1)
	check.That(t, !found, "something is stored without a tenant")
}

// Whatever a tenant sends, all that is stored is its own, and nothing of another's is shown or
// changed.
func FuzzTenant(f *testing.F) {
	for _, seed := range []struct{ method, resource, query, key, body string }{
		{"POST", "messages", "", "", `{"queue":"@globex/q","seq":2,"id":"i","body":1}`},
		{"POST", "messages", "", "@globex/k", `{"messages":[{"queue":"/../@globex/q","body":1},{"queue":"q","id":"@globex/i","seq":2,"body":2}]}`},
		{"POST", "messages", "queue=a.b&id=c", "", `[{"a":{"b":"@globex/q","B":"q"},"c":7}]`},
		{"POST", "messages", "", "", `{"queue":"@globex/q","key":["a",2],"keyType":"text,number","id":"@globex/i","prev":"@globex/i","body":1}`},
		{"POST", "messages", "queue=q&seq=n", "", `{"q":"@globex/q","n":"2"}`},
		{"PUT", "queues", "", "", `{"queue":"@globex/q","policy":"skip"}`},
		{"GET", "messages", "queue=%40globex%2Fq&after=0", "", ""},
		{"GET", "queues", "queue=q", "", ""},
		{"GET", "gaps", "queue=@globex/q&limit=5", "", ""},
	} {
		f.Add(seed.method, seed.resource, seed.query, seed.key, seed.body)
	}
	f.Fuzz(func(t *testing.T, method, resource, query, key, body string) {
		sorter := check.Get(cursor.New(cursor.NewMemory(), nil))
		others := []string{"@globex/q", "q"}
		for _, queue := range others {
			check.OK(t,
				sorter.Put(t.Context(),
					cursor.Message{Queue: queue, Seq: 1, ID: "i", Body: []byte(`"secret"`)})[0].Err)
		}
		before := check.Get(sorter.Status(t.Context(), "@globex/q"))
		event := check.Get(json.Marshal(map[string]any{
			"rawPath": "/" + resource, "rawQueryString": query, "body": body,
			"headers": map[string]string{"content-type": "application/json", "idempotency-key": key},
			"requestContext": map[string]any{
				"http": map[string]any{"method": method}, "authorizer": map[string]any{"jwt": map[string]any{"claims": map[string]string{"org": "acme"}}},
			},
		}))
		answer, err := runtime.Around(io.Discard, headroom,
			(&service{sorter: sorter, now: time.Now, tenantClaim: "org"}).api().Handle)(t.Context(), event)
		var got struct{ StatusCode int }
		check.That(t, err == nil && json.Unmarshal(answer, &got) == nil &&
			got.StatusCode >= 200 && got.StatusCode < 500, "%s, %v", answer, err)
		check.That(t, !strings.Contains(string(answer), "secret") ||
			strings.Contains(body+query, "secret"), "shown another's: %s", answer)
		for _, c := range check.Get(sorter.Queues(t.Context(), "", 100)).Cursors {
			check.That(t, strings.HasPrefix(c.Queue, "@acme/") || slices.Contains(others, c.Queue),
				"stored in the queue %q", c.Queue)
		}
		after := check.Get(sorter.Status(t.Context(), "@globex/q"))
		check.That(t, cmp.Equal(before, after), "another's queue was %+v, and is %+v", before, after)
	})
}
