package delivery

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/ddbtest"
	"github.com/streamsort/streamsort/internal/request"
	"github.com/streamsort/streamsort/pkg/table"
)

func TestStoreClaim(t *testing.T) {
	each(t, func(b *bench) {
		c := b.create(b.fresh("a"))
		b.create(b.fresh("b"))
		c = b.claim(c, "r1", 5)
		// The repeat of a request whose response was lost.
		b.made("claimed again", c)(b.Claim(b.Context(), b.fresh("a"), claim("r1", 5)))
		b.not("claimed by another", c)(b.Claim(b.Context(), b.fresh("a"), claim("r2", 9)))
		same(b.T, "another consumer", b.standing(b.queue, "b"), b.fresh("b"))
	})
}

// TestStoreFailsAPart: what is done of a claim that is given back is committed with it, and the
// rest has failed once.
func TestStoreFailsAPart(t *testing.T) {
	each(t, func(b *bench) {
		for name, f := range map[string]request.Failure{
			"counts": {Error: "no", Now: at, RetryAt: at.Add(time.Second), Passed: 2, Since: at},
			"twice":  {Error: "no", Now: at, RetryAt: at.Add(time.Second), Passed: 2},
			"away":   {Error: "no", Now: at, RetryAt: at.Add(time.Second), Passed: 2, Away: 1},
		} {
			c := b.claim(b.create(b.fresh(name)), "r1", 5)
			before := request.Failure{Error: "no", Now: at, RetryAt: at, Since: at.Add(-time.Hour)}
			c = b.made("failed", failedNow(c, before))(b.fail(heldBy(c), before))
			c = b.claim(c, "r2", 5)
			want := c
			want.Attempts, want.Together, want.FailingSince = 1, 1, time.Time{}
			if f.Away > 0 {
				want.Attempts, want.Together, want.IsolateTo = 1, 1, c.To // as failed takes them off
			}
			want = failedNow(want, f)
			want.Delivered += 2
			b.made(name, want)(b.fail(heldBy(c), f))
			b.made(name+", again", want)(b.fail(heldBy(c), f))
		}
	})
}

func TestStoreClaimRefused(t *testing.T) {
	each(t, func(b *bench) {
		paused := b.fresh("paused")
		b.create(paused)
		after := b.pauses(paused)
		b.not("claimed while paused", after)(b.Claim(b.Context(), after, claim("r", 5)))
		b.not("blocked while paused", after)(b.Block(b.Context(), after, at))

		starting := b.fresh("starting")
		starting.Starting = "op 0"
		b.create(starting)
		b.not("claimed while starting", starting)(b.Claim(b.Context(), starting, claim("r", 5)))
		b.not("blocked while starting", starting)(b.Block(b.Context(), starting, at))

		stale := b.commits(b.claim(b.create(b.fresh("stale")), "r1", 5))
		b.not("claimed with an old token", stale)(b.Claim(b.Context(), b.fresh("stale"), claim("r2", 5)))
		again := b.fails(b.claim(b.create(b.fresh("again")), "r1", 5), failure(false))
		b.not("claimed with an old token, at the same place", again)(b.Claim(b.Context(),
			b.fresh("again"), claim("r2", 5)))
		b.not("blocked with an old token, at the same place", again)(b.Block(b.Context(),
			b.fresh("again"), at))

		// Removed and recreated elsewhere: its token and state are what they were.
		elsewhere := b.fresh("elsewhere")
		elsewhere.Delivered = 9
		b.create(elsewhere)
		b.not("claimed from another place", elsewhere)(b.Claim(b.Context(), b.fresh("elsewhere"),
			claim("r", 5)))
		b.not("blocked at another place", elsewhere)(b.Block(b.Context(), b.fresh("elsewhere"), at))

		stuck := b.fresh("blocked")
		stuck = b.fails(b.claim(b.create(stuck), "r1", 5), failure(true))
		b.not("claimed while blocked", stuck)(b.Claim(b.Context(), stuck, claim("r2", 5)))
	})
}

