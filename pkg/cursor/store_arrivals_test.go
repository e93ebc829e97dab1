package cursor_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/ddbtest"
	"github.com/streamsort/streamsort/internal/queuelog"
	"github.com/streamsort/streamsort/internal/sortkey"
	"github.com/streamsort/streamsort/pkg/cursor"
)

// What queues in arrival order ask of the tables.

func arrivalCursor(queue string) cursor.Cursor {
	c := newCursor(queue)
	c.Settings.Kind = cursor.KindArrival
	return c
}

func wholeArrival(queue, id string, seen int64) cursor.Arrival {
	return cursor.Arrival{
		Queue: queue, ID: id, Seen: seen, EnqueuedAt: at, ExpiresOn: at.Add(time.Hour),
		Digest: []byte("0123456789abcdef"), Op: []byte("12345678"),
		Messages: []cursor.Message{{
			Body: []byte{0, 1, 0xff}, ContentType: "text/plain", Attributes: map[string]string{"a": "1", "empty": ""},
		}},
	}
}

// head is the arrival as an answer to a put shows it.
func head(a cursor.Arrival) cursor.Arrival {
	a.Messages = make([]cursor.Message, len(a.Messages))
	return a
}

func putArrival(t *testing.T, s *cursor.Store, a, want cursor.Arrival) {
	t.Helper()
	same(t, "put "+a.ID, check.Get(s.Inside().PutArrival(t.Context(), a)), head(want))
}

func entry(a cursor.Arrival) queuelog.Entry {
	return queuelog.Entry{Key: sortkey.HashOf(a.ID), Count: len(a.Messages), Seen: uint32(a.Seen)}
}

// entries are n places of arrivals named by prefix and number, one message each.
func entries(prefix string, n int) queuelog.Tail {
	var list []queuelog.Entry
	for i := range n {
		list = append(list, entry(wholeArrival("q", fmt.Sprint(prefix, i), 0)))
	}
	return queuelog.NewTail(list...)
}

func TestStorePutArrival(t *testing.T) {
	onEach(t, func(t *testing.T, s *cursor.Store, q string) {
		want := wholeArrival(q, "a", 7)
		putArrival(t, s, want, want)
		putArrival(t, s, want, want)
		other := wholeArrival(q, "a", 9)
		other.Op, other.Digest, other.EnqueuedAt = []byte("87654321"), []byte("fedcba9876543210"),
			at.Add(time.Hour-time.Second)
		putArrival(t, s, other, want)
		same(t, "stored", arrivals(t, s, q, "a"), []cursor.Arrival{want})

		// What has expired counts as gone, whether or not TTL has come.
		other.EnqueuedAt = at.Add(time.Hour)
		other.ExpiresOn = time.Time{}
		putArrival(t, s, other, other)
		same(t, "stored in its place", arrivals(t, s, q, "a"), []cursor.Arrival{other})

		// Without a time it never expires.
		later := wholeArrival(q, "a", 11)
		later.EnqueuedAt = at.Add(1000 * time.Hour)
		putArrival(t, s, later, other)
		elsewhere := wholeArrival(q+" p", "a", 1)
		putArrival(t, s, elsewhere, elsewhere)
	})
}

// arrivals reads arrivals by their ids, strongly, one by one.
func arrivals(t *testing.T, s *cursor.Store, queue string, ids ...string) []cursor.Arrival {
	t.Helper()
	var all []cursor.Arrival
	for _, id := range ids {
		found, left := check.Get2(s.Inside().Arrivals(t.Context(),
			queuelog.ArrivalQuery{Queue: queue, Keys: []sortkey.SortKey{sortkey.HashOf(id)}, Strong: true}))
		same(t, "left unread", left, nil)
		all = append(all, found...)
	}
	return all
}

