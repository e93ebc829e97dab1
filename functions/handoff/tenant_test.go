package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/edge/edgetest"
	"github.com/streamsort/streamsort/internal/emf"
	"github.com/streamsort/streamsort/internal/localdb"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/handoff"
)

// A function of the account's answers a tenant's batch with replies to queues of
// others, and they are refused: the tenant is told that, and not of which queues.
func TestRepliesToOthers(t *testing.T) {
	s := newServer(t, localdb.Choose(), nil)
	s.Client = edgetest.New(t, (&service{
		deliverer: s.deliverer, sorter: s.sorter, now: func() time.Time { return s.now }, tenantClaim: "org",
	}).api(emf.New(&s.logs)).Handle)
	as := func(method, path, query, body string, parts ...string) {
		t.Helper()
		a := s.RequestAs("org", "acme", method, path, query, body)
		s.Want("acme", a, 200, parts...)
		for _, foreign := range []string{"@", "globex", "secret", "audit"} {
			if strings.Contains(a.Body, foreign) {
				t.Errorf("%s %s: acme is told of %q: %s", method, path, foreign, a.Body)
			}
		}
	}
	s.put("@acme/orders", 3)
	for _, queue := range []string{"@acme/inbox", "@globex/secret", "audit", `@globex/"secret"\`, "@globex/secret" + strings.Repeat("é", 400)} {
		if _, err := s.sorter.Append(t.Context(), cursor.Arrival{Queue: queue, ID: "a", Messages: []cursor.Message{{Body: []byte("1")}}}); err != nil {
			t.Fatal(err)
		}
		seq := int64(7)
		name := fmt.Sprintf("books-%d", len(queue))
		done := s.deliver("@acme/orders", name, func(b handoff.Batch) error {
			return b.Reply(handoff.Reply{Queue: queue, Seq: &seq, Body: []byte("1")})
		})
		if done.Ended != handoff.Failed {
			t.Fatalf("a numbered reply to a queue in arrival order: %+v", done)
		}
		want := `"replies to queue of another: queue of another does not take it`
		switch {
		case queue == "@acme/inbox":
			want = `"replies to queue \"inbox\": queue \"inbox\" does not take it`
		case len(queue) > 500: // an error is cut off
			want = `"replies to queue of another"`
		}
		as("GET", "/consumers", "queue=orders&consumer="+name, "", `"failure":{"error":`+want)
		as("GET", "/claims", "queue=orders&consumer="+name, "", `"detail":`+want)
	}
	// What can never be stored is found when it is sent at the latest.
	s.put("@acme/asked", 1)
	done := s.deliver("@acme/asked", "books", func(b handoff.Batch) error {
		seq := int64(1)
		if err := b.Reply(handoff.Reply{Queue: "@globex/later", Seq: &seq, Body: []byte("1")}); err != nil {
			return err
		}
		_, err := s.sorter.Put(t.Context(), cursor.Message{Queue: "@globex/later", Seq: 1, Body: []byte("another")})
		return err
	})
	if done.Ended != handoff.CaughtUp {
		t.Fatalf("%+v", done)
	}
	as("GET", "/consumers", "queue=asked&consumer=books", "", `"refused":{"count":1`, "conflict")
	as("GET", "/acts", "queue=asked", "", `"act":"reply"`, "conflict")
	// Operators are told all.
	if told := s.Invoke(`{"operation":"acts","queue":"@acme/asked"}`); !strings.Contains(told, "@globex/later") {
		t.Errorf("an operator is told %s", told)
	}
}
