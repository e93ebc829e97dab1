// Package cursortest holds every implementation of [cursor.Store] to what that
// interface promises. Call [Run] from a test of the implementation.
package cursortest

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/streamsort/streamsort/pkg/cursor"
)

// at is a moment that all parts of the tables keep exactly. It is far ahead: a
// message whose time has come may be deleted at any moment.
var at = time.Date(2126, 3, 4, 5, 6, 7, 0, time.UTC)

// Run runs the suite. newStore returns a Store on empty tables; it is called
// once a subtest.
func Run(t *testing.T, newStore func(t *testing.T) cursor.Store) {
	for _, c := range []struct {
		name string
		test func(*testing.T, cursor.Store)
	}{
		{"cursor", testCursor},
		{"move", testMove},
		{"open gap", testOpenGap},
		{"widen gap", testWidenGap},
		{"configure", testConfigure},
		{"announce", testAnnounce},
		{"nudge", testNudge},
		{"raise floor", testRaiseFloor},
		{"no cursor", testNoCursor},
		{"scan", testScan},
		{"message", testMessage},
		{"messages", testMessages},
		{"pages", testPages},
		{"backwards", testBackwards},
		{"delete", testDelete},
		{"tombstone", testTombstone},
		{"names", testNames},
		{"seqs", testSeqs},
		{"keep until", testKeepUntil},
		{"queues apart", testQueuesApart},
		{"put arrival", testPutArrival},
		{"messages of an arrival", testArrivalMessages},
		{"arrivals", testArrivals},
		{"ticket", testTicket},
		{"kinds", testKinds},
		{"last seqs", testLastSeqs},
		{"order items", testOrderItems},
		{"keep arrival", testKeepArrival},
		{"racing tickets", testRacingTickets},
		{"sweep progress", testSweepProgress},
		{"racing puts", testRacingPuts},
		{"racing moves", testRacingMoves},
		{"ended context", testEndedContext},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(t, newStore(t)) })
	}
}

func settings() cursor.Settings {
	return cursor.Settings{
		First: 1, Policy: cursor.PolicySkip, GapAfter: 1500 * time.Millisecond, MaxAhead: 77, Mode: cursor.ModeAsync,
	}
}

func newCursor(queue string) cursor.Cursor {
	return cursor.Cursor{Queue: queue, Settings: settings(), GapSince: at, Announced: -1}
}

func message(queue string, seq int64) cursor.Message {
	return cursor.Message{
		Queue: queue, Seq: seq, ID: "id", Body: []byte{0, 1, 0xff}, ContentType: "text/plain",
		Attributes: map[string]string{"a": "1", "empty": ""}, EnqueuedAt: at, ExpiresOn: at.Add(time.Hour),
		Digest: []byte("0123456789abcdef"), Op: []byte("12345678"),
	}
}

// same fails the test where two values differ.
func same[T any](t *testing.T, what string, got, want T) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// settles fails the test where a read that need not be strong does not come to
// show what stands there. Every older state is right until then.
func settles[T any](t *testing.T, what string, read func() T, want T) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		if got := read(); cmp.Equal(got, want) || time.Now().After(deadline) {
			same(t, what, got, want)
			return
		}
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func create(t *testing.T, s cursor.Store, c cursor.Cursor) {
	t.Helper()
	got, err := s.CreateCursor(t.Context(), c)
	check(t, err)
	same(t, "created", got, c)
}

func put(t *testing.T, s cursor.Store, messages ...cursor.Message) {
	t.Helper()
	for _, m := range messages {
		got, err := s.PutMessage(t.Context(), m)
		check(t, err)
		same(t, "put", got, m)
	}
}

func standing(t *testing.T, s cursor.Store, queue string) cursor.Cursor {
	t.Helper()
	c, err := s.Cursor(t.Context(), queue, true)
	check(t, err)
	return c
}