func TestStoreArrivalMessages(t *testing.T) {
	onEach(t, func(t *testing.T, s *cursor.Store, q string) {
		several := wholeArrival(q, "several", 0)
		several.Messages = nil
		for i := range 30 {
			several.Messages = append(several.Messages, cursor.Message{
				Body: []byte(fmt.Sprintf(`{"n":%d}`, i)), ID: fmt.Sprint("own", i%2),
				Attributes: map[string]string{"n": fmt.Sprint(i)},
			})
		}
		several.Messages[3] = cursor.Message{ContentType: "text/plain", Body: []byte{0, 0xff}}
		compact := wholeArrival(q, "compact", 0)
		compact.Messages = nil
		for range 500 {
			compact.Messages = append(compact.Messages, cursor.Message{Body: bytes.Repeat([]byte("a"), 600)})
		}
		noise := wholeArrival(q, "noise", 0)
		noise.Messages = []cursor.Message{{Body: scatter(200_000)}, {Body: scatter(100_000)}}
		own := wholeArrival(q, "own id", 0)
		own.Messages[0].ID = "its own"
		bare := wholeArrival(q, "bare", 0)
		bare.Messages = []cursor.Message{{}}
		for _, want := range []cursor.Arrival{several, compact, noise, own, bare} {
			putArrival(t, s, want, want)
			putArrival(t, s, want, want)
			same(t, want.ID, arrivals(t, s, q, want.ID), []cursor.Arrival{want})
		}
	})
}

// scatter is bytes that cannot be compressed.
func scatter(n int) []byte {
	out, x := make([]byte, n), uint32(1)
	for i := range out {
		x ^= x << 13
		x ^= x >> 17
		x ^= x << 5
		out[i] = byte(x)
	}
	return out
}

func TestStoreArrivals(t *testing.T) {
	onEach(t, func(t *testing.T, s *cursor.Store, q string) {
		query := queuelog.ArrivalQuery{Queue: q, HeadsOnly: true}
		want := map[string]bool{}
		for i := range 100 {
			a := wholeArrival(q, fmt.Sprint("id", i), 0)
			query.Keys = append(query.Keys, sortkey.HashOf(a.ID))
			if i%10 == 9 {
				continue // not there
			}
			putArrival(t, s, a, a)
			want[a.ID] = true
		}
		for _, strong := range []bool{true, false} {
			query.Strong = strong
			ddbtest.Settles(t, fmt.Sprintf("heads, strong %v", strong), func() map[string]bool {
				found, left := check.Get2(s.Inside().Arrivals(t.Context(), query))
				same(t, "left unread", left, nil)
				got := map[string]bool{}
				for _, a := range found {
					same(t, "head", a, head(wholeArrival(q, a.ID, 0)))
					got[a.ID] = true
				}
				return got
			}, want)
		}
	})
}

func seen(position int64) cursor.Range { return cursor.Range{From: position, To: position} }

func TestStoreAllocateAt(t *testing.T) {
	onEach(t, func(t *testing.T, s *cursor.Store, q string) {
		want := arrivalCursor(q)
		create(t, s, want)
		give := func(name string, e queuelog.Entry, first int64, given bool) {
			t.Helper()
			now := want.MovedAt.Add(time.Second)
			if given {
				want.Position, want.Tail, want.MovedAt = want.Position+int64(e.Count),
					want.Tail+queuelog.NewTail(e), now
			}
			gives(t, name, want, given)(s.Inside().AllocateAt(t.Context(), q, e, first, now))
			same(t, name+", read", standing(t, s, q), want)
		}
		next := want.Position + 1
		three := queuelog.Entry{Key: sortkey.HashOf("three"), Count: 3, Seen: uint32(next - 1)}
		give("beyond", three, next+1, false)
		give("behind", three, next-1, false)
		give("next", three, next, true)
		give("repeated", three, next, false)
		check.Get2(s.Inside().Allocate(t.Context(), q, entries("f", queuelog.MaxTail-2),
			cursor.Range{From: want.Position, To: want.Position}, at))
		want = standing(t, s, q)
		give("the last for which there is room", entries("g", 1).At(0), want.Position+1, true)
		give("full", entries("h", 1).At(0), want.Position+1, false)
	})
}

