package delivery

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/request"
	"github.com/streamsort/streamsort/pkg/table"
)

func as(c Consumer, state State) Consumer {
	c.State = state
	return c
}

func (b *bench) prepare(c Consumer) Consumer {
	b.Helper()
	return b.made("prepared", as(c, Prepared))(b.Prepare(b.Context(), heldBy(c)))
}

func overNow(c Consumer) time.Time { return c.LeaseUntil.Add(time.Millisecond) }

func (b *bench) doubted(c Consumer) Consumer {
	b.Helper()
	return b.made("in doubt", as(c, InDoubt))(b.MarkInDoubt(b.Context(), c, overNow(c)))
}

func asideNow(c Consumer) Consumer {
	for i := range c.Quarantine {
		if (c.Quarantine[i] == Quarantined{}) {
			c.Quarantine[i] = Quarantined{Token: c.Token, From: c.From, To: c.To, State: InDoubt,
				Since: c.LeaseUntil}
			break
		}
	}
	c.State, c.Delivered, c.Attempts, c.Together = Idle, c.To, 0, 0
	c.Last = request.Attempts{}
	return takenNow(c)
}

// awayNow is a failure that was the sink's, behind one of the message alone: whatever ends the next
// claim otherwise forgets both.
func awayNow(block bool) request.Failure {
	f := failure(block)
	f.Away, f.Alone = 1, true
	return f
}

// waiting is a consumer whose sink was away.
func (b *bench) waiting(name string) Consumer {
	b.Helper()
	return b.fails(b.claim(b.create(b.fresh(name)), "was", 5), awayNow(false))
}

// retried is a claim of what failed before.
func (b *bench) retried() Consumer {
	b.Helper()
	return b.claim(b.waiting("a"), "r1", 5)
}

// foreign tries a write with tokens that are not the claim's.
func (b *bench) foreign(c Consumer, write func(Held) (Consumer, bool, error)) {
	b.Helper()
	n, req := c.Token.N, c.Token.Req
	for _, token := range []Token{{N: n + 1, Req: req}, {N: n, Req: "other"}, {N: n - 1, Req: req}} {
		b.not("with another token", c)(write(Held{c.Queue, c.Name, token}))
	}
}

func TestStorePrepare(t *testing.T) {
	each(t, func(b *bench) {
		c := b.claim(b.create(b.fresh("a")), "r1", 5)
		c = b.prepare(c)
		b.made("again", c)(b.Prepare(b.Context(), heldBy(c)))
		done := b.made("committed", committed(c))(b.CommitPrepared(b.Context(), heldBy(c)))
		b.not("after the commit", done)(b.Prepare(b.Context(), heldBy(c)))

		idle := b.create(b.fresh("b"))
		b.not("without a claim", idle)(b.Prepare(b.Context(), Held{b.queue, "b", Token{N: 0, Req: "r"}}))
		c = b.claim(idle, "r1", 5)
		b.foreign(c, func(h Held) (Consumer, bool, error) { return b.Prepare(b.Context(), h) })
		// The lease is nobody's business while nobody took the claim over.
		late := claim("r2", 5)
		late.Now, late.LeaseUntil = overNow(c), overNow(c).Add(time.Minute)
		want := ended(c, Cancelled)
		want.IsolateTo = 5
		next := b.made("taken over", claimed(want, late))(b.Claim(b.Context(), c, late))
		b.not("a cancelled token", next)(b.Prepare(b.Context(), heldBy(c)))
	})
}

func TestStoreExtend(t *testing.T) {
	each(t, func(b *bench) {
		c := b.claim(b.create(b.fresh("a")), "r1", 5)
		later, extended := c.LeaseUntil.Add(time.Hour), c
		extended.LeaseUntil = later
		b.foreign(c, func(h Held) (Consumer, bool, error) { return b.Extend(b.Context(), h, later) })
		for range 2 {
			b.made("started", extended)(b.Extend(b.Context(), heldBy(c), later))
		}
		c = b.prepare(extended)
		c.LeaseUntil = later.Add(time.Hour)
		b.made("prepared", c)(b.Extend(b.Context(), heldBy(c), c.LeaseUntil))
		c = b.doubted(c)
		b.not("in doubt", c)(b.Extend(b.Context(), heldBy(c), later))
	})
}

