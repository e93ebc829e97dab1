package trouble_test

import (
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/ddbtest"
	"github.com/streamsort/streamsort/internal/trouble"
)

func (b *bench) counted(from, to time.Time) (sum trouble.Counts) {
	b.Helper()
	minutes := check.Get(b.Counted(b.Context(), from, to))
	for _, m := range minutes {
		sum = trouble.Counts{Stored: sum.Stored + m.Stored, Delivered: sum.Delivered + m.Delivered}
	}
	return sum
}

func TestCounts(t *testing.T) {
	each(t, func(b *bench) {
		minute := since.Truncate(time.Minute)
		counted := func(from, to time.Duration) trouble.Counts {
			return b.counted(minute.Add(from), minute.Add(to))
		}
		b.is("nothing", counted(-time.Hour, time.Hour), trouble.Counts{})
		b.check(b.Count(b.Context(), since, trouble.Counts{}))
		b.is("no request for nothing", counted(-time.Hour, time.Hour), trouble.Counts{})

		b.check(b.Count(b.Context(), minute.Add(-time.Second), trouble.Counts{Stored: 1000}))
		b.check(b.Count(b.Context(), minute, trouble.Counts{Stored: 3}))
		b.check(b.Count(b.Context(), minute.Add(time.Minute-time.Millisecond),
			trouble.Counts{Stored: 4, Delivered: 5}))
		b.check(b.Count(b.Context(), minute.Add(time.Minute), trouble.Counts{Delivered: 10}))
		b.is("a minute", counted(0, time.Minute), trouble.Counts{Stored: 7, Delivered: 5})
		b.is("two minutes", counted(0, 2*time.Minute), trouble.Counts{Stored: 7, Delivered: 15})
		each := check.Get(b.Counted(b.Context(), minute.Add(-time.Minute), minute.Add(3*time.Minute)))
		b.is("each minute", each, []trouble.Counts{{Stored: 1000}, {Stored: 7, Delivered: 5},
			{Delivered: 10}, {}})
		page, _ := check.Get2(b.Page(b.Context(), trouble.Gap, "", "", 10))
		b.is("no rows", len(page), 0)
	})
}

// TestCounter: a process writes once in ten seconds, and fails nobody.
func TestCounter(t *testing.T) {
	each(t, func(b *bench) {
		now := since.Truncate(time.Minute)
		c := trouble.NewCounter(b.Store, func() time.Time { return now })
		counted := func() trouble.Counts { return b.counted(since.Add(-time.Hour), since.Add(time.Hour)) }
		c.Flush(b.Context())
		for range 100 {
			c.Add(trouble.Counts{Stored: 1})
			c.Flush(b.Context())
			now = now.Add(99 * time.Millisecond)
		}
		b.is("before ten seconds", counted(), trouble.Counts{})
		now = now.Add(time.Second)
		b.meter.Take()
		c.Flush(b.Context())
		c.Flush(b.Context())
		b.is("writes", b.meter.Take().Writes, 1)
		b.is("after them", counted(), trouble.Counts{Stored: 100})

		c.Add(trouble.Counts{Delivered: 1})
		now = now.Add(10 * time.Second)
		b.faults.Fail(1, ddbtest.Refused)
		c.Flush(b.Context())
		b.is("lost", counted(), trouble.Counts{Stored: 100})
		c.Add(trouble.Counts{Stored: 1})
		now = now.Add(-time.Minute) // a clock that goes back is not waited for
		c.Flush(b.Context())
		b.is("after the clock went back", counted(), trouble.Counts{Stored: 101})
		c.Add(trouble.Counts{Stored: 7})
		then := now.Truncate(time.Minute)
		now = now.Add(10 * time.Minute) // frozen meanwhile
		c.Add(trouble.Counts{Stored: 1})
		c.Flush(b.Context())
		b.is("in the minute in which it was counted",
			b.counted(then, then.Add(time.Minute)).Stored, int64(7))
	})
}
