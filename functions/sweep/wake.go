package main

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/streamsort/streamsort/internal/emf"
	"github.com/streamsort/streamsort/internal/fanout"
	"github.com/streamsort/streamsort/internal/runtime"
	"github.com/streamsort/streamsort/internal/sortkey"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/timer"
)

// What a wake-up may take.
const (
	// turn is how long it goes on until its call's other wake-ups are sent that were noted.
	turn = 5 * time.Second
	// piece is how long it goes on in one call: as long as a round of the sweep lasts.
	piece = 4 * time.Minute
	// congested is how late wake-ups come where no call is free for them. A piece is one turn then.
	congested = 10 * time.Second
)

// wake does what wake-ups are about, side by side, each for a piece at most. It answers which of
// them have to come again: those that failed, or that there was no time for.
func (s *sweeper) wake(ctx context.Context, metrics *emf.Metrics,
	messages []events.SQSMessage) events.SQSEventResponse {
	all, late := together(ctx, metrics, messages, time.Now())
	run := waking{sweeper: s, metrics: metrics, seen: s.troubles(), until: time.Now().Add(piece)}
	if late > congested {
		run.until = time.Now().Add(turn)
	}
	var response events.SQSEventResponse
	var mu sync.Mutex
	fanout.SideBySide(len(all), func(i int) {
		if run.one(ctx, all[i].WakeUp) {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		for _, id := range all[i].messages {
			response.BatchItemFailures = append(response.BatchItemFailures,
				events.SQSBatchItemFailure{ItemIdentifier: id})
		}
	})
	metrics.Count("WakeUps", len(messages))
	run.seen.write(metrics)
	return response
}

type asked struct {
	timer.WakeUp
	messages []string
}

// together are the wake-ups of a batch, and how late the last of them is. Those of a keyed queue
// that are due are one, up to the greatest bound: two settlers of a queue at once would read the
// same, and one of them in vain. What is due later keeps its own. A message that cannot be read
// would come again for nothing.
func together(ctx context.Context, metrics *emf.Metrics, messages []events.SQSMessage,
	now time.Time) (all []*asked, late time.Duration) {
	windows := map[string]*asked{}
	for _, m := range messages {
		w, err := timer.Parse(m.Body)
		if err != nil {
			metrics.Count("Errors", 1)
			slog.ErrorContext(ctx, "a message of the timer's queue is dropped", "error", err)
			continue
		}
		late = max(late, now.Sub(w.Due))
		settles := w.Kind == timer.Settle && !w.Due.After(now)
		if of := windows[w.Queue]; settles && of != nil {
			of.UpTo, of.Again = max(of.UpTo, w.UpTo), max(of.Again, w.Again)
			of.messages = append(of.messages, m.MessageId)
			continue
		}
		new := &asked{w, []string{m.MessageId}}
		if all = append(all, new); settles {
			windows[w.Queue] = new
		}
	}
	return all, late
}

type waking struct {
	*sweeper
	metrics *emf.Metrics
	seen    *troubles
	// until is when the piece is over.
	until time.Time
}

// one does what a wake-up is about, turn by turn, and reports whether that is done. What is due
// later, and what the piece does not last for, is sent again.
func (r *waking) one(ctx context.Context, w timer.WakeUp) bool {
	if ctx.Err() != nil {
		return false
	}
	late := time.Since(w.Due)
	for done := false; ; {
		did, next, err := r.see(ctx, w)
		done = done || did
		if err != nil {
			r.metrics.Count("Errors", 1)
			slog.ErrorContext(ctx, "what is due was not done; the wake-up comes again", "kind", w.Kind,
				"queue", w.Queue, "consumer", w.Consumer, "tag", w.Tag, "error", err)
			return false
		}
		goesOn := (did || w.Kind == timer.Settle) && !next.IsZero() && !next.After(time.Now())
		if goesOn && ctx.Err() == nil && time.Now().Before(r.until) {
			r.timer.Flush(ctx) // what others of the call have noted does not wait for this one
			continue
		}
		switch {
		case goesOn:
			r.metrics.Count("Unfinished", 1)
		case done:
			r.metrics.Add("WakeUpLate", emf.Seconds, max(late, 0).Seconds())
		case next.IsZero():
			r.metrics.Count("WakeUpsInVain", 1)
		default:
			r.metrics.Count("WakeUpsEarly", 1)
		}
		if !next.IsZero() {
			r.timer.Again(w, next)
		}
		return true
	}
}

// see does for one thing what a scheduled run does, if it is due, for a turn. It reports whether
// there was something to do, and when the thing is due next: what the turn did not last for is due
// now.
func (r *waking) see(ctx context.Context, w timer.WakeUp) (did bool, next time.Time, err error) {
	switch w.Kind {
	case timer.Gap:
		report, next, err := r.sorter.Wake(ctx, w.Queue, r.queueOptions(r.metrics, r.seen))
		r.metrics.Count("Advances", report.Moves)
		r.metrics.Count("Skipped", report.Skipped)
		return report.Queues > 0, next, err
	case timer.Consumer:
		report, next, err := r.deliverer.Wake(ctx, w.Queue, w.Consumer,
			r.consumerOptions(r.metrics, r.seen))
		r.metrics.Count("ClaimsCancelled", report.Cancelled)
		r.metrics.Count("ClaimsCarried", report.Carried)
		r.metrics.Count("Notified", report.Notified)
		return report.Notified > 0, next, err
	case timer.Circuit:
		report, next, err := r.deliverer.Wake(ctx, "", w.Consumer, r.consumerOptions(r.metrics, r.seen))
		r.metrics.Count("Notified", report.Notified)
		return report.Notified+report.Announced > 0, next, err
	case timer.Settle:
		return r.settle(ctx, w)
	default:
		report, next, err := r.acker.Wake(ctx, w.Tag, r.announceChain(r.seen))
		r.metrics.Count("ChainsTimedOut", report.TimedOut)
		r.metrics.Count("ChainsFinished", report.Finished)
		return report.Chains > 0, next, err
	}
}

// settle settles a keyed queue up to where messages are due, for a turn. What it leaves is due when
// the first of it is.
func (r *waking) settle(ctx context.Context, w timer.WakeUp) (did bool, next time.Time, err error) {
	if time.Now().Before(w.Due) {
		return false, w.Due, nil // SQS delays by 15 minutes at most
	}
	within, cancel := context.WithTimeout(ctx, turn)
	defer cancel()
	done, err := r.sorter.Settle(within, w.Queue, sortkey.SortKey(w.UpTo))
	runtime.CountSettled(r.metrics, done)
	switch {
	case errors.Is(err, cursor.ErrNoQueue), errors.Is(err, cursor.ErrErased),
		errors.As(err, new(*cursor.InvalidError)):
		return false, time.Time{}, nil // no keyed queue, or no more
	case err == nil && done.More:
		next = time.Now()
	case within.Err() != nil && ctx.Err() == nil:
		r.metrics.Count("Unfinished", 1)
		next = time.Now().Add(time.Second) // in a call of its own: this turn may have been another's
	case err != nil:
		return false, time.Time{}, err
	default:
		next = done.Waiting.Due
	}
	return done.Placed > 0, next, nil
}
