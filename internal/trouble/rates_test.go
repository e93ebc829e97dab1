package trouble_test

import (
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/dev/ddbtest"
	"github.com/streamsort/streamsort/internal/trouble"
)

func TestCounts(t *testing.T) {
	each(t, func(b *bench) {
		minute := since.Truncate(time.Minute)
		counted := func(from, to time.Duration) trouble.Counts {
			b.Helper()
			sum, err := b.Counted(b.Context(), minute.Add(from), minute.Add(to))
			b.check(err)
			return sum
		}
		b.is("nothing", counted(-time.Hour, time.Hour), trouble.Counts{})
		b.check(b.Count(b.Context(), since, trouble.Counts{}))
		b.is("no request for nothing", counted(-time.Hour, time.Hour), trouble.Counts{})

		b.check(b.Count(b.Context(), minute.Add(-time.Second), trouble.Counts{Stored: 1000}))
		b.check(b.Count(b.Context(), minute, trouble.Counts{Stored: 3}))
		b.check(b.Count(b.Context(), minute.Add(time.Minute-time.Millisecond), trouble.Counts{Stored: 4, Delivered: 5}))
		b.check(b.Count(b.Context(), minute.Add(time.Minute), trouble.Counts{Delivered: 10}))
		b.is("a minute", counted(0, time.Minute), trouble.Counts{Stored: 7, Delivered: 5})
		b.is("two minutes", counted(0, 2*time.Minute), trouble.Counts{Stored: 7, Delivered: 15})
		page, _, err := b.Page(b.Context(), trouble.Gap, "", "", 10)
		b.check(err)
		b.is("no rows", len(page), 0)
	})
}

// TestCounter: a process writes once in ten seconds, and fails nobody.
func TestCounter(t *testing.T) {
	each(t, func(b *bench) {
		now := since.Truncate(time.Minute)
		c := trouble.NewCounter(b.Store, func() time.Time { return now })
		counted := func() trouble.Counts {
			sum, err := b.Counted(b.Context(), since.Add(-time.Hour), since.Add(time.Hour))
			b.check(err)
			return sum
		}
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
		sum, err := b.Counted(b.Context(), then, then.Add(time.Minute))
		b.check(err)
		b.is("in the minute in which it was counted", sum.Stored, int64(7))
		var none *trouble.Counter
		none.Add(trouble.Counts{Stored: 1})
		none.Flush(b.Context())
		if trouble.NewCounter(nil, nil) != nil {
			b.Error("a counter without a store")
		}
	})
}
