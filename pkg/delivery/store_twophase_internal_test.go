package delivery

import (
	"fmt"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/request"
)

func as(c Consumer, state State) Consumer {
	c.State = state
	return c
}

func (b *bench) prepare(c Consumer) Consumer {
	b.Helper()
	return b.answer("prepared", as(c, Prepared), true)(b.Prepare(b.Context(), c.Queue, c.Name, c.Token))
}

func overNow(c Consumer) time.Time { return c.LeaseUntil.Add(time.Millisecond) }

// doubted is a claim in doubt.
func (b *bench) doubted(c Consumer) Consumer {
	b.Helper()
	return b.answer("in doubt", as(c, InDoubt), true)(b.MarkInDoubt(b.Context(), c, overNow(c)))
}

// aside is c with its claim in quarantine.
func asideNow(c Consumer) Consumer {
	for i := range c.Quarantine {
		if (c.Quarantine[i] == Quarantined{}) {
			c.Quarantine[i] = Quarantined{Token: c.Token, From: c.From, To: c.To, State: InDoubt, Since: c.LeaseUntil}
			break
		}
	}
	c.State, c.Delivered, c.Attempts, c.Together = Idle, c.To, 0, 0
	c.Last = request.Attempts{}
	c = takenNow(c)
	return c
}

// retried is a claim of what failed before.
func (b *bench) retried() Consumer {
	b.Helper()
	c := b.claim(b.create(b.fresh("a")), "r0", 5)
	c = b.answer("failed", failedNow(c, failure(false)), true)(b.Fail(b.Context(), b.queue, "a", c.Token, failure(false)))
	return b.claim(c, "r1", 5)
}

func others(t Token) []Token {
	return []Token{{N: t.N + 1, Req: t.Req}, {N: t.N, Req: "other"}, {N: t.N - 1, Req: t.Req}}
}

func TestStorePrepare(t *testing.T) {
	each(t, func(b *bench) {
		c := b.claim(b.create(b.fresh("a")), "r1", 5)
		c = b.prepare(c)
		b.answer("again", c, true)(b.Prepare(b.Context(), b.queue, "a", c.Token))
		done := b.answer("committed", committed(c), true)(b.CommitPrepared(b.Context(), b.queue, "a", c.Token))
		b.answer("after the commit", done, false)(b.Prepare(b.Context(), b.queue, "a", c.Token))
	})
}

func TestStorePrepareRefused(t *testing.T) {
	each(t, func(b *bench) {
		idle := b.create(b.fresh("a"))
		b.answer("without a claim", idle, false)(b.Prepare(b.Context(), b.queue, "a", Token{N: 0, Req: "r"}))
		c := b.claim(idle, "r1", 5)
		for _, token := range others(c.Token) {
			b.answer("with another token", c, false)(b.Prepare(b.Context(), b.queue, "a", token))
		}
		// The lease is nobody's business while nobody took the claim over.
		late := claim("r2", 5)
		late.Now, late.LeaseUntil = overNow(c), overNow(c).Add(time.Minute)
		want := ended(c, Cancelled)
		want.IsolateTo = 5
		next := b.answer("taken over", claimed(want, late), true)(b.Claim(b.Context(), c, late))
		b.answer("a cancelled token", next, false)(b.Prepare(b.Context(), b.queue, "a", c.Token))
	})
}

func TestStoreExtend(t *testing.T) {
	each(t, func(b *bench) {
		c := b.claim(b.create(b.fresh("a")), "r1", 5)
		later := c.LeaseUntil.Add(time.Hour)
		extended := c
		extended.LeaseUntil = later
		for _, token := range others(c.Token) {
			b.answer("with another token", c, false)(b.Extend(b.Context(), b.queue, "a", token, later))
		}
		for range 2 {
			b.answer("started", extended, true)(b.Extend(b.Context(), b.queue, "a", c.Token, later))
		}
		c = b.prepare(extended)
		c.LeaseUntil = later.Add(time.Hour)
		b.answer("prepared", c, true)(b.Extend(b.Context(), b.queue, "a", c.Token, c.LeaseUntil))
		c = b.doubted(c)
		b.answer("in doubt", c, false)(b.Extend(b.Context(), b.queue, "a", c.Token, later))
	})
}

