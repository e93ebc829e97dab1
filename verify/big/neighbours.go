package big

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/fanout"
	"github.com/streamsort/streamsort/internal/queuelog"
	"github.com/streamsort/streamsort/internal/request"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/delivery"
	"github.com/streamsort/streamsort/pkg/xorack"
)

// Whom a sweep has to look after.
const (
	quietQueues, gapsOfOne, lagsOfOne, neighbours = 85_000, 10_000, 5_000, 400
	// seenWithin is how long after it is due each is seen to.
	seenWithin = 5 * time.Minute
)

// manyQueues has 100,000 queues with a consumer each, of which one tenant's have 10,000 open gaps
// and 5,000 consumers that lag, and sweeps them every minute as the stack does, also while the
// day's full round is under way. Each of its neighbours' gaps, lags, dead claims and due chains has
// to be seen within 5 minutes.
func manyQueues(w *world) {
	s := sweeping{world: w, due: map[string]time.Time{}, seen: map[string]time.Time{}}
	s.fillAll()
	var first, steady, busy spent
	full := false
	for minutes := 0; !full; minutes++ {
		if minutes > 60 {
			check.Must(errors.New("after an hour the first rounds are not over"))
		}
		s.minute(&first)
		p := check.Get(w.store.Requests(queuelog.Inside{}).SweepProgress(context.Background(), "full"))
		full = !p.Finished.IsZero()
	}
	w.line(fmt.Sprintf("the first rounds over %d queues", s.queues), first)
	for range 8 {
		s.minute(&steady)
	}
	w.line("eight minutes after that, two rounds", steady)
	w.now = w.now.Add(24 * time.Hour)
	s.oldest = 0
	for minute := range 20 {
		if minute < 10 {
			s.trouble(minute)
		}
		s.minute(&busy)
		s.look()
	}
	w.line(fmt.Sprintf("twenty minutes a day later, the full round among them, with %d neighbours in trouble", len(s.due)), busy)
	s.onTime()
}

// sweeping is the sweep's function, called every minute, and what it has to see.
type sweeping struct {
	*world
	queues int64

	mu sync.Mutex
	// due is since when each neighbour waits, seen when it was seen to.
	due, seen map[string]time.Time
	// oldest is the longest that a round took.
	oldest time.Duration
}

// add makes a queue at a position, and a consumer at a place in it.
func (s *sweeping) add(queue string, position, parked, delivered int64, movedAt time.Time) {
	ctx := context.Background()
	settings := cursor.DefaultSettings()
	settings.Policy, settings.GapAfter = cursor.PolicyAlert, time.Second
	check.Get(s.store.Requests(queuelog.Inside{}).CreateCursor(ctx, cursor.Cursor{
		Queue: queue, Settings: settings, Position: position, MaxParked: parked,
		MovedAt: movedAt, Announced: -1,
	}))
	s.queues++
	check.Get2(s.records().Requests(request.Inside{}).CreateConsumer(ctx, delivery.Consumer{
		Queue: queue, Name: "c", State: delivery.Idle, Delivered: delivered,
		Control: delivery.Control{LastOp: "made"},
	}))
}

// fillAll makes the queues, in the order of their names.
func (s *sweeping) fillAll() {
	long := s.now.Add(-30 * 24 * time.Hour)
	for i := range s.neighbours() {
		s.add(fmt.Sprintf("neighbour %07d", i), 5, 0, 5, long)
	}
	for i := range s.of(gapsOfOne) {
		s.add(fmt.Sprintf("one/gap %07d", i), 5, 9, 5, s.now)
	}
	for i := range s.of(lagsOfOne) {
		s.add(fmt.Sprintf("one/lag %07d", i), 5, 0, 1, s.now)
	}
	for i := range s.of(quietQueues) {
		s.add(fmt.Sprintf("quiet %07d", i), 5, 0, 5, long)
	}
}

// neighbours is how many there are: enough for each kind of trouble.
func (s *sweeping) neighbours() int64 { return max(s.of(neighbours), 40) }

