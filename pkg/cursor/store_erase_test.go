package cursor_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/queuelog"
	"github.com/streamsort/streamsort/internal/sortkey"
	"github.com/streamsort/streamsort/pkg/cursor"
)

// stub is what is left of a queue that was erased at `at`.
func stub(queue string, first, last int64) cursor.Cursor {
	return cursor.Cursor{
		Queue: queue, Settings: cursor.Settings{First: first}, Announced: -1,
		Erasure: cursor.Erasure{At: at, Op: "op", Last: last},
	}
}

func TestStoreMarkErased(t *testing.T) {
	onEach(t, func(t *testing.T, s *cursor.Store, q string) {
		marked := func(what, queue, op string, at time.Time, want cursor.Cursor) {
			t.Helper()
			same(t, what, check.Get(s.Inside().MarkErased(t.Context(), queue, op, at)), want)
			same(t, what+", as it stands there", standing(t, s, queue), want)
		}
		marked("a queue that is not there", q, "op", at, cursor.Cursor{})
		c := newCursor(q)
		c.Settings.First, c.Position, c.MaxParked, c.Floor = 3, 7, 9, 5
		create(t, s, c)
		marked("a queue", q, "op", at, stub(q, 3, 7))
		marked("again", q, "op", at.Add(time.Hour), stub(q, 3, 7))
		marked("by another", q, "other", at.Add(time.Hour), stub(q, 3, 7))

		arrivals := arrivalCursor(q + " in arrival order")
		create(t, s, arrivals)
		marked("in arrival order", arrivals.Queue, "op", at,
			stub(arrivals.Queue, arrivals.Settings.First, arrivals.Position))
	})
}

// TestStoreWritesOfOtherKinds: no write changes the cursor of a queue that is not there, that is of
// another kind, or that was erased.
func TestStoreWritesOfOtherKinds(t *testing.T) {
	onEach(t, func(t *testing.T, s *cursor.Store, q string) {
		ctx, first, inside := t.Context(), int64(1), s.Inside()
		of := map[cursor.Kind]cursor.Cursor{
			cursor.KindNumbered: newCursor(q), cursor.KindArrival: arrivalCursor(q + " in arrival order"),
			cursor.KindKeyed: keyedCursor(q + " keyed"),
		}
		writes := func(before cursor.Cursor) map[string]func() error {
			queue, next := before.Queue, before.Position+1
			none := func(_ cursor.Cursor, done bool, err error) error {
				check.That(t, !done, "%s: something was done", queue)
				return err
			}
			full := before
			full.Tail = entries("e", queuelog.OrderItemEntries)
			last := cursor.Range{From: before.Position, To: next}
			return map[string]func() error{
				"give places": func() error {
					placing := queuelog.Placing{Entries: entries("k", 1), High: "\x01", Low: "\x01"}
					return none(inside.GivePlaces(ctx, before, placing, at))
				},
				"keyed: raise low": func() error { return check.Err(inside.RaiseLow(ctx, queue, "\x01")) },
				"keyed: tell late": func() error {
					wrote, err := inside.TellLate(ctx, before, 1)
					return none(before, wrote, err)
				},
				"numbered: move": func() error {
					return none(inside.Move(ctx, queue, last, before.Position, at))
				},
				"numbered: move and park": func() error {
					return none(inside.MoveAndPark(ctx, queue, last, next+1, at))
				},
				"numbered: open gap": func() error { return check.Err(inside.OpenGap(ctx, queue, 9, at)) },
				"numbered: leave to sweep": func() error {
					return check.Err(inside.LeaveToSweep(ctx, queue, 9, at))
				},
				"arrival: allocate": func() error {
					return none(inside.Allocate(ctx, queue, entries("e", 1), seen(before.Position), at))
				},
				"arrival: allocate at": func() error {
					return none(inside.AllocateAt(ctx, queue, entries("e", 1).At(0), next, at))
				},
				"trim tail": func() error {
					return none(inside.TrimTail(ctx, full, queuelog.OrderItemEntries))
				},
				"configure": func() error { return none(inside.Configure(ctx, queue, cursor.Change{})) },
				"configure first": func() error {
					return none(inside.Configure(ctx, queue, cursor.Change{First: &first}))
				},
				"announce": func() error {
					noted, err := inside.Announce(ctx, queue, -1, 1)
					return none(before, noted, err)
				},
				"notify":      func() error { return inside.Notify(ctx, queue, at) },
				"raise floor": func() error { return check.Err(inside.RaiseFloor(ctx, queue, 0, at)) },
				"create":      func() error { return check.Err(inside.CreateCursor(ctx, before)) },
			}
		}
		for kind, before := range of {
			unchanged := func(state string, want cursor.Cursor, which func(what string) bool) {
				for what, write := range writes(before) {
					if which(what) {
						check.OK(t, write())
						same(t, fmt.Sprint(state, " ", kind, ": after ", what), standing(t, s, before.Queue), want)
					}
				}
			}
			unchanged("no", cursor.Cursor{}, func(what string) bool { return what != "create" })
			create(t, s, before)
			unchanged("a", before, func(what string) bool {
				other, _, special := strings.Cut(what, ": ")
				return special && other != kind.String() || what == "trim tail" && kind == cursor.KindNumbered
			})
			check.Get(inside.MarkErased(ctx, before.Queue, "op", at))
			want := stub(before.Queue, before.Settings.First, before.Position)
			unchanged("an erased", want, func(string) bool { return true })
		}
	})
}

