package cursor_test

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/bubble"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/fanout"
	"github.com/streamsort/streamsort/internal/queuelog"
	"github.com/streamsort/streamsort/internal/sortkey"
	"github.com/streamsort/streamsort/pkg/cursor"
)

// counted is an engine that counts what requests of a name return.
func (b *bench) counted() map[string]int {
	items := map[string]int{}
	next := b.engine
	b.engine = ddb.Func(func(ctx context.Context, r ddb.Request) (ddb.Answer, error) {
		a, err := next.Do(ctx, r)
		items[r.Name()] += len(a.Items)
		return a, err
	})
	return items
}

// TestARepeatDoesNotHaveALateOneSearchTheWholeLog: each reads what was placed while it waited.
func TestARepeatDoesNotHaveALateOneSearchTheWholeLog(t *testing.T) {
	b := newBench(t, withSettings(func(s *cursor.Settings) { s.Settle = 0 }))
	for i := range 80 {
		var group []cursor.Message
		for n := range queuelog.OrderItemEntries {
			group = append(group, keyedOf(fmt.Sprintf("b%02d%02d", i, n), "x"))
		}
		b.putKeyed(group...)
		b.settle(sortkey.EverySortKey)
	}
	items := b.counted()
	b.sorter = b.process(cursor.Options{})
	b.want("the first again, and a late one", b.putKeyed(keyedOf("b0000", "x"), keyedOf("a", "1")),
		"duplicate 1, advanced 1921 late")
	n := items["query order items"]
	check.That(t, n <= 20, "%d order items of 79 were read", n)
}

// TestStraysBetweenDoNotHoldUpAReader: what came late between two messages is not read with them,
// however much that is.
func TestStraysBetweenDoNotHoldUpAReader(t *testing.T) {
	b := newBench(t, withSettings(func(s *cursor.Settings) { s.Settle = 0 }))
	b.putKeyed(keyedOf("a", "1"), keyedOf("b", "1"), keyedOf("z", "1"))
	b.settle(sortkey.EverySortKey)
	for i := range 2000 {
		b.putKeyed(keyedOf(fmt.Sprintf("m%04d", i), "1"))
	}
	items := b.counted()
	n := 0
	for m, err := range b.process(cursor.Options{}).Read(t.Context(), "q", 0, 3) {
		check.OK(t, err)
		if n++; m.Seq != int64(n) || m.Late {
			t.Errorf("%+v", m)
		}
	}
	read := items["query waiting"] + items["get arrivals"]
	check.That(t, n == 3 && read <= 100, "%d were read, by %d items", n, read)
}

// TestManyThatWait are placed in their order, though a look keeps only some thousands of them; and
// one far behind that is due has all before it placed.
func TestManyThatWait(t *testing.T) {
	b := newBench(t, nil)
	b.putKeyed(keyedOf("z", "1"))
	b.later(4 * time.Second)
	const n = 10_000
	var all []cursor.Message
	for i := range n {
		all = append(all, keyedOf(fmt.Sprintf("k%05d", i), ""))
		all[i].ID = "x"
	}
	b.putKeyed(all...)
	b.want("nothing is due", b.settle(sortkey.EverySortKey), fmt.Sprintf("0 placed, %d waiting", n+1))
	b.later(time.Second)
	b.want("the last one is", b.settle(sortkey.EverySortKey), fmt.Sprintf("%d placed", n+1))
	log := b.keyedLog()
	check.That(t, strings.HasPrefix(log, "k00000 k00001 ") && strings.HasSuffix(log, " z1") &&
		!strings.Contains(log, "!"), "log %.60s", log)
}

// TestALookThatIsStoppedGoesOn where it was: what it has read below the watermark is not read
// again.
func TestALookThatIsStoppedGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, withSettings(func(s *cursor.Settings) { s.Settle = 0 }))
		b.putKeyed(keyedOf("z", "1"))
		b.settle(sortkey.EverySortKey)
		var late []cursor.Message
		for i := range 100 {
			late = append(late, keyedOf(fmt.Sprintf("m%04d", i), "1"))
		}
		b.putKeyed(late...)
		// Pages of ten, a second each, and time for five of them.
		next := b.engine
		b.engine = ddb.Func(func(ctx context.Context, r ddb.Request) (ddb.Answer, error) {
			if q, ok := r.(ddb.Query); ok && q.Name() == "query waiting" {
				bubble.Sleep(time.Second)
				q.Limit = 10
				r = q
			}
			return next.Do(ctx, r)
		})
		calls := 0
		for more := true; more; calls++ {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			did, err := b.process(cursor.Options{}).Settle(ctx, "q", sortkey.EverySortKey)
			cancel()
			check.OK(t, err)
			more = did.More
			check.Need(t, calls <= 4, "it begins again each time")
		}
		check.That(t, calls >= 2, "it was never stopped")
	})
}