func TestStoreTakeover(t *testing.T) {
	each(t, func(b *bench) {
		c := b.claim(b.create(b.fresh("a")), "r1", 9)
		late := claim("r2", 4)
		late.Now = c.LeaseUntil
		b.not("at the lease's end", c)(b.Claim(b.Context(), c, late))
		late.Now, late.LeaseUntil = c.LeaseUntil.Add(time.Millisecond), c.LeaseUntil.Add(time.Hour)
		b.not("as if it were free", c)(b.Claim(b.Context(), as(c, Idle), late))
		b.not("blocked as if it were free", c)(b.Block(b.Context(), as(c, Idle), late.Now))
		want := ended(c, Cancelled)
		want.IsolateTo = 9
		want = claimed(want, late)
		b.made("after it", want)(b.Claim(b.Context(), c, late))
		b.made("again", want)(b.Claim(b.Context(), c, late))
		b.not("the old one's commit", want)(b.commit(heldBy(c)))
		b.not("the old one's failure", want)(b.fail(heldBy(c), failure(false)))
	})
}

// TestStoreDeferred: the token alone commits, fails, extends and expires a deferred claim; the mark
// goes with the claim, however it ends.
func TestStoreDeferred(t *testing.T) {
	each(t, func(b *bench) {
		n := 0
		deferred := func(to int64) Consumer {
			n++
			c := b.claim(b.create(b.fresh(fmt.Sprint(n))), "r1", to)
			want := c
			want.Deferred, want.LeaseUntil = true, at.Add(time.Hour)
			b.made("deferred", want)(b.Defer(b.Context(), c, want.LeaseUntil))
			b.made("a response that was lost", want)(b.Defer(b.Context(), c, want.LeaseUntil))
			return want
		}
		leased := b.claim(b.create(b.fresh("shorter")), "r1", 5)
		shorter := leased
		shorter.Deferred, shorter.LeaseUntil = true, leased.LeaseUntil.Add(-time.Millisecond)
		b.made("deferred for less than its lease", shorter)(b.Defer(b.Context(), leased,
			shorter.LeaseUntil))

		c := deferred(5)
		for _, other := range []Token{{N: 1, Req: "r2"}, {N: 2, Req: "r1"}} {
			b.not("deferred with another token", c)(b.Defer(b.Context(), under(c, other),
				at.Add(2*time.Hour)))
			b.not("expired with another token", c)(b.Expire(b.Context(), under(c, other), late(c)))
			b.not("committed with another token", c)(b.commit(Held{c.Queue, c.Name, other}))
			b.not("failed with another token", c)(b.fail(Held{c.Queue, c.Name, other}, failure(false)))
		}
		b.not("prepared", c)(b.Prepare(b.Context(), heldBy(c)))
		b.not("decided", c)(b.Decide(b.Context(), heldBy(c), outboxNow))
		b.not("settled as aborted", c)(b.AbortPrepared(b.Context(), heldBy(c), failure(false)))
		early := failure(false)
		early.Now = c.LeaseUntil
		b.not("expired at the lease's end", c)(b.Expire(b.Context(), c, early))
		longer := c
		longer.LeaseUntil = at.Add(2 * time.Hour)
		b.not("extended as if it were not deferred", c)(b.Extend(b.Context(), heldBy(c),
			longer.LeaseUntil))
		b.made("extended", longer)(b.Defer(b.Context(), c, longer.LeaseUntil))
		b.made("deferred, and it was extended beyond that", longer)(b.Defer(b.Context(), c,
			at.Add(90*time.Minute)))
		b.not("expired, and it was extended", longer)(b.Expire(b.Context(), c, late(c)))
		done := b.made("committed", committed(longer))(b.commit(heldBy(c)))
		b.not("deferred after its commit", done)(b.Defer(b.Context(), c, longer.LeaseUntil))
		b.not("expired after its commit", done)(b.Expire(b.Context(), c, late(longer)))

		c = deferred(5)
		want := failedNow(c, late(c))
		want.Outcomes[c.Token.N%4] = remember(c.Token, Cancelled)
		b.made("expired", want)(b.Expire(b.Context(), c, late(c)))
		b.made("a response that was lost", want)(b.Expire(b.Context(), c, late(c)))
		b.not("committed late", want)(b.commit(heldBy(c)))
		b.not("deferred late", want)(b.Defer(b.Context(), c, late(c).Now))

		c = deferred(5)
		b.fails(c, failure(false))
		c = deferred(4)
		b.fails(c, failure(true))
		c = deferred(5)
		b.made("committed, and more claimed", claimed(committed(c), claim("r2", 6)))(
			b.CommitAndClaim(b.Context(), c, claim("r2", 6), Response{}))
		// A process that saw it before it was deferred.
		c = deferred(5)
		want = ended(c, Cancelled)
		want.IsolateTo = 5
		over := claim("r2", 5)
		over.Now = late(c).Now
		b.made("taken over", claimed(want, over))(b.Claim(b.Context(), c, over))
		c = deferred(5)
		want = ended(c, Cancelled)
		want.State, want.IsolateTo, want.Deferred = Idle, 5, false
		b.made("cancelled", want)(b.Cancel(b.Context(), c, false, late(c).Now))
		c = deferred(5)
		want = ended(c, Cancelled)
		want.IsolateTo, want.Deferred = 5, false
		b.made("blocked", blocked(want, late(c).Now))(b.Block(b.Context(), c, late(c).Now))

		c = b.claim(b.create(b.fresh("away")), "r1", 5)
		away := failure(false)
		away.Away = 1
		c = b.fails(c, away)
		c = b.claim(c, "r2", 5)
		claimed := c
		c.Deferred, c.LeaseUntil = true, at.Add(time.Hour)
		b.made("deferred", c)(b.Defer(b.Context(), claimed, c.LeaseUntil))
		want = failedNow(c, late(c))
		want.Outcomes[c.Token.N%4] = remember(c.Token, Cancelled)
		b.made("expired, and its sink is not away", want)(b.Expire(b.Context(), c, late(c)))
	})
}

