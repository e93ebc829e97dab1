package cursor_test

import (
	"cmp"
	"fmt"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/queuelog"
	"github.com/streamsort/streamsort/internal/sortkey"
	"github.com/streamsort/streamsort/pkg/cursor"
)

// What keyed queues ask of the tables.

func keyedCursor(queue string) cursor.Cursor {
	c := newCursor(queue)
	c.Settings.Kind, c.Settings.KeyType, c.Settings.Settle, c.Settings.Late = cursor.KindKeyed, "text",
		1500*time.Millisecond, cursor.LateDrop
	c.High, c.Low = "\x00", "\x00"
	return c
}

func textKey(t *testing.T, text string) sortkey.Key {
	t.Helper()
	return check.Get(sortkey.KeyType("text").Key(text))
}

func waitingOf(t *testing.T, queue, key, id string) cursor.Arrival {
	t.Helper()
	a := wholeArrival(queue, id, 7)
	a.Key, a.Prev = textKey(t, key), "before "+id
	return a
}

func sortKey(a cursor.Arrival) sortkey.SortKey { return sortkey.Era("").SortKey(a.Key, a.ID) }

func TestStoreWaiting(t *testing.T) {
	onEach(t, func(t *testing.T, s *cursor.Store, q string) {
		var all []cursor.Arrival
		for _, key := range []string{"a", "b", "b", "c"} {
			a := waitingOf(t, q, key, fmt.Sprint("id", len(all)))
			putArrival(t, s, a, a)
			all = append(all, a)
		}
		if sortKey(all[1]) > sortKey(all[2]) {
			all[1], all[2] = all[2], all[1]
		}
		other := waitingOf(t, q+" other", "b", "x")
		putArrival(t, s, other, other)
		read := func(what string, query queuelog.WaitingQuery, more bool, want ...cursor.Arrival) {
			t.Helper()
			query.Queue = q
			for _, strong := range []bool{false, true} {
				for _, heads := range []bool{false, true} {
					query.Strong, query.HeadsOnly = strong, heads
					page := check.Get(s.Inside().Waiting(t.Context(), query))
					expect := append([]cursor.Arrival{}, want...)
					for i := range expect {
						if heads {
							expect[i] = head(expect[i])
						}
					}
					same(t, what, page, cursor.WaitingPage{Waiting: expect, More: more})
				}
			}
		}
		read("all", queuelog.WaitingQuery{After: "\x00", UpTo: sortkey.EverySortKey}, false, all...)
		read("behind one", queuelog.WaitingQuery{After: sortKey(all[0]), UpTo: sortkey.EverySortKey},
			false, all[1:]...)
		read("up to one", queuelog.WaitingQuery{After: "\x00", UpTo: sortKey(all[2])}, false, all[:3]...)
		read("two", queuelog.WaitingQuery{After: "\x00", UpTo: sortkey.EverySortKey, Limit: 2},
			true, all[:2]...)
		read("none", queuelog.WaitingQuery{After: sortKey(all[3]), UpTo: sortkey.EverySortKey}, false)

		found, _ := check.Get2(s.Inside().Arrivals(t.Context(),
			queuelog.ArrivalQuery{Queue: q, Keys: []sortkey.SortKey{sortKey(all[0])}, Strong: true}))
		same(t, "by its key", found, all[:1])
		there := check.Get(s.Inside().KeepArrival(t.Context(), q, sortKey(all[0]), 7,
			at.Add(2*time.Hour)))
		same(t, "kept", there, true)
	})
}

