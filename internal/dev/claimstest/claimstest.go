// Package claimstest holds every implementation of [delivery.Claims] to what that interface
// promises. Call [Run] from a test of the implementation.
package claimstest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/delivery"
)

// Env is a queue "q" with a consumer "c" at its beginning, and no messages yet.
type Env struct {
	Claims delivery.Claims
	// Put puts that many messages more, numbered from 1 on; the body of each is its number.
	Put func(n int)
	// Arrived reads all messages of another queue, none where it is not there.
	Arrived func(queue string) []cursor.Message
	// Attempts is how often a message is tried alone before its consumer is blocked.
	Attempts int
	// Deliverer pushes on the same tables.
	Deliverer *delivery.Deliverer
	// Pass lets time pass for the tables.
	Pass func(time.Duration)
}

// Run runs the suite. newEnv is called once a subtest. The usual lease is a minute.
func Run(t *testing.T, newEnv func(t *testing.T) Env) {
	for _, c := range []struct {
		name string
		test func(*bench)
	}{
		{"create", testCreate},
		{"whole claim", testWhole},
		{"commit and claim", testCommitAndClaim},
		{"commit, and nothing to claim", testCommitAndNothing},
		{"commit that fails, and claim", testCommitFailsAndClaim},
		{"list", testList},
		{"listed messages", testListed},
		{"not the head", testNotHead},
		{"nothing", testNothing},
		{"bounds", testBounds},
		{"the same request", testSameRequest},
		{"busy", testBusy},
		{"cancelled", testCancelled},
		{"extended", testExtended},
		{"aborted", testAborted},
		{"blocked", testBlocked},
		{"in doubt", testInDoubt},
		{"wrong order", testWrongOrder},
		{"other tokens", testOtherTokens},
		{"forgotten", testForgotten},
		{"replies", testReplies},
		{"replies, and the next claim", testRepliesAndNext},
		{"numbered replies", testNumberedReplies},
		{"replies of no commit", testRepliesOfNoCommit},
		{"replies in doubt", testRepliesInDoubt},
		{"refused replies", testRefusedReplies},
		{"no room for replies", testNoRoom},
		{"while a push is sent", testWhileAPushIsSent},
		{"bad replies", testBadReplies},
		{"bad input", testBadInput},
		{"not there", testNotThere},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(&bench{T: t, Env: newEnv(t)}) })
	}
}

type bench struct {
	*testing.T
	Env
}

// is checks an answer's outcome, and its reason: none where none is given.
func (b *bench) is(what string, want delivery.Outcome, reason ...string) func(delivery.Answer,
	error) delivery.Answer {
	return func(a delivery.Answer, err error) delivery.Answer {
		b.Helper()
		check.Need(b, err == nil, "%s: %v", what, err)
		check.Need(b, a.Outcome == want && a.Reason == strings.Join(reason, ""),
			"%s: %s %s, want %s %s (%+v)", what, a.Outcome, a.Reason, want, reason, a)
		return a
	}
}

func request(id string, n int) delivery.Request {
	return delivery.Request{Queue: "q", Consumer: "c", ID: id, MaxMessages: n}
}

func (b *bench) claim(id string, n int) delivery.Answer {
	b.Helper()
	return b.is("claim", delivery.OK)(b.Claims.Claim(b.Context(), request(id, n)))
}

// call is what is done with a claim by its token; it is settled as an outcome.
func (b *bench) call(what string, h delivery.Held) (delivery.Answer, error) {
	switch ctx := b.Context(); what {
	case "prepare":
		return b.Claims.Prepare(ctx, h)
	case "extend":
		return b.Claims.Extend(ctx, h, 0)
	case "commit":
		return b.Claims.Commit(ctx, h)
	case "abort":
		return b.Claims.Abort(ctx, h, "no such account")
	default:
		return b.Claims.Settle(ctx, h, delivery.TokenOutcome(what), "silent")
	}
}

// every are the calls by a token, but a settlement as committed.
var every = []string{"prepare", "extend", "commit", "abort", delivery.Aborted}

// calls checks the answers to calls by a token.
func (b *bench) calls(h delivery.Held, want delivery.Outcome, reason string, calls ...string) {
	b.Helper()
	for _, what := range calls {
		b.is(what, want, reason)(b.call(what, h))
	}
}