// late is a failure after the lease of a claim.
func late(c Consumer) request.Failure {
	f := failure(false)
	f.Now = c.LeaseUntil.Add(time.Millisecond)
	return f
}

func TestStoreBlock(t *testing.T) {
	each(t, func(b *bench) {
		c := b.create(b.fresh("a"))
		want := blocked(c, at)
		b.made("blocked", want)(b.Block(b.Context(), c, at))
		b.not("again", want)(b.Block(b.Context(), c, at))

		waiting := b.fails(b.claim(b.create(b.fresh("waiting")), "r1", 9), failure(false))
		b.made("one that waits", blocked(waiting, at))(b.Block(b.Context(), waiting, at))

		dead := b.claim(b.create(b.fresh("dead")), "r1", 9)
		b.not("while the claim lives", dead)(b.Block(b.Context(), dead, dead.LeaseUntil))
		after := dead.LeaseUntil.Add(time.Millisecond)
		want = ended(dead, Cancelled)
		want.IsolateTo = 9
		b.made("a dead one", blocked(want, after))(b.Block(b.Context(), dead, after))
	})
}

func TestStoreCommit(t *testing.T) {
	each(t, func(b *bench) {
		c := b.claim(b.create(b.fresh("a")), "r1", 5)
		want := committed(c)
		b.made("committed", want)(b.commit(heldBy(c)))
		b.made("again", want)(b.commit(heldBy(c)))
		next := b.claim(want, "r2", 6)
		b.made("again, after the next claim", next)(b.commit(heldBy(c)))

		c = b.create(b.fresh("b"))
		b.not("without a claim", c)(b.commit(Held{b.queue, "b", Token{N: 0, Req: "r"}}))
		c = b.claim(c, "r1", 5)
		for _, token := range []Token{{N: 2, Req: "r1"}, {N: 1, Req: "r2"}, {N: 0, Req: "r1"}} {
			b.not("with another token", c)(b.commit(Held{b.queue, "b", token}))
		}
		c = b.fails(c, failure(false))
		b.not("after its failure", c)(b.commit(heldBy(c)))
	})
}