func TestStoreEndErase(t *testing.T) {
	onEach(t, func(t *testing.T, s *cursor.Store, q string) {
		ended := func(what string, at time.Time, want cursor.Cursor) {
			t.Helper()
			same(t, what, check.Get(s.Inside().EndErase(t.Context(), q, at)), want)
			same(t, what+", as it stands there", standing(t, s, q), want)
		}
		ended("a queue that is not there", at, cursor.Cursor{})
		create(t, s, newCursor(q))
		ended("one that is not erased", at, newCursor(q))
		check.Get(s.Inside().MarkErased(t.Context(), q, "op", at))
		want := stub(q, 1, 0)
		want.Erasure.Emptied = at.Add(time.Hour)
		ended("an erased one", at.Add(time.Hour), want)
		ended("again", at.Add(2*time.Hour), want)
	})
}

func TestStoreArrivalKeys(t *testing.T) {
	onEach(t, func(t *testing.T, s *cursor.Store, q string) {
		var want []ddb.Item
		for i := range 30 {
			a := wholeArrival(q, fmt.Sprint("id ", i), 0)
			putArrival(t, s, a, head(a))
			want = append(want, s.Inside().ArrivalKey(q, sortkey.HashOf(a.ID)))
		}
		other := wholeArrival(q+" 2", "id 0", 0)
		putArrival(t, s, other, head(other))
		slices.SortFunc(want, func(a, b ddb.Item) int {
			return strings.Compare(a.Get("sortKey").Str(), b.Get("sortKey").Str())
		})
		keys, more := check.Get2(s.Inside().ArrivalKeys(t.Context(), q, ddb.Item{}, 0))
		same(t, "all", keys, want)
		same(t, "all: more", more, false)
		gives(t, "a page", want[5:8], true)(s.Inside().ArrivalKeys(t.Context(), q, want[4], 3))

		for range 2 {
			same(t, "left", check.Get(s.Inside().DeleteArrivals(t.Context(), want[:25])), 0)
		}
		keys, _ = check.Get2(s.Inside().ArrivalKeys(t.Context(), q, ddb.Item{}, 0))
		same(t, "the rest", keys, want[25:])
		same(t, "of another queue", len(arrivals(t, s, q+" 2", "id 0")), 1)
	})
}