func TestStoreCommitPrepared(t *testing.T) {
	each(t, func(b *bench) {
		c := b.retried()
		b.not("before the prepare", c)(b.CommitPrepared(b.Context(), heldBy(c)))
		c = b.prepare(c)
		b.not("as a claim of one phase", c)(b.commit(heldBy(c)))
		b.foreign(c, func(h Held) (Consumer, bool, error) { return b.CommitPrepared(b.Context(), h) })
		done := b.made("committed", committed(c))(b.CommitPrepared(b.Context(), heldBy(c)))
		b.made("again", done)(b.CommitPrepared(b.Context(), heldBy(c)))
		next := b.claim(done, "r2", 8)
		b.made("again, after the next claim", next)(b.CommitPrepared(b.Context(), heldBy(c)))
		next = b.doubted(b.prepare(next))
		b.made("in doubt", committed(next))(b.CommitPrepared(b.Context(), heldBy(next)))
	})
}

func TestStoreCommitPreparedAndClaim(t *testing.T) {
	each(t, func(b *bench) {
		c := b.claim(b.fails(b.retried(), failure(false)), "again", 5)
		c = b.claim(b.fails(c, awayNow(false)), "r1", 5) // its attempts are more than one
		next := claim("r2", 8)
		next.LeaseUntil = at.Add(time.Hour)
		b.not("before the prepare", c)(b.CommitPreparedAndClaim(b.Context(), c, next))
		c = b.prepare(c)
		b.not("as a claim of one phase", c)(b.CommitAndClaim(b.Context(), c, next, Response{}))
		b.foreign(c, func(h Held) (Consumer, bool, error) {
			return b.CommitPreparedAndClaim(b.Context(), under(c, h.Token), next)
		})
		b.not("while it is paused", b.pauses(c))(b.CommitPreparedAndClaim(b.Context(), c, next))
		b.made("resumed", c)(b.Pause(b.Context(), b.queue, "a", "", at))
		want := claimed(committed(c), next)
		b.made("prepared", want)(b.CommitPreparedAndClaim(b.Context(), c, next))
		b.made("again", want)(b.CommitPreparedAndClaim(b.Context(), c, next))
		b.not("another's", want)(b.CommitPreparedAndClaim(b.Context(), c, claim("r9", 8)))
		c = b.doubted(b.prepare(want))
		next = claim("r3", 9)
		b.made("in doubt", claimed(committed(c), next))(b.CommitPreparedAndClaim(b.Context(), c, next))
	})
}

func TestStoreAbortPrepared(t *testing.T) {
	each(t, func(b *bench) {
		c, to, f := b.waiting("a"), int64(5), failure(false)
		f.Error, f.Shown, f.ReplyQueue, f.Proven, f.Last[0].Shown = "again", 2, "y", false, 2
		f.Now, f.Since = f.Now.Add(time.Minute), f.Since.Add(time.Minute)
		abort := func(h Held, f request.Failure) (Consumer, bool, error) {
			return b.AbortPrepared(b.Context(), h, f)
		}
		for i, state := range []func(Consumer) Consumer{
			func(c Consumer) Consumer { return c },
			b.prepare,
			func(c Consumer) Consumer { return b.doubted(b.prepare(c)) },
		} {
			c = state(b.claim(c, fmt.Sprint("r", i), to))
			b.foreign(c, func(h Held) (Consumer, bool, error) { return abort(h, f) })
			b.not("as a claim of one phase", c)(b.fail(Held{b.queue, "a", Token{N: 99, Req: "r"}},
				failure(false)))
			if state := c.State; state != Started {
				b.not("a bare abort", c)(b.fail(heldBy(c), failure(false)))
			}
			c = b.made("aborted", failedNow(c, f))(abort(heldBy(c), f))
			b.made("again", c)(abort(heldBy(c), f))
		}
		c = b.prepare(b.claim(c, "r9", to))
		want := failedNow(c, failure(true))
		b.made("for good", want)(abort(heldBy(c), failure(true)))
		b.made("again", want)(abort(heldBy(c), failure(true)))
	})
}

func TestStoreMarkInDoubt(t *testing.T) {
	each(t, func(b *bench) {
		c := b.claim(b.create(b.fresh("a")), "r1", 5)
		b.not("not prepared", c)(b.MarkInDoubt(b.Context(), c, overNow(c)))
		c = b.prepare(c)
		b.not("at the lease's end", c)(b.MarkInDoubt(b.Context(), c, c.LeaseUntil))
		b.foreign(c, func(h Held) (Consumer, bool, error) {
			return b.MarkInDoubt(b.Context(), under(c, h.Token), overNow(c))
		})
		c = b.doubted(c)
		b.not("again", c)(b.MarkInDoubt(b.Context(), as(c, Prepared), overNow(c)))
	})
}