func TestStoreCommitAndClaim(t *testing.T) {
	each(t, func(b *bench) {
		c := b.fails(b.claim(b.create(b.fresh("a")), "r1", 5), failure(false))
		c = b.claim(c, "r2", 5)
		next := claim("r3", 8)
		next.LeaseUntil = at.Add(time.Hour)
		want := claimed(committed(c), next)
		b.made("committed and claimed", want)(b.CommitAndClaim(b.Context(), c, next, Response{}))
		b.made("again", want)(b.CommitAndClaim(b.Context(), c, next, Response{}))
		b.made("committed again", want)(b.commit(heldBy(c)))

		c = b.claim(b.create(b.fresh("b")), "r1", 5)
		b.foreign(c, func(h Held) (Consumer, bool, error) {
			return b.CommitAndClaim(b.Context(), under(c, h.Token), claim("r2", 8), Response{})
		})
		paused := b.pauses(c)
		b.not("while paused", paused)(b.CommitAndClaim(b.Context(), c, claim("r2", 8), Response{}))
		b.made("a plain commit goes through", committed(paused))(b.commit(heldBy(c)))
	})
}

// TestStoreAsk: the highest position that anybody noted stays with the consumer, and nobody notes
// one where the claim is not in flight any more.
func TestStoreAsk(t *testing.T) {
	each(t, func(b *bench) {
		c := b.create(b.fresh("a"))
		b.not("without a claim", c)(b.Ask(b.Context(), c, 9))
		c = b.claim(c, "r1", 5)
		want := c
		want.Asked = 7
		b.made("noted", want)(b.Ask(b.Context(), c, 7))
		b.made("again", want)(b.Ask(b.Context(), c, 7))
		b.made("a lower one", want)(b.Ask(b.Context(), c, 6))
		another := c
		another.Token.Req = "r2"
		b.not("with another claim", want)(b.Ask(b.Context(), another, 6))
		b.not("a higher one with another claim", want)(b.Ask(b.Context(), another, 9))
		another = c
		another.Token.N++
		b.not("with a claim of another number", want)(b.Ask(b.Context(), another, 9))
		want.Asked = 8
		b.made("a higher one", want)(b.Ask(b.Context(), c, 8))
		want = committed(want)
		b.made("committed", want)(b.commit(heldBy(c)))
		b.not("too late", want)(b.Ask(b.Context(), c, 9))
		b.not("too late, a lower one", want)(b.Ask(b.Context(), c, 6))
		b.claim(want, "r3", 8)
	})
}

func TestStoreFail(t *testing.T) {
	each(t, func(b *bench) {
		c := b.claim(b.create(b.fresh("a")), "r1", 5)
		want := failedNow(c, failure(false))
		b.made("failed", want)(b.fail(heldBy(c), failure(false)))
		b.made("again", want)(b.fail(heldBy(c), failure(false)))
		aside := failure(false)
		aside.ReplyQueue, aside.Shown = "", 0
		c = b.claim(want, "r of no replies", 4)
		want = failedNow(c, aside)
		b.made("failed, about no replies", want)(b.fail(heldBy(c), aside))
		c = b.claim(want, "r2", 4)
		want = failedNow(c, failure(true))
		b.made("failed for good", want)(b.fail(heldBy(c), failure(true)))
		b.made("again", want)(b.fail(heldBy(c), failure(true)))
	})
}