// done makes calls by a token that are answered OK.
func (b *bench) done(a delivery.Answer, calls ...string) delivery.Answer {
	b.Helper()
	b.calls(a.Held(), delivery.OK, "", calls...)
	return a
}

// has checks a batch's range and messages.
func (b *bench) has(a delivery.Answer, from, to int64) {
	b.Helper()
	ok := a.From == from && a.To == to && int64(len(a.Messages)) == to-from && a.Queue == "q" &&
		a.Consumer == "c"
	for i, m := range a.Messages {
		ok = ok && m.Seq == from+1+int64(i) && string(m.Body) == fmt.Sprint(m.Seq)
	}
	check.Need(b, ok, "%+v; want the messages %d to %d", a, from+1, to)
}

// another checks the answer to a claim by another request.
func (b *bench) another(want delivery.Outcome, reason string) delivery.Answer {
	b.Helper()
	return b.is("claim by another", want, reason)(b.Claims.Claim(b.Context(), request("other", 1)))
}

func testWhole(b *bench) {
	b.Put(5)
	first := b.claim("r1", 2)
	b.has(first, 0, 2)
	if first.Token != (delivery.Token{N: 1, Req: "r1"}) || first.Attempt != 1 || first.Until.IsZero() {
		b.Errorf("token %v, attempt %d, until %v", first.Token, first.Attempt, first.Until)
	}
	b.done(first, "prepare", "prepare", "commit", "commit")
	second := b.claim("r2", 100)
	b.has(second, 2, 5)
	check.That(b, second.Committed == 1, "the last that is committed is %d, want 1", second.Committed)
	b.done(second, "prepare", "commit")
	b.done(first, "commit")
	b.calls(first.Held(), delivery.Committed, "", "prepare", "abort")
}

func testList(b *bench) {
	b.Put(3)
	r := request("", 2)
	for range 2 { // it claims nothing
		b.has(b.is("list", delivery.OK)(b.Claims.List(b.Context(), r)), 0, 2)
	}
	b.has(b.claim("r1", 3), 0, 3)
	b.is("list while a claim is in flight", delivery.Busy)(b.Claims.List(b.Context(), r))
}

func testListed(b *bench) {
	b.Put(3)
	r := request("r1", 0)
	r.Seqs, r.MaxBytes = []int64{1, 2}, 1
	_, err := b.Claims.Claim(b.Context(), r) // of more bytes than it may have
	b.refused("seqs", err)
	r.MaxBytes = 0
	b.has(b.is("claim", delivery.OK)(b.Claims.Claim(b.Context(), r)), 0, 2)
}

func testNotHead(b *bench) {
	b.Put(3)
	for _, seqs := range [][]int64{{2}, {1, 3}, {2, 3}, {3, 2, 1}, {1, 1}, {0, 1}, {1, 2, 3, 4}, {9}} {
		r := request("r1", 0)
		r.Seqs = seqs
		_, err := b.Claims.Claim(b.Context(), r)
		b.refused("seqs", err)
	}
	b.has(b.claim("r2", 9), 0, 3)
}

func testNothing(b *bench) {
	b.Put(1)
	b.done(b.claim("r1", 1), "prepare", "commit")
	b.another(delivery.Empty, "")
	b.is("list", delivery.Empty)(b.Claims.List(b.Context(), request("", 0)))
}

func testBounds(b *bench) {
	b.Put(12)
	r := request("r1", 0)
	r.MaxBytes = 10 // 1 to 9 have a byte each, 10 has two
	b.has(b.is("claim", delivery.OK)(b.Claims.Claim(b.Context(), r)), 0, 9)
}

func testSameRequest(b *bench) {
	b.Put(3)
	first := b.claim("r1", 2)
	b.Put(2)
	again := b.claim("r1", 9)
	b.has(again, 0, 2)
	check.That(b, again.Held() == first.Held(), "token %v, and again %v", first.Token, again.Token)
	b.done(first, "prepare")
	b.is("claim again after its prepare", delivery.InDoubt,
		delivery.Prepared)(b.Claims.Claim(b.Context(), request("r1", 2)))
	b.done(first, "commit")
	b.is("claim again after its end",
		delivery.Committed)(b.Claims.Claim(b.Context(), request("r1", 2)))
}