func TestStoreQuarantine(t *testing.T) {
	each(t, func(b *bench) {
		c := b.prepare(b.retried())
		b.not("not marked", c)(b.Quarantine(b.Context(), c, overNow(c)))
		c = b.doubted(c)
		b.not("not old enough", c)(b.Quarantine(b.Context(), c, c.LeaseUntil))
		want := asideNow(c)
		b.foreign(c, func(h Held) (Consumer, bool, error) {
			return b.Quarantine(b.Context(), under(c, h.Token), overNow(c))
		})
		b.made("quarantined", want)(b.Quarantine(b.Context(), c, overNow(c)))
		b.made("again", want)(b.Quarantine(b.Context(), c, overNow(c)))
		b.not("its commit", want)(b.CommitPrepared(b.Context(), heldBy(c)))
		b.not("its abort", want)(b.AbortPrepared(b.Context(), heldBy(c), failure(false)))
		b.not("its prepare", want)(b.Prepare(b.Context(), heldBy(c)))
		done := check.Get(b.Remove(b.Context(), want))
		same(b.T, "removed", done, false)
		b.claim(want, "r2", 8)
	})
}

func (b *bench) quarantined(n int) Consumer {
	b.Helper()
	c := b.create(b.fresh("a"))
	for i := range n {
		c = b.doubted(b.prepare(b.claim(c, fmt.Sprint("r", i), c.Delivered+1)))
		c = b.made("quarantined", asideNow(c))(b.Quarantine(b.Context(), c, overNow(c)))
	}
	return c
}

// settle settles a claim in quarantine.
func (b *bench) settle(token Token, outcome TokenOutcome, remember bool,
	op string) (Consumer, bool, error) {
	return b.SettleQuarantined(b.Context(), Held{b.queue, "a", token}, outcome, remember, op)
}

func TestStoreFullQuarantine(t *testing.T) {
	each(t, func(b *bench) {
		c := b.quarantined(maxQuarantined)
		c = b.doubted(b.prepare(b.claim(c, "more", c.Delivered+1)))
		b.not("one too many", c)(b.Quarantine(b.Context(), c, overNow(c)))
	})
}

func TestStoreQuarantinedCommitted(t *testing.T) {
	each(t, func(b *bench) {
		c := b.quarantined(3)
		token := c.Quarantine[1].Token
		b.not("another's", c)(b.settle(Token{N: token.N, Req: "x"}, Committed, true, ""))
		want := c
		want.Quarantine = [maxQuarantined]Quarantined{c.Quarantine[0], c.Quarantine[2]}
		want.Outcomes[token.N%4] = remember(token, Committed)
		b.made("settled", want)(b.settle(token, Committed, true, ""))
		b.made("again", want)(b.settle(token, Committed, true, ""))
		b.not("otherwise", want)(b.settle(token, Aborted, true, ""))
	})
}

func TestStoreQuarantinedAborted(t *testing.T) {
	each(t, func(b *bench) {
		c := b.quarantined(2)
		token := c.Quarantine[0].Token
		b.not("released before it is settled", c)(b.Release(b.Context(), Held{b.queue, "a", token}, "op"))
		want := c
		want.Quarantine[0].State = State(Aborted)
		b.made("settled", want)(b.settle(token, Aborted, true, ""))
		b.made("again", want)(b.settle(token, Aborted, true, ""))
		b.not("otherwise", want)(b.settle(token, Committed, true, ""))
		b.not("another's released", want)(b.Release(b.Context(),
			Held{b.queue, "a", Token{N: token.N, Req: "x"}}, "op"))
		gone := c
		gone.Quarantine = [maxQuarantined]Quarantined{c.Quarantine[1]}
		gone.LastOp = "op"
		b.made("released", gone)(b.Release(b.Context(), Held{b.queue, "a", token}, "op"))
		b.made("again", gone)(b.Release(b.Context(), Held{b.queue, "a", token}, "op"))
		b.not("by another", gone)(b.Release(b.Context(), Held{b.queue, "a", token}, "other"))
	})
}