// TestStoreAway: a try for which the sink was away is not counted, nor does it make claims smaller,
// however often it is repeated.
func TestStoreAway(t *testing.T) {
	each(t, func(b *bench) {
		away := failure(false)
		c := b.create(b.fresh("a"))
		for n := range 2 {
			away.Away = n + 1
			c = b.claim(c, fmt.Sprint("r", n), 5)
			want := failedNow(c, away)
			b.made("away", want)(b.fail(heldBy(c), away))
			c = b.made("again", want)(b.fail(heldBy(c), away))
		}
		check.That(b.T, c.Attempts == 0 && c.IsolateTo == 0 && c.Away == 2,
			"%+v; want nothing counted", c)
		next := b.claim(c, "r2", 5)
		c = b.fails(next, failure(false))
		away.Away = 1
		c = b.fails(b.claim(c, "r3", 5), away)
		c = b.claim(c, "r4", 5)
		c = b.made("committed and claimed", claimed(committed(c), claim("r5", 6)))(
			b.CommitAndClaim(b.Context(), c, claim("r5", 6), Response{}))
		away.Alone = true
		c = b.fails(c, away)
		c = b.claim(c, "r6", 6)
		b.commits(c)
	})
}

// TestStoreFirstFailure: when a message first failed alone is kept until it is taken, and what the
// last failure proved until the next one.
func TestStoreFirstFailure(t *testing.T) {
	each(t, func(b *bench) {
		beside, first := failure(false), failure(false)
		beside.Since, beside.Proven = time.Time{}, false
		c := b.fails(b.claim(b.create(b.fresh("a")), "r0", 5), beside)
		check.That(b.T, c.FailingSince.IsZero() && c.ownAttempts() == 0 && c.Fails(), "%+v", c)
		first.Alone = true
		c = b.fails(b.claim(c, "r1", 4), first)
		again := first
		again.Since = time.Time{}
		for i, proven := range []bool{true, false, true} {
			again.Proven = proven
			c = b.fails(b.claim(c, fmt.Sprint("again ", i), 4), again)
			check.That(b.T, c.Proven == proven && c.FailingSince.Equal(first.Since) &&
				c.ownAttempts() == i+2, "%+v; want it proven %v by the last failure", c, proven)
		}
		c = b.claim(c, "r3", 4)
		c = b.made("committed and claimed", claimed(committed(c), claim("r4", 6)))(
			b.CommitAndClaim(b.Context(), c, claim("r4", 6), Response{}))
		c = b.fails(c, beside)
		c = b.commits(b.claim(c, "r5", 6))
		check.That(b.T, !c.Fails(), "%+v fails", c)
		c = b.claim(c, "r6", 7)
		first.Block = true
		c = b.fails(c, first)
		after, made := check.Get2(b.Unblock(b.Context(), c, false, "op 1"))
		check.That(b.T, made && after.FailingSince.IsZero() && !after.Proven,
			"redriven: %+v, %v; want nothing of the failures before", after, made)
	})
}

func TestStoreCancel(t *testing.T) {
	each(t, func(b *bench) {
		c := b.create(b.fresh("a"))
		b.not("without a claim", c)(b.Cancel(b.Context(), c, false, at.Add(time.Hour)))
		c = b.claim(c, "r1", 5)
		b.not("another claim", c)(b.Cancel(b.Context(), b.fresh("a"), false, overNow(c)))
		b.not("while the claim lives", c)(b.Cancel(b.Context(), c, false, c.LeaseUntil))
		paused := b.pauses(c)
		after := c.LeaseUntil.Add(time.Millisecond)
		want := ended(paused, Cancelled)
		want.State, want.IsolateTo = Idle, 5
		b.made("cancelled, though paused", want)(b.Cancel(b.Context(), c, false, after))
		b.not("again", want)(b.Cancel(b.Context(), c, false, after))

		worn := b.claim(b.create(b.fresh("b")), "r1", 5)
		want = ended(worn, Cancelled)
		want.IsolateTo = 5
		b.made("for good", blocked(want, after))(b.Cancel(b.Context(), worn, true, after))
	})
}