func TestStoreCommitPrepared(t *testing.T) {
	each(t, func(b *bench) {
		c := b.retried()
		b.answer("before the prepare", c, false)(b.CommitPrepared(b.Context(), b.queue, "a", c.Token))
		c = b.prepare(c)
		b.answer("as a claim of one phase", c, false)(b.Commit(b.Context(), b.queue, "a", c.Token, Response{}))
		for _, token := range others(c.Token) {
			b.answer("with another token", c, false)(b.CommitPrepared(b.Context(), b.queue, "a", token))
		}
		done := b.answer("committed", committed(c), true)(b.CommitPrepared(b.Context(), b.queue, "a", c.Token))
		b.answer("again", done, true)(b.CommitPrepared(b.Context(), b.queue, "a", c.Token))
		next := b.claim(done, "r2", 8)
		b.answer("again, after the next claim", next, true)(b.CommitPrepared(b.Context(), b.queue, "a", c.Token))
		next = b.doubted(b.prepare(next))
		b.answer("in doubt", committed(next), true)(b.CommitPrepared(b.Context(), b.queue, "a", next.Token))
	})
}

func TestStoreCommitPreparedAndClaim(t *testing.T) {
	each(t, func(b *bench) {
		c := b.retried()
		next := claim("r2", 8)
		next.LeaseUntil = at.Add(time.Hour)
		b.answer("before the prepare", c, false)(b.CommitPreparedAndClaim(b.Context(), c, next))
		c = b.prepare(c)
		b.answer("as a claim of one phase", c, false)(b.CommitAndClaim(b.Context(), c, next, Response{}))
		for _, token := range others(c.Token) {
			b.answer("with another token", c, false)(b.CommitPreparedAndClaim(b.Context(), under(c, token), next))
		}
		paused := b.answer("paused", pausedOf(c), true)(b.Pause(b.Context(), b.queue, "a", "why", at))
		b.answer("while it is paused", paused, false)(b.CommitPreparedAndClaim(b.Context(), c, next))
		b.answer("resumed", c, true)(b.Pause(b.Context(), b.queue, "a", "", at))
		want := claimed(committed(c), next)
		b.answer("prepared", want, true)(b.CommitPreparedAndClaim(b.Context(), c, next))
		b.answer("again", want, true)(b.CommitPreparedAndClaim(b.Context(), c, next))
		b.answer("another's", want, false)(b.CommitPreparedAndClaim(b.Context(), c, claim("r9", 8)))
		c = b.doubted(b.prepare(want))
		third := claim("r3", 9)
		b.answer("in doubt", claimed(committed(c), third), true)(b.CommitPreparedAndClaim(b.Context(), c, third))
	})
}

func pausedOf(c Consumer) Consumer {
	c.Paused, c.PausedSince = "why", at
	return c
}

func TestStoreAbortPrepared(t *testing.T) {
	each(t, func(b *bench) {
		c := b.create(b.fresh("a"))
		to := int64(5)
		for i, state := range []func(Consumer) Consumer{
			func(c Consumer) Consumer { return c },
			b.prepare,
			func(c Consumer) Consumer { return b.doubted(b.prepare(c)) },
		} {
			c = state(b.claim(c, fmt.Sprint("r", i), to))
			for _, token := range others(c.Token)[:2] {
				b.answer("with another token", c, false)(b.AbortPrepared(b.Context(), b.queue, "a", token, failure(false)))
			}
			b.answer("as a claim of one phase", c, false)(b.Fail(b.Context(), b.queue, "a", Token{N: 99, Req: "r"}, failure(false)))
			if state := c.State; state != Started {
				b.answer("a bare abort", c, false)(b.Fail(b.Context(), b.queue, "a", c.Token, failure(false)))
			}
			token := c.Token
			c = b.answer("aborted", failedNow(c, failure(false)), true)(b.AbortPrepared(b.Context(), b.queue, "a", token, failure(false)))
			b.answer("again", c, true)(b.AbortPrepared(b.Context(), b.queue, "a", token, failure(false)))
		}
		c = b.prepare(b.claim(c, "r9", to))
		want := failedNow(c, failure(true))
		b.answer("for good", want, true)(b.AbortPrepared(b.Context(), b.queue, "a", c.Token, failure(true)))
		b.answer("again", want, true)(b.AbortPrepared(b.Context(), b.queue, "a", c.Token, failure(true)))
	})
}

