package delivery

import (
	"fmt"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/ddbtest"
	"github.com/streamsort/streamsort/internal/request"
)

func TestStoreCreate(t *testing.T) {
	each(t, func(b *bench) {
		c := b.fresh("a")
		c.Starting = "op 0"
		b.create(c)
		b.made("again", c)(b.CreateConsumer(b.Context(), c))
		other := c
		other.LastOp, other.Delivered = "op 1", 9
		b.not("by another", c)(b.CreateConsumer(b.Context(), other))
		lowest := b.fresh("lowest")
		lowest.Delivered, lowest.From, lowest.To = -1, -1, -1
		b.create(lowest)
	})
}

// writes are those that change a consumer's claim or place, late enough for each.
func (b *bench) writes(c Consumer) map[string]func() (Consumer, bool, error) {
	ctx, queue, name, token := b.Context(), c.Queue, c.Name, c.Token
	now, next := overNow(c).Add(time.Hour), later(c, "r2")
	return map[string]func() (Consumer, bool, error){
		"claim":            func() (Consumer, bool, error) { return b.Claim(ctx, c, next) },
		"block":            func() (Consumer, bool, error) { return b.Block(ctx, c, now) },
		"commit":           func() (Consumer, bool, error) { return b.Commit(ctx, Held{queue, name, token}, Response{}) },
		"commit and claim": func() (Consumer, bool, error) { return b.CommitAndClaim(ctx, c, next, Response{}) },
		"fail":             func() (Consumer, bool, error) { return b.Fail(ctx, Held{queue, name, token}, failure(false)) },
		"fail for good":    func() (Consumer, bool, error) { return b.Fail(ctx, Held{queue, name, token}, failure(true)) },
		"cancel":           func() (Consumer, bool, error) { return b.Cancel(ctx, c, false, now) },
		"skip":             func() (Consumer, bool, error) { return b.Unblock(ctx, c, true, "op 1") },
		"rewind":           func() (Consumer, bool, error) { return b.Rewind(ctx, c, 3, "op 1") },
		"keep start":       func() (Consumer, bool, error) { return b.KeepStart(ctx, queue, name, "op", 1) },
		"finish start":     func() (Consumer, bool, error) { return b.FinishStart(ctx, queue, name, "op", 1) },
		"prepare":          func() (Consumer, bool, error) { return b.Prepare(ctx, Held{queue, name, token}) },
		"extend":           func() (Consumer, bool, error) { return b.Extend(ctx, Held{queue, name, token}, now) },
		"mark in doubt":    func() (Consumer, bool, error) { return b.MarkInDoubt(ctx, c, now) },
		"quarantine":       func() (Consumer, bool, error) { return b.Quarantine(ctx, c, now) },
		"release":          func() (Consumer, bool, error) { return b.Release(ctx, Held{queue, name, token}, "op") },
		"commit prepared":  func() (Consumer, bool, error) { return b.CommitPrepared(ctx, Held{queue, name, token}) },
		"abort prepared": func() (Consumer, bool, error) {
			return b.AbortPrepared(ctx, Held{queue, name, token}, failure(false))
		},
		"settle": func() (Consumer, bool, error) {
			return b.SettleQuarantined(ctx, Held{queue, name, token}, Committed, true, "")
		},
	}
}

func TestStoreNoConsumer(t *testing.T) {
	each(t, func(b *bench) {
		ctx, seen, token := b.Context(), b.fresh("a"), Token{N: 1, Req: "r"}
		seen.Token = token
		writes := b.writes(seen)
		writes["pause"] = func() (Consumer, bool, error) { return b.Pause(ctx, b.queue, "a", "why", at) }
		writes["decide"] = func() (Consumer, bool, error) {
			return b.Decide(ctx, Held{b.queue, "a", token}, outboxNow)
		}
		writes["finish"] = func() (Consumer, bool, error) {
			return b.Finish(ctx, Held{b.queue, "a", token})
		}
		writes["refuse"] = func() (Consumer, bool, error) {
			return b.Refuse(ctx, Held{b.queue, "a", token}, refusals{N: 1, Why: "no", Since: at})
		}
		for what, write := range writes {
			got, made := check.Get2(write())
			same(b.T, what+": made", made, false)
			same(b.T, what, got, Consumer{})
			same(b.T, what+", as it stands there", b.standing(b.queue, "a"), Consumer{})
		}
	})
}

