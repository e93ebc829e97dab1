package cursor_test

import (
	"cmp"
	"fmt"
	"testing"
	"time"

	"github.com/streamsort/streamsort/pkg/cursor"
)

// What keyed queues ask of the tables.

func keyedCursor(queue string) cursor.Cursor {
	c := newCursor(queue)
	c.Settings.Kind, c.Settings.KeyType, c.Settings.Settle, c.Settings.Late = cursor.KindKeyed, "text", 1500*time.Millisecond, cursor.LateDrop
	c.High, c.Low = "\x00", "\x00"
	return c
}

func textKey(t *testing.T, text string) cursor.Key {
	t.Helper()
	key, err := cursor.KeyType("text").Key(text)
	check(t, err)
	return key
}

func waitingOf(t *testing.T, queue, key, id string) cursor.Arrival {
	t.Helper()
	a := wholeArrival(queue, id, 7)
	a.Key, a.Prev = textKey(t, key), "before "+id
	return a
}

func sortKey(a cursor.Arrival) cursor.SortKey { return cursor.KeyedSortKey(a.Key, a.ID) }

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
		read := func(what string, query cursor.WaitingQuery, more bool, want ...cursor.Arrival) {
			t.Helper()
			query.Queue = q
			for _, strong := range []bool{false, true} {
				for _, heads := range []bool{false, true} {
					query.Strong, query.HeadsOnly = strong, heads
					page, err := s.Waiting(t.Context(), query)
					check(t, err)
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
		read("all", cursor.WaitingQuery{After: "\x00", UpTo: cursor.EverySortKey}, false, all...)
		read("behind one", cursor.WaitingQuery{After: sortKey(all[0]), UpTo: cursor.EverySortKey}, false, all[1:]...)
		read("up to one", cursor.WaitingQuery{After: "\x00", UpTo: sortKey(all[2])}, false, all[:3]...)
		read("two", cursor.WaitingQuery{After: "\x00", UpTo: cursor.EverySortKey, Limit: 2}, true, all[:2]...)
		read("none", cursor.WaitingQuery{After: sortKey(all[3]), UpTo: cursor.EverySortKey}, false)

		found, _, err := s.Arrivals(t.Context(), cursor.ArrivalQuery{Queue: q, Keys: []cursor.SortKey{sortKey(all[0])}, Strong: true})
		check(t, err)
		same(t, "by its key", found, all[:1])
		there, err := s.KeepArrival(t.Context(), q, sortKey(all[0]), 7, at.Add(2*time.Hour))
		check(t, err)
		same(t, "kept", there, true)
	})
}

func TestStoreGivePlaces(t *testing.T) {
	onEach(t, func(t *testing.T, s *cursor.Store, q string) {
		want := keyedCursor(q)
		_, given, err := s.GivePlaces(t.Context(), want, cursor.Placing{Entries: entries("x", 1)}, at)
		check(t, err)
		same(t, "given in a queue that is not there", given, false)
		create(t, s, want)
		place := func(key, id string, marks cursor.Mark) cursor.Entry {
			a := waitingOf(t, q, key, id)
			return cursor.Entry{Key: sortKey(a), Count: 1, Seen: uint32(a.Seen), Mark: cursor.MarkKeyed | marks}
		}
		give := func(what string, seen cursor.Cursor, p cursor.Placing, given bool) {
			t.Helper()
			now := want.MovedAt.Add(time.Second)
			if given {
				want.Position, want.Tail, want.MovedAt = want.Position+p.Entries.Seqs(), want.Tail+p.Entries, now
				want.High, want.Low, want.LateSoFar, want.LateSeq, want.LateInRow = p.High, p.Low, p.LateSoFar, p.LateSeq, p.LateInRow
				want.Restart = cmp.Or(p.Restart, want.Restart)
			}
			got, did, err := s.GivePlaces(t.Context(), seen, p, now)
			check(t, err)
			same(t, what, did, given)
			same(t, what+", cursor", got, want)
			same(t, what+", read", standing(t, s, q), want)
		}
		first := want
		two := cursor.Placing{Entries: cursor.NewTail(place("a", "1", 0), place("b", "2", cursor.MarkUnlinked)), High: place("b", "2", 0).Key, Low: "\x00"}
		give("two", first, two, true)
		give("two again", first, two, false)
		late := cursor.Placing{
			Entries: cursor.NewTail(place("a", "3", cursor.MarkLate), place("a", "4", cursor.MarkLate|cursor.MarkDropped)),
			High:    want.High, Low: place("a", "1", 0).Key, LateSoFar: 2, LateSeq: 4, LateInRow: 2,
		}
		give("late ones", want, late, true)
		late.LateInRow, late.Restart = 0, "12345678"
		late.Entries = cursor.NewTail(place("c", "5", cursor.MarkDropped|cursor.MarkRestart))
		late.High = place("c", "5", 0).Key
		give("the keys begin anew", want, late, true)
		late.Entries, late.Restart = cursor.NewTail(place("d", "6", 0)), ""
		give("and go on", want, late, true)

		raised, err := s.RaiseLow(t.Context(), q, want.High)
		check(t, err)
		want.Low = want.High
		same(t, "low is raised", raised, want)
		raised, err = s.RaiseLow(t.Context(), q, place("a", "1", 0).Key)
		check(t, err)
		same(t, "low is never lowered", raised, want)

		told, err := s.TellLate(t.Context(), want, 2)
		check(t, err)
		same(t, "told", told, true)
		told, err = s.TellLate(t.Context(), want, 2)
		check(t, err)
		same(t, "told again", told, true)
		told, err = s.TellLate(t.Context(), want, 1)
		check(t, err)
		same(t, "told by one that is behind", told, false)
		want.LateTold = 2
		told, err = s.TellLate(t.Context(), want, 3)
		check(t, err)
		same(t, "told more", told, true)
		want.LateTold = 1
		told, err = s.TellLate(t.Context(), want, 4)
		check(t, err)
		same(t, "told by another that is behind", told, false)
		want.LateTold = 3
		same(t, "read", standing(t, s, q), want)

		// An order item, and the tail without its entries.
		item := cursor.OrderItem{Queue: q, Last: 3, ExpiresOn: at}
		item.Entries, want.Tail = want.Tail.First(3)
		stored, err := s.PutOrderItem(t.Context(), item)
		check(t, err)
		same(t, "order item", stored, item)
		seen := want
		seen.Tail = item.Entries + want.Tail
		want.TailFrom = 3
		for _, first := range []bool{true, false} {
			trimmed, did, err := s.TrimTail(t.Context(), seen, 3)
			check(t, err)
			same(t, "trimmed", did, first)
			same(t, "trimmed cursor", trimmed, want)
		}
		page, err := s.OrderItems(t.Context(), cursor.Query{Queue: q, Last: cursor.MaxSeq})
		check(t, err)
		same(t, "order items", page.Items, []cursor.OrderItem{item})
	})
}

