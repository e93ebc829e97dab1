package handofftest

import (
	"fmt"
	"testing"
	"time"

	"github.com/streamsort/streamsort/pkg/handoff"
)

// RunTwoPhase runs the suite of what the two-phase protocol adds. newStore is as
// in [Run].
func RunTwoPhase(t *testing.T, newStore func(t *testing.T) handoff.Store) {
	for _, c := range []struct {
		name string
		test func(*bench)
	}{
		{"prepare", testPrepare},
		{"prepare refused", testPrepareRefused},
		{"extend", testExtend},
		{"commit prepared", testCommitPrepared},
		{"commit prepared, and claim", testCommitPreparedAndClaim},
		{"abort prepared", testAbortPrepared},
		{"mark unknown", testMarkUnknown},
		{"not taken over", testNotTakenOver},
		{"quarantine", testQuarantine},
		{"full quarantine", testFullQuarantine},
		{"quarantined, and committed", testQuarantinedCommitted},
		{"quarantined, and aborted", testQuarantinedAborted},
		{"quarantined, and settled by an operator", testQuarantinedByAnOperator},
		{"quarantined, and no room to remember", testQuarantinedForgotten},
		{"no consumer", testNoConsumerTwoPhase},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(&bench{T: t, Store: newStore(t)}) })
	}
}

func as(c handoff.Consumer, state handoff.State) handoff.Consumer {
	c.State = state
	return c
}

func (b *bench) prepare(c handoff.Consumer) handoff.Consumer {
	b.Helper()
	return b.answer("prepared", as(c, handoff.Ready), true)(b.Prepare(b.Context(), c.Queue, c.Name, c.Token))
}

func over(c handoff.Consumer) time.Time { return c.LeaseUntil.Add(time.Millisecond) }

// doubted is a claim in doubt.
func (b *bench) doubted(c handoff.Consumer) handoff.Consumer {
	b.Helper()
	return b.answer("in doubt", as(c, handoff.Unknown), true)(b.MarkUnknown(b.Context(), c, over(c)))
}

// aside is c with its claim in quarantine.
func aside(c handoff.Consumer) handoff.Consumer {
	for i := range c.Quarantine {
		if (c.Quarantine[i] == handoff.Quarantined{}) {
			c.Quarantine[i] = handoff.Quarantined{Token: c.Token, From: c.From, To: c.To, State: handoff.Unknown, Since: c.LeaseUntil}
			break
		}
	}
	c.State, c.Delivered, c.Attempts = handoff.Idle, c.To, 0
	return c
}

func others(t handoff.Token) []handoff.Token {
	return []handoff.Token{{N: t.N + 1, Req: t.Req}, {N: t.N, Req: "other"}, {N: t.N - 1, Req: t.Req}}
}

func testPrepare(b *bench) {
	c := b.claim(b.create(fresh("a")), "r1", 5)
	c = b.prepare(c)
	b.answer("again", c, true)(b.Prepare(b.Context(), "q", "a", c.Token))
	done := b.answer("committed", committed(c), true)(b.CommitPrepared(b.Context(), "q", "a", c.Token))
	b.answer("after the commit", done, false)(b.Prepare(b.Context(), "q", "a", c.Token))
}

func testPrepareRefused(b *bench) {
	idle := b.create(fresh("a"))
	b.answer("without a claim", idle, false)(b.Prepare(b.Context(), "q", "a", handoff.Token{N: 0, Req: "r"}))
	c := b.claim(idle, "r1", 5)
	for _, token := range others(c.Token) {
		b.answer("with another token", c, false)(b.Prepare(b.Context(), "q", "a", token))
	}
	// The lease is nobody's business while nobody took the claim over.
	late := claim("r2", 5)
	late.Now, late.LeaseUntil = over(c), over(c).Add(time.Minute)
	want := ended(c, handoff.Cancelled)
	want.SingleTo = 5
	next := b.answer("taken over", claimed(want, late), true)(b.Claim(b.Context(), c, late))
	b.answer("a cancelled token", next, false)(b.Prepare(b.Context(), "q", "a", c.Token))
}

