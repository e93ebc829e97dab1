package handofftest

import (
	"testing"
	"time"

	"github.com/streamsort/streamsort/pkg/handoff"
)

// RunReplying runs the suite of what replies add. newStore is as in [Run].
func RunReplying(t *testing.T, newStore func(t *testing.T) handoff.Store) {
	for _, c := range []struct {
		name string
		test func(*bench)
	}{
		{"decide", testDecide},
		{"decide refused", testDecideRefused},
		{"forward only", testForwardOnly},
		{"finish", testFinish},
		{"refuse", testRefuse},
		{"no consumer", testNoConsumerReplying},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(&bench{T: t, Store: newStore(t)}) })
	}
}

var outbox = []handoff.Outgoing{{Queue: "x"}, {Queue: "n", Numbered: true}}

// decide makes a claim's end certain.
func (b *bench) decide(c handoff.Consumer) handoff.Consumer {
	b.Helper()
	want := as(c, handoff.Sending)
	copy(want.Outbox[:], outbox)
	return b.answer("decided", want, true)(b.Decide(b.Context(), c.Queue, c.Name, c.Token, outbox))
}

func testDecide(b *bench) {
	c := b.decide(b.claim(b.create(fresh("c")), "r1", 5))
	// The repeat of a lost response, and one after the end.
	b.answer("again", c, true)(b.Decide(b.Context(), "q", "c", c.Token, outbox))
	done := committed(c)
	done.Outbox = handoff.Consumer{}.Outbox
	b.answer("finished", done, true)(b.Finish(b.Context(), "q", "c", c.Token))
	b.answer("after the end", done, true)(b.Decide(b.Context(), "q", "c", c.Token, outbox))
}

func testDecideRefused(b *bench) {
	c := b.claim(b.create(fresh("c")), "r1", 5)
	for _, wrong := range []handoff.Token{{N: 1, Req: "r2"}, {N: 2, Req: "r1"}} {
		b.answer("another token", c, false)(b.Decide(b.Context(), "q", "c", wrong, outbox))
	}
	b.answer("not decided", c, false)(b.Finish(b.Context(), "q", "c", c.Token))
	taken := ended(c, handoff.Cancelled)
	taken.SingleTo = 5
	taken = b.answer("taken over", claimed(taken, later(c, "r2")), true)(b.Claim(b.Context(), c, later(c, "r2")))
	b.answer("taken over", taken, false)(b.Decide(b.Context(), "q", "c", c.Token, outbox))
	c = b.prepare(taken)
	b.answer("prepared", c, false)(b.Decide(b.Context(), "q", "c", c.Token, outbox))
}

// later is a claim after the lease of one that is out.
func later(c handoff.Consumer, req string) handoff.Claim {
	return handoff.Claim{Req: req, To: 5, Now: over(c), LeaseUntil: over(c).Add(time.Minute)}
}

// testForwardOnly: what is decided is never claimed, failed or aborted, however
// long ago its lease was over.
func testForwardOnly(b *bench) {
	c := b.decide(b.claim(b.create(fresh("c")), "r1", 5))
	ctx, now := b.Context(), over(c).Add(time.Hour)
	for what, try := range map[string]func() (handoff.Consumer, bool, error){
		"claim":  func() (handoff.Consumer, bool, error) { return b.Claim(ctx, c, later(c, "r2")) },
		"block":  func() (handoff.Consumer, bool, error) { return b.Block(ctx, c, now) },
		"commit": func() (handoff.Consumer, bool, error) { return b.Commit(ctx, "q", "c", c.Token) },
		"commit, claim": func() (handoff.Consumer, bool, error) {
			return b.CommitAndClaim(ctx, "q", "c", c.Token, later(c, "r2"))
		},
		"fail":           func() (handoff.Consumer, bool, error) { return b.Fail(ctx, "q", "c", c.Token, failure(false)) },
		"fail for good":  func() (handoff.Consumer, bool, error) { return b.Fail(ctx, "q", "c", c.Token, failure(true)) },
		"cancel":         func() (handoff.Consumer, bool, error) { return b.Cancel(ctx, c, false, now) },
		"rewind":         func() (handoff.Consumer, bool, error) { return b.Rewind(ctx, c, 3, "op 1") },
		"skip":           func() (handoff.Consumer, bool, error) { return b.Unblock(ctx, c, true, "op 1") },
		"prepare":        func() (handoff.Consumer, bool, error) { return b.Prepare(ctx, "q", "c", c.Token) },
		"extend":         func() (handoff.Consumer, bool, error) { return b.Extend(ctx, "q", "c", c.Token, now) },
		"abort prepared": func() (handoff.Consumer, bool, error) { return b.AbortPrepared(ctx, "q", "c", c.Token, failure(false)) },
		"settle":         func() (handoff.Consumer, bool, error) { return b.CommitPrepared(ctx, "q", "c", c.Token) },
		"in doubt":       func() (handoff.Consumer, bool, error) { return b.MarkUnknown(ctx, c, now) },
		"quarantine":     func() (handoff.Consumer, bool, error) { return b.Quarantine(ctx, c, now) },
	} {
		b.answer(what, c, false)(try())
	}
	if removed, err := b.Remove(ctx, c); err != nil || removed {
		b.Errorf("removed %v, %v", removed, err)
	}
}

func testFinish(b *bench) {
	c := b.decide(b.claim(b.create(fresh("c")), "r1", 5))
	b.answer("another token", c, false)(b.Finish(b.Context(), "q", "c", handoff.Token{N: 1, Req: "r2"}))
	paused := c
	paused.Paused, paused.PausedSince = "why", at
	b.answer("paused", paused, true)(b.Pause(b.Context(), "q", "c", "why", at))
	done := committed(paused)
	done.Outbox = handoff.Consumer{}.Outbox
	for range 2 {
		b.answer("finished", done, true)(b.Finish(b.Context(), "q", "c", c.Token))
	}
}

func testRefuse(b *bench) {
	c := b.decide(b.claim(b.create(fresh("c")), "r1", 5))
	say := func(n int64, t handoff.Token) (handoff.Consumer, bool, error) {
		return b.Refuse(b.Context(), "q", "c", t, handoff.Refused{N: n, Why: "no", Since: at})
	}
	c.Refused = handoff.Refused{N: 2, By: "1-r1", Why: "no", Since: at}
	for range 2 { // the repeat counts nothing
		b.answer("refused", c, true)(say(2, c.Token))
	}
	c.Refused.Told = 2
	for range 2 {
		b.answer("told", c, true)(b.ToldRefused(b.Context(), c))
	}
	before := c
	c.Refused.N, c.Refused.By = 5, "2-r2"
	b.answer("more", c, true)(say(3, handoff.Token{N: 2, Req: "r2"}))
	b.answer("told of the former", c, true)(b.ToldRefused(b.Context(), before))
}

func testNoConsumerReplying(b *bench) {
	t := handoff.Token{N: 1, Req: "r"}
	none := handoff.Consumer{}
	for what, try := range map[string]func() (handoff.Consumer, bool, error){
		"decide": func() (handoff.Consumer, bool, error) { return b.Decide(b.Context(), "q", "c", t, outbox) },
		"finish": func() (handoff.Consumer, bool, error) { return b.Finish(b.Context(), "q", "c", t) },
		"refuse": func() (handoff.Consumer, bool, error) {
			return b.Refuse(b.Context(), "q", "c", t, handoff.Refused{N: 1, Why: "no", Since: at})
		},
	} {
		got, made, err := try()
		if err != nil || made || got != none {
			b.Errorf("%s: %+v, %v, %v", what, got, made, err)
		}
	}
}