func TestStoreGivePlaces(t *testing.T) {
	onEach(t, func(t *testing.T, s *cursor.Store, q string) {
		want := keyedCursor(q)
		create(t, s, want)
		place := func(key, id string, marks queuelog.Mark) queuelog.Entry {
			a := waitingOf(t, q, key, id)
			return queuelog.Entry{Key: sortKey(a), Count: 1, Seen: uint32(a.Seen),
				Mark: queuelog.MarkKeyed | marks}
		}
		give := func(what string, seen cursor.Cursor, p queuelog.Placing, given bool) {
			t.Helper()
			now := want.MovedAt.Add(time.Second)
			if given {
				want.Position, want.Tail, want.MovedAt = want.Position+p.Entries.Seqs(),
					want.Tail+p.Entries, now
				want.High, want.Low, want.LateSoFar, want.LateSeq, want.LateInRow = p.High, p.Low, p.LateSoFar,
					p.LateSeq, p.LateInRow
				want.Restart = cmp.Or(p.Restart, want.Restart)
			}
			gives(t, what, want, given)(s.Inside().GivePlaces(t.Context(), seen, p, now))
			same(t, what+", read", standing(t, s, q), want)
		}
		first := want
		two := queuelog.Placing{Entries: queuelog.NewTail(place("a", "1", 0),
			place("b", "2", queuelog.MarkUnlinked)), High: place("b", "2", 0).Key, Low: "\x00"}
		give("two", first, two, true)
		give("two again", first, two, false)
		late := queuelog.Placing{
			Entries: queuelog.NewTail(place("a", "3", queuelog.MarkLate),
				place("a", "4", queuelog.MarkLate|queuelog.MarkDropped)),
			High: want.High, Low: place("a", "1", 0).Key, LateSoFar: 2, LateSeq: 4, LateInRow: 2,
		}
		give("late ones", want, late, true)
		late.LateInRow, late.Restart = 0, "12345678"
		late.Entries = queuelog.NewTail(place("c", "5", queuelog.MarkDropped|queuelog.MarkRestart))
		late.High = place("c", "5", 0).Key
		give("the keys begin anew", want, late, true)
		late.Entries, late.Restart = queuelog.NewTail(place("d", "6", 0)), ""
		give("and go on", want, late, true)

		raised := check.Get(s.Inside().RaiseLow(t.Context(), q, want.High))
		want.Low = want.High
		same(t, "low is raised", raised, want)
		raised = check.Get(s.Inside().RaiseLow(t.Context(), q, place("a", "1", 0).Key))
		same(t, "low is never lowered", raised, want)

		same(t, "wrote", check.Get(s.Inside().TellLate(t.Context(), want, 2)), true)
		same(t, "wrote again", check.Get(s.Inside().TellLate(t.Context(), want, 2)), true)
		same(t, "wrote by one that is behind",
			check.Get(s.Inside().TellLate(t.Context(), want, 1)), false)
		want.LateTold = 2
		same(t, "wrote more", check.Get(s.Inside().TellLate(t.Context(), want, 3)), true)
		want.LateTold = 1
		same(t, "wrote by another that is behind",
			check.Get(s.Inside().TellLate(t.Context(), want, 4)), false)
		want.LateTold = 3
		same(t, "read", standing(t, s, q), want)

		// An order item, and the tail without its entries.
		item := queuelog.OrderItem{Queue: q, Last: 3, ExpiresOn: at}
		item.Entries, want.Tail = want.Tail.First(3)
		same(t, "order item", check.Get(s.Inside().PutOrderItem(t.Context(), item)), item)
		seen := want
		seen.Tail = item.Entries + want.Tail
		want.TailFrom = 3
		for _, first := range []bool{true, false} {
			gives(t, "trimmed", want, first)(s.Inside().TrimTail(t.Context(), seen, 3))
		}
		page := check.Get(s.Inside().OrderItems(t.Context(),
			queuelog.Query{Queue: q, Last: cursor.MaxSeq}))
		same(t, "order items", page.Items, []queuelog.OrderItem{item})
	})
}

// TestStoreSettingsOfKeyedQueues are of no others, and the type of the keys is fixed.
func TestStoreSettingsOfKeyedQueues(t *testing.T) {
	onEach(t, func(t *testing.T, s *cursor.Store, q string) {
		create(t, s, keyedCursor(q))
		create(t, s, arrivalCursor(q+" arrival"))
		of, number, ahead, late := cursor.KindKeyed, sortkey.KeyType("number"), time.Hour, cursor.LateDrop
		for _, c := range []struct {
			queue  string
			change cursor.Change
		}{
			{q + " arrival", cursor.Change{Late: &late}},
			{q + " arrival", cursor.Change{ClockAhead: &ahead}},
			{q + " arrival", cursor.Change{Kind: &of, KeyType: &number, ClockAhead: &ahead}},
			{q, cursor.Change{Kind: &of, KeyType: &number}},
		} {
			_, changed := check.Get2(s.Inside().Configure(t.Context(), c.queue, c.change))
			check.That(t, !changed, "%s was changed: %+v", c.queue, c.change)
		}
	})
}

// TestStorePutReceipt: the first time stays, until it has expired.
func TestStorePutReceipt(t *testing.T) {
	onEach(t, func(t *testing.T, s *cursor.Store, q string) {
		put := func(queue, id string, came, expires time.Time) time.Time {
			t.Helper()
			return check.Get(s.Inside().PutReceipt(t.Context(), queue, id, came, came, expires))
		}
		came := at.Add(123456789)
		expires := time.Unix(came.Unix()+3600, 0).UTC()
		same(t, "first", put(q, "a", came, expires), came)
		same(t, "again", put(q, "a", came.Add(time.Minute), expires), came)
		same(t, "another id", put(q, "b", came.Add(time.Minute), expires), came.Add(time.Minute))
		same(t, "another queue", put(q+" other", "a", came.Add(time.Minute), expires),
			came.Add(time.Minute))
		same(t, "when it has expired", put(q, "a", expires, time.Time{}), expires)
		same(t, "without a time it never does",
			put(q, "a", expires.Add(1000*time.Hour), expires), expires)
		page := check.Get(s.Inside().Waiting(t.Context(),
			queuelog.WaitingQuery{Queue: q, After: "\x00", UpTo: sortkey.EverySortKey, Strong: true}))
		same(t, "waiting", len(page.Waiting), 0)
	})
}