func testExtend(b *bench) {
	c := b.claim(b.create(fresh("a")), "r1", 5)
	later := c.LeaseUntil.Add(time.Hour)
	extended := c
	extended.LeaseUntil = later
	for _, token := range others(c.Token) {
		b.answer("with another token", c, false)(b.Extend(b.Context(), "q", "a", token, later))
	}
	for range 2 {
		b.answer("started", extended, true)(b.Extend(b.Context(), "q", "a", c.Token, later))
	}
	c = b.prepare(extended)
	c.LeaseUntil = later.Add(time.Hour)
	b.answer("prepared", c, true)(b.Extend(b.Context(), "q", "a", c.Token, c.LeaseUntil))
	c = b.doubted(c)
	b.answer("in doubt", c, false)(b.Extend(b.Context(), "q", "a", c.Token, later))
}

func testCommitPrepared(b *bench) {
	c := b.claim(b.create(fresh("a")), "r1", 5)
	b.answer("before the prepare", c, false)(b.CommitPrepared(b.Context(), "q", "a", c.Token))
	c = b.prepare(c)
	b.answer("as a claim of one phase", c, false)(b.Commit(b.Context(), "q", "a", c.Token))
	for _, token := range others(c.Token) {
		b.answer("with another token", c, false)(b.CommitPrepared(b.Context(), "q", "a", token))
	}
	done := b.answer("committed", committed(c), true)(b.CommitPrepared(b.Context(), "q", "a", c.Token))
	b.answer("again", done, true)(b.CommitPrepared(b.Context(), "q", "a", c.Token))
	next := b.claim(done, "r2", 8)
	b.answer("again, after the next claim", next, true)(b.CommitPrepared(b.Context(), "q", "a", c.Token))
	next = b.doubted(b.prepare(next))
	b.answer("in doubt", committed(next), true)(b.CommitPrepared(b.Context(), "q", "a", next.Token))
}

func testCommitPreparedAndClaim(b *bench) {
	c := b.claim(b.create(fresh("a")), "r1", 5)
	next := claim("r2", 8)
	b.answer("before the prepare", c, false)(b.CommitPreparedAndClaim(b.Context(), "q", "a", c.Token, next))
	c = b.prepare(c)
	b.answer("as a claim of one phase", c, false)(b.CommitAndClaim(b.Context(), "q", "a", c.Token, next))
	for _, token := range others(c.Token) {
		b.answer("with another token", c, false)(b.CommitPreparedAndClaim(b.Context(), "q", "a", token, next))
	}
	paused := b.answer("paused", pausedOf(c), true)(b.Pause(b.Context(), "q", "a", "why", at))
	b.answer("while it is paused", paused, false)(b.CommitPreparedAndClaim(b.Context(), "q", "a", c.Token, next))
	b.answer("resumed", c, true)(b.Pause(b.Context(), "q", "a", "", at))
	want := claimed(committed(c), next)
	b.answer("prepared", want, true)(b.CommitPreparedAndClaim(b.Context(), "q", "a", c.Token, next))
	b.answer("again", want, true)(b.CommitPreparedAndClaim(b.Context(), "q", "a", c.Token, next))
	b.answer("another's", want, false)(b.CommitPreparedAndClaim(b.Context(), "q", "a", c.Token, claim("r9", 8)))
	c = b.doubted(b.prepare(want))
	third := claim("r3", 9)
	b.answer("in doubt", claimed(committed(c), third), true)(b.CommitPreparedAndClaim(b.Context(), "q", "a", c.Token, third))
}

func pausedOf(c handoff.Consumer) handoff.Consumer {
	c.Paused, c.PausedSince = "why", at
	return c
}

func testAbortPrepared(b *bench) {
	c := b.create(fresh("a"))
	to := int64(5)
	for i, state := range []func(handoff.Consumer) handoff.Consumer{
		func(c handoff.Consumer) handoff.Consumer { return c },
		b.prepare,
		func(c handoff.Consumer) handoff.Consumer { return b.doubted(b.prepare(c)) },
	} {
		c = state(b.claim(c, fmt.Sprint("r", i), to))
		for _, token := range others(c.Token)[:2] {
			b.answer("with another token", c, false)(b.AbortPrepared(b.Context(), "q", "a", token, failure(false)))
		}
		b.answer("as a claim of one phase", c, false)(b.Fail(b.Context(), "q", "a", handoff.Token{N: 99, Req: "r"}, failure(false)))
		if state := c.State; state != handoff.Started {
			b.answer("a bare abort", c, false)(b.Fail(b.Context(), "q", "a", c.Token, failure(false)))
		}
		token := c.Token
		c = b.answer("aborted", failed(c, failure(false)), true)(b.AbortPrepared(b.Context(), "q", "a", token, failure(false)))
		b.answer("again", c, true)(b.AbortPrepared(b.Context(), "q", "a", token, failure(false)))
	}
	c = b.prepare(b.claim(c, "r9", to))
	want := failed(c, failure(true))
	b.answer("for good", want, true)(b.AbortPrepared(b.Context(), "q", "a", c.Token, failure(true)))
	b.answer("again", want, true)(b.AbortPrepared(b.Context(), "q", "a", c.Token, failure(true)))
}

