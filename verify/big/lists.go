package big

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/streamsort/streamsort/internal/fanout"
	"github.com/streamsort/streamsort/internal/trouble"
)

// rowOf is the row of the n-th queue, whose consumer lags.
func (w *world) rowOf(n int64) trouble.Row {
	return trouble.Row{State: trouble.Lagging, Queue: fmt.Sprintf("octo-org/repository-%06d", n), Consumer: "billing", Since: w.now, N: 1}
}

// manyListed has the consumers of 100,000 queues lag, and lists them page by page, while before
// each page one comes and another goes: a page of 50 costs 1 read unit at most, and who lags all the
// while is listed once.
func manyListed(w *world) error {
	ctx, queues := context.Background(), w.of(100_000)
	store := trouble.NewStore(w.tables, trouble.Definition(trouble.DefaultName))
	// Every second one stays; of the others each third is there at the beginning.
	stays := func(n int64) bool { return n%2 == 0 }
	if err := each(queues, func(n int64) error {
		if stays(n) || n%3 == 0 {
			return store.Put(ctx, w.rowOf(n))
		}
		return nil
	}); err != nil {
		return err
	}
	random := rand.New(rand.NewPCG(19, 2))
	var all spent
	var most float64
	var first time.Duration
	listed, pages, place := map[string]int{}, 0, ""
	for {
		for _, change := range []func(trouble.Row) error{
			func(r trouble.Row) error { return store.Put(ctx, r) }, func(r trouble.Row) error { return store.Delete(ctx, r) },
		} {
			if n := random.Int64N(queues); !stays(n) {
				if err := change(w.rowOf(n)); err != nil {
					return err
				}
			}
		}
		seen := &invocation{next: w.tables, left: oneByOne(time.Second)}
		began := time.Now()
		page, next, err := trouble.NewStore(seen, trouble.Definition(trouble.DefaultName)).Page(ctx, trouble.Lagging, "octo-org/", place, 50)
		if err != nil {
			return err
		}
		if pages++; pages == 1 {
			first = time.Since(began)
		}
		all.add(seen)
		most = max(most, seen.units.Reads)
		for _, row := range page {
			listed[row.Queue]++
		}
		if place = next; place == "" {
			break
		}
	}
	w.line(fmt.Sprintf("%d rows in %d pages, at most %v read units each, the first in %s", len(listed), pages, most, first.Round(100*time.Microsecond)), all)
	for n := range queues {
		if times := listed[w.rowOf(n).Queue]; stays(n) && times != 1 || times > 1 {
			return fmt.Errorf("queue %d was listed %d times", n, times)
		}
	}
	return atMost("read units of a page", most, 1)
}

// each does something for 0 to n-1, many at a time.
func each(n int64, do func(int64) error) error {
	errs := make([]error, n)
	fanout.SideBySide(int(n), func(i int) { errs[i] = do(int64(i)) })
	return errors.Join(errs...)
}