func testBusy(b *bench) {
	b.Put(1)
	a := b.claim("r1", 1)
	for _, prepared := range []bool{false, true} {
		if prepared {
			b.done(a, "prepare")
		}
		busy := b.another(delivery.Busy, "")
		check.That(b, busy.Until.Equal(a.Until), "busy until %v, want %v", busy.Until, a.Until)
		check.That(b, busy.Token == (delivery.Token{}) && busy.From == 0 && busy.To == 0,
			"%+v; want nothing of the other claim but its end", busy)
	}
}

func testCancelled(b *bench) {
	b.Put(2)
	old := b.claim("r1", 2)
	b.Pass(time.Minute + time.Second)
	taken := b.claim("r2", 2)
	b.has(taken, 0, 2) // once more as it was
	check.That(b, taken.Attempt == 2, "attempt %d, want 2", taken.Attempt)
	for range 2 {
		b.calls(old.Held(), delivery.Lost, delivery.Cancelled, every...)
	}
	b.done(taken, "prepare", "commit")
}

func testExtended(b *bench) {
	b.Put(1)
	a := b.claim("r1", 1)
	b.Pass(50 * time.Second)
	for range 2 {
		longer := b.is("extend", delivery.OK)(b.Claims.Extend(b.Context(), a.Held(), 2*time.Minute))
		if left := longer.Until.Sub(a.Until); left < 100*time.Second || left > 2*time.Minute {
			b.Errorf("extended by %v, want about 110 seconds", left)
		}
	}
	b.Pass(time.Minute)
	b.another(delivery.Busy, "")
	b.done(a, "prepare", "extend")
}

func testAborted(b *bench) {
	b.Put(2)
	a := b.done(b.claim("r1", 2), "abort", "abort")
	wait := b.another(delivery.Wait, "FAILED")
	check.That(b, wait.Detail == "no such account" && !wait.Until.IsZero(),
		"%+v; want why, and until when", wait)
	b.Pass(2 * time.Second)
	again := b.claim("r3", 2)
	b.has(again, 0, 2)
	b.calls(a.Held(), delivery.Lost, delivery.Aborted, "prepare", "commit")
	b.done(again, "abort")
	b.Pass(11 * time.Second)
	b.has(b.claim("r4", 2), 0, 1)
}

func testBlocked(b *bench) {
	b.Put(2)
	for i := range b.Attempts + 2 { // the first two have 2 with it
		b.done(b.claim(fmt.Sprint("r", i), 2), "abort")
		b.Pass(10 * time.Minute)
	}
	stuck := b.another(delivery.Blocked, "")
	check.That(b, stuck.From == 0 && stuck.To == 1 && stuck.Detail == "no such account",
		"%+v; want that 1 blocks, and why", stuck)
}

func testInDoubt(b *bench) {
	for i, c := range []struct {
		outcome, other string
		answered       delivery.Outcome
		reason         string
	}{
		{delivery.Committed, delivery.Aborted, delivery.Committed, ""},
		{delivery.Aborted, delivery.Committed, delivery.Lost, delivery.Aborted},
	} {
		b.Put(1)
		a := b.done(b.claim(fmt.Sprint("r", i), 1), "prepare")
		b.calls(a.Held(), delivery.InDoubt, delivery.Prepared, "abort")
		b.Pass(time.Minute + time.Second)
		doubt := b.another(delivery.InDoubt, delivery.InDoubt)
		check.That(b, doubt.Held() == a.Held() && doubt.From == a.From && doubt.To == a.To &&
			len(doubt.Messages) <= 0,
			"%+v; want the claim of %v", doubt, a.Token)
		b.done(a, c.outcome, c.outcome)
		b.calls(a.Held(), c.answered, c.reason, c.other)
		b.Pass(time.Minute)
	}
	b.has(b.claim("again", 1), 1, 2)
}

func testWrongOrder(b *bench) {
	b.Put(1)
	a := b.claim("r1", 1)
	b.calls(a.Held(), delivery.Busy, "STARTED", "commit", delivery.Committed)
	b.done(a, "prepare", "commit")
}

