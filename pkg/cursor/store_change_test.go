package cursor_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/ddbtest"
	"github.com/streamsort/streamsort/internal/queuelog"
	"github.com/streamsort/streamsort/internal/sortkey"
	"github.com/streamsort/streamsort/pkg/cursor"
)

// TestStoreTellsTheStreamWhatChanged: event source mappings filter on what the last write to a
// cursor says that it was, and a write that changes nothing must not be made.
func TestStoreTellsTheStreamWhatChanged(t *testing.T) {
	ddbtest.Each(t, func(t *testing.T, kind ddbtest.Kind) {
		names := freshNames()
		tables := ddbtest.Open(t, kind, tablesOf(names)...)
		var last ddb.Answer
		s := storeOn(t, ddb.Func(func(ctx context.Context, r ddb.Request) (ddb.Answer, error) {
			a, err := tables.Do(ctx, r)
			last = a
			return a, err
		}), names)
		ctx, inside := t.Context(), s.Inside()
		// wrote is of all that a write returned, its error last.
		wrote := func(what, change string) func(...any) {
			t.Helper()
			return func(returned ...any) {
				t.Helper()
				err, _ := returned[len(returned)-1].(error)
				check.OK(t, err)
				same(t, what+" was made", last.Held, true)
				same(t, what, last.Item.Get("change").Str(), change)
			}
		}
		advance := func(queue string) {
			t.Helper()
			wrote("notify", "advance")(inside.Notify(ctx, queue, at))
		}
		create(t, s, newCursor("q"))
		_ = standing(t, s, "q")
		same(t, "made", last.Item.Get("change").Str(), "other")
		wrote("move", "advance")(inside.Move(ctx, "q", cursor.Range{From: 0, To: 1}, 0, at))
		wrote("configure", "other")(inside.Configure(ctx, "q", cursor.Change{}))
		wrote("move and park", "advance")(
			inside.MoveAndPark(ctx, "q", cursor.Range{From: 1, To: 2}, 3, at))
		wrote("move", "advance")(inside.Move(ctx, "q", cursor.Range{From: 2, To: 3}, 3, at))
		wrote("open gap", "park")(inside.OpenGap(ctx, "q", 5, at))
		advance("q")
		wrote("configure", "other")(inside.Configure(ctx, "q", cursor.Change{}))
		advance("q")
		wrote("announce", "other")(inside.Announce(ctx, "q", -1, 2))
		advance("q")
		wrote("raise floor", "other")(inside.RaiseFloor(ctx, "q", 1, at))

		create(t, s, newCursor("left"))
		wrote("leave to sweep", "park")(inside.LeaveToSweep(ctx, "left", 1, at))

		create(t, s, arrivalCursor("arrival"))
		c, held, err := inside.Allocate(ctx, "arrival", entries("e", queuelog.OrderItemEntries),
			cursor.Range{}, at)
		wrote("allocation", "advance")(c, held, err)
		wrote("allocation at a seq", "advance")(
			inside.AllocateAt(ctx, "arrival", entries("f", 1).At(0), c.Position+1, at))
		wrote("trim tail", "other")(inside.TrimTail(ctx, c, queuelog.OrderItemEntries))

		k := keyedCursor("keyed")
		k.LateInRow, k.Restart = 1, "order"
		create(t, s, k)
		place := queuelog.Entry{Key: sortKey(waitingOf(t, "keyed", "a", "1")), Count: 1,
			Mark: queuelog.MarkKeyed | queuelog.MarkLate}
		c, held, err = inside.GivePlaces(ctx, k, queuelog.Placing{Entries: queuelog.NewTail(place),
			High: place.Key, Low: "\x00", LateSoFar: 1, LateSeq: 1}, at)
		wrote("give places", "advance")(c, held, err)
		wrote("raise low", "other")(inside.RaiseLow(ctx, "keyed", place.Key))
		advance("keyed")
		wrote("tell late", "other")(inside.TellLate(ctx, c, 1))

		until := at.Add(2 * time.Hour)
		put(t, s, wholeMessage("q", 1))
		a := wholeArrival("arrival", "a", 7)
		putArrival(t, s, a, a)
		for _, held := range []bool{true, false} {
			check.Get(inside.KeepUntil(ctx, "q", 1, until))
			same(t, "message kept", last.Held, held)
			check.Get(inside.KeepArrival(ctx, "arrival", sortkey.HashOf("a"), 7, until))
			same(t, "arrival kept", last.Held, held)
		}

		// All that a queue can have goes with its erasing, or it would be taken for one.
		for _, queue := range []string{"q", "arrival", "keyed"} {
			advance(queue)
			wrote("mark erased", "other")(inside.MarkErased(ctx, queue, "op", at))
			var left []string
			for name := range last.Item.All() {
				left = append(left, name)
			}
			slices.Sort(left)
			same(t, "left of "+queue, left,
				[]string{"author", "change", "eraseOp", "erased", "first", "lastSeq", "v"})
			wrote("end erase", "other")(inside.EndErase(ctx, queue, at))
		}
	})
}
