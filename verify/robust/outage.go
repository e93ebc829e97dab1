package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/streamsort/streamsort/internal/consumers"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/traffic"
	"github.com/streamsort/streamsort/internal/dev/trial"
	"github.com/streamsort/streamsort/internal/dynamo"
	"github.com/streamsort/streamsort/internal/request"
	"github.com/streamsort/streamsort/localstack"
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
		poison: isPoison}
	sink.away.Store(true)
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
	check.Must(w.pace(ctx, least-time.Since(began), 10, func(int) error { return nil }))
	// A process that makes a probe notes it first.
	r.calls, _ = sink.seen()
	check.Must(errors.Join(watch(), look(ctx)))
	r.intervals = int64(fit(time.Since(r.circuit.opened), s.probes))
	r.blockedAway = check.Get(w.blocked(ctx))
	away, back := time.Since(began), time.Now()
	w.Say("the sink is back after %.0fs", away.Seconds())
	sink.away.Store(false)
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

// consumer is the name of the one with a schedule.
const consumer = "away"

// schedule is the consumer's default times, shortened, but to no less than may be set.
type schedule struct {
	retries, probes []time.Duration
	blockAfter      time.Duration
	wakeRate        int
}

func shortened(factor time.Duration) schedule {
	return schedule{
		retries: shorten(request.DefaultRetries, factor), probes: shorten(request.DefaultProbes, factor),
		blockAfter: max(request.DefaultBlock/factor, request.MinBlock),
		wakeRate:   min(request.DefaultWakeRate*int(factor), request.MaxWakeRate),
	}
}

func shorten(all []time.Duration, factor time.Duration) []time.Duration {
	short := make([]time.Duration, len(all))
	for i, d := range all {
		short[i] = max(d/factor, request.MinDelay)
	}
	return short
}

// String is the schedule as it is printed.
func (s schedule) String() string {
	return fmt.Sprintf("retries %v, probes %v, blockAfter %v, wakeRate %d", s.retries, s.probes,
		s.blockAfter, s.wakeRate)
}

// consumers is a consumers.json of the consumer, which delivers to a function of this name.
func (s schedule) consumers(function string) string {
	return string(check.Get(json.Marshal(map[string]any{"consumers": []any{map[string]any{
		"name": consumer, "retries": texts(s.retries), "blockAfter": s.blockAfter.String(),
		"circuit": map[string]any{"probes": texts(s.probes), "wakeRate": s.wakeRate},
		"sink": map[string]any{"kind": "lambda",
			"arn": "arn:aws:lambda:us-east-1:000000000000:function:" + function},
	}}})))
}

func texts(all []time.Duration) []string {
	return strings.Fields(strings.Trim(fmt.Sprint(all), "[]"))
}

// start starts the demo's stack with this schedule's consumer for those of the demo, which delivers
// to a sink.
func (s schedule) start(ctx context.Context, w *world, sink *lambdaSink) {
	text := s.consumers("streamsort-receiver")
	w.Start(ctx, trial.Setup{Templates: demoTemplates[:1], Config: localstack.Config{
		Env: map[string]string{"STREAMSORT_EVENT_BUS": "",
			"ProcessFunction." + consumers.TextVariable: text, "SweepFunction.STREAMSORT_READERS": text,
			"ProcessFunction.AWS_ENDPOINT_URL_LAMBDA": w.Serve(sink)},
		Failed: func(string, string) {}, // what fails here fails on purpose
	}})
}

// fit is how many of the delays there is time for, one after the other.
func fit(in time.Duration, delays []time.Duration) (n int) {
	for in -= request.RetryAfter(1, delays); in >= 0; in -= request.RetryAfter(n+1, delays) {
		n++
	}
	return n
}

// lambdaSink is a function that process calls: it answers as Lambda does.
type lambdaSink struct {
	watched *traffic.Watcher
	// poison are messages that are not taken.
	poison func(traffic.Place) bool

	away  atomic.Bool
	mu    sync.Mutex
	calls []time.Time // while it is away
	// refused is how often the poisoned message was refused since the sink is back.
	refused int
}

// document is what process calls a function with.
type document struct {
	Queue    string `json:"queue"`
	TokenN   int64  `json:"tokenN"`
	From     int64  `json:"from"`
	To       int64  `json:"to"`
	Messages []struct {
		Seq  int64           `json:"seq"`
		Body json.RawMessage `json:"body"`
	} `json:"messages"`
}

// ServeHTTP implements [http.Handler]: Lambda's Invoke.
func (s *lambdaSink) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	began := time.Now()
	body, err := io.ReadAll(r.Body)
	var d document
	if err == nil {
		err = json.Unmarshal(body, &d)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if problem := s.take(d, began); problem != "" {
		w.Header().Set("X-Amz-Function-Error", "Unhandled")
		_ = json.NewEncoder(w).Encode(map[string]string{"errorType": "Error", "errorMessage": problem})
		return
	}
	_, _ = io.WriteString(w, "null")
}

// take takes a document, or says why not.
func (s *lambdaSink) take(d document, at time.Time) (problem string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.away.Load() {
		s.calls = append(s.calls, at)
		return "the database does not answer"
	}
	for seq := d.From + 1; seq <= d.To; seq++ {
		if s.poison(traffic.At(d.Queue, seq)) {
			s.refused++
			return "the message cannot be read"
		}
	}
	b := traffic.Batch{Queue: d.Queue, Token: d.TokenN, From: d.From, To: d.To}
	for _, m := range d.Messages {
		b.Messages = append(b.Messages, traffic.Logged{Seq: m.Seq, SHA256: traffic.Sum(m.Body)})
	}
	s.watched.Batch(b)
	return ""
}

// seen is when it was called while it was away, and how often it refused the poisoned message
// since.
func (s *lambdaSink) seen() (calledWhileAway []time.Time, refused int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]time.Time(nil), s.calls...), s.refused
}