func TestStoreMarkInDoubt(t *testing.T) {
	each(t, func(b *bench) {
		c := b.claim(b.create(b.fresh("a")), "r1", 5)
		b.answer("not prepared", c, false)(b.MarkInDoubt(b.Context(), c, overNow(c)))
		c = b.prepare(c)
		b.answer("at the lease's end", c, false)(b.MarkInDoubt(b.Context(), c, c.LeaseUntil))
		for _, token := range others(c.Token) {
			other := c
			other.Token = token
			b.answer("another's", c, false)(b.MarkInDoubt(b.Context(), other, overNow(c)))
		}
		c = b.doubted(c)
		b.answer("again", c, false)(b.MarkInDoubt(b.Context(), as(c, Prepared), overNow(c)))
	})
}

// TestStoreNotTakenOver: a prepared claim is nobody's to take, however old.
func TestStoreNotTakenOver(t *testing.T) {
	each(t, func(b *bench) {
		c := b.prepare(b.claim(b.create(b.fresh("a")), "r1", 5))
		long := c.LeaseUntil.Add(1000 * time.Hour)
		late := claim("r2", 5)
		late.Now, late.LeaseUntil = long, long.Add(time.Minute)
		for range 2 { // prepared, then in doubt
			for _, seen := range []State{c.State, Started, Idle} {
				b.answer("claimed", c, false)(b.Claim(b.Context(), as(c, seen), late))
				b.answer("blocked", c, false)(b.Block(b.Context(), as(c, seen), long))
			}
			b.answer("cancelled", c, false)(b.Cancel(b.Context(), c, false, long))
			b.answer("rewound", c, false)(b.Rewind(b.Context(), c, 1, "op"))
			done, err := b.Remove(b.Context(), c)
			b.check(err)
			same(b.T, "removed", done, false)
			if c.State == Prepared {
				c = b.doubted(c)
			}
		}
	})
}

func TestStoreQuarantine(t *testing.T) {
	each(t, func(b *bench) {
		c := b.prepare(b.retried())
		b.answer("not marked", c, false)(b.Quarantine(b.Context(), c, overNow(c)))
		c = b.doubted(c)
		b.answer("not old enough", c, false)(b.Quarantine(b.Context(), c, c.LeaseUntil))
		want := asideNow(c)
		for _, token := range others(c.Token) {
			other := c
			other.Token = token
			b.answer("another's", c, false)(b.Quarantine(b.Context(), other, overNow(c)))
		}
		b.answer("quarantined", want, true)(b.Quarantine(b.Context(), c, overNow(c)))
		b.answer("again", want, true)(b.Quarantine(b.Context(), c, overNow(c)))
		b.answer("its commit", want, false)(b.CommitPrepared(b.Context(), b.queue, "a", c.Token))
		b.answer("its abort", want, false)(b.AbortPrepared(b.Context(), b.queue, "a", c.Token, failure(false)))
		b.answer("its prepare", want, false)(b.Prepare(b.Context(), b.queue, "a", c.Token))
		done, err := b.Remove(b.Context(), want)
		b.check(err)
		same(b.T, "removed", done, false)
		b.claim(want, "r2", 8)
	})
}

// quarantined has that many claims in quarantine.
func (b *bench) quarantined(n int) Consumer {
	b.Helper()
	c := b.create(b.fresh("a"))
	for i := range n {
		c = b.doubted(b.prepare(b.claim(c, fmt.Sprint("r", i), c.Delivered+1)))
		c = b.answer("quarantined", asideNow(c), true)(b.Quarantine(b.Context(), c, overNow(c)))
	}
	return c
}

func TestStoreFullQuarantine(t *testing.T) {
	each(t, func(b *bench) {
		c := b.quarantined(maxQuarantined)
		c = b.doubted(b.prepare(b.claim(c, "more", c.Delivered+1)))
		b.answer("one too many", c, false)(b.Quarantine(b.Context(), c, overNow(c)))
	})
}

func TestStoreQuarantinedCommitted(t *testing.T) {
	each(t, func(b *bench) {
		c := b.quarantined(3)
		token := c.Quarantine[1].Token
		b.answer("another's", c, false)(b.SettleQuarantined(b.Context(), b.queue, "a", Token{N: token.N, Req: "x"}, Committed, true, ""))
		want := c
		want.Quarantine = [maxQuarantined]Quarantined{c.Quarantine[0], c.Quarantine[2]}
		want.Outcomes[token.N%4] = remember(token, Committed)
		b.answer("settled", want, true)(b.SettleQuarantined(b.Context(), b.queue, "a", token, Committed, true, ""))
		b.answer("again", want, true)(b.SettleQuarantined(b.Context(), b.queue, "a", token, Committed, true, ""))
		b.answer("otherwise", want, false)(b.SettleQuarantined(b.Context(), b.queue, "a", token, Aborted, true, ""))
	})
}