// TestStoreQuarantinedByAnOperator: who did it is known by the operation.
func TestStoreQuarantinedByAnOperator(t *testing.T) {
	each(t, func(b *bench) {
		c := b.quarantined(1)
		token := c.Quarantine[0].Token
		want := c
		want.Quarantine, want.LastOp = [maxQuarantined]Quarantined{}, "op"
		b.made("settled", want)(b.settle(token, Committed, false, "op"))
		b.made("again", want)(b.settle(token, Committed, false, "op"))
		b.not("by another", want)(b.settle(token, Committed, false, "other"))
	})
}

// TestStoreQuarantinedRemembered: an older claim's outcome has the slot.
func TestStoreQuarantinedRemembered(t *testing.T) {
	each(t, func(b *bench) {
		c := b.create(b.fresh("a"))
		for i := range 4 {
			c = b.commits(b.claim(c, fmt.Sprint("n", i), c.Delivered+1))
		}
		c = b.doubted(b.prepare(b.claim(c, "r", c.Delivered+1)))
		token := c.Token
		c = b.made("quarantined", asideNow(c))(b.Quarantine(b.Context(), c, overNow(c)))
		want := c
		want.Quarantine = [maxQuarantined]Quarantined{}
		want.Outcomes[token.N%4] = remember(token, Committed)
		b.made("settled", want)(b.settle(token, Committed, true, ""))
	})
}

// TestStoreQuarantinedForgotten: a newer claim's outcome has the slot.
func TestStoreQuarantinedForgotten(t *testing.T) {
	each(t, func(b *bench) {
		c := b.quarantined(1)
		token := c.Quarantine[0].Token
		for i := range 4 {
			c = b.commits(b.claim(c, fmt.Sprint("n", i), c.Delivered+1))
		}
		b.not("no room", c)(b.settle(token, Committed, true, ""))
		want := c
		want.Quarantine = [maxQuarantined]Quarantined{}
		b.made("without it", want)(b.settle(token, Committed, false, ""))
	})
}

var outboxNow = []outgoing{{Queue: "x"}, {Queue: "n", Numbered: true}}

// decide makes a claim's end certain.
func (b *bench) decide(c Consumer) Consumer {
	b.Helper()
	want := as(c, Sending)
	copy(want.Outbox[:], outboxNow)
	return b.made("decided", want)(b.Decide(b.Context(), heldBy(c), outboxNow))
}

func TestStoreDecide(t *testing.T) {
	each(t, func(b *bench) {
		c := b.decide(b.claim(b.create(b.fresh("c")), "r1", 5))
		// The repeat of a lost response, and one after the end.
		b.made("again", c)(b.Decide(b.Context(), heldBy(c), outboxNow))
		done := committed(c)
		done.Outbox = Consumer{}.Outbox
		b.made("finished", done)(b.Finish(b.Context(), heldBy(c)))
		b.made("after the end", done)(b.Decide(b.Context(), heldBy(c), outboxNow))

		c = b.claim(b.create(b.fresh("d")), "r1", 5)
		for _, wrong := range []Token{{N: 1, Req: "r2"}, {N: 2, Req: "r1"}} {
			b.not("another token", c)(b.Decide(b.Context(), Held{b.queue, "d", wrong}, outboxNow))
		}
		b.not("not decided", c)(b.Finish(b.Context(), heldBy(c)))
		taken := ended(c, Cancelled)
		taken.IsolateTo = 5
		taken = b.made("taken over", claimed(taken, later(c, "r2")))(b.Claim(b.Context(), c,
			later(c, "r2")))
		b.not("taken over", taken)(b.Decide(b.Context(), heldBy(c), outboxNow))
		c = b.prepare(taken)
		b.not("prepared", c)(b.Decide(b.Context(), heldBy(c), outboxNow))
	})
}

// later is a claim after the lease of one in flight.
func later(c Consumer, req string) request.Claim {
	return request.Claim{Req: req, To: 5, Now: overNow(c), LeaseUntil: overNow(c).Add(time.Minute)}
}

