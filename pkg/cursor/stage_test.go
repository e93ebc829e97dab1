package cursor_test

import (
	"context"
	"errors"
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
	"github.com/streamsort/streamsort/pkg/invalid"
)

// stage stages an arrival in a process that knows nothing yet.
func (b *bench) stage(kind cursor.Kind, a request) cursor.Arrival {
	b.t.Helper()
	staged, err := b.process(cursor.Options{}).Steps().Stage(b.t.Context(), kind, a.put()...)
	check.Need(b.t, err == nil && len(staged) == 1, "%+v, %v", staged, err)
	return staged[0]
}

func (b *bench) place(staged cursor.Arrival) string {
	b.t.Helper()
	r := b.process(cursor.Options{}).Steps().Place(b.t.Context(), staged)
	check.Need(b.t, r.Err == nil, "%v", r.Err)
	return answer(appended{Outcome: r.Outcome, Seqs: cursor.Range{From: r.Seq - 1, To: r.New}})
}

// TestWhatIsStagedIsSeenWhenItIsPlaced, no matter by whom, and once.
func TestWhatIsStagedIsSeenWhenItIsPlaced(t *testing.T) {
	b := newBench(t, nil)
	staged := b.stage(cursor.KindArrival, several("a", 2))
	b.stage(cursor.KindArrival, several("a", 2)) // a repeat
	check.Is(t, b.append(arrival("b")), "advanced 1-1")
	recalled, found, err := b.process(cursor.Options{}).Steps().Recall(t.Context(), "q", "a")
	check.Need(t, err == nil && found && len(recalled.Messages) == 2,
		"%+v, %v, %v", recalled, found, err)
	for _, s := range []cursor.Arrival{recalled, staged, recalled} {
		same(t, "placed", b.place(s), "advanced 2-3")
	}
	// So many others that it has left the tail.
	b.fill("other", 60)
	for _, s := range []cursor.Arrival{recalled, staged} {
		same(t, "placed", b.place(s), "advanced 2-3")
	}
	want := []string{"1 b body of b", "2  body 0 of a", "3  body 1 of a"}
	read := b.read(0, 3)
	check.That(t, slices.Equal(read, want), "read %q, want %q", read, want)
	same(t, "appended", b.append(several("a", 2)), "duplicate 2-3")
}

// TestStageRefuses what can never be placed.
func TestStageRefuses(t *testing.T) {
	b := newBench(t, nil)
	check.OK(t, b.sorter.Put(t.Context(), cursor.Message{Queue: "n", Seq: 1})[0].Err)
	b.stage(cursor.KindArrival, arrival("a"))
	other := arrival("a")
	other.Messages[0].Body = []byte("another")
	inNumbers := arrival("b")
	inNumbers.Queue = "n"
	for name, c := range map[string]struct {
		kind    cursor.Kind
		arrival request
		field   string
		queue   string
		code    invalid.Code
	}{
		"another under the id":     {cursor.KindArrival, other, "id", "q", invalid.Clash},
		"the queue is numbered":    {cursor.KindArrival, inNumbers, "queue", "n", invalid.Clash},
		"the queue is in arrivals": {cursor.KindNumbered, arrival("c"), "queue", "q", invalid.Clash},
		"out of bounds":            {cursor.KindArrival, several("d", 501), "messages", "", invalid.OutOfRange},
	} {
		_, err := b.process(cursor.Options{}).Steps().Stage(t.Context(), c.kind, c.arrival.put()...)
		wrong := check.As[*invalid.Error](t, err)
		check.That(t, wrong.Path() == c.field && wrong.Queue == c.queue && wrong.Code == c.code,
			"%s: %v, want %+v", name, err, c)
	}
	m := b.stage(cursor.KindNumbered, inNumbers).Messages
	check.That(t, len(m) == 1 && string(m[0].Body) == "body of b", "staged %+v", m)
	cur, err := b.sorter.Status(t.Context(), "n")
	check.That(t, err == nil && cur.Position == 1, "%+v, %v", cur, err)
}

// TestWhatIsNeverPlacedExpires, and is found no more.
func TestWhatIsNeverPlacedExpires(t *testing.T) {
	b := newBench(t, nil)
	b.stage(cursor.KindArrival, arrival("a"))
	b.now = b.now.Add(30 * 24 * time.Hour)
	b.memory.Expire(b.now)
	staged, found, err := b.process(cursor.Options{}).Steps().Recall(t.Context(), "q", "a")
	check.That(t, err == nil && !found, "%+v, %v", staged, err)
}

// patient is an engine that ends an append which asks for more allocations than any needs.
func patient(engine ddb.Engine) ddb.Engine {
	allocations := 0
	return ddb.Func(func(ctx context.Context, r ddb.Request) (ddb.Answer, error) {
		if r.Name() == "allocation" {
			if allocations++; allocations > 10 {
				return ddb.Answer{}, errEndless
			}
		}
		return engine.Do(ctx, r)
	})
}

var errEndless = errors.New("more than 10 allocations")

// appendPatiently appends in a process that knows nothing yet.
func (b *bench) appendPatiently(a request) (appended, error) {
	b.engine = patient(b.tables)
	return appendTo(b.t.Context(), b.process(cursor.Options{}), a)
}

