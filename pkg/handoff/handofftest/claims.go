package handofftest

import (
	"fmt"
	"sync"
	"time"

	"github.com/streamsort/streamsort/pkg/handoff"
)

func testClaim(b *bench) {
	c := b.create(fresh("a"))
	b.create(fresh("b"))
	c = b.claim(c, "r1", 5)
	// The repeat of a request whose response was lost.
	b.answer("claimed again", c, true)(b.Claim(b.Context(), fresh("a"), claim("r1", 5)))
	b.answer("claimed by another", c, false)(b.Claim(b.Context(), fresh("a"), claim("r2", 9)))
	same(b.T, "another consumer", b.standing("q", "b"), fresh("b"))
}

func testClaimRefused(b *bench) {
	paused := fresh("paused")
	b.create(paused)
	after := paused
	after.Paused, after.PausedSince = "why", at
	b.answer("paused", after, true)(b.Pause(b.Context(), "q", "paused", "why", at))
	b.answer("claimed while paused", after, false)(b.Claim(b.Context(), after, claim("r", 5)))

	starting := fresh("starting")
	starting.Starting = "op 0"
	b.create(starting)
	b.answer("claimed while starting", starting, false)(b.Claim(b.Context(), starting, claim("r", 5)))

	stale := b.claim(b.create(fresh("stale")), "r1", 5)
	stale = b.answer("committed", committed(stale), true)(b.Commit(b.Context(), "q", "stale", stale.Token))
	b.answer("claimed with an old token", stale, false)(b.Claim(b.Context(), fresh("stale"), claim("r2", 5)))

	// Removed and made anew elsewhere: its token and state are what they were.
	elsewhere := fresh("elsewhere")
	elsewhere.Delivered = 9
	b.create(elsewhere)
	b.answer("claimed from another place", elsewhere, false)(b.Claim(b.Context(), fresh("elsewhere"), claim("r", 5)))
	b.answer("blocked at another place", elsewhere, false)(b.Block(b.Context(), fresh("elsewhere"), at))

	stuck := fresh("blocked")
	stuck = b.claim(b.create(stuck), "r1", 5)
	stuck = b.answer("failed", failed(stuck, failure(true)), true)(b.Fail(b.Context(), "q", "blocked", stuck.Token, failure(true)))
	b.answer("claimed while blocked", stuck, false)(b.Claim(b.Context(), stuck, claim("r2", 5)))
}

func testTakeover(b *bench) {
	c := b.claim(b.create(fresh("a")), "r1", 9)
	late := claim("r2", 4)
	late.Now = c.LeaseUntil
	b.answer("at the lease's end", c, false)(b.Claim(b.Context(), c, late))
	late.Now, late.LeaseUntil = c.LeaseUntil.Add(time.Millisecond), c.LeaseUntil.Add(time.Hour)
	want := ended(c, handoff.Cancelled)
	want.SingleTo = 9
	want = claimed(want, late)
	b.answer("after it", want, true)(b.Claim(b.Context(), c, late))
	b.answer("again", want, true)(b.Claim(b.Context(), c, late))
	b.answer("the old one's commit", want, false)(b.Commit(b.Context(), "q", "a", c.Token))
	b.answer("the old one's failure", want, false)(b.Fail(b.Context(), "q", "a", c.Token, failure(false)))
}

func testBlock(b *bench) {
	c := b.create(fresh("a"))
	want := blocked(c, at)
	b.answer("blocked", want, true)(b.Block(b.Context(), c, at))
	b.answer("again", want, false)(b.Block(b.Context(), c, at))

	dead := b.claim(b.create(fresh("dead")), "r1", 9)
	b.answer("while the claim lives", dead, false)(b.Block(b.Context(), dead, dead.LeaseUntil))
	after := dead.LeaseUntil.Add(time.Millisecond)
	want = ended(dead, handoff.Cancelled)
	want.SingleTo = 9
	b.answer("a dead one", blocked(want, after), true)(b.Block(b.Context(), dead, after))
}

func testCommit(b *bench) {
	c := b.claim(b.create(fresh("a")), "r1", 5)
	want := committed(c)
	b.answer("committed", want, true)(b.Commit(b.Context(), "q", "a", c.Token))
	b.answer("again", want, true)(b.Commit(b.Context(), "q", "a", c.Token))
	next := b.claim(want, "r2", 6)
	b.answer("again, after the next claim", next, true)(b.Commit(b.Context(), "q", "a", c.Token))
}

func testCommitRefused(b *bench) {
	c := b.create(fresh("a"))
	b.answer("without a claim", c, false)(b.Commit(b.Context(), "q", "a", handoff.Token{N: 0, Req: "r"}))
	c = b.claim(c, "r1", 5)
	for _, token := range []handoff.Token{{N: 2, Req: "r1"}, {N: 1, Req: "r2"}, {N: 0, Req: "r1"}} {
		b.answer("with another token", c, false)(b.Commit(b.Context(), "q", "a", token))
	}
	c = b.answer("failed", failed(c, failure(false)), true)(b.Fail(b.Context(), "q", "a", c.Token, failure(false)))
	b.answer("after its failure", c, false)(b.Commit(b.Context(), "q", "a", c.Token))
}

