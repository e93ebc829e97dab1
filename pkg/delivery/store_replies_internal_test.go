package delivery

import (
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/request"
)

var outboxNow = []outgoing{{Queue: "x"}, {Queue: "n", Numbered: true}}

// decide makes a claim's end certain.
func (b *bench) decide(c Consumer) Consumer {
	b.Helper()
	want := as(c, Sending)
	copy(want.Outbox[:], outboxNow)
	return b.answer("decided", want, true)(b.Decide(b.Context(), c.Queue, c.Name, c.Token, outboxNow))
}

func TestStoreDecide(t *testing.T) {
	each(t, func(b *bench) {
		c := b.decide(b.claim(b.create(b.fresh("c")), "r1", 5))
		// The repeat of a lost response, and one after the end.
		b.answer("again", c, true)(b.Decide(b.Context(), b.queue, "c", c.Token, outboxNow))
		done := committed(c)
		done.Outbox = Consumer{}.Outbox
		b.answer("finished", done, true)(b.Finish(b.Context(), b.queue, "c", c.Token))
		b.answer("after the end", done, true)(b.Decide(b.Context(), b.queue, "c", c.Token, outboxNow))
	})
}

func TestStoreDecideRefused(t *testing.T) {
	each(t, func(b *bench) {
		c := b.claim(b.create(b.fresh("c")), "r1", 5)
		for _, wrong := range []Token{{N: 1, Req: "r2"}, {N: 2, Req: "r1"}} {
			b.answer("another token", c, false)(b.Decide(b.Context(), b.queue, "c", wrong, outboxNow))
		}
		b.answer("not decided", c, false)(b.Finish(b.Context(), b.queue, "c", c.Token))
		taken := ended(c, Cancelled)
		taken.IsolateTo = 5
		taken = b.answer("taken over", claimed(taken, later(c, "r2")), true)(b.Claim(b.Context(), c, later(c, "r2")))
		b.answer("taken over", taken, false)(b.Decide(b.Context(), b.queue, "c", c.Token, outboxNow))
		c = b.prepare(taken)
		b.answer("prepared", c, false)(b.Decide(b.Context(), b.queue, "c", c.Token, outboxNow))
	})
}

// later is a claim after the lease of one in flight.
func later(c Consumer, req string) request.Claim {
	return request.Claim{Req: req, To: 5, Now: overNow(c), LeaseUntil: overNow(c).Add(time.Minute)}
}

// TestStoreForwardOnly: what is decided is never claimed, failed or aborted, however
// long ago its lease was over.
func TestStoreForwardOnly(t *testing.T) {
	each(t, func(b *bench) {
		c := b.decide(b.claim(b.create(b.fresh("c")), "r1", 5))
		ctx, now := b.Context(), overNow(c).Add(time.Hour)
		for what, try := range map[string]func() (Consumer, bool, error){
			"claim":  func() (Consumer, bool, error) { return b.Claim(ctx, c, later(c, "r2")) },
			"block":  func() (Consumer, bool, error) { return b.Block(ctx, c, now) },
			"commit": func() (Consumer, bool, error) { return b.Commit(ctx, b.queue, "c", c.Token, Response{}) },
			"commit, claim": func() (Consumer, bool, error) {
				return b.CommitAndClaim(ctx, c, later(c, "r2"), Response{})
			},
			"fail":          func() (Consumer, bool, error) { return b.Fail(ctx, b.queue, "c", c.Token, failure(false)) },
			"fail for good": func() (Consumer, bool, error) { return b.Fail(ctx, b.queue, "c", c.Token, failure(true)) },
			"cancel":        func() (Consumer, bool, error) { return b.Cancel(ctx, c, false, now) },
			"rewind":        func() (Consumer, bool, error) { return b.Rewind(ctx, c, 3, "op 1") },
			"skip":          func() (Consumer, bool, error) { return b.Unblock(ctx, c, true, "op 1") },
			"prepare":       func() (Consumer, bool, error) { return b.Prepare(ctx, b.queue, "c", c.Token) },
			"extend":        func() (Consumer, bool, error) { return b.Extend(ctx, b.queue, "c", c.Token, now) },
			"abort prepared": func() (Consumer, bool, error) {
				return b.AbortPrepared(ctx, b.queue, "c", c.Token, failure(false))
			},
			"settle":     func() (Consumer, bool, error) { return b.CommitPrepared(ctx, b.queue, "c", c.Token) },
			"in doubt":   func() (Consumer, bool, error) { return b.MarkInDoubt(ctx, c, now) },
			"quarantine": func() (Consumer, bool, error) { return b.Quarantine(ctx, c, now) },
		} {
			b.answer(what, c, false)(try())
		}
		if removed, err := b.Remove(ctx, c); err != nil || removed {
			b.Errorf("removed %v, %v", removed, err)
		}
	})
}

func TestStoreFinish(t *testing.T) {
	each(t, func(b *bench) {
		c := b.decide(b.retried())
		for _, token := range others(c.Token) {
			b.answer("another token", c, false)(b.Finish(b.Context(), b.queue, c.Name, token))
		}
		paused := c
		paused.Paused, paused.PausedSince = "why", at
		b.answer("paused", paused, true)(b.Pause(b.Context(), b.queue, "a", "why", at))
		done := committed(paused)
		done.Outbox = Consumer{}.Outbox
		for range 2 {
			b.answer("finished", done, true)(b.Finish(b.Context(), b.queue, "a", c.Token))
		}
	})
}

func TestStoreRefuse(t *testing.T) {
	each(t, func(b *bench) {
		c := b.decide(b.claim(b.create(b.fresh("c")), "r1", 5))
		say := func(n int64, t Token) (Consumer, bool, error) {
			return b.Refuse(b.Context(), b.queue, "c", t, refusals{N: n, Why: "no", Since: at})
		}
		c.Refused = refusals{N: 2, By: "1-r1", Why: "no", Since: at}
		for range 2 { // the repeat counts nothing
			b.answer("refused", c, true)(say(2, c.Token))
		}
		c.Refused.Announced = 2
		for range 2 {
			b.answer("announced", c, true)(b.AnnouncedRefused(b.Context(), c))
		}
		before := c
		c.Refused.N, c.Refused.By = 5, "2-r2"
		b.answer("more", c, true)(say(3, Token{N: 2, Req: "r2"}))
		b.answer("the former announced", c, true)(b.AnnouncedRefused(b.Context(), before))
		elsewhere := c
		elsewhere.Refused.N = 9
		b.answer("more announced than were refused", c, false)(b.AnnouncedRefused(b.Context(), elsewhere))
		c.Refused.Announced = 5
		b.answer("all announced", c, true)(b.AnnouncedRefused(b.Context(), c))
		b.answer("the former announced, late", c, true)(b.AnnouncedRefused(b.Context(), before))
	})
}

func TestStoreNoConsumerReplying(t *testing.T) {
	each(t, func(b *bench) {
		t := Token{N: 1, Req: "r"}
		none := Consumer{}
		for what, try := range map[string]func() (Consumer, bool, error){
			"decide": func() (Consumer, bool, error) { return b.Decide(b.Context(), b.queue, "c", t, outboxNow) },
			"finish": func() (Consumer, bool, error) { return b.Finish(b.Context(), b.queue, "c", t) },
			"refuse": func() (Consumer, bool, error) {
				return b.Refuse(b.Context(), b.queue, "c", t, refusals{N: 1, Why: "no", Since: at})
			},
		} {
			got, made, err := try()
			check.That(b.T, err == nil && !made && got == none, "%s: %+v, %v, %v", what, got, made, err)
		}
	})
}