// TestStoreConsumers has them all at once, and one a page.
func TestStoreConsumers(t *testing.T) {
	each(t, func(b *bench) {
		want := []Consumer{b.create(b.fresh("a")), b.create(b.fresh("b")), b.create(b.fresh("c"))}
		other := b.fresh("d")
		other.Queue = b.queue + " 2"
		b.create(other)
		pageOf := func(what, queue, after string, want ...Consumer) {
			b.Helper()
			page, next := check.Get2(b.Consumers(b.Context(), queue, after))
			same(b.T, what, page, want)
			same(b.T, what+": next", next, "")
		}
		pageOf("all", b.queue, "", want...)
		pageOf("of no queue", b.queue+" none", "")
		pageOf("after the last", b.queue, "c")
		var got []Consumer
		for after := ""; len(got) < len(want); {
			b.faults.Fail(1, ddbtest.Partial)
			page, next := check.Get2(b.Consumers(b.Context(), b.queue, after))
			same(b.T, "consumers of a page", len(page), 1)
			got, after = append(got, page...), next
		}
		same(b.T, "all", got, want)
	})
}

func TestStoreUnblock(t *testing.T) {
	each(t, func(b *bench) {
		c := b.create(b.fresh("a"))
		stuck := b.made("blocked", blocked(c, at))(b.Block(b.Context(), c, at))
		elsewhere := stuck
		elsewhere.Delivered = 7
		b.not("at another message", stuck)(b.Unblock(b.Context(), elsewhere, true, "op 1"))

		want := stuck
		want.State, want.Delivered, want.LastOp, want.BlockedSince = Idle, 4, "op 1", time.Time{}
		want.Token.N++
		b.made("skipped", want)(b.Unblock(b.Context(), stuck, true, "op 1"))
		b.made("again", want)(b.Unblock(b.Context(), stuck, true, "op 1"))
		b.not("by another", want)(b.Unblock(b.Context(), stuck, true, "op 2"))

		claimed := b.claim(want, "r", 5)
		stuck = b.fails(claimed, awayNow(true))
		want = stuck
		want.State, want.Attempts, want.Together, want.LastOp, want.BlockedSince = Idle,
			0, 0, "op 3", time.Time{}
		want = takenNow(want)
		want.Token.N++
		b.made("redriven", want)(b.Unblock(b.Context(), stuck, false, "op 3"))

		anew := b.made("blocked", blocked(want, at))(b.Block(b.Context(), want, at))
		b.not("blocked anew at the same message", anew)(b.Unblock(b.Context(), stuck, true, "op 4"))

		trying := b.claim(b.create(b.fresh("trying")), "r", 4)
		b.not("in flight", trying)(b.Unblock(b.Context(), trying, true, "op 4"))
		refusal := failure(false)
		failed := b.fails(trying, refusal)
		again := b.claim(failed, "r2", 4)
		b.not("tried meanwhile", again)(b.Unblock(b.Context(), failed, true, "op 4"))
		moved := b.commits(again)
		b.not("taken meanwhile", moved)(b.Unblock(b.Context(), failed, true, "op 4"))

		waits := b.fails(b.claim(b.create(b.fresh("waits")), "r", 4), refusal)
		skipped := operated(waits, 4, "op 4")
		b.made("skipped before it blocks", skipped)(b.Unblock(b.Context(), waits, true, "op 4"))
		b.made("again", skipped)(b.Unblock(b.Context(), waits, true, "op 4"))
		b.not("by who saw it before", skipped)(b.Claim(b.Context(), waits, later(waits, "r3")))

		often := b.triedOften("often")
		b.made("it is tried from the first attempt", operated(often, often.Delivered, "op 5"))(
			b.Unblock(b.Context(), often, false, "op 5"))
	})
}

func TestStoreRewind(t *testing.T) {
	each(t, func(b *bench) {
		c := b.create(b.fresh("a"))
		want := c
		want.Delivered, want.Rewinds, want.Starting, want.LastOp = 1, 1, "op 1", "op 1"
		want.Token.N++
		b.made("set back", want)(b.Rewind(b.Context(), c, 1, "op 1"))
		b.made("again", want)(b.Rewind(b.Context(), c, 1, "op 1"))
		b.not("by another", want)(b.Rewind(b.Context(), c, 0, "op 2"))

		waiting := b.waiting("waiting")
		want = b.fresh("waiting")
		want.Token, want.To, want.LeaseUntil, want.Outcomes = waiting.Token, waiting.To,
			waiting.LeaseUntil, waiting.Outcomes
		want.Delivered, want.Rewinds, want.Starting, want.LastOp = 1, 1, "op 1", "op 1"
		want.Token.N++
		b.made("one that waits", want)(b.Rewind(b.Context(), waiting, 1, "op 1"))

		held := b.claim(b.create(b.fresh("held")), "r", 5)
		b.not("while a claim is in flight", held)(b.Rewind(b.Context(), held, 1, "op 1"))

		stuck := b.fails(b.claim(b.create(b.fresh("stuck")), "r", 8), failure(true))
		want = stuck
		want.State, want.Delivered, want.Rewinds, want.BlockedSince = Idle, 9, 1, time.Time{}
		want = takenNow(want)
		want.Attempts, want.Together, want.IsolateTo, want.Last = 0, 0, 0, request.Attempts{}
		want.Starting, want.LastOp = "op 1", "op 1"
		want.Token.N++
		b.made("a blocked one", want)(b.Rewind(b.Context(), stuck, 9, "op 1"))

		often := b.triedOften("often")
		want = operated(often, 1, "op 1")
		want.Rewinds, want.Starting, want.IsolateTo = 1, "op 1", 0
		b.made("it is tried from the first attempt", want)(b.Rewind(b.Context(), often, 1, "op 1"))
	})
}