func testOtherTokens(b *bench) {
	b.Put(2)
	a := b.claim("r1", 1)
	h := a.Held()
	for _, h.Token = range []delivery.Token{{N: 1, Req: "forged"}, {N: 2, Req: "r1"},
		{N: 9, Req: "r9"}} {
		b.calls(h, delivery.Lost, "FOREIGN", every...)
	}
	b.done(a, "prepare", "commit")
	h.Token = delivery.Token{N: a.Token.N, Req: "forged"} // an ended number
	b.calls(h, delivery.Lost, "FOREIGN", "prepare", "commit", delivery.Aborted)
}

func testForgotten(b *bench) {
	b.Put(6)
	var first delivery.Answer
	for i := range 6 {
		a := b.done(b.claim(fmt.Sprint("r", i), 1), "prepare", "commit")
		if i == 0 {
			first = a
		}
	}
	b.calls(first.Held(), delivery.Lost, "FORGOTTEN", "prepare", "commit", delivery.Aborted)
}

func (b *bench) refused(field string, err error) {
	b.Helper()
	var invalid *cursor.InvalidError
	check.That(b, errors.As(err, &invalid) && invalid.Path() == field,
		"error %v, want one of the field %s", err, field)
}

func testBadInput(b *bench) {
	b.Put(1)
	for _, c := range []struct {
		field  string
		change func(*delivery.Request)
	}{
		{"consumer", func(r *delivery.Request) { r.Consumer = "a b" }},
		{"request", func(r *delivery.Request) { r.ID = "" }},
		{"request", func(r *delivery.Request) { r.ID = strings.Repeat("x", 65) }},
		{"maxMessages", func(r *delivery.Request) { r.MaxMessages = -1 }},
		{"maxMessages", func(r *delivery.Request) { r.MaxMessages = 1001 }},
		{"maxBytes", func(r *delivery.Request) { r.MaxBytes = 1 << 30 }},
		{"lease", func(r *delivery.Request) { r.Lease = time.Second }},
		{"lease", func(r *delivery.Request) { r.Lease = 13 * time.Hour }},
		{"seqs", func(r *delivery.Request) { r.Seqs = slices.Repeat([]int64{1}, 1001) }},
		{"seqs", func(r *delivery.Request) { r.Seqs = []int64{1, 2} }}, // maxMessages is 1
	} {
		r := request("r1", 1)
		c.change(&r)
		_, err := b.Claims.Claim(b.Context(), r)
		b.refused(c.field, err)
	}
	h := delivery.Held{Queue: "q", Consumer: "c"}
	_, err := b.Claims.Prepare(b.Context(), h)
	b.refused("token", err)
	h.Token = delivery.Token{N: 1, Req: strings.Repeat("x", 65)}
	_, err = b.Claims.Prepare(b.Context(), h)
	b.refused("token", err)
	h.Token = delivery.Token{N: 1, Req: "r1"}
	_, err = b.Claims.Settle(b.Context(), h, delivery.Cancelled, "")
	b.refused("outcome", err)
	_, err = b.Claims.Extend(b.Context(), h, time.Second)
	b.refused("lease", err)
	b.has(b.claim("r1", 1), 0, 1)
}

func testNotThere(b *bench) {
	b.Put(1)
	r := request("r1", 1)
	r.Consumer = "other"
	check.Fails(b, check.Err(b.Claims.Claim(b.Context(), r)), delivery.ErrNoConsumer)
	check.Fails(b,
		check.Err(b.Claims.List(b.Context(), delivery.Request{Queue: "other", Consumer: "c"})),
		delivery.ErrNoConsumer)
	h := delivery.Held{Queue: "q", Consumer: "other", Token: delivery.Token{N: 1, Req: "r"}}
	for _, what := range every {
		check.Fails(b, check.Err(b.call(what, h)), delivery.ErrNoConsumer, what)
	}
}

// testCreate: the consumer begins with the oldest message, and a repeat changes nothing.
func testCreate(b *bench) {
	b.Put(2)
	for range 2 {
		check.OK(b, b.Claims.Create(b.Context(), "q", "new"))
		a, err := b.Claims.Claim(b.Context(), delivery.Request{Queue: "q", Consumer: "new", ID: "r"})
		check.That(b, err == nil && a.Outcome == delivery.OK && a.From == 0 && a.To == 2,
			"%+v, %v; want both messages", a, err)
	}
	b.refused("consumer", b.Claims.Create(b.Context(), "q", ""))
}
