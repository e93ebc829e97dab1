package main

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/dev/ddbtest"
	"github.com/streamsort/streamsort/internal/emf"
	"github.com/streamsort/streamsort/internal/httpapi/httpapitest"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/handoff"
)

// erase asks for the erasing of what the query names.
func (s *server) erase(more string) httpapitest.Answer {
	s.t.Helper()
	return s.Request("DELETE", "/queues", "reason=why&"+more, "")
}

func TestErase(t *testing.T) {
	onEach(t, func(s *server) {
		s.Want("a queue that is not there", s.erase("queue=q"), 404, `"code":"no-queue"`)
		s.put("q", 5)
		s.create(`{"queue":"q","consumer":"billing"}`)
		s.Want("dry", s.Request("DELETE", "/queues", "queue=q&dryRun=true", ""), 200,
			`"stored":{"messages":5,"arrivals":0},"more":false,"consumers":[{"consumer":"billing","state":"IDLE","delivered":0,"lag":5}]`)
		s.Want("without a reason", s.Request("DELETE", "/queues", "queue=q", ""), 400, `"field":"reason"`)
		s.Want("nothing was done", s.status(), 200, `"lag":5`)

		s.Want("erased", s.erase("queue=q&id=op"), 202, `"id":"op","queue":"q","state":"settling"`, `"last":5`,
			`"until":"`+s.now.Add(time.Hour).Format(time.RFC3339), `"deleted":{"messages":5,"arrivals":0}`)
		s.Want("again", s.erase("queue=q&id=op"), 202, `"state":"settling"`, `"deleted":{"messages":0,"arrivals":0}`)
		s.Want("its id for another reason", s.Request("DELETE", "/queues", "queue=q&reason=other&id=op", ""), 409, `"code":"id-taken"`, `"id":"op"`)
		s.Want("a consumer", s.create(`{"queue":"q","consumer":"billing"}`), 410, `"code":"erased"`, `"field":"queue"`)
		s.Want("consumers", s.status(), 410, `"code":"erased"`)
		s.Want("a claim", s.Request("POST", "/claims", "", `{"queue":"q","consumer":"billing","request":"r"}`), 404, `"code":"no-consumer"`)
		s.Want("an operation", s.operate("pause", ""), 404, `"code":"no-consumer"`)
		s.Want("the audit log", s.Request("GET", "/operations", "queue=q", ""), 200,
			`"id":"op","action":"erase","reason":"why","who":{"kind":"none"},"outcome":"done"`, `"action":"create"`)

		s.now = s.now.Add(cursor.EraseGrace)
		if _, err := s.sorter.Sweep(s.t.Context(), cursor.SweepOptions{}); err != nil {
			s.t.Fatal(err)
		}
		s.Want("after the grace", s.erase("queue=q&id=op"), 200, `"state":"erased"`, `"emptied":"`+s.now.Format(time.RFC3339))
		if got := s.Invoke(`{"operation":"erase","queue":"q","reason":"why","id":"op"}`); !strings.Contains(got, `"state":"erased"`) {
			s.t.Error(got)
		}
	})
}

// A consumer whose replies find no room stays until they do: the rest goes.
func TestEraseWhileRepliesFindNoRoom(t *testing.T) {
	s := newServer(t, ddbtest.Memory)
	ahead, seq := int64(1), int64(3)
	if _, err := s.sorter.Configure(t.Context(), "n", cursor.Change{MaxAhead: &ahead}); err != nil {
		t.Fatal(err)
	}
	s.put("q", 1)
	s.create(`{"queue":"q","consumer":"billing"}`)
	done := s.deliver("q", "billing", func(b handoff.Batch) error {
		return b.Reply(handoff.Reply{Queue: "n", Seq: &seq, Body: []byte(`"far"`)})
	})
	if done.Ended != handoff.EndedReplying {
		t.Fatalf("%+v, want replies that wait", done)
	}
	s.now = s.now.Add(20 * time.Minute)
	s.Want("erased", s.erase("queue=q&id=op"), 202, `"id":"op","queue":"q","state":"erasing"`, `"deleted":{"messages":1,"arrivals":0}`)
	s.put("n", 2)
	s.Want("again, with room", s.erase("queue=q&id=op"), 202, `"state":"settling"`)
}