// TestStoreOutcomes has more claims than outcomes are remembered.
func TestStoreOutcomes(t *testing.T) {
	each(t, func(b *bench) {
		c := b.create(b.fresh("a"))
		for i := range 9 {
			c = b.commits(b.claim(c, fmt.Sprint("r", i), c.Delivered+1))
		}
		b.made("one that is remembered", c)(b.commit(Held{b.queue, "a", Token{N: 6, Req: "r5"}}))
		b.not("one that is forgotten", c)(b.commit(Held{b.queue, "a", Token{N: 5, Req: "r4"}}))
	})
}

// at is a moment that the tables keep exactly.
var at = time.Date(2126, 3, 4, 5, 6, 7, int(8*time.Millisecond), time.UTC)

// bench is a store under test, with a queue that no other test has.
type bench struct {
	*testing.T
	*requests
	queue string
	// faults lets the store's requests go wrong.
	faults *ddbtest.Faults
}

// shared are the tables of all benches, on one engine of each kind.
var sharedNow = struct {
	sync.Mutex
	tables  []table.Definition
	engines map[ddbtest.Kind]ddb.Engine
}{
	tables: Names{Consumers: "consumers" + ddbtest.Suffix(),
		Audit: "operations" + ddbtest.Suffix()}.Tables(),
	engines: map[ddbtest.Kind]ddb.Engine{},
}

func sharedEngine(t *testing.T, kind ddbtest.Kind) ddb.Engine {
	t.Helper()
	sharedNow.Lock()
	defer sharedNow.Unlock()
	if sharedNow.engines[kind] == nil {
		sharedNow.engines[kind] = ddbtest.Open(t, kind, sharedNow.tables...)
	}
	return sharedNow.engines[kind]
}

func each(t *testing.T, test func(b *bench)) {
	t.Helper()
	ddbtest.Each(t, func(t *testing.T, kind ddbtest.Kind) {
		faults := ddbtest.NewFaults(sharedEngine(t, kind))
		test(&bench{T: t, requests: NewStore(faults, sharedNow.tables).Requests(request.Inside{}),
			queue: t.Name(), faults: faults})
	})
}

func same[T any](t *testing.T, what string, got, want T) {
	t.Helper()
	check.Is(t, cmp.Diff(want, got), "", what)
}

func (b *bench) check(err error) {
	b.Helper()
	check.OK(b.T, err)
}

// answer checks what a write answered, and that it is what stands there.
func (b *bench) answer(what string, want Consumer, wantMade bool) func(Consumer, bool,
	error) Consumer {
	return func(got Consumer, made bool, err error) Consumer {
		b.Helper()
		b.check(err)
		same(b.T, what+": made", made, wantMade)
		same(b.T, what, got, want)
		same(b.T, what+", as it stands there", b.standing(want.Queue, want.Name), want)
		return got
	}
}

// made checks a write that is made, or was before, and not one that is not.
func (b *bench) made(what string, want Consumer) func(Consumer, bool, error) Consumer {
	return b.answer(what, want, true)
}

func (b *bench) not(what string, want Consumer) func(Consumer, bool, error) Consumer {
	return b.answer(what, want, false)
}

func (b *bench) standing(queue, name string) Consumer {
	b.Helper()
	c := check.Get(b.Consumer(b.Context(), queue, name))
	return c
}

// fresh is a consumer that has just been made and started.
func (b *bench) fresh(name string) Consumer {
	return Consumer{Queue: b.queue, Name: name, State: Idle, Delivered: 3,
		Progress: Progress{From: 3, To: 3}, Control: Control{LastOp: "op 0"}}
}

func (b *bench) create(c Consumer) Consumer {
	b.Helper()
	return b.made("created", c)(b.CreateConsumer(b.Context(), c))
}

func claim(req string, to int64) request.Claim {
	return request.Claim{Req: req, To: to, Now: at, LeaseUntil: at.Add(time.Minute)}
}