// triedOften is a consumer that is blocked after two claims that failed.
func (b *bench) triedOften(name string) Consumer {
	c := b.fails(b.claim(b.create(b.fresh(name)), "r1", 5), failure(false))
	c = b.claim(c, "r2", 5)
	check.Need(b.T, c.Tried != 0, "%+v was not tried before", c)
	return b.fails(c, failure(true))
}

// operated is what an operator makes of a blocked consumer.
func operated(c Consumer, delivered int64, op string) Consumer {
	c = takenNow(c)
	if delivered != c.Delivered {
		c.Last = request.Attempts{}
	}
	c.State, c.Delivered, c.LastOp, c.BlockedSince = Idle, delivered, op, time.Time{}
	c.Attempts, c.Together, c.Tried, c.TriedTo, c.RetryAt = 0, 0, 0, 0, time.Time{}
	c.Token.N++
	return c
}

func TestStoreKeepStart(t *testing.T) {
	each(t, func(b *bench) {
		c := b.fresh("a")
		c.Starting = "op 0"
		b.create(c)
		keep := func(op string, from int64) (Consumer, bool, error) {
			return b.KeepStart(b.Context(), b.queue, "a", op, from)
		}
		b.not("another start", c)(keep("op 1", 9))
		want := c
		want.KeptFrom = 9
		b.made("kept", want)(keep("op 0", 9))
		b.made("less", want)(keep("op 0", 10))
		want.KeptFrom = 4
		b.made("more", want)(keep("op 0", 4))
		want.Token.N, want.Delivered, want.Rewinds, want.Starting, want.LastOp, want.KeptFrom = 1, 1, 1,
			"op 1", "op 1", 0
		b.made("rewound", want)(b.Rewind(b.Context(), c, 1, "op 1"))
		b.not("the one before", want)(keep("op 0", 2))
		want.KeptFrom = 7
		b.made("kept anew", want)(keep("op 1", 7))
		want.Starting, want.KeptFrom = "", 0
		b.made("finished", want)(b.FinishStart(b.Context(), b.queue, "a", "op 1", 1))
		b.not("late", want)(keep("op 1", 2))
	})
}

func TestStoreFinishStart(t *testing.T) {
	each(t, func(b *bench) {
		c := b.fresh("a")
		c.Starting = "op 0"
		b.create(c)
		b.not("of one that began further back", c)(b.FinishStart(b.Context(), b.queue, "a", "op 0", 2))
		b.not("another start", c)(b.FinishStart(b.Context(), b.queue, "a", "op 1", 9))
		want := c
		want.Starting, want.Delivered = "", 5
		b.made("finished", want)(b.FinishStart(b.Context(), b.queue, "a", "op 0", 5))
		b.made("again, at another place", want)(b.FinishStart(b.Context(), b.queue, "a", "op 0", 6))
		b.not("another's", want)(b.FinishStart(b.Context(), b.queue, "a", "op 1", 6))
	})
}

func TestStorePause(t *testing.T) {
	each(t, func(b *bench) {
		c := b.claim(b.create(b.fresh("a")), "r", 5)
		b.pauses(c)
		b.made("resumed", c)(b.Pause(b.Context(), b.queue, "a", "", at))
		b.made("again", c)(b.Pause(b.Context(), b.queue, "a", "", at))
	})
}

func TestStoreRemove(t *testing.T) {
	each(t, func(b *bench) {
		remove := func(what string, seen Consumer, want bool) {
			b.Helper()
			done := check.Get(b.Remove(b.Context(), seen))
			same(b.T, what, done, want)
		}
		c := b.create(b.fresh("a"))
		held := b.claim(c, "r", 5)
		remove("with a claim in flight", held, false)
		remove("as it was before the claim", c, false)
		free := b.commits(held)
		remove("as it was before it was claimed and committed", c, false)
		remove("free", free, true)
		same(b.T, "removed", b.standing(b.queue, "a"), Consumer{})
		remove("again", free, true)
	})
}

