package delivery

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/request"
	"github.com/streamsort/streamsort/pkg/table"
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

// TestStoreForwardOnly: what is decided is never claimed, failed or aborted, however long ago its
// lease was over.
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
		removed := check.Get(b.Remove(ctx, c))
		check.That(b.T, !removed, "%+v", removed)
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
		c = b.answer("started", c, true)(b.FinishStart(b.Context(), b.queue, "a", "op 0", 3))
		c = b.doubted(b.prepare(b.claim(c, "r1", 5)))
		c = b.answer("quarantined", asideNow(c), true)(b.Quarantine(b.Context(), c, overNow(c)))
		is("quarantined", `{attempts:0 consumer:a delivered:5 from:3 lastOp:op 0 leaseUntil:4928274427008 outcomes:{} quarantine:{1:{from:3 req:r1 since:4928274427008 state:IN_DOUBT to:5}} queue:q req:r1 rewinds:0 state:IDLE to:5 tokenN:1 v:1}`)
		c = b.claim(c, "r2", 8)
		c.Deferred = true
		b.answer("deferred", c, true)(b.Defer(b.Context(), c, c.LeaseUntil))
		is("deferred", `{attempts:1 consumer:a deferred:true delivered:5 from:5 lastOp:op 0 leaseUntil:4928274427008 outcomes:{} quarantine:{1:{from:3 req:r1 since:4928274427008 state:IN_DOUBT to:5}} queue:q req:r2 rewinds:0 state:STARTED to:8 together:1 tokenN:2 v:1}`)
		alone := failure(true)
		alone.Alone = true
		c = b.answer("failed", failedNow(c, alone), true)(b.Fail(b.Context(), b.queue, "a", c.Token, alone))
		c = b.answer("paused", pausedOf(c), true)(b.Pause(b.Context(), b.queue, "a", "why", at))
		c = b.answer("refused", refusedOf(c), true)(b.Refuse(b.Context(), b.queue, "a", c.Token, refusals{N: 2, Queue: "x", Why: "no", Since: at}))
		is("blocked, paused, and with replies refused", `{attempts:1 blockedSince:4928274368008 consumer:a delivered:5 error:no failed:4928274368008 failingSince:4928274367008 from:5 isolateTo:8 last:[{answer:no at:4928274367008 by:fn call:id from:0 ms:1000 n:1 shown:1 to:1 token:1-r}] lastOp:op 0 leaseUntil:4928274427008 outcomes:{2:{n:2 outcome:ABORTED sum:23f9Aa-V}} paused:why pausedSince:4928274367008 proven:true quarantine:{1:{from:3 req:r1 since:4928274427008 state:IN_DOUBT to:5}} queue:q refused:2 refusedBy:3-r2 refusedQueue:x refusedSince:4928274367008 refusedWhy:no replyQueue:x req:r2 rewinds:0 shown:1 state:BLOCKED to:8 together:1 tokenN:3 v:1}`)

		d := b.decide(b.claim(b.create(b.fresh("d")), "r1", 5))
		same(b.T, "decided", b.stored(0, "consumer", d.Name), `{attempts:1 consumer:d delivered:3 from:3 lastOp:op 0 leaseUntil:4928274427008 outbox:[{queue:x} {kind:numbered queue:n}] outcomes:{} quarantine:{} queue:q req:r1 rewinds:0 state:SENDING to:5 together:1 tokenN:1 v:1}`)

		op := b.operation(1)
		op.Done, op.Error = true, "no"
		op.Request, op.Who = map[string]string{"start": "first"}, Who{Kind: "jwt", Name: "sub", Client: "app"}
		b.check(b.RecordOperation(b.Context(), op))
		same(b.T, "operation", b.stored(1, "operation", "004928274367009 a op 1"), `{at:4928274367009 consumer:a done:true error:no kind:skip op:op 1 operation:004928274367009 a op 1 queue:q reason:why request:{start:first} seq:1 v:1 who:{client:app kind:jwt name:sub}}`)
		_, err := b.NameOperation(b.Context(), op)
		b.check(err)
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
		if _, made, err := b.Claim(b.Context(), b.fresh("a"), claim("r", 5)); made || !errors.Is(err, table.ErrNewerLayout) {
			b.Errorf("claim: made %v, error %v", made, err)
		}
	})
}