// TestTheTimeIsUpBehindEachRequest of a settle, or of a sweep, whose work is done by halves, or by
// the context's end: what is left is said, and the next one goes on with it.
func TestTheTimeIsUpBehindEachRequest(t *testing.T) {
	const most, late, ahead = 10 * time.Second, 20, 150 // more than a move
	settle := func(ctx context.Context, s *cursor.Sorter) (more bool, err error) {
		did, err := s.Settle(ctx, "q", sortkey.EverySortKey)
		return did.More || err != nil, err
	}
	sweep := func(ctx context.Context, s *cursor.Sorter) (more bool, err error) {
		_, err = s.Sweep(ctx, cursor.SweepOptions{Segments: 1})
		return true, err // it may have left the queue to the next one
	}
	run := func(t *testing.T, do func(context.Context, *cursor.Sorter) (bool, error), k int,
		slow time.Duration) (happened bool) {
		b := newBench(t, withSettings(func(s *cursor.Settings) { s.Settle = 0 }))
		b.putKeyed(keyedOf("y", "1"))
		b.settle(sortkey.EverySortKey)
		var all []cursor.Message
		for i := range late {
			all = append(all, keyedOf(fmt.Sprintf("m%04d", i), "1"))
		}
		for i := range ahead {
			all = append(all, keyedOf(fmt.Sprintf("z%04d", i), "1"))
		}
		next, n := b.engine, 0
		b.engine = ddb.Func(func(ctx context.Context, r ddb.Request) (ddb.Answer, error) {
			if r.Name() == "give places" {
				return ddb.Answer{}, context.Canceled // the writers die before
			}
			return next.Do(ctx, r)
		})
		b.process(cursor.Options{}).Put(t.Context(), all...)
		b.engine = ddb.Func(func(ctx context.Context, r ddb.Request) (ddb.Answer, error) {
			a, err := next.Do(context.WithoutCancel(ctx), r)
			if n++; n == k {
				bubble.Sleep(slow)
				happened = true
			}
			return a, cmp.Or(err, ctx.Err())
		})
		ctx, cancel := context.WithTimeout(t.Context(), most)
		defer cancel()
		more, err := do(ctx, b.process(cursor.Options{ForEach: fanout.OneByOne}))
		check.That(t, err == nil || slow >= most, "request %d: %v", k, err)
		b.engine = next
		for calls := 0; more && calls < 9; calls++ {
			more = check.Get(settle(t.Context(), b.process(cursor.Options{})))
		}
		log := b.keyedLog()
		marks := strings.Count(log, "!")
		check.That(t, marks == late && strings.Count(log, " ") == late+ahead &&
			strings.HasPrefix(log, "y1 m00001! "),
			"request %d, %v: %d late, log %s", k, slow, marks, log)
		return happened
	}
	synctest.Test(t, func(t *testing.T) {
		for _, do := range []func(context.Context, *cursor.Sorter) (bool, error){settle, sweep} {
			for _, slow := range []time.Duration{most/2 + 1, most} {
				for k := 1; run(t, do, k, slow); k++ {
				}
			}
		}
	})
}

// TestAMessageThatHasSeenAMoveOfAnother is not stale: the look was begun before the move.
func TestAMessageThatHasSeenAMoveOfAnother(t *testing.T) {
	b := newBench(t, withSettings(func(s *cursor.Settings) { s.Settle = 0 }))
	b.putKeyed(keyedOf("a", "1"))
	next, once := b.engine, true
	b.engine = ddb.Func(func(ctx context.Context, r ddb.Request) (ddb.Answer, error) {
		if q, ok := r.(ddb.Query); ok && q.Name() == "query waiting" && once {
			once = false
			b.settle(sortkey.EverySortKey)
			b.sorter = b.process(cursor.Options{})
			b.putKeyed(keyedOf("b", "1"))
		}
		return next.Do(ctx, r)
	})
	b.want("settle", b.settle(sortkey.EverySortKey), "1 placed")
	b.want("log", b.keyedLog(), "a1 b1")
}
