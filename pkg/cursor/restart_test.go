package cursor_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/sortkey"
	"github.com/streamsort/streamsort/pkg/cursor"
)

// restart begins the keys anew by another process.
func (b *bench) restart(op string) cursor.Cursor {
	b.t.Helper()
	return check.Get(b.process(cursor.Options{}).RestartKeys(b.t.Context(), "q", op))
}

// TestKeysBeginAnew: what waits is placed, the log says where the next era begins, and order holds
// within each.
func TestKeysBeginAnew(t *testing.T) {
	b := newBench(t, nil)
	b.want("put", b.putKeyed(keyedOf("c", "1"), keyedOf("b", "1")), "waiting 14, waiting 14")
	b.later(time.Second)
	b.restart("one")
	b.want("log", b.keyedLog(), "b1 c1 |")
	b.want("one that knows the queue from before", b.putKeyed(keyedOf("a", "1")), "advanced 4 late")
	b.want("of the next era", b.putKeyed(keyedOf("b", "1"), keyedOf("a", "2")),
		"waiting 15, waiting 15")
	b.later(5 * time.Second)
	b.want("settled", b.settle(sortkey.EverySortKey), "2 placed")
	b.want("log", b.keyedLog(), "b1 c1 | a1! a2 b1")
	b.want("what waits is seen", b.putKeyed(keyedOf("d", "1")), "waiting 20")
	if cur := b.status(); cur.High.Key().String() != "b" || cur.Position != 6 {
		t.Errorf("high %s, position %d", cur.High.Key(), cur.Position)
	}
	// A repeat of the order does nothing, another one begins the next era.
	b.want("position", fmt.Sprint(b.restart("one").Position), "6")
	b.want("position", fmt.Sprint(b.restart("two").Position), "8")
	b.want("log", b.keyedLog(), "b1 c1 | a1! a2 b1 d1 |")
	b.want("verified", b.verified(0, 8), "0 to 8: 6, 2 skipped")
}

// TestNothingIsDroppedByARestart: a message whose writer did not know of it is late, and stays.
func TestNothingIsDroppedByARestart(t *testing.T) {
	b := newBench(t, withSettings(func(s *cursor.Settings) { s.Late, s.Settle = cursor.LateDrop, 0 }))
	b.putKeyed(keyedOf("c", "1"))
	b.settle(sortkey.EverySortKey)
	b.restart("one")
	old := b.sorter
	b.sorter = b.process(cursor.Options{})
	b.want("of the next era", b.putKeyed(keyedOf("b", "2")), "waiting 09")
	b.settle(sortkey.EverySortKey)
	b.want("late in it", b.putKeyed(keyedOf("a", "2")), "dropped 4 late")
	b.sorter = old
	b.want("of the era before", b.putKeyed(keyedOf("a", "1")), "advanced 5 late")
	b.want("log", b.keyedLog(), "c1 | b2 - a1!")
}

// TestOnlyKeyedQueuesBeginAnew and such as are there.
func TestOnlyKeyedQueuesBeginAnew(t *testing.T) {
	b := newBench(t, nil)
	_, err := b.sorter.RestartKeys(t.Context(), "q", "op")
	check.That(t, errors.Is(err, cursor.ErrNoQueue), "%v", err)
	b.put(body(1))
	refuses(t, "queue", check.Err(b.sorter.RestartKeys(t.Context(), "q", "op")), "queue")
}

// TestACounterThatBeganAgain is announced when 20 messages in a row were late, and not before.
func TestACounterThatBeganAgain(t *testing.T) {
	b := newBench(t, withSettings(func(s *cursor.Settings) { s.Settle = 0 }))
	sweep := func() string {
		t.Helper()
		var said []string
		check.Get(b.process(cursor.Options{}).Sweep(t.Context(),
			cursor.SweepOptions{Segments: 1, Announce: func(_ context.Context, a cursor.Announcement) error {
				_, at, _ := strings.Cut(a.ID, "/1/")
				said = append(said, fmt.Sprint(a.Kind, " ", a.Late, " ", at))
				return nil
			}}))
		return strings.Join(said, ", ")
	}
	late := func(from, to int) {
		t.Helper()
		for i := from; i < to; i++ {
			b.putKeyed(keyedOf(fmt.Sprintf("a%02d", i), "x"))
		}
	}
	b.putKeyed(keyedOf("k", "x"))
	b.settle(sortkey.EverySortKey)
	late(0, 19)
	b.want("19 in a row", sweep(), "message.late 19 q/19")
	b.putKeyed(keyedOf("l", "x"))
	b.settle(sortkey.EverySortKey)
	late(19, 38)
	b.want("19 behind one that is not late", sweep(), "message.late 19 q/38")
	b.want("nothing new", sweep(), "")
	late(38, 39)
	b.want("20 in a row", sweep(), "keys.behind 20 q/22, message.late 1 q/39")
	late(39, 41)
	b.want("and two more", sweep(), "keys.behind 22 q/22, message.late 2 q/41")
	b.restart("one")
	b.sorter = b.process(cursor.Options{})
	b.putKeyed(keyedOf("a00", "x"))
	b.want("anew", sweep(), "")
	if cur := b.status(); cur.LateInRow != 0 || cur.LateSoFar != 41 {
		t.Errorf("%d late in a row, %d in all", cur.LateInRow, cur.LateSoFar)
	}
}

// TestALateOneIsCountedOnce: by the writer, or by the settler that was before it.
func TestALateOneIsCountedOnce(t *testing.T) {
	for _, settlerFirst := range []bool{false, true} {
		b := newBench(t, withSettings(func(s *cursor.Settings) { s.Settle = 0 }))
		b.putKeyed(keyedOf("b", "1"))
		b.settle(sortkey.EverySortKey)
		settled := 0
		settler := b.process(cursor.Options{})
		b.engine = ddb.Func(func(ctx context.Context, r ddb.Request) (ddb.Answer, error) {
			a, err := b.tables.Do(ctx, r)
			if r.Name() == "put arrival" && settlerFirst {
				settled += check.Get(settler.Settle(ctx, "q", sortkey.EverySortKey)).Late
			}
			return a, err
		})
		b.sorter = b.process(cursor.Options{})
		results := b.sorter.Put(t.Context(), keyedOf("a", "1"), keyedOf("a", "1"))
		counted := settled
		for _, r := range results {
			check.OK(t, r.Err)
			if r.Placed {
				counted++
			}
			check.That(t, r.Late, "settler first %v: %+v", settlerFirst, r)
		}
		check.That(t, counted == 1 && settlerFirst == (settled == 1),
			"settler first %v: counted %d times, %d by it", settlerFirst, counted, settled)
	}
}