func TestStoreAllocation(t *testing.T) {
	onEach(t, func(t *testing.T, s *cursor.Store, q string) {
		one := entries("e", 1)
		want := arrivalCursor(q)
		create(t, s, want)
		between := func(name string, entries queuelog.Tail, lowest, highest int64, given bool) {
			t.Helper()
			now := want.MovedAt.Add(time.Second)
			if given {
				want.Position, want.Tail, want.MovedAt = want.Position+entries.Seqs(), want.Tail+entries, now
			}
			gives(t, name, want, given)(
				s.Inside().Allocate(t.Context(), q, entries, cursor.Range{From: lowest, To: highest}, now))
			same(t, name+", read", standing(t, s, q), want)
		}
		allocation := func(name string, entries queuelog.Tail, seen int64, given bool) {
			t.Helper()
			between(name, entries, seen, seen, given)
		}
		allocation("given", one, 0, true)
		allocation("repeated", one, 0, false)
		allocation("with another", entries("e", 2), 0, false)
		again := one.At(0)
		again.Seen = 1
		allocation("a later one under the id", queuelog.NewTail(again), 0, true)
		several := queuelog.NewTail(queuelog.Entry{Key: sortkey.HashOf("several"), Count: 500,
			Seen: 1<<23 - 1}, entries("x", 1).At(0))
		between("seen more than the queue has", several, 0, want.Position+1, false)
		between("several", several, 0, want.Position, true)
		allocation("as many as there is room", entries("f", queuelog.MaxTail-4), 3, true)
		allocation("full", entries("g", 1), 3, false)

		trim := func(fingerprintsFrom int64, printed ...queuelog.Tail) {
			t.Helper()
			seen := want
			first, rest := want.Tail.First(queuelog.OrderItemEntries)
			want.TailFrom, want.Tail, want.FingerprintsFrom, want.Fingerprints = want.TailFrom+first.Seqs(),
				rest, fingerprintsFrom, fingerprints(append(printed, first)...)
			for _, first := range []bool{true, false} {
				gives(t, "trimmed", want, first)(
					s.Inside().TrimTail(t.Context(), seen, queuelog.OrderItemEntries))
			}
		}
		left, _ := want.Tail.First(queuelog.OrderItemEntries)
		trim(0)
		to := want.TailFrom
		allocation("of one that left the tail", one, 0, false)
		allocation("beside one that left the tail",
			queuelog.NewTail(entries("h", 1).At(0), left.At(5)), to-1, false)
		allocation("others left the tail", entries("h", 2), 0, true)
		allocation("of one that left the tail before it was stored", one, to, true)
		allocation("more than there is room", entries("i", queuelog.MaxTail-want.Tail.Len()+1), to, false)
		allocation("all the room", entries("i", queuelog.MaxTail-want.Tail.Len()), to, true)

		// The fingerprints are of the last two order items; of the first of these, they count each
		// entry as one seq.
		second, _ := want.Tail.First(queuelog.OrderItemEntries)
		trim(0, left)
		allocation("in the second order item", queuelog.NewTail(second.At(7)), to, false)
		trim(want.TailFrom-queuelog.OrderItemEntries, second)
		allocation("seen too little", entries("j", 1), want.FingerprintsFrom-1, false)
		allocation("seen enough", entries("j", 1), want.FingerprintsFrom, true)
		allocation("in no print any more", queuelog.NewTail(left.At(5)), want.FingerprintsFrom, true)
	})
}

// fingerprints are the short names of entries: each says the first 3 bytes of a hash.
func fingerprints(tails ...queuelog.Tail) cursor.Fingerprints {
	text := ""
	for _, tail := range tails {
		for i := range tail.Len() {
			text += base64.RawURLEncoding.EncodeToString([]byte(tail.At(i).Key[:3]))
		}
	}
	return cursor.Fingerprints(text)
}

func TestStoreLastSeqs(t *testing.T) {
	onEach(t, func(t *testing.T, s *cursor.Store, q string) {
		want := arrivalCursor(q)
		want.Settings.First, want.Position, want.MaxParked, want.Floor, want.TailFrom = cursor.MaxSeq-1,
			cursor.MaxSeq-2, cursor.MaxSeq-2, cursor.MaxSeq-2, cursor.MaxSeq-2
		want.FingerprintsFrom = want.TailFrom
		create(t, s, want)
		three := queuelog.NewTail(queuelog.Entry{Key: "0123456789", Count: 3})
		got, done := check.Get2(s.Inside().Allocate(t.Context(), q, three, seen(want.TailFrom), at))
		same(t, "three", done, false)
		same(t, "cursor", got, want)
		two := queuelog.NewTail(queuelog.Entry{Key: "0123456789", Count: 2})
		got, done = check.Get2(s.Inside().Allocate(t.Context(), q, two, seen(want.TailFrom), at))
		same(t, "two", done, true)
		want.Position, want.Tail = cursor.MaxSeq, two
		same(t, "cursor at the end", got, want)
	})
}

