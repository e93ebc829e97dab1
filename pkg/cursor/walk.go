package cursor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/streamsort/streamsort/internal/margin"
	"github.com/streamsort/streamsort/internal/tally"
)

// walking is a look at all queues. A run goes on with it for as long as it has time; where it
// stopped is stored in the trouble table, and the next run goes on from there.
type walking struct {
	// Name keeps walks apart.
	Name string
	// Segments is how many parts the cursors are read in, side by side where the Sorter's ForEach
	// does so; 1 to 100.
	Segments int
	// Every is the time from the start of one round to the start of the next; 0 means that each run
	// begins one, where none is under way.
	Every time.Duration
	// Only says which cursors a round visits, by what is known of the round; nil means all.
	Only func(roundProgress) cursorFilter
	// PassOver reports that somebody else looks at a cursor later that cannot be read: it then does
	// not have the next round look as far back as this one, and all others by it.
	PassOver bool
}

// ErrLookBack is what a visit returns that left a queue to somebody else for now: it is no failure,
// but the next round looks as far back as this one.
var ErrLookBack = errors.New("look at it again")

// visiting handles a queue, and counts in the round's tally.
type visiting func(ctx context.Context, c Cursor, seen *tally.Tally) error

// walkAll visits the queues of one run, those of a page side by side where the Sorter's ForEach
// does so. A visit that fails stops no other, and a cursor that cannot be read is passed over: the
// error joins the first of each segment, and the next round looks as far back as this one (but see
// [walking].PassOver). It ends when the context does. Any number of runs may walk at once: each
// then visits what it comes to.
//
// Cost beside that of the visits: one read unit for about 70 queues, a request for 1 MB of them, or
// for 1,000 where all are visited, one a segment at least, and two for the round.
func (s *Sorter) walkAll(ctx context.Context, walk walking, visit visiting) (Round, error) {
	r, due, err := s.round(ctx, walk)
	if err != nil || !due {
		return Round{}, err
	}
	begin, cancel := margin.Keep(ctx, lastVisit)
	defer cancel()
	look := look{round: r, passOver: walk.PassOver, visit: visit, goOn: func() bool {
		return begin.Err() == nil
	}}
	return r.run(ctx, walk, look.segment)
}

// lastVisit is how long before its time is up a run begins its last visits: they end well.
const lastVisit = time.Second

type look struct {
	*round
	passOver bool
	visit    visiting
	// goOn reports whether there is time for one more visit.
	goOn func() bool
}

// walkPage is how many cursors a page has at most that shows all of them: what a run visits between
// two places that it notes.
const walkPage = 1000

func (l *look) segment(ctx context.Context, segment int) error {
	scan := cursorScan{Segment: segment, Segments: l.progress.Segments, Only: l.only}
	if l.only.all() {
		scan.Limit = walkPage
	}
	place, left := l.place(segment)
	var first error
	for left && l.goOn() {
		scan.After = place.After
		page, err := l.store.Cursors(ctx, scan)
		if err != nil {
			return errors.Join(first, err)
		}
		begun, seen, again, err := l.page(ctx, page.Cursors)
		failed := again || err != nil || len(page.Unreadable) > 0 && !l.passOver
		if err = l.passedOver(page, err); first == nil {
			first = err
		}
		switch {
		case begun == len(page.Cursors):
			place.After, left = page.Next, page.Next != ""
		case begun > 0:
			// What was under way is for the next round: one queue does not hold the others up.
			place.After = page.Cursors[begun-1].Queue
		}
		if err := l.reached(ctx, segment,
			step{place: place, left: left, seen: seen, failed: failed}); err != nil {
			return errors.Join(first, err)
		}
	}
	return first
}

// page visits the queues of a page. It returns how many of the first ones it has come to, which are
// all where there was time, what they counted, and whether the next round looks at one again.
func (l *look) page(ctx context.Context,
	cursors []Cursor) (begun int, all tally.Tally, again bool, err error) {
	came, seen, errs := make([]bool, len(cursors)), make([]tally.Tally, len(cursors)),
		make([]error, len(cursors))
	l.forEach(len(cursors), func(i int) {
		if l.goOn() {
			came[i], errs[i] = true, l.visit(ctx, cursors[i], &seen[i])
		}
	})
	for i := range cursors {
		switch {
		case errors.Is(errs[i], ErrLookBack):
			again = true
		case errs[i] != nil && err == nil:
			err = fmt.Errorf("queue %q: %w", cursors[i].Queue, errs[i])
		}
		if begun == i && came[i] {
			all.Merge(seen[i])
			begun++
		}
	}
	return begun, all, again, err
}

// clocksApart is how far the clocks of those who move a cursor and of a walk may be apart for it to
// see the move in its next round.
const clocksApart = 10 * time.Minute

// movedSince limits a round to the queues that moved, or were notified, since the last round before
// it began in which no visit failed, and some minutes more. The first round looks at all.
func movedSince(round roundProgress) cursorFilter {
	if round.Since.IsZero() {
		return cursorFilter{}
	}
	return cursorFilter{MovedSince: round.Since.Add(-clocksApart)}
}