// TestStoreForwardOnly: what is prepared, in doubt or decided is nobody's to take, however long ago
// its lease was over; and what is decided is never failed or aborted.
func TestStoreForwardOnly(t *testing.T) {
	each(t, func(b *bench) {
		stays := func(c Consumer, but ...string) {
			b.Helper()
			for _, seen := range []State{c.State, Started, Idle} {
				for what, try := range b.writes(as(c, seen)) {
					if !slices.Contains(but, what) {
						b.not(what, c)(try())
					}
				}
			}
			removed := check.Get(b.Remove(b.Context(), c))
			same(b.T, "removed", removed, false)
		}
		c := b.prepare(b.claim(b.create(b.fresh("a")), "r1", 5))
		ends := []string{"prepare", "extend", "mark in doubt", "quarantine", "commit prepared",
			"abort prepared"}
		stays(c, ends...)
		stays(b.doubted(c), ends...)
		stays(b.decide(b.claim(b.create(b.fresh("c")), "r1", 5)))
	})
}

func TestStoreFinish(t *testing.T) {
	each(t, func(b *bench) {
		c := b.decide(b.retried())
		b.foreign(c, func(h Held) (Consumer, bool, error) { return b.Finish(b.Context(), h) })
		paused := b.pauses(c)
		done := committed(paused)
		done.Outbox = Consumer{}.Outbox
		for range 2 {
			b.made("finished", done)(b.Finish(b.Context(), heldBy(c)))
		}
	})
}

func TestStoreRefuse(t *testing.T) {
	each(t, func(b *bench) {
		c := b.decide(b.claim(b.create(b.fresh("c")), "r1", 5))
		say := func(n int64, t Token) (Consumer, bool, error) {
			return b.Refuse(b.Context(), Held{b.queue, "c", t}, refusals{N: n, Why: "no", Since: at})
		}
		c.Refused = refusals{N: 2, By: "1-r1", Why: "no", Since: at}
		for range 2 { // the repeat counts nothing
			b.made("refused", c)(say(2, c.Token))
		}
		c.Refused.Announced = 2
		for range 2 {
			b.made("announced", c)(b.AnnouncedRefused(b.Context(), c))
		}
		before := c
		c.Refused.N, c.Refused.By = 5, "2-r2"
		b.made("more", c)(say(3, Token{N: 2, Req: "r2"}))
		b.made("the former announced", c)(b.AnnouncedRefused(b.Context(), before))
		elsewhere := c
		elsewhere.Refused.N = 9
		b.not("more announced than were refused", c)(b.AnnouncedRefused(b.Context(), elsewhere))
		c.Refused.Announced = 5
		b.made("all announced", c)(b.AnnouncedRefused(b.Context(), c))
		b.made("the former announced, late", c)(b.AnnouncedRefused(b.Context(), before))
	})
}

// stored is what stands in a table, with "q" for the queue.
func (b *bench) stored(table int, sort ddb.Path, name string) string {
	b.Helper()
	a, err := b.faults.Do(b.Context(), ddb.Get{
		Op:  ddb.Op{Table: &sharedNow.tables[table]},
		Key: ddb.Fields{"queue": ddb.Text(b.queue), sort: ddb.Text(name)}.Item(), Strong: true,
	})
	b.check(err)
	return strings.ReplaceAll(a.Item.String(), b.queue, "q")
}