func TestEraseMistakes(t *testing.T) {
	s := newServer(t, ddbtest.Memory)
	for query, want := range map[string]string{
		"":                    `"field":"queue"`,
		"queue=q&tenant=acme": `"field":"tenant"`,
		"queue=q&after=q":     `"field":"after"`,
		"tenant=a/b":          `"field":"tenant"`,
		"queue=q&id=" + url.QueryEscape(strings.Repeat("x", 65)): `"field":"id"`,
	} {
		if a := s.Raw(httpapitest.V2("DELETE", "/queues", "reason=why&"+query, "", false)); a.Status != 400 || !strings.Contains(a.Body, want) {
			t.Errorf("%s: %+v", query, a)
		}
	}
	if a := s.Raw(httpapitest.V2("DELETE", "/queues", "queue=q&dryRun=perhaps", "", false)); a.Status != 400 || !strings.Contains(a.Body, `"field":"dryRun"`) {
		t.Errorf("%+v", a)
	}
}

// An operator erases all queues of a tenant; a tenant erases queues of its own only.
func TestEraseTenant(t *testing.T) {
	s := newServer(t, ddbtest.Memory)
	s.Client = httpapitest.New(t, (&service{
		deliverer: s.deliverer, sorter: s.sorter, now: func() time.Time { return s.now }, tenantClaim: "org",
	}).api(emf.New(&s.logs, emf.Names{})).Handle)
	for i := range 5 {
		s.put(fmt.Sprintf("@acme/q%d", i), 1)
	}
	s.put("@globex/q", 1)
	s.put("@acm/q", 1)
	as := func(authorizer, query string) httpapitest.Answer {
		t.Helper()
		event := httpapitest.V2("DELETE", "/queues", query, "", false)
		a := s.Raw(strings.Replace(event, `"requestContext":{`, `"requestContext":{"authorizer":`+authorizer+`,`, 1))
		s.Check("DELETE", "/queues", query, "", a)
		return a
	}
	const token, signed = `{"jwt":{"claims":{"org":"acme","sub":"ben"}}}`, `{"iam":{"userArn":"arn:aws:iam::1:user/ann"}}`
	s.Want("its own", as(token, "queue=q0&reason=why"), 202, `"queue":"q0","state":"settling"`)
	s.Want("another's", as(token, "queue=@globex/q&reason=why"), 404, `"code":"no-queue"`)
	s.Want("a tenant's, by a tenant", as(token, "tenant=acme&reason=why"), 400, `"field":"tenant"`)
	s.Want("without a reason", as(signed, "tenant=acme"), 400, `"field":"reason"`)
	a := as(signed, "tenant=acme&dryRun=true")
	s.Want("dry", a, 200, `"queue":"@acme/q1","state":"live","last":1`)
	if n := strings.Count(a.Body, `"state":"live"`); n != 4 {
		t.Errorf("%d queues are live: %s", n, a.Body)
	}
	a = as(signed, "tenant=acme&reason=why&id=op")
	s.Want("erased", a, 200, `"tenant":"acme"`)
	if n := strings.Count(a.Body, `"state":"erasing"`); n != 5 || strings.Contains(a.Body, "next") {
		t.Errorf("%d queues are erased: %s", n, a.Body)
	}
	for _, queue := range []string{"@globex/q", "@acm/q"} {
		if _, err := s.sorter.Status(t.Context(), queue); err != nil {
			t.Errorf("%s: %v", queue, err)
		}
	}
	operations, _, err := s.deliverer.Audit(t.Context(), "@acme/q3", "")
	if err != nil || len(operations) != 1 || operations[0].Kind != handoff.OpErase || operations[0].Who.Name != "arn:aws:iam::1:user/ann" {
		t.Errorf("%+v, %v", operations, err)
	}
}