func testCommitAndClaim(b *bench) {
	c := b.claim(b.create(fresh("a")), "r1", 5)
	c = b.answer("failed", failed(c, failure(false)), true)(b.Fail(b.Context(), "q", "a", c.Token, failure(false)))
	c = b.claim(c, "r2", 5)
	next := claim("r3", 8)
	next.LeaseUntil = at.Add(time.Hour)
	want := claimed(committed(c), next)
	b.answer("committed and claimed", want, true)(b.CommitAndClaim(b.Context(), "q", "a", c.Token, next))
	b.answer("again", want, true)(b.CommitAndClaim(b.Context(), "q", "a", c.Token, next))
	b.answer("committed again", want, true)(b.Commit(b.Context(), "q", "a", c.Token))
}

func testCommitAndClaimRefused(b *bench) {
	c := b.claim(b.create(fresh("a")), "r1", 5)
	other := handoff.Token{N: 1, Req: "r9"}
	b.answer("with another token", c, false)(b.CommitAndClaim(b.Context(), "q", "a", other, claim("r2", 8)))
	paused := c
	paused.Paused, paused.PausedSince = "why", at
	b.answer("paused", paused, true)(b.Pause(b.Context(), "q", "a", "why", at))
	b.answer("while paused", paused, false)(b.CommitAndClaim(b.Context(), "q", "a", c.Token, claim("r2", 8)))
	b.answer("a plain commit goes through", committed(paused), true)(b.Commit(b.Context(), "q", "a", c.Token))
}

func testFail(b *bench) {
	c := b.claim(b.create(fresh("a")), "r1", 5)
	want := failed(c, failure(false))
	b.answer("failed", want, true)(b.Fail(b.Context(), "q", "a", c.Token, failure(false)))
	b.answer("again", want, true)(b.Fail(b.Context(), "q", "a", c.Token, failure(false)))
	c = b.claim(want, "r2", 4)
	want = failed(c, failure(true))
	b.answer("failed for good", want, true)(b.Fail(b.Context(), "q", "a", c.Token, failure(true)))
	b.answer("again", want, true)(b.Fail(b.Context(), "q", "a", c.Token, failure(true)))
}

func testCancel(b *bench) {
	c := b.create(fresh("a"))
	b.answer("without a claim", c, false)(b.Cancel(b.Context(), c, false, at.Add(time.Hour)))
	c = b.claim(c, "r1", 5)
	b.answer("while the claim lives", c, false)(b.Cancel(b.Context(), c, false, c.LeaseUntil))
	paused := c
	paused.Paused, paused.PausedSince = "why", at
	b.answer("paused", paused, true)(b.Pause(b.Context(), "q", "a", "why", at))
	after := c.LeaseUntil.Add(time.Millisecond)
	want := ended(paused, handoff.Cancelled)
	want.State, want.SingleTo = handoff.Idle, 5
	b.answer("cancelled, though paused", want, true)(b.Cancel(b.Context(), c, false, after))
	b.answer("again", want, false)(b.Cancel(b.Context(), c, false, after))

	worn := b.claim(b.create(fresh("b")), "r1", 5)
	want = ended(worn, handoff.Cancelled)
	want.SingleTo = 5
	b.answer("for good", blocked(want, after), true)(b.Cancel(b.Context(), worn, true, after))
}

// testOutcomes has more claims than outcomes are remembered.
func testOutcomes(b *bench) {
	c := b.create(fresh("a"))
	for i := range 9 {
		c = b.claim(c, fmt.Sprint("r", i), c.Delivered+1)
		c = b.answer("committed", committed(c), true)(b.Commit(b.Context(), "q", "a", c.Token))
	}
	b.answer("one that is remembered", c, true)(b.Commit(b.Context(), "q", "a", handoff.Token{N: 6, Req: "r5"}))
	b.answer("one that is forgotten", c, false)(b.Commit(b.Context(), "q", "a", handoff.Token{N: 5, Req: "r4"}))
}

// testRacingClaims has many claims at once: exactly one is made.
func testRacingClaims(b *bench) {
	c := b.create(fresh("a"))
	const racers = 16
	var (
		wait sync.WaitGroup
		mu   sync.Mutex
		mine []string
	)
	for i := range racers {
		wait.Go(func() {
			req := fmt.Sprint("r", i)
			_, made, err := b.Claim(b.Context(), c, claim(req, 5))
			if err != nil {
				b.Error(err)
			}
			if made {
				mu.Lock()
				defer mu.Unlock()
				mine = append(mine, req)
			}
		})
	}
	wait.Wait()
	if len(mine) != 1 || b.standing("q", "a").Token.Req != mine[0] {
		b.Errorf("%v say that it is theirs, and it is %v's", mine, b.standing("q", "a").Token)
	}
}