// TestStoreItems pins what stands in the tables, which other versions of this package read.
func TestStoreItems(t *testing.T) {
	each(t, func(b *bench) {
		is := func(what, want string) {
			b.Helper()
			same(b.T, what, b.stored(0, "consumer", "a"), want)
		}
		c := b.fresh("a")
		c.Starting = "op 0"
		b.create(c)
		is("created", `{attempts:0 consumer:a delivered:3 from:3 lastOp:op 0 outcomes:{} quarantine:{} queue:q rewinds:0 starting:op 0 state:IDLE to:3 tokenN:0 v:1}`)
		c.Starting = ""
		c = b.made("started", c)(b.FinishStart(b.Context(), b.queue, "a", "op 0", 3))
		c = b.doubted(b.prepare(b.claim(c, "r1", 5)))
		c = b.made("quarantined", asideNow(c))(b.Quarantine(b.Context(), c, overNow(c)))
		is("quarantined", `{attempts:0 consumer:a delivered:5 from:3 lastOp:op 0 leaseUntil:4928274427008 outcomes:{} quarantine:{1:{from:3 req:r1 since:4928274427008 state:IN_DOUBT to:5}} queue:q req:r1 rewinds:0 state:IDLE to:5 tokenN:1 v:1}`)
		c = b.claim(c, "r2", 8)
		c.Deferred = true
		b.made("deferred", c)(b.Defer(b.Context(), c, c.LeaseUntil))
		is("deferred", `{attempts:1 consumer:a deferred:true delivered:5 from:5 lastOp:op 0 leaseUntil:4928274427008 outcomes:{} quarantine:{1:{from:3 req:r1 since:4928274427008 state:IN_DOUBT to:5}} queue:q req:r2 rewinds:0 state:STARTED to:8 together:1 tokenN:2 v:1}`)
		alone := failure(true)
		alone.Alone = true
		c = b.fails(c, alone)
		c = b.pauses(c)
		c = b.made("refused", refusedOf(c))(b.Refuse(b.Context(), heldBy(c),
			refusals{N: 2, Queue: "x", Why: "no", Since: at}))
		is("blocked, paused, and with replies refused", `{attempts:1 blockedSince:4928274368008 consumer:a delivered:5 error:no failed:4928274368008 failingSince:4928274367008 from:5 isolateTo:8 last:[{answer:no at:4928274367008 by:fn call:id from:0 ms:1000 n:1 shown:1 to:1 token:1-r}] lastOp:op 0 leaseUntil:4928274427008 outcomes:{2:{n:2 outcome:ABORTED sum:23f9Aa-V}} paused:why pausedSince:4928274367008 proven:true quarantine:{1:{from:3 req:r1 since:4928274427008 state:IN_DOUBT to:5}} queue:q refused:2 refusedBy:3-r2 refusedQueue:x refusedSince:4928274367008 refusedWhy:no replyQueue:x req:r2 rewinds:0 shown:1 state:BLOCKED to:8 together:1 tokenN:3 v:1}`)

		d := b.decide(b.claim(b.create(b.fresh("d")), "r1", 5))
		same(b.T, "decided", b.stored(0, "consumer", d.Name), `{attempts:1 consumer:d delivered:3 from:3 lastOp:op 0 leaseUntil:4928274427008 outbox:[{queue:x} {kind:numbered queue:n}] outcomes:{} quarantine:{} queue:q req:r1 rewinds:0 state:SENDING to:5 together:1 tokenN:1 v:1}`)

		op := b.operation(1)
		op.Done, op.Error = true, "no"
		op.Request, op.Who = map[string]string{"start": "first"},
			Who{Kind: "jwt", Name: "sub", Client: "app"}
		b.check(b.RecordOperation(b.Context(), op))
		same(b.T, "operation", b.stored(1, "operation", "004928274367009 a op 1"), `{at:4928274367009 consumer:a done:true error:no kind:skip op:op 1 operation:004928274367009 a op 1 queue:q reason:why request:{start:first} seq:1 v:1 who:{client:app kind:jwt name:sub}}`)
		check.Get(b.NameOperation(b.Context(), op))
		same(b.T, "its id", b.stored(1, "operation", "id op 1"), `{at:4928274367009 consumer:a done:true error:no kind:skip op:op 1 operation:id op 1 queue:q reason:why request:{start:first} seq:1 v:1 who:{client:app kind:jwt name:sub}}`)
	})
}

func refusedOf(c Consumer) Consumer {
	c.Refused = refusals{N: 2, By: c.Token.String(), Queue: "x", Why: "no", Since: at}
	return c
}

// TestStoreNewerLayout: nobody works on what a later version wrote.
func TestStoreNewerLayout(t *testing.T) {
	each(t, func(b *bench) {
		b.create(b.fresh("a"))
		_, err := b.faults.Do(b.Context(), ddb.Update{
			Op:  ddb.Op{Table: &sharedNow.tables[0]},
			Key: ddb.Fields{"queue": ddb.Text(b.queue), "consumer": ddb.Text("a")}.Item(),
			Do:  []ddb.Action{ddb.Path("v").Set(ddb.Int(3))},
		})
		b.check(err)
		check.Fails(b.T, check.Err(b.Consumer(b.Context(), b.queue, "a")), table.ErrNewerLayout)
		_, _, err = b.Consumers(b.Context(), b.queue, "")
		check.That(b.T, errors.Is(err, table.ErrNewerLayout), "list: error %v", err)
		if _, made, err := b.Claim(b.Context(), b.fresh("a"), claim("r", 5)); made ||
			!errors.Is(err, table.ErrNewerLayout) {
			b.Errorf("claim: made %v, error %v", made, err)
		}
	})
}