// TestATicketOfAQueueThatWasMadeAnewEnds: the queue was deleted by hand and made as a numbered one,
// while a process remembers it.
func TestATicketOfAQueueThatWasMadeAnewEnds(t *testing.T) {
	b := newBench(t, nil)
	b.want("before", b.append(arrival("a")), "advanced 1-1")
	remembered := b.tables.Items("streamsort-cursors")[0]
	numbered := newBench(t, nil)
	numbered.put(cursor.Message{Queue: "q", Seq: 1})
	b.engine = patient(ddb.Func(func(ctx context.Context, r ddb.Request) (ddb.Answer, error) {
		if look, ok := r.(ddb.Get); ok && !look.Strong {
			return ddb.Answer{Item: remembered}, nil
		}
		return numbered.tables.Do(ctx, r)
	}))
	refuses(t, "error",
		check.Err(appendTo(t.Context(), b.process(cursor.Options{}), arrival("b"))), "seq")
}

// TestTablesOfDifferentTimes: after a restore, an arrival can have seen more than its queue has. A
// place given then could not be found again.
func TestTablesOfDifferentTimes(t *testing.T) {
	b := newBench(t, nil)
	b.fill("a", 10)
	ahead := arrival("ahead")
	b.engine = noAllocations(b.tables)
	_, err := appendTo(t.Context(), b.process(cursor.Options{}), ahead)
	check.Need(t, errors.Is(err, errNoAllocations), "%v", err)
	stored, _, err := b.memory.Inside().Arrivals(t.Context(),
		queuelog.ArrivalQuery{Queue: "q", Keys: []sortkey.SortKey{sortkey.HashOf("ahead")}})
	check.Need(t, err == nil && len(stored) == 1, "%v, %v", stored, err)
	restored := newBench(t, nil)
	restored.fill("other", 4)
	check.Get(restored.memory.Inside().PutArrival(t.Context(), stored[0]))
	for range 2 {
		r, err := restored.appendPatiently(ahead)
		check.That(t, err != nil && strings.Contains(err.Error(), "the position is 4"),
			"%+v, error %v; want one that names the position", r, err)
	}
	// The others of its call are not held up.
	results, err := appendGroup(t.Context(), restored.process(cursor.Options{}),
		[]request{arrival("b"), ahead, arrival("c")})
	check.That(t, err == nil && results[1].Err != nil && answer(results[0]) == "advanced 5-5" &&
		answer(results[2]) == "advanced 6-6", "%+v, %v", results, err)
	// Once the queue has come so far, it gets its place, and only one.
	restored.fill("more", 4)
	restored.want("then", restored.append(ahead), "duplicate 11-11")
	restored.fill("yet more", 50)
	restored.want("and again", restored.append(ahead), "duplicate 11-11")
}

// TestAPlaceThatLooksTheSameEndsATicket: an earlier arrival under the id got its place so late that
// what it had seen is 2^23 before what this one has.
func TestAPlaceThatLooksTheSameEndsATicket(t *testing.T) {
	b := newBench(t, nil)
	kind, first := cursor.KindArrival, int64(1<<23-1)
	check.Get(b.sorter.Configure(t.Context(), "q", cursor.Change{Kind: &kind, First: &first}))
	b.fill("a", 1)
	place := queuelog.NewTail(queuelog.Entry{Key: sortkey.HashOf("late"), Count: 1, Seen: 0})
	if _, given, err := b.memory.Inside().Allocate(t.Context(), "q", place,
		cursor.Range{From: first, To: first}, b.now); err != nil || !given {
		t.Fatal(given, err)
	}
	if r, err := b.appendPatiently(arrival("late")); err == nil || errors.Is(err, errEndless) {
		t.Errorf("%+v, error %v; want one of the place", r, err)
	}
}

// TestAProcessThatWasOvertakenLooksSooner: after a search, what it remembers of the queue is used
// for a tenth of a second, and otherwise for ten.
func TestAProcessThatWasOvertakenLooksSooner(t *testing.T) {
	b := newBench(t, nil)
	looks := 0
	b.engine = ddb.Func(func(ctx context.Context, r ddb.Request) (ddb.Answer, error) {
		if r.Name() == "get cursor" {
			looks++
		}
		return b.tables.Do(ctx, r)
	})
	s := b.process(cursor.Options{})
	n := 0
	wait := func(d time.Duration, want int) {
		t.Helper()
		b.now, looks = b.now.Add(d), 0
		n++
		check.Get(appendTo(t.Context(), s, arrival(fmt.Sprint("own", n))))
		check.That(t, looks == want, "append %d, %v after the last: %d looks, want %d", n, d, looks, want)
	}
	wait(0, 1)
	wait(10*time.Second, 0)
	wait(10*time.Second+time.Millisecond, 1)
	b.fill("other", 100)
	wait(0, 0)
	wait(100*time.Millisecond, 0)
	wait(101*time.Millisecond, 1)
	b.now = b.now.Add(30 * time.Minute)
	wait(0, 1)
	wait(10*time.Second, 0)
}
