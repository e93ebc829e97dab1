package cursor_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
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

// many are messages under the keys that a format makes of the numbers from 0 on.
func many(format string, n int, id string) []cursor.Message {
	all := make([]cursor.Message, n)
	for i := range all {
		all[i] = keyedOf(fmt.Sprintf(format, i), id)
	}
	return all
}

// TestARepeatDoesNotHaveALateOneSearchTheWholeLog: each reads what was placed while it waited.
func TestARepeatDoesNotHaveALateOneSearchTheWholeLog(t *testing.T) {
	b := newBench(t, withSettings(func(s *cursor.Settings) { s.Settle = 0 }))
	for i := range 80 {
		b.putKeyed(many(fmt.Sprintf("b%02d%%02d", i), queuelog.OrderItemEntries, "x")...)
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
	all := many("k%05d", n, "")
	for i := range all {
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
		b.putKeyed(many("m%04d", 100, "1")...)
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
		all := append(many("m%04d", late, "1"), many("z%04d", ahead, "1")...)
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

// TestLongWindowsAreReadByBounds: 100 messages a second that wait for a minute, out of order by up
// to five seconds, with a wake-up a second for what came in it. Each message is read three times at
// most, however many wait.
func TestLongWindowsAreReadByBounds(t *testing.T) {
	b := newBench(t, withSettings(func(s *cursor.Settings) { s.Settle = time.Minute }))
	items := b.counted()
	settler := b.process(cursor.Options{})
	const seconds, each = 150, 100
	type wakeUp struct {
		upTo sortkey.SortKey
		due  time.Time
	}
	var sent []int
	random := rand.New(rand.NewPCG(18, 9))
	for i := range seconds * each {
		sent = append(sent, i)
	}
	delay := map[int]int{}
	for _, i := range sent {
		delay[i] = i + random.IntN(5*each)
	}
	slices.SortFunc(sent, func(a, b int) int { return cmp.Compare(delay[a], delay[b]) })
	var wakeUps []wakeUp
	placed := 0
	wake := func() {
		for len(wakeUps) > 0 && !wakeUps[0].due.After(b.now) {
			did := check.Get(settler.Settle(t.Context(), "q", wakeUps[0].upTo))
			placed, wakeUps = placed+did.Placed, wakeUps[1:]
			check.Need(t, did.Late <= 0, "%d are late", did.Late)
		}
	}
	for batch := range slices.Chunk(sent, each) {
		var messages []cursor.Message
		var upTo sortkey.SortKey
		for _, i := range batch {
			messages = append(messages, keyedOf(fmt.Sprintf("%06d", i), "x"))
			upTo = max(upTo, sortkey.Era("").SortKey(textKey(t, fmt.Sprintf("%06d", i)), "x"))
		}
		b.putKeyed(messages...)
		wakeUps = append(wakeUps, wakeUp{upTo, b.now.Add(time.Minute)})
		b.later(time.Second)
		wake()
	}
	for len(wakeUps) > 0 {
		b.later(time.Second)
		wake()
	}
	per := float64(items["query waiting"]) / (seconds * each)
	t.Logf("each message is read %.2f times", per)
	check.That(t, placed == seconds*each && per <= 3,
		"%d placed, want %d; each is read %.2f times, want 3 at most", placed, seconds*each, per)
}

// TestLateOnesSideBySide: writers of late messages of one queue, each in a process of its own, and
// no settler who would place them together, lose some moves each, and not one to each of the
// others.
func TestLateOnesSideBySide(t *testing.T) {
	const writers, most = 32, 32 * 6 // N log N, and N of those that are won
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, withSettings(func(s *cursor.Settings) { s.Settle = 0 }))
		b.putKeyed(keyedOf("z", "1"))
		b.settle(sortkey.EverySortKey)
		var one sync.Mutex
		moves := 0
		next := b.engine
		b.engine = ddb.Func(func(ctx context.Context, r ddb.Request) (ddb.Answer, error) {
			bubble.Sleep(5 * time.Millisecond)
			if r.Name() == "give places" {
				one.Lock()
				defer one.Unlock()
				moves++
			}
			return next.Do(ctx, r)
		})
		var all sync.WaitGroup
		for i := range writers {
			s := b.process(cursor.Options{})
			all.Go(func() {
				r := s.Put(t.Context(), keyedOf("a", fmt.Sprint(i)))[0]
				err := r.Err
				check.That(t, err == nil && r.Outcome == cursor.Advanced && r.Late, "%+v, %v", r, err)
			})
		}
		began := time.Now()
		all.Wait()
		t.Logf("%d moves in %v", moves, time.Since(began))
		check.That(t, moves <= most, "%d writes for %d places, want %d at most", moves, writers, most)
	})
}

// overtaken is an engine on which another places a late message before each move.
func (b *bench) overtaken() {
	next, within, n := b.engine, false, 0
	other := b.process(cursor.Options{})
	b.engine = ddb.Func(func(ctx context.Context, r ddb.Request) (ddb.Answer, error) {
		if r.Name() == "give places" && !within {
			within = true
			n++
			check.OK(b.t, other.Put(ctx, keyedOf("b", fmt.Sprint(n)))[0].Err)
			within = false
		}
		return next.Do(ctx, r)
	})
}

// TestWhoLosesEachMove waits longer and longer, and gives up in the end: a writer tells its caller
// to repeat, a settler that there is more.
func TestWhoLosesEachMove(t *testing.T) {
	var pauses []string
	pause := func(_ context.Context, most time.Duration) error {
		pauses = append(pauses, most.String())
		return nil
	}
	want := strings.Fields("10ms 20ms 40ms 80ms 160ms 320ms 640ms 1.28s 2.56s 5.12s")
	b := newBench(t, withSettings(func(s *cursor.Settings) { s.Settle = 0 }))
	b.putKeyed(keyedOf("y", "1"))
	b.settle(sortkey.EverySortKey)
	b.overtaken()
	err := b.process(cursor.Options{Pause: pause}).Put(t.Context(), keyedOf("a", "1"))[0].Err
	check.That(t, errors.Is(err, cursor.ErrThrottled) && slices.Equal(pauses, want),
		"%v after pauses of at most %v", err, pauses)
	b.putKeyed(keyedOf("z", "1"))
	pauses = nil
	did, err := b.process(cursor.Options{Pause: pause}).Settle(t.Context(), "q", sortkey.EverySortKey)
	check.That(t, err == nil && did.More && did.Placed <= 0 && slices.Equal(pauses, want),
		"%+v, %v after pauses of at most %v", did, err, pauses)
	// Whose time is over gives up at once.
	enough := errors.New("enough")
	s := b.process(cursor.Options{Pause: func(context.Context, time.Duration) error { return enough }})
	check.Fails(t, s.Put(t.Context(), keyedOf("a", "1"))[0].Err, enough, "put")
	check.Fails(t, check.Err(s.Settle(t.Context(), "q", sortkey.EverySortKey)), enough, "settle")
}
