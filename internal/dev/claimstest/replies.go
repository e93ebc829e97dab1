package claimstest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/delivery"
)

// arrived checks the bodies of what stands in a queue, and that no two have one id.
func (b *bench) arrived(queue string, want ...string) {
	b.Helper()
	var got []string
	ids := map[string]bool{}
	for _, m := range b.Arrived(queue) {
		got = append(got, string(m.Body))
		check.That(b, m.ID != "" && !ids[m.ID], "queue %s: id %q of message %d", queue, m.ID, m.Seq)
		ids[m.ID] = true
	}
	check.That(b, slices.Equal(got, want), "queue %s has %q, want %q", queue, got, want)
}

func to(queue string, bodies ...string) []delivery.Reply {
	var replies []delivery.Reply
	for _, body := range bodies {
		replies = append(replies, delivery.Reply{Queue: queue, Body: []byte(body)})
	}
	return replies
}

func at(seq int64, r delivery.Reply) delivery.Reply {
	r.Seq = &seq
	return r
}

// commit checks a commit with replies.
func (b *bench) commit(a delivery.Answer, want delivery.Outcome, reason string,
	replies ...delivery.Reply) {
	b.Helper()
	b.is("commit", want, reason)(b.Claims.Commit(b.Context(), a.Held(), replies...))
}

// testReplies: they are stored by the commit, once however often it is repeated, and those of each
// claim behind those of the one before.
func testReplies(b *bench) {
	b.Put(2)
	for i, id := range []string{"r1", "r2"} {
		a := b.done(b.claim(id, 1), "prepare")
		replies := slices.Concat(to("x", fmt.Sprint(i, "a")), to("y", fmt.Sprint(i, "b")),
			to("x", fmt.Sprint(i, "c")))
		replies[0].ID, replies[0].ContentType, replies[0].Attributes = "named"+id, "text/plain",
			map[string]string{"k": "v"}
		replies[0].Trace = cursor.Trace{Parent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
			State: "a=1"}
		for range 2 {
			b.commit(a, delivery.OK, "", replies...)
		}
		b.is("settle",
			delivery.OK)(b.Claims.Settle(b.Context(), a.Held(), delivery.Committed, "", replies...))
	}
	b.arrived("x", "0a", "0c", "1a", "1c")
	b.arrived("y", "0b", "1b")
	first := b.Arrived("x")[0]
	if first.ID != "namedr1" || first.ContentType != "text/plain" || first.Attributes["k"] != "v" ||
		len(first.Attributes) != 1 || first.Trace.State != "a=1" {
		b.Errorf("%+v", first)
	}
}

// testRepliesAndNext: a commit that claims sends them as well.
func testRepliesAndNext(b *bench) {
	b.Put(2)
	a := b.done(b.claim("r1", 1), "prepare")
	var next delivery.Answer
	for range 2 {
		next = b.goOn(a, request("r2", 1), delivery.OK, delivery.OK, to("x", "1")...)
		b.has(next, 1, 2)
		b.arrived("x", "1")
	}
	third := request("r3", 1)
	b.goOn(next, third, delivery.Busy, "", to("x", "2")...)
	b.done(next, "prepare")
	b.goOn(next, third, delivery.Full, "", at(200_000, to("n", "far")[0]))
	b.goOn(next, third, delivery.OK, "", to("x", "2")...)
	b.arrived("x", "1", "2")
	_, _, err := b.Claims.CommitAndClaim(b.Context(), next.Held(), third, to("", "2")...)
	b.refused("replies[0].queue", err)
}

// testNumberedReplies: with seqs they go to a numbered queue.
func testNumberedReplies(b *bench) {
	b.Put(1)
	a := b.done(b.claim("r1", 1), "prepare")
	two := to("n", "second", "first")
	replies := []delivery.Reply{at(2, two[0]), at(1, two[1])}
	for range 2 {
		b.commit(a, delivery.OK, "", replies...)
	}
	b.arrived("n", "first", "second")
}

// testRepliesOfNoCommit: a claim that cannot be committed sends nothing.
func testRepliesOfNoCommit(b *bench) {
	b.Put(1)
	a := b.claim("r1", 1)
	b.commit(a, delivery.Busy, "STARTED", to("x", "no")...)
	b.Pass(2 * time.Minute)
	second := b.claim("r2", 1)
	b.commit(a, delivery.Lost, delivery.Cancelled, to("x", "no")...)
	b.done(second, "prepare", delivery.Aborted)
	b.commit(second, delivery.Lost, delivery.Aborted, to("x", "no")...)
	b.is("foreign", delivery.Lost,
		"FOREIGN")(b.Claims.Settle(b.Context(),
		delivery.Held{Queue: "q", Consumer: "c", Token: delivery.Token{N: 9, Req: "r"}},
		delivery.Committed, "", to("x", "no")...))
	b.arrived("x")
}