// trouble comes over a tenth of the neighbours, each in its own way.
func (s *sweeping) trouble(minute int) {
	ctx := context.Background()
	acker := s.acker(s.tables, func() time.Time { return s.now })
	for i := int64(minute); i < s.neighbours(); i += 10 {
		queue := fmt.Sprintf("neighbour %07d", i)
		since := s.now
		switch i / 10 % 4 {
		case 0:
			check.Get(s.store.Requests(queuelog.Inside{}).OpenGap(ctx, queue, 9, s.now))
			since = since.Add(time.Second)
		case 1:
			s.moves(queue)
		case 2:
			s.leaves(queue)
			since = since.Add(time.Minute)
		case 3:
			check.Get(acker.Create(ctx, queue, &xorack.CreateOptions{Deadline: time.Minute}))
			since = since.Add(time.Minute)
		}
		s.due[queue] = since
	}
}

// moves moves a queue.
func (s *sweeping) moves(queue string) {
	check.Get2(s.store.Requests(queuelog.Inside{}).Move(context.Background(), queue,
		cursor.Range{From: 5, To: 7}, 5, s.now))
}

// leaves leaves a claim in a queue whose process died.
func (s *sweeping) leaves(queue string) {
	s.moves(queue)
	s.dies(
		check.Get(s.records().Requests(request.Inside{}).Consumer(context.Background(), queue, "c")), 7)
}

func (s *sweeping) acker(tables ddb.Engine, now func() time.Time) *xorack.Acker {
	return check.Get(xorack.New(xorack.NewStore(tables, xorack.Names{}), &xorack.Options{Now: now}))
}

// minute is one call of the sweep, and the rest of its minute. Its process is killed when it has
// made the requests of 55 seconds.
func (s *sweeping) minute(all *spent) {
	i := &invocation{next: s.tables, left: sideBySide(55 * time.Second)}
	began := s.now
	now := func() time.Time { return began.Add(time.Duration(i.made()) * time.Millisecond) }
	s.sweep(i, now)
	all.add(i)
	s.now = began.Add(time.Minute)
}

// sweep is what the function does. What is killed with its time is no failure here: the next call
// goes on.
func (s *sweeping) sweep(i *invocation, now func() time.Time) {
	ctx := context.Background()
	sorter := check.Get(cursor.New(check.Get(cursor.NewStore(i, cursor.Names{})),
		&cursor.Options{Now: now}))
	store := delivery.NewStore(i, delivery.Names{}.Tables())
	d := check.Get(delivery.New(store, sorter, &delivery.Options{Now: now}))
	acker := s.acker(i, now)
	fanout.SideBySide(2, func(part int) {
		if part == 0 {
			_, _ = acker.Sweep(ctx, func(_ context.Context, c xorack.Chain) error {
				s.saw(c.Tag, now())
				return nil
			})
			return
		}
		report, _ := d.Sweep(ctx, delivery.SweepOptions{Sorter: cursor.SweepOptions{
			Every: 4*time.Minute - 30*time.Second,
			Announce: func(_ context.Context, a cursor.Announcement) error {
				s.saw(a.Queue, now())
				return nil
			},
		}})
		s.oldest = max(s.oldest, report.Sorter.Round.Age)
	})
}

// made is how many requests the invocation has made.
func (i *invocation) made() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.requests
}

// saw notes when a neighbour was seen to.
func (s *sweeping) saw(name string, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, before := s.seen[name]; !before {
		s.seen[name] = at
	}
}

// look notes which of those that lag, or have a dead claim, were seen to.
func (s *sweeping) look() {
	ctx := context.Background()
	for queue, since := range s.due {
		cur := check.Get(s.store.Requests(queuelog.Inside{}).Cursor(ctx, queue, true))
		c := check.Get(s.records().Requests(request.Inside{}).Consumer(ctx, queue, "c"))
		// A consumer that lags was woken up, and a dead claim ended.
		if !cur.Notified.Before(since) && c.State != delivery.Started {
			s.saw(queue, cur.Notified)
		}
	}
}

// onTime says who waited for too long.
func (s *sweeping) onTime() {
	var latest time.Duration
	for name, since := range s.due {
		at, seen := s.seen[name]
		if !seen {
			check.Must(fmt.Errorf("%s was never seen", name))
		}
		latest = max(latest, at.Sub(since))
	}
	s.lines = append(s.lines, fmt.Sprintf("%d neighbours were seen within %v; a round took %v at most",
		len(s.due), latest.Round(time.Second), s.oldest.Round(time.Second)))
	if latest > seenWithin {
		check.Must(fmt.Errorf("a neighbour was seen after %v, want %v at most", latest, seenWithin))
	}
}