func TestStoreQuarantinedAborted(t *testing.T) {
	each(t, func(b *bench) {
		c := b.quarantined(2)
		token := c.Quarantine[0].Token
		b.answer("released before it is settled", c, false)(b.Release(b.Context(), b.queue, "a", token, "op"))
		want := c
		want.Quarantine[0].State = State(Aborted)
		b.answer("settled", want, true)(b.SettleQuarantined(b.Context(), b.queue, "a", token, Aborted, true, ""))
		b.answer("again", want, true)(b.SettleQuarantined(b.Context(), b.queue, "a", token, Aborted, true, ""))
		b.answer("otherwise", want, false)(b.SettleQuarantined(b.Context(), b.queue, "a", token, Committed, true, ""))
		b.answer("another's released", want, false)(b.Release(b.Context(), b.queue, "a", Token{N: token.N, Req: "x"}, "op"))
		gone := c
		gone.Quarantine = [maxQuarantined]Quarantined{c.Quarantine[1]}
		gone.LastOp = "op"
		b.answer("released", gone, true)(b.Release(b.Context(), b.queue, "a", token, "op"))
		b.answer("again", gone, true)(b.Release(b.Context(), b.queue, "a", token, "op"))
		b.answer("by another", gone, false)(b.Release(b.Context(), b.queue, "a", token, "other"))
	})
}

// TestStoreQuarantinedByAnOperator: who did it is known by the operation.
func TestStoreQuarantinedByAnOperator(t *testing.T) {
	each(t, func(b *bench) {
		c := b.quarantined(1)
		token := c.Quarantine[0].Token
		want := c
		want.Quarantine, want.LastOp = [maxQuarantined]Quarantined{}, "op"
		b.answer("settled", want, true)(b.SettleQuarantined(b.Context(), b.queue, "a", token, Committed, false, "op"))
		b.answer("again", want, true)(b.SettleQuarantined(b.Context(), b.queue, "a", token, Committed, false, "op"))
		b.answer("by another", want, false)(b.SettleQuarantined(b.Context(), b.queue, "a", token, Committed, false, "other"))
	})
}

// TestStoreQuarantinedRemembered: an older claim's outcome has the slot.
func TestStoreQuarantinedRemembered(t *testing.T) {
	each(t, func(b *bench) {
		c := b.create(b.fresh("a"))
		for i := range 4 {
			c = b.claim(c, fmt.Sprint("n", i), c.Delivered+1)
			c = b.answer("committed", committed(c), true)(b.Commit(b.Context(), b.queue, "a", c.Token, Response{}))
		}
		c = b.doubted(b.prepare(b.claim(c, "r", c.Delivered+1)))
		token := c.Token
		c = b.answer("quarantined", asideNow(c), true)(b.Quarantine(b.Context(), c, overNow(c)))
		want := c
		want.Quarantine = [maxQuarantined]Quarantined{}
		want.Outcomes[token.N%4] = remember(token, Committed)
		b.answer("settled", want, true)(b.SettleQuarantined(b.Context(), b.queue, "a", token, Committed, true, ""))
	})
}

// TestStoreQuarantinedForgotten: a newer claim's outcome has the slot.
func TestStoreQuarantinedForgotten(t *testing.T) {
	each(t, func(b *bench) {
		c := b.quarantined(1)
		token := c.Quarantine[0].Token
		for i := range 4 {
			c = b.claim(c, fmt.Sprint("n", i), c.Delivered+1)
			c = b.answer("committed", committed(c), true)(b.Commit(b.Context(), b.queue, "a", c.Token, Response{}))
		}
		b.answer("no room", c, false)(b.SettleQuarantined(b.Context(), b.queue, "a", token, Committed, true, ""))
		want := c
		want.Quarantine = [maxQuarantined]Quarantined{}
		b.answer("without it", want, true)(b.SettleQuarantined(b.Context(), b.queue, "a", token, Committed, false, ""))
	})
}
