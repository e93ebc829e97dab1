package main

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/streamsort/streamsort/internal/emf"
	"github.com/streamsort/streamsort/internal/fanout"
	"github.com/streamsort/streamsort/internal/margin"
	"github.com/streamsort/streamsort/internal/settings"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/timer"
)

// wakeUps reads a batch of an SQS queue's messages; false for any other event.
func wakeUps(raw json.RawMessage) ([]events.SQSMessage, bool) {
	var event events.SQSEvent
	if json.Unmarshal(raw, &event) != nil || len(event.Records) == 0 {
		return nil, false
	}
	for _, m := range event.Records {
		if m.EventSource != "aws:sqs" {
			return nil, false
		}
	}
	return event.Records, true
}

// wake sees to what wake-ups are about, side by side. It answers which of them have to come
// again: those that failed, or that there was no time for.
func (s *sweeper) wake(ctx context.Context, messages []events.SQSMessage) events.SQSEventResponse {
	metrics := s.emitter.Begin()
	defer metrics.Flush()
	defer s.after(ctx, metrics)
	ctx, cancel := margin.Keep(ctx, margins)
	defer cancel()
	run := waking{s, metrics, s.troubles()}
	var response events.SQSEventResponse
	var mu sync.Mutex
	all := together(ctx, metrics, messages)
	fanout.SideBySide(len(all), func(i int) {
		if run.one(ctx, all[i].WakeUp) {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		for _, id := range all[i].messages {
			response.BatchItemFailures = append(response.BatchItemFailures, events.SQSBatchItemFailure{ItemIdentifier: id})
		}
	})
	metrics.Count("WakeUps", len(messages))
	run.seen.write(metrics)
	return response
}

// asked is a wake-up, and the messages that asked for it.
type asked struct {
	timer.WakeUp
	messages []string
}

// together are the wake-ups of a batch, one a settle window: two settlers of a queue at once
// would read the same, and one of them in vain. A message that cannot be read would come again
// for nothing.
func together(ctx context.Context, metrics *emf.Metrics, messages []events.SQSMessage) []*asked {
	var all []*asked
	windows := map[string]*asked{}
	for _, m := range messages {
		w, err := timer.Parse(m.Body)
		if err != nil {
			metrics.Count("Errors", 1)
			slog.ErrorContext(ctx, "a message of the timer's queue is dropped", "error", err)
			continue
		}
		if of := windows[w.Queue]; w.Kind == timer.Settle && of != nil {
			of.UpTo, of.Again = max(of.UpTo, w.UpTo), max(of.Again, w.Again)
			of.messages = append(of.messages, m.MessageId)
			continue
		}
		new := &asked{w, []string{m.MessageId}}
		if all = append(all, new); w.Kind == timer.Settle {
			windows[w.Queue] = new
		}
	}
	return all
}

// waking is a batch of wake-ups.
type waking struct {
	*sweeper
	metrics *emf.Metrics
	seen    *troubles
}

// one sees to what a wake-up is about, and reports whether that is done.
func (r *waking) one(ctx context.Context, w timer.WakeUp) bool {
	if ctx.Err() != nil {
		return false
	}
	late := time.Since(w.Due)
	did, next, err := r.see(ctx, w)
	switch {
	case err != nil:
		r.metrics.Count("Errors", 1)
		slog.ErrorContext(ctx, "what is due was not done; the wake-up comes again", "kind", w.Kind, "queue", w.Queue, "consumer", w.Consumer, "tag", w.Tag, "error", err)
		return false
	case !next.IsZero():
		r.metrics.Count("WakeUpsEarly", 1)
		r.timer.Again(w, next)
	case did:
		r.metrics.Add("WakeUpLate", emf.Seconds, max(late, 0).Seconds())
	default:
		r.metrics.Count("WakeUpsInVain", 1)
	}
	return true
}

// see does for one thing what a scheduled run does, if it is due. It reports whether there
// was something to do, and when the thing is due that is not due yet.
func (r *waking) see(ctx context.Context, w timer.WakeUp) (did bool, next time.Time, err error) {
	switch w.Kind {
	case timer.Gap:
		report, next, err := r.sorter.Wake(ctx, w.Queue, r.queueOptions(r.metrics, r.seen))
		r.metrics.Count("Advances", report.Moves)
		r.metrics.Count("Skipped", report.Skipped)
		return report.Queues > 0, next, err
	case timer.Consumer:
		report, next, err := r.deliverer.Wake(ctx, w.Queue, w.Consumer, r.consumerOptions(r.metrics, r.seen))
		r.metrics.Count("ClaimsCancelled", report.Cancelled)
		r.metrics.Count("ClaimsCarried", report.Carried)
		r.metrics.Count("Nudged", report.Nudged)
		return report.Nudged > 0, next, err
	case timer.Batch:
		woken, err := r.deliverer.WakeBatch(ctx, w.Queue, w.Seq(), r.consumerOptions(r.metrics, r.seen))
		if woken {
			r.metrics.Count("Nudged", 1)
		}
		return woken, time.Time{}, err
	case timer.Circuit:
		report, next, err := r.deliverer.WakeCircuit(ctx, w.Consumer, r.consumerOptions(r.metrics, r.seen))
		r.metrics.Count("Nudged", report.Nudged)
		return report.Nudged+report.Announced > 0, next, err
	case timer.Settle:
		return r.settle(ctx, w)
	case timer.Acts:
		turn, more, err := r.goOnWith(ctx, w.Tag)
		if more {
			r.timer.Again(w, time.Now())
		}
		return turn.Acted > 0, time.Time{}, err
	default:
		report, next, err := r.acker.Wake(ctx, w.Tag, r.chainOptions(r.seen))
		r.metrics.Count("ChainsTimedOut", report.TimedOut)
		r.metrics.Count("ChainsFinished", report.Finished)
		return report.Chains > 0, next, err
	}
}

// settleTurn is how long a keyed queue may take in a call, as in a round of the sweep: the
// call's other wake-ups, and those that wait for a call, come between.
const settleTurn = 5 * time.Second

// settle settles a keyed queue up to where messages are due, for a turn. Where that does not
// last for all of it, it is woken up again at once.
func (r *waking) settle(ctx context.Context, w timer.WakeUp) (did bool, next time.Time, err error) {
	if time.Now().Before(w.Due) {
		return false, w.Due, nil // SQS delays by 15 minutes at most
	}
	within, cancel := context.WithTimeout(ctx, settleTurn)
	defer cancel()
	done, err := r.sorter.Settle(within, w.Queue, cursor.SortKey(w.UpTo))
	settings.CountSettled(r.metrics, done)
	var none *cursor.InvalidError
	switch {
	case errors.Is(err, cursor.ErrNoQueue), errors.Is(err, cursor.ErrErased), errors.As(err, &none):
		return false, time.Time{}, nil // no keyed queue, or no more
	case done.More, within.Err() != nil && ctx.Err() == nil:
		r.metrics.Count("Unfinished", 1)
		r.timer.Again(w, time.Now())
	case err != nil:
		return false, time.Time{}, err
	case done.Placed == 0:
		// The clock of who stored the first of them is ahead of ours.
		next = done.Waiting.Due
	}
	return done.Placed > 0, next, nil
}