// testRepliesInDoubt: the process that settles sends them.
func testRepliesInDoubt(b *bench) {
	b.Put(1)
	a := b.done(b.claim("r1", 1), "prepare")
	b.Pass(2 * time.Minute)
	for range 2 {
		b.is("settle", delivery.OK)(b.Claims.Settle(b.Context(), a.Held(), delivery.Committed, "silent",
			to("x", "yes")...))
	}
	b.arrived("x", "yes")
}

// testRefusedReplies: what can never be stored stops nobody.
func testRefusedReplies(b *bench) {
	b.Put(2)
	a := b.done(b.claim("r1", 1), "prepare")
	b.commit(a, delivery.OK, "", to("x", "1")[0], at(1, to("n", "n1")[0]))
	second := b.done(b.claim("r2", 1), "prepare")
	for range 2 {
		b.commit(second, delivery.OK, "", to("n", "without a seq")[0], at(7, to("x", "with one")[0]),
			to("y", "2")[0])
	}
	b.arrived("x", "1")
	b.arrived("n", "n1")
	b.arrived("y", "2")
}

// testNoRoom: a full queue holds the commit up, and nothing else is changed.
func testNoRoom(b *bench) {
	b.Put(1)
	a := b.done(b.claim("r1", 1), "prepare")
	b.commit(a, delivery.Full, "", at(200_000, to("n", "far")[0]))
	b.calls(a.Held(), delivery.InDoubt, delivery.Prepared, "abort")
	b.arrived("n")
}

// testBadReplies: nothing is stored of replies that are out of their bounds.
func testBadReplies(b *bench) {
	b.Put(1)
	a := b.done(b.claim("r1", 1), "prepare")
	var queues []delivery.Reply
	for i := range 11 {
		queues = append(queues, to(fmt.Sprint("x", i), "1")...)
	}
	for _, c := range []struct {
		field   string
		replies []delivery.Reply
	}{
		{"replies[1].queue", slices.Concat(to("x0", "1"), to("", "1"))},
		{"replies[0].queue", to(strings.Repeat("x", 1025), "1")},
		{"replies[0].id", []delivery.Reply{{Queue: "x0", ID: strings.Repeat("x", 1025)}}},
		{"replies[0].body", to("x0", strings.Repeat("x", 350*1024+1))},
		{"replies[0].attributes", []delivery.Reply{{Queue: "x0", Attributes: map[string]string{"": "x"}}}},
		{"replies[1].seq", []delivery.Reply{at(1, to("x0", "1")[0]), to("x0", "1")[0]}},
		{"replies[1].seq", []delivery.Reply{at(1, to("x0", "1")[0]), at(1, to("x0", "2")[0])}},
		{"replies", slices.Repeat(to("x0", "1"), 501)},
		{"replies", slices.Repeat(to("x0", strings.Repeat("x", 130_000)), 3)},
		{"replies", queues},
	} {
		_, err := b.Claims.Commit(b.Context(), a.Held(), c.replies...)
		b.refused(c.field, err)
	}
	b.arrived("x0")
	b.commit(a, delivery.OK, "", to("x0", "1")...)
	b.arrived("x0", "1")
}

// testWhileAPushIsSent: a consumer that is pushed to has delivered a batch, and its replies are
// still to be sent: nothing can be claimed before they are, nobody knows when that is, and its
// claim is as good as committed.
func testWhileAPushIsSent(b *bench) {
	b.Put(2)
	var sent delivery.Held
	pushed := b.Deliverer.Deliver(b.Context(), "q",
		delivery.Reader{Name: "c", MaxMessages: 1,
			Handle: func(_ context.Context, batch delivery.Batch) error {
				sent = batch.Held()
				return batch.Reply(at(200_000, to("n", "far")[0]))
			}}, -1)
	check.Need(b, pushed.Outcome == delivery.Full, "%+v; want replies that wait for room", pushed)
	for range 2 { // under the lease, and after it
		busy := b.another(delivery.Busy, "")
		if !busy.Until.IsZero() || busy.Token != (delivery.Token{}) || busy.From != 0 || busy.To != 0 {
			b.Errorf("%+v; want nothing of the claim that is sent, and no time", busy)
		}
		b.is("list", delivery.Busy)(b.Claims.List(b.Context(), request("", 0)))
		b.calls(sent, delivery.Committed, "", "prepare", "abort")
		b.Pass(2 * time.Minute)
	}
	b.arrived("n")
}
