package delivery

import (
	"errors"
	"strings"
	"testing"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/pkg/table"
)

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

// TestStoreItems pins what stands in the tables, which other versions of this
// package read.
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
		if _, err := b.Consumer(b.Context(), b.queue, "a"); !errors.Is(err, table.ErrNewerLayout) {
			b.Errorf("get: error %v", err)
		}
		if _, _, err := b.Consumers(b.Context(), b.queue, ""); !errors.Is(err, table.ErrNewerLayout) {
			b.Errorf("list: error %v", err)
		}
		if _, made, err := b.Claim(b.Context(), b.fresh("a"), claim("r", 5)); made || !errors.Is(err, table.ErrNewerLayout) {
			b.Errorf("claim: made %v, error %v", made, err)
		}
	})
}