func TestStoreOrderItems(t *testing.T) {
	onEach(t, func(t *testing.T, s *cursor.Store, q string) {
		const n = queuelog.OrderItemEntries
		var items []queuelog.OrderItem
		for i := range 5 {
			o := queuelog.OrderItem{Queue: q, Last: int64(queuelog.OrderItemEntries * (i + 1)),
				Entries: entries(fmt.Sprint(i), queuelog.OrderItemEntries), ExpiresOn: at}
			if i == 2 {
				o.ExpiresOn = time.Time{}
			}
			for range 2 {
				same(t, "stored", check.Get(s.Inside().PutOrderItem(t.Context(), o)), o)
			}
			items = append(items, o)
		}
		other := items[0]
		other.Entries, other.ExpiresOn = entries("other", queuelog.OrderItemEntries), at.Add(time.Hour)
		same(t, "what stands there", check.Get(s.Inside().PutOrderItem(t.Context(), other)), items[0])

		for _, c := range []struct {
			name  string
			query queuelog.Query
			want  []queuelog.OrderItem
			more  bool
		}{
			{"all", queuelog.Query{First: 0, Last: cursor.MaxSeq}, items, false},
			{"some", queuelog.Query{First: n + 1, Last: 4*n - 1}, items[1:3], false},
			{"their bounds", queuelog.Query{First: n, Last: 2 * n}, items[:2], false},
			{"a page", queuelog.Query{First: n, Last: 4 * n, Limit: 2}, items[:2], true},
			{"none", queuelog.Query{First: 5*n + 1, Last: 9 * n}, []queuelog.OrderItem{}, false},
			{"backwards", queuelog.Query{First: 1, Last: 3 * n, Limit: 2, Backwards: true}, []queuelog.OrderItem{items[2], items[1]}, true},
			{"of another queue", queuelog.Query{Queue: q + " p", First: 0, Last: 100}, []queuelog.OrderItem{}, false},
		} {
			if c.query.Queue == "" {
				c.query.Queue = q
			}
			c.query.Strong = true
			page := check.Get(s.Inside().OrderItems(t.Context(), c.query))
			same(t, c.name, append([]queuelog.OrderItem{}, page.Items...), c.want)
			same(t, c.name+", more", page.More, c.more)
		}
		// They stand among the messages, and are none.
		put(t, s, wholeMessage(q, n+1))
		for _, headsOnly := range []bool{false, true} {
			page := check.Get(s.Inside().Messages(t.Context(),
				queuelog.Query{Queue: q, First: 0, Last: 2 * n, Strong: true, HeadsOnly: headsOnly}))
			same(t, "messages", len(page.Messages), 1)
		}
		same(t, "kept", check.Get(s.Inside().KeepUntil(t.Context(), q, n, at.Add(time.Minute))), true)
		items[0].ExpiresOn = at.Add(time.Minute)
		page := check.Get(s.Inside().OrderItems(t.Context(),
			queuelog.Query{Queue: q, First: 0, Last: n, Strong: true}))
		same(t, "kept", page.Items, items[:1])
	})
}

func TestStoreKeepArrival(t *testing.T) {
	onEach(t, func(t *testing.T, s *cursor.Store, q string) {
		want := wholeArrival(q, "a", 7)
		putArrival(t, s, want, want)
		forever := wholeArrival(q, "forever", 7)
		forever.ExpiresOn = time.Time{}
		putArrival(t, s, forever, forever)
		for _, c := range []struct {
			id    string
			seen  int64
			until time.Time
			there bool
			want  time.Time
		}{
			{"a", 7, at.Add(2 * time.Hour), true, at.Add(2 * time.Hour)},
			{"a", 7, at.Add(time.Hour), true, at.Add(2 * time.Hour)},
			{"a", 8, at.Add(3 * time.Hour), false, at.Add(2 * time.Hour)},
			{"forever", 7, at.Add(3 * time.Hour), true, time.Time{}},
			{"none", 7, at.Add(3 * time.Hour), false, time.Time{}},
		} {
			there := check.Get(s.Inside().KeepArrival(t.Context(), q, sortkey.HashOf(c.id), c.seen, c.until))
			same(t, c.id+" is there", there, c.there)
			found := arrivals(t, s, q, c.id)
			if c.id == "none" {
				same(t, "made from nothing", len(found), 0)
				continue
			}
			same(t, c.id+" expires", found[0].ExpiresOn, c.want)
		}
	})
}
