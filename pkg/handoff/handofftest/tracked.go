package handofftest

import (
	"time"

	"github.com/streamsort/streamsort/pkg/handoff"
)

// testTracked: a tracked claim is never taken over, however long its lease is
// over, and nobody ends it who does not have its token; it ends by its commit
// or its failure, and the mark with it.
func testTracked(b *bench) {
	tracked := claim("r1", 5)
	tracked.Tracked = true
	c := b.create(fresh("a"))
	c = b.answer("claimed", claimed(c, tracked), true)(b.Claim(b.Context(), c, tracked))
	b.answer("again", c, true)(b.Claim(b.Context(), fresh("a"), tracked))

	after := c.LeaseUntil.Add(time.Hour)
	late := claim("r2", 5)
	late.Now, late.LeaseUntil = after, after.Add(time.Minute)
	b.answer("taken over", c, false)(b.Claim(b.Context(), c, late))
	b.answer("blocked", c, false)(b.Block(b.Context(), c, after))
	b.answer("cancelled", c, false)(b.Cancel(b.Context(), c, false, after))
	b.answer("cancelled for good", c, false)(b.Cancel(b.Context(), c, true, after))
	b.answer("prepared", c, false)(b.Prepare(b.Context(), "q", "a", c.Token))
	b.answer("extended", c, false)(b.Extend(b.Context(), "q", "a", c.Token, after))
	b.answer("settled as aborted", c, false)(b.AbortPrepared(b.Context(), "q", "a", c.Token, failure(false)))
	for _, token := range []handoff.Token{{N: 1, Req: "r2"}, {N: 2, Req: "r1"}} {
		b.answer("committed with another token", c, false)(b.Commit(b.Context(), "q", "a", token))
		b.answer("failed with another token", c, false)(b.Fail(b.Context(), "q", "a", token, failure(false)))
	}

	paused := c
	paused.Paused, paused.PausedSince = "why", at
	b.answer("paused", paused, true)(b.Pause(b.Context(), "q", "a", "why", at))
	b.answer("resumed", c, true)(b.Pause(b.Context(), "q", "a", "", at))

	c = b.answer("failed", failed(c, failure(false)), true)(b.Fail(b.Context(), "q", "a", c.Token, failure(false)))
	tracked.Req = "r3"
	c = b.answer("claimed anew", claimed(c, tracked), true)(b.Claim(b.Context(), c, tracked))
	c = b.answer("committed", committed(c), true)(b.Commit(b.Context(), "q", "a", c.Token))

	// A claim that is not tracked leaves nothing of the mark.
	c = b.claim(c, "r4", 6)
	late.Req, late.To = "r5", 6
	want := ended(c, handoff.Cancelled)
	want.SingleTo = 6
	b.answer("taken over", claimed(want, late), true)(b.Claim(b.Context(), c, late))
}