func claimed(c Consumer, claim request.Claim) Consumer {
	c.Token = Token{N: c.Token.N + 1, Req: claim.Req}
	if c.TriedTo <= c.Delivered {
		c.Tried, c.TriedTo = 0, 0
	}
	if c.Attempts > 0 && c.Away == 0 {
		c.Tried, c.TriedTo = max(c.Tried+1, c.Attempts), max(c.TriedTo, c.failedTo())
	}
	c.State, c.From, c.To, c.LeaseUntil = Started, c.Delivered, claim.To, claim.LeaseUntil
	c.Attempts++
	if !c.alone() {
		c.Together++
	}
	c.RetryAt, c.Deferred = time.Time{}, false
	return c
}

func (b *bench) claim(c Consumer, req string, to int64) Consumer {
	b.Helper()
	return b.made("claimed", claimed(c, claim(req, to)))(b.Claim(b.Context(), c, claim(req, to)))
}

func (b *bench) commit(h Held) (Consumer, bool, error) {
	return b.Commit(b.Context(), h, Response{})
}

func (b *bench) fail(h Held, f request.Failure) (Consumer, bool, error) {
	return b.Fail(b.Context(), h, f)
}

// fails has a claim fail.
func (b *bench) fails(c Consumer, f request.Failure) Consumer {
	b.Helper()
	return b.made("failed", failedNow(c, f))(b.fail(heldBy(c), f))
}

func (b *bench) commits(c Consumer) Consumer {
	b.Helper()
	return b.made("committed", committed(c))(b.commit(heldBy(c)))
}

func (b *bench) pauses(c Consumer) Consumer {
	b.Helper()
	want := c
	want.Paused, want.PausedSince = "why", at
	return b.made("paused", want)(b.Pause(b.Context(), c.Queue, c.Name, "why", at))
}

// ended is c with the outcome of its claim remembered.
func ended(c Consumer, outcome TokenOutcome) Consumer {
	c.Outcomes[c.Token.N%4] = remember(c.Token, outcome)
	if outcome == Cancelled {
		c.Last = c.Last.With(died(c))
	}
	return c
}

func committed(c Consumer) Consumer {
	c = ended(c, Committed)
	c.State, c.Delivered, c.Attempts, c.Together = Idle, c.To, 0, 0
	c.Deferred, c.Last = false, request.Attempts{}
	return takenNow(c)
}

func takenNow(c Consumer) Consumer {
	c.Failed, c.Error, c.Shown, c.ReplyQueue, c.Away = time.Time{}, "", 0, "", 0
	c.FailingSince, c.Proven = time.Time{}, false
	return c
}

func failedNow(c Consumer, f request.Failure) Consumer {
	c = ended(c, Aborted)
	c.Failed, c.Error, c.Shown, c.ReplyQueue, c.Deferred, c.Away = f.Now, f.Error, f.Shown,
		f.ReplyQueue, false, f.Away
	if !f.Since.IsZero() {
		c.FailingSince = f.Since
	}
	c.Proven, c.Last = f.Proven, f.Last
	if f.Away > 0 {
		c.Attempts--
		if !f.Alone {
			c.Together--
		}
	} else {
		c.IsolateTo = c.To
	}
	if f.Block {
		return blocked(c, f.Now)
	}
	c.State, c.RetryAt = Idle, f.RetryAt
	return c
}

func blocked(c Consumer, now time.Time) Consumer {
	c.State, c.BlockedSince, c.RetryAt, c.Deferred = Blocked, now, time.Time{}, false
	c.Token.N++
	return c
}

func under(c Consumer, token Token) Consumer {
	c.Token = token
	return c
}

func failure(block bool) request.Failure {
	return request.Failure{
		Error: "no", Shown: 1, ReplyQueue: "x", Now: at.Add(time.Second),
		RetryAt: at.Add(2 * time.Second), Block: block,
		Since: at, Proven: true,
		Last: request.Attempts{{N: 1, Token: "1-r", To: 1, At: at, Took: time.Second, By: "fn",
			CallID: "id", Answer: "no", Shown: 1}},
	}
}