func testMarkUnknown(b *bench) {
	c := b.claim(b.create(fresh("a")), "r1", 5)
	b.answer("not prepared", c, false)(b.MarkUnknown(b.Context(), c, over(c)))
	c = b.prepare(c)
	b.answer("at the lease's end", c, false)(b.MarkUnknown(b.Context(), c, c.LeaseUntil))
	c = b.doubted(c)
	b.answer("again", c, false)(b.MarkUnknown(b.Context(), as(c, handoff.Ready), over(c)))
}

// testNotTakenOver: a prepared claim is nobody's to take, however old.
func testNotTakenOver(b *bench) {
	c := b.prepare(b.claim(b.create(fresh("a")), "r1", 5))
	long := c.LeaseUntil.Add(1000 * time.Hour)
	late := claim("r2", 5)
	late.Now, late.LeaseUntil = long, long.Add(time.Minute)
	for range 2 { // prepared, then in doubt
		for _, seen := range []handoff.State{c.State, handoff.Started, handoff.Idle} {
			b.answer("claimed", c, false)(b.Claim(b.Context(), as(c, seen), late))
			b.answer("blocked", c, false)(b.Block(b.Context(), as(c, seen), long))
		}
		b.answer("cancelled", c, false)(b.Cancel(b.Context(), c, false, long))
		b.answer("rewound", c, false)(b.Rewind(b.Context(), c, 1, "op"))
		done, err := b.Remove(b.Context(), c)
		b.check(err)
		same(b.T, "removed", done, false)
		if c.State == handoff.Ready {
			c = b.doubted(c)
		}
	}
}

func testQuarantine(b *bench) {
	c := b.prepare(b.claim(b.create(fresh("a")), "r1", 5))
	b.answer("not marked", c, false)(b.Quarantine(b.Context(), c, over(c)))
	c = b.doubted(c)
	b.answer("not old enough", c, false)(b.Quarantine(b.Context(), c, c.LeaseUntil))
	want := aside(c)
	b.answer("quarantined", want, true)(b.Quarantine(b.Context(), c, over(c)))
	b.answer("again", want, true)(b.Quarantine(b.Context(), c, over(c)))
	b.answer("its commit", want, false)(b.CommitPrepared(b.Context(), "q", "a", c.Token))
	b.answer("its abort", want, false)(b.AbortPrepared(b.Context(), "q", "a", c.Token, failure(false)))
	b.answer("its prepare", want, false)(b.Prepare(b.Context(), "q", "a", c.Token))
	done, err := b.Remove(b.Context(), want)
	b.check(err)
	same(b.T, "removed", done, false)
	b.claim(want, "r2", 8)
}

// quarantined has that many claims in quarantine.
func (b *bench) quarantined(n int) handoff.Consumer {
	b.Helper()
	c := b.create(fresh("a"))
	for i := range n {
		c = b.doubted(b.prepare(b.claim(c, fmt.Sprint("r", i), c.Delivered+1)))
		c = b.answer("quarantined", aside(c), true)(b.Quarantine(b.Context(), c, over(c)))
	}
	return c
}

func testFullQuarantine(b *bench) {
	c := b.quarantined(handoff.MaxQuarantined)
	c = b.doubted(b.prepare(b.claim(c, "more", c.Delivered+1)))
	b.answer("one too many", c, false)(b.Quarantine(b.Context(), c, over(c)))
}

func testQuarantinedCommitted(b *bench) {
	c := b.quarantined(3)
	token := c.Quarantine[1].Token
	b.answer("another's", c, false)(b.SettleQuarantined(b.Context(), "q", "a", handoff.Token{N: token.N, Req: "x"}, handoff.Committed, true, ""))
	want := c
	want.Quarantine = [handoff.MaxQuarantined]handoff.Quarantined{c.Quarantine[0], c.Quarantine[2]}
	want.Outcomes[token.N%4] = handoff.Remember(token, handoff.Committed)
	b.answer("settled", want, true)(b.SettleQuarantined(b.Context(), "q", "a", token, handoff.Committed, true, ""))
	b.answer("again", want, true)(b.SettleQuarantined(b.Context(), "q", "a", token, handoff.Committed, true, ""))
	b.answer("otherwise", want, false)(b.SettleQuarantined(b.Context(), "q", "a", token, handoff.Aborted, true, ""))
}

