package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/traffic"
	"github.com/streamsort/streamsort/internal/dynamo"
	"github.com/streamsort/streamsort/internal/request"
	"github.com/streamsort/streamsort/pkg/delivery"
)

const (
	// outagePoison is the queue whose second message is never taken.
	outagePoison   = "shop/poison"
	outagePatience = time.Minute
	// toldAfter is how long a process does without looking at the circuit anew: one that knows that
	// it was closed may begin a call as long as that after it opened.
	toldAfter = 5 * time.Second
)

// notPoisoned is what the sink gets.
func notPoisoned(p traffic.Place) bool { return p.Queue != outagePoison || p.Seq < 2 }

func isPoison(p traffic.Place) bool { return p == traffic.At(outagePoison, 2) }

// twoOfEach are two messages of each queue, those of a queue in their order.
func twoOfEach(queues int) (messages []traffic.Message) {
	for i := range queues {
		queue := fmt.Sprintf("shop/%d", i)
		if i == queues/2 {
			queue = outagePoison
		}
		for seq := int64(1); seq <= 2; seq++ {
			messages = append(messages,
				traffic.Plain(queue, seq, fmt.Sprintf(`{"queue":%d,"n":%d}`, i, seq), ""))
		}
	}
	return messages
}

// outage has process deliver QUEUES to a sink that is away, for MINUTES of the consumer's default
// times at least, and then is back. The times are shortened by FACTOR, so that the minutes take
// seconds: an hour is half a minute. This program is the sink: process calls it where Lambda would
// be, and so each call is counted. While it is away each call fails as one of a function does whose
// database is gone: the kind of failure that counts against the message. One queue has a message
// that is never taken.
func outage(ctx context.Context, w *world) {
	factor := time.Duration(w.values["FACTOR"])
	s := shortened(factor)
	sink := &lambdaSink{watched: w.Watch("lambda", traffic.Unfailing, notPoisoned),
		poison: isPoison, away: true}
	s.start(ctx, w, sink)
	db := check.Get(dynamo.New(&dynamo.Options{Endpoint: w.Direct}))
	store := delivery.NewDynamo(db,
		delivery.Names{Consumers: w.Stack.Outputs()["streamsort"]["ConsumersTableName"]})
	w.Say("all times are the defaults divided by %d, and no less than may be set: %s", factor, s)

	// One try of each was under way before.
	r := outageResult{queues: w.number("QUEUES"), tries: 1 + fit(toldAfter, s.retries)}
	began, least := time.Now(), time.Duration(w.values["MINUTES"])*time.Minute/factor
	look := func(ctx context.Context) error { return r.circuit.look(ctx, store) }
	watch := w.During(ctx, func(ctx context.Context) error {
		return each(ctx, 100*time.Millisecond, look)
	})
	check.Must(w.SendAll(ctx, 4, 100, twoOfEach(r.queues)))
	check.Must(w.stay(ctx, began, least))
	// A process that makes a probe notes it first.
	r.calls, _ = sink.seen()
	check.Must(errors.Join(watch(), look(ctx)))
	r.intervals = int64(fit(time.Since(r.circuit.opened), s.probes))
	r.blockedAway = check.Get(w.blocked(ctx))
	away, back := time.Since(began), time.Now()
	w.Say("the sink is back after %.0fs", away.Seconds())
	sink.isAway(false)
	err := w.Drain(ctx, outagePatience, func(ctx context.Context) (left string, err error) {
		r.caughtUp = cmp.Or(r.caughtUp, time.Since(back))
		if r.blocked, err = w.blocked(ctx); err == nil && !slices.Contains(r.blocked, outagePoison) {
			left = "the poisoned message has blocked nothing"
		}
		return left, err
	})
	_, refused := sink.seen()
	before, underWay, open := r.counted()
	w.Row("away", "%.0f s, blocked meanwhile: %d", away.Seconds(), len(r.blockedAway))
	w.Row("calls in vain",
		"%d before the circuit opened, %d in the %v until all processes know, %d later", before, underWay,
		toldAfter, open)
	w.Row("probes", "%d, in %d intervals", r.circuit.probes, r.intervals)
	w.Row("caught up", "in %.1f s, %.0f queues a second", r.caughtUp.Seconds(),
		float64(r.queues)/r.caughtUp.Seconds())
	w.Row("blocked in the end", "%v, after %d tries since the sink is back", r.blocked, refused)
	check.Must(err)
	r.check(w)
}

// outageResult is what was seen.
type outageResult struct {
	queues    int
	tries     int // of a queue, by its schedule, while a process does not know of the circuit
	caughtUp  time.Duration
	calls     []time.Time // of the dead sink
	circuit   circuit
	intervals int64 // of probes, since the circuit opened
	// blocked are the queues that are blocked in the end, blockedAway those that were before the
	// sink was back.
	blocked, blockedAway []string
}

// circuit is what was seen of the consumer's circuit while the sink was away.
type circuit struct {
	opened time.Time
	probes int64
	// again tells that it closed, or opened anew.
	again bool
}

// look looks at it.
func (c *circuit) look(ctx context.Context, store *delivery.Store) error {
	e, err := store.Requests(request.Inside{}).Health(ctx, consumer, true)
	if err != nil {
		return err
	}
	now := e.Circuit
	if c.opened.IsZero() {
		c.opened = now.Opened
	}
	c.again = c.again || !now.Opened.Equal(c.opened)
	c.probes = max(c.probes, now.Probes)
	return nil
}

// counted are the calls to the dead sink: before the circuit opened, as long as a process may not
// know of that, and from then on.
func (r outageResult) counted() (before, underWay, open int) {
	for _, at := range r.calls {
		switch since := at.Sub(r.circuit.opened); {
		case since <= 0:
			before++
		case since <= toldAfter:
			underWay++
		default:
			open++
		}
	}
	return before, underWay, open
}

// check notes what was not as it must be.
func (r outageResult) check(w *world) {
	if len(r.blockedAway) > 0 {
		w.Not("the outage blocked %d queues: %.200q", len(r.blockedAway), r.blockedAway)
	}
	if !slices.Equal(r.blocked, []string{outagePoison}) {
		w.Not("%d queues are blocked, not %s alone: %.200q", len(r.blocked), outagePoison, r.blocked)
	}
	// Each of them is by a process that remembers that the circuit was closed, and tries a queue by
	// its schedule.
	switch _, underWay, open := r.counted(); {
	case underWay > r.queues*r.tries:
		w.Not("%d calls in the %v after the circuit opened, and %d queues that are tried %d times at most", underWay, toldAfter, r.queues, r.tries)
	case r.circuit.opened.IsZero():
		w.Not("the circuit did not open")
	case r.circuit.again:
		w.Not("the circuit closed while the sink was away")
	case int64(open) > r.circuit.probes:
		w.Not("%d calls while the circuit was open, and %d probes", open, r.circuit.probes)
	case r.circuit.probes > r.intervals:
		w.Not("%d probes in %d intervals", r.circuit.probes, r.intervals)
	case r.circuit.probes == 0:
		w.Not("no probe was made")
	}
}