// TestStoreKeyedQueuesAreNoOthers: what is for queues of another kind changes nothing.
func TestStoreKeyedQueuesAreNoOthers(t *testing.T) {
	onEach(t, func(t *testing.T, s *cursor.Store, q string) {
		want := keyedCursor(q)
		create(t, s, want)
		got, given, err := s.Allocate(t.Context(), q, entries("e", 1), cursor.Range{}, at)
		check(t, err)
		same(t, "allocated", given, false)
		same(t, "cursor", got, want)
		got, moved, err := s.Move(t.Context(), q, cursor.Range{From: 0, To: 5}, 0, at)
		check(t, err)
		same(t, "moved", moved, false)
		same(t, "cursor", got, want)
		other := arrivalCursor(q + " arrival")
		create(t, s, other)
		late := cursor.LateDrop
		_, changed, err := s.Configure(t.Context(), other.Queue, cursor.Change{Late: &late})
		check(t, err)
		same(t, "changed", changed, false)
		of, number, ahead := cursor.KindKeyed, cursor.KeyType("number"), time.Hour
		both := cursor.Change{Kind: &of, KeyType: &number, ClockAhead: &ahead}
		for _, change := range []cursor.Change{{ClockAhead: &ahead}, both} {
			_, changed, err = s.Configure(t.Context(), other.Queue, change)
			check(t, err)
			same(t, "changed the bound of clocks", changed, false)
		}
		_, changed, err = s.Configure(t.Context(), q, cursor.Change{Kind: &of, KeyType: &number})
		check(t, err)
		same(t, "changed to other keys", changed, false)
		none := keyedCursor(q + " that is not there")
		told, err := s.TellLate(t.Context(), none, 1)
		check(t, err)
		same(t, "told of none", told, false)
		same(t, "made", standing(t, s, none.Queue), cursor.Cursor{})
		told, err = s.TellLate(t.Context(), other, 1)
		check(t, err)
		same(t, "told", told, false)
		raised, err := s.RaiseLow(t.Context(), other.Queue, "\x01")
		check(t, err)
		same(t, "raised", raised, other)
	})
}

// TestStorePutReceipt: the first time stays, until it has expired.
func TestStorePutReceipt(t *testing.T) {
	onEach(t, func(t *testing.T, s *cursor.Store, q string) {
		put := func(queue, id string, came, expires time.Time) time.Time {
			t.Helper()
			first, err := s.PutReceipt(t.Context(), queue, id, came, came, expires)
			check(t, err)
			return first
		}
		came := at.Add(123456789)
		expires := time.Unix(came.Unix()+3600, 0).UTC()
		same(t, "first", put(q, "a", came, expires), came)
		same(t, "again", put(q, "a", came.Add(time.Minute), expires), came)
		same(t, "another id", put(q, "b", came.Add(time.Minute), expires), came.Add(time.Minute))
		same(t, "another queue", put(q+" other", "a", came.Add(time.Minute), expires), came.Add(time.Minute))
		same(t, "when it has expired", put(q, "a", expires, time.Time{}), expires)
		same(t, "without a time it never does", put(q, "a", expires.Add(1000*time.Hour), expires), expires)
		page, err := s.Waiting(t.Context(), cursor.WaitingQuery{Queue: q, After: "\x00", UpTo: cursor.EverySortKey, Strong: true})
		check(t, err)
		same(t, "waiting", len(page.Waiting), 0)
	})
}