func testQuarantinedAborted(b *bench) {
	c := b.quarantined(2)
	token := c.Quarantine[0].Token
	b.answer("released before it is settled", c, false)(b.Release(b.Context(), "q", "a", token, "op"))
	want := c
	want.Quarantine[0].State = handoff.State(handoff.Aborted)
	b.answer("settled", want, true)(b.SettleQuarantined(b.Context(), "q", "a", token, handoff.Aborted, true, ""))
	b.answer("again", want, true)(b.SettleQuarantined(b.Context(), "q", "a", token, handoff.Aborted, true, ""))
	b.answer("otherwise", want, false)(b.SettleQuarantined(b.Context(), "q", "a", token, handoff.Committed, true, ""))
	gone := c
	gone.Quarantine = [handoff.MaxQuarantined]handoff.Quarantined{c.Quarantine[1]}
	gone.LastOp = "op"
	b.answer("released", gone, true)(b.Release(b.Context(), "q", "a", token, "op"))
	b.answer("again", gone, true)(b.Release(b.Context(), "q", "a", token, "op"))
	b.answer("by another", gone, false)(b.Release(b.Context(), "q", "a", token, "other"))
}

// testQuarantinedByAnOperator: who did it is known by the operation.
func testQuarantinedByAnOperator(b *bench) {
	c := b.quarantined(1)
	token := c.Quarantine[0].Token
	want := c
	want.Quarantine, want.LastOp = [handoff.MaxQuarantined]handoff.Quarantined{}, "op"
	b.answer("settled", want, true)(b.SettleQuarantined(b.Context(), "q", "a", token, handoff.Committed, false, "op"))
	b.answer("again", want, true)(b.SettleQuarantined(b.Context(), "q", "a", token, handoff.Committed, false, "op"))
	b.answer("by another", want, false)(b.SettleQuarantined(b.Context(), "q", "a", token, handoff.Committed, false, "other"))
}

// testQuarantinedForgotten: a newer claim's outcome has the slot.
func testQuarantinedForgotten(b *bench) {
	c := b.quarantined(1)
	token := c.Quarantine[0].Token
	for i := range 4 {
		c = b.claim(c, fmt.Sprint("n", i), c.Delivered+1)
		c = b.answer("committed", committed(c), true)(b.Commit(b.Context(), "q", "a", c.Token))
	}
	b.answer("no room", c, false)(b.SettleQuarantined(b.Context(), "q", "a", token, handoff.Committed, true, ""))
	want := c
	want.Quarantine = [handoff.MaxQuarantined]handoff.Quarantined{}
	b.answer("without it", want, true)(b.SettleQuarantined(b.Context(), "q", "a", token, handoff.Committed, false, ""))
}

func testNoConsumerTwoPhase(b *bench) {
	ctx, token := b.Context(), handoff.Token{N: 1, Req: "r"}
	for what, write := range map[string]func() (handoff.Consumer, bool, error){
		"prepare":         func() (handoff.Consumer, bool, error) { return b.Prepare(ctx, "q", "a", token) },
		"extend":          func() (handoff.Consumer, bool, error) { return b.Extend(ctx, "q", "a", token, at) },
		"commit prepared": func() (handoff.Consumer, bool, error) { return b.CommitPrepared(ctx, "q", "a", token) },
		"abort prepared": func() (handoff.Consumer, bool, error) {
			return b.AbortPrepared(ctx, "q", "a", token, failure(false))
		},
		"mark unknown": func() (handoff.Consumer, bool, error) { return b.MarkUnknown(ctx, fresh("a"), at) },
		"quarantine":   func() (handoff.Consumer, bool, error) { return b.Quarantine(ctx, fresh("a"), at) },
		"settle": func() (handoff.Consumer, bool, error) {
			return b.SettleQuarantined(ctx, "q", "a", token, handoff.Committed, true, "")
		},
		"release": func() (handoff.Consumer, bool, error) { return b.Release(ctx, "q", "a", token, "op") },
	} {
		got, made, err := write()
		b.check(err)
		same(b.T, what+": made", made, false)
		same(b.T, what, got, handoff.Consumer{})
		same(b.T, what+", as it stands there", b.standing("q", "a"), handoff.Consumer{})
	}
}
