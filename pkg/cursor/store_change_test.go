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
		wrote := func(what string, err error, held bool, change string) {
			t.Helper()
			check.OK(t, err)
			same(t, what+" was made", last.Held, held)
			same(t, what, last.Item.Get("change").Str(), change)
		}
		advance := func(queue string) {
			t.Helper()
			wrote("notify", s.Inside().Notify(t.Context(), queue, at), true, "advance")
		}
		create(t, s, newCursor("q"))
		_ = standing(t, s, "q")
		same(t, "made", last.Item.Get("change").Str(), "other")
		_, _, err := s.Inside().Move(t.Context(), "q", cursor.Range{From: 0, To: 1}, 0, at)
		wrote("move", err, true, "advance")
		_, _, err = s.Inside().Configure(t.Context(), "q", cursor.Change{})
		wrote("configure", err, true, "other")
		_, _, err = s.Inside().MoveAndPark(t.Context(), "q", cursor.Range{From: 1, To: 2}, 3, at)
		wrote("move and park", err, true, "advance")
		_, _, err = s.Inside().Move(t.Context(), "q", cursor.Range{From: 2, To: 3}, 3, at)
		wrote("move", err, true, "advance")
		_, err = s.Inside().OpenGap(t.Context(), "q", 5, at)
		wrote("open gap", err, true, "park")
		advance("q")
		_, _, err = s.Inside().Configure(t.Context(), "q", cursor.Change{})
		wrote("configure", err, true, "other")
		advance("q")
		_, err = s.Inside().Announce(t.Context(), "q", -1, 2)
		wrote("announce", err, true, "other")
		advance("q")
		_, err = s.Inside().RaiseFloor(t.Context(), "q", 1, at)
		wrote("raise floor", err, true, "other")

		create(t, s, newCursor("left"))
		_, err = s.Inside().LeaveToSweep(t.Context(), "left", 1, at)
		wrote("leave to sweep", err, true, "park")

		create(t, s, arrivalCursor("arrival"))
		c, _, err := s.Inside().Allocate(t.Context(), "arrival", entries("e", queuelog.OrderItemEntries),
			cursor.Range{}, at)
		wrote("allocation", err, true, "advance")
		_, _, err = s.Inside().AllocateAt(t.Context(), "arrival", entries("f", 1).At(0), c.Position+1, at)
		wrote("allocation at a seq", err, true, "advance")
		_, _, err = s.Inside().TrimTail(t.Context(), c, queuelog.OrderItemEntries)
		wrote("trim tail", err, true, "other")

		k := keyedCursor("keyed")
		k.LateInRow, k.Restart = 1, "order"
		create(t, s, k)
		place := queuelog.Entry{Key: sortKey(waitingOf(t, "keyed", "a", "1")), Count: 1,
			Mark: queuelog.MarkKeyed | queuelog.MarkLate}
		c, _, err = s.Inside().GivePlaces(t.Context(),
			k, queuelog.Placing{Entries: queuelog.NewTail(place), High: place.Key, Low: "\x00", LateSoFar: 1,
				LateSeq: 1}, at)
		wrote("give places", err, true, "advance")
		_, err = s.Inside().RaiseLow(t.Context(), "keyed", place.Key)
		wrote("raise low", err, true, "other")
		advance("keyed")
		_, err = s.Inside().TellLate(t.Context(), c, 1)
		wrote("tell late", err, true, "other")

		until := at.Add(2 * time.Hour)
		put(t, s, wholeMessage("q", 1))
		a := wholeArrival("arrival", "a", 7)
		putArrival(t, s, a, a)
		for _, held := range []bool{true, false} {
			check.Get(s.Inside().KeepUntil(t.Context(), "q", 1, until))
			same(t, "message kept", last.Held, held)
			check.Get(s.Inside().KeepArrival(t.Context(), "arrival", sortkey.HashOf("a"), 7, until))
			same(t, "arrival kept", last.Held, held)
		}

		// All that a queue can have goes with its erasing, or it would be taken for one.
		for _, queue := range []string{"q", "arrival", "keyed"} {
			advance(queue)
			_, err = s.Inside().MarkErased(t.Context(), queue, "op", at)
			wrote("mark erased", err, true, "other")
			var left []string
			for name := range last.Item.All() {
				left = append(left, name)
			}
			slices.Sort(left)
			same(t, "left of "+queue, left,
				[]string{"author", "change", "eraseOp", "erased", "first", "lastSeq", "v"})
			_, err = s.Inside().EndErase(t.Context(), queue, at)
			wrote("end erase", err, true, "other")
		}
	})
}