// TestStoreErase: a consumer goes whatever it is at, but for one that is Sending.
func TestStoreErase(t *testing.T) {
	each(t, func(b *bench) {
		erased := func(what, name string, want bool) {
			b.Helper()
			gone := check.Get(b.Erase(b.Context(), b.queue, name))
			same(b.T, what, gone, want)
			same(b.T, what+", as it stands there", !b.standing(b.queue, name).Exists(), want)
		}
		erased("none", "a", true)
		b.create(b.fresh("a"))
		erased("an idle one", "a", true)
		erased("again", "a", true)
		b.claim(b.create(b.fresh("a")), "r1", 5)
		b.create(b.fresh("b"))
		erased("a claimed one", "a", true)
		same(b.T, "another", b.standing(b.queue, "b").Exists(), true)
		b.doubted(b.prepare(b.claim(b.create(b.fresh("a")), "r1", 5)))
		erased("one in doubt", "a", true)
		b.decide(b.claim(b.create(b.fresh("a")), "r1", 5))
		erased("one that is sending", "a", false)
	})
}

func (b *bench) operation(i int) Operation {
	return Operation{
		Queue: b.queue, Consumer: "a", At: at.Add(time.Duration(i) * time.Millisecond),
		Op:   fmt.Sprint("op ", i),
		Kind: "skip", Seq: int64(i), Reason: "why",
	}
}

func TestStoreActs(t *testing.T) {
	each(t, func(b *bench) {
		first, second := b.operation(1), b.operation(2)
		second.Seq = -1
		for _, a := range []Operation{first, second, first} {
			b.check(b.RecordOperation(b.Context(), a))
		}
		second.Error, second.ReplyQueue = "no", "x"
		first.Done = true
		b.check(b.RecordOperation(b.Context(), first))
		b.check(b.RecordOperation(b.Context(), second))
		other := b.operation(3)
		other.Queue = b.queue + " 2"
		b.check(b.RecordOperation(b.Context(), other))
		page, next := check.Get2(b.Audit(b.Context(), b.queue, ""))
		same(b.T, "operations", page, []Operation{second, first})
		same(b.T, "next", next, "")
	})
}

// TestStoreNamesOperations: an id is that of one operation of its queue.
func TestStoreNamesOperations(t *testing.T) {
	each(t, func(b *bench) {
		first := b.operation(1)
		first.Request, first.Who = map[string]string{"start": "first"}, Who{Kind: "iam", Name: "arn"}
		named := func(what string, o Operation, want bool) {
			b.Helper()
			ours := check.Get(b.NameOperation(b.Context(), o))
			same(b.T, what+": is named", check.Get(b.Named(b.Context(), o)), want)
			same(b.T, what, ours, want)
		}
		named("the first", first, true)
		named("again", first, true)
		later := first
		later.At, later.Who = later.At.Add(time.Hour), Who{}
		named("later, by another", later, true)
		for what, change := range map[string]func(*Operation){
			"another consumer": func(o *Operation) { o.Consumer = "b" },
			"another action":   func(o *Operation) { o.Kind = "redrive" },
			"another seq":      func(o *Operation) { o.Seq++ },
			"another reason":   func(o *Operation) { o.Reason = "other" },
			"another place":    func(o *Operation) { o.Request = map[string]string{"start": "latest"} },
			"no place":         func(o *Operation) { o.Request = nil },
		} {
			o := first
			change(&o)
			named(what, o, false)
		}
		named("nothing changed", first, true)
		elsewhere := first
		elsewhere.Queue += " 2"
		elsewhere.Seq++
		named("of another queue", elsewhere, true)
		b.check(b.RecordOperation(b.Context(), first))
		page, next := check.Get2(b.Audit(b.Context(), b.queue, ""))
		same(b.T, "the audit log has it once", page, []Operation{first})
		same(b.T, "next", next, "")
	})
}

func TestStoreActsPages(t *testing.T) {
	each(t, func(b *bench) {
		const operations = 130
		for i := range operations {
			b.check(b.RecordOperation(b.Context(), b.operation(i)))
		}
		seen := operations
		for after := ""; ; {
			page, next := check.Get2(b.Audit(b.Context(), b.queue, after))
			for _, a := range page {
				seen--
				same(b.T, "action", a, b.operation(seen))
			}
			if next == "" {
				break
			}
			after = next
		}
		same(b.T, "operations that were not shown", seen, 0)
	})
}
