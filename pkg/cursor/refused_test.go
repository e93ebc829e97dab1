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
	"github.com/streamsort/streamsort/internal/queuelog"
	"github.com/streamsort/streamsort/internal/sortkey"
	"github.com/streamsort/streamsort/pkg/cursor"
)

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
