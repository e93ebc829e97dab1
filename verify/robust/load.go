package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/cost"
	"github.com/streamsort/streamsort/internal/dev/front"
	"github.com/streamsort/streamsort/internal/dev/meter"
	"github.com/streamsort/streamsort/internal/dev/traffic"
	"github.com/streamsort/streamsort/internal/dev/trial"
	"github.com/streamsort/streamsort/localstack"
)

const (
	// loadClients is how many requests are under way at a time.
	loadClients  = 32
	loadPatience = time.Minute
)

// The demo's stack, and the function that process calls in it.
var demoTemplates = []string{"examples/demo/streamsort.patch.json",
	"examples/receiver/receiver.template.json"}

// load sends RATE messages a second to QUEUES, BATCH of one queue a request, each late by DISORDER
// places at most. TOGETHER has the queues in arrival order, in which a batch in order is one item.
// Nothing goes wrong on purpose. Times are those of this machine and its server, and say nothing of
// AWS; requests and units are charged by AWS's rules, and dollars by the prices of `make cost`.
func load(ctx context.Context, w *world) {
	l := check.Get(newLoadTraffic(w.values))
	counted := meter.New(front.Transport())
	w.Start(ctx, trial.Setup{
		Templates: demoTemplates, Through: counted,
		// No event bus here: what the sweep announces stays in its log.
		Config: localstack.Config{Env: map[string]string{"SweepFunction.STREAMSORT_EVENT_BUS": ""}},
	})
	watched := w.Watch("lambda", traffic.Unfailing, traffic.All)
	w.WatchLog(watched, "ReceiverFunction")
	// Every queue is made and every function started before anything is counted.
	check.Must(w.Send(ctx, loadClients,
		func(_ context.Context, send func(...traffic.Message) error) error {
			return l.first(send)
		}))
	check.Must(w.Drain(ctx, loadPatience, w.Idle()))
	w.Account.Turn(1)
	warm, before, state, began := w.Sender.Sent().Messages, counted.Count(),
		watched.State(), time.Now()
	err := w.Send(ctx, loadClients,
		func(ctx context.Context, send func(...traffic.Message) error) error {
			if err := w.pace(ctx, w.time(), w.number("RATE"), func(due int) error {
				return l.due(due, send)
			}); err != nil {
				return err
			}
			return l.last(send)
		})
	sending := time.Since(began)
	if err == nil {
		err = w.Drain(ctx, loadPatience, w.Idle())
	}
	after := watched.State()
	took, last := watched.Took(1, traffic.All)
	n := max(float64(w.Sender.Sent().Messages-warm), 1)
	w.Row("messages", "%.0f, delivered in %d batches, %d of them messages again; %d calls made again",
		n, after.Batches-state.Batches, after.Again, w.Sender.Sent().Repeats)
	w.Row("a second", "%.0f accepted of %d, %.0f delivered", n/sending.Seconds(), w.values["RATE"],
		n/last.Sub(began).Seconds())
	w.Row("put to handed",
		"median %.0f ms, p90 %.0f, p99 %.0f, p99.9 %.0f, longest %.0f, on this machine",
		percentile(took, 50), percentile(took, 90), percentile(took, 99), percentile(took, 99.9),
		percentile(took, 100))
	spent := counted.Count().Sub(before)
	w.Row("a message", "%.3f requests, %.3f write and %.3f read units, by AWS's rules",
		float64(spent.Requests)/n, spent.Writes/n, spent.Reads/n)
	work := cost.Workload{Rate: n / sending.Seconds(), Batch: l.batch,
		Disorder: cost.Order(fmt.Sprint(l.disorder)), Queues: len(l.lines)}
	a := work.Measured(cost.Units{Writes: spent.Writes / n, Reads: spent.Reads / n}, l.together)
	w.Row("a million", "$%.3f for these units, $%.3f with API, functions, logs and storage; make cost has $%.3f: both without fixed costs", a.Tables, a.Total, a.Expected)
	w.NothingGivenUp()
	if len(took) == 0 {
		w.Not("nothing was sent: TIME and RATE are not enough for one request")
	}
	check.Must(err)
}

// percentile is the shortest of sorted durations that so many of a hundred are no longer than, in
// milliseconds; 0 of none.
func percentile(sorted []time.Duration, of float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(int(float64(len(sorted))*of/100), len(sorted)-1)].Seconds() * 1000
}

// loadTraffic gives queues their messages in turn.
type loadTraffic struct {
	batch, disorder int
	together        bool
	random          *rand.Rand
	lines           []*line
	turn            int
	owed            int // messages that are due, and fill no request yet
}

func newLoadTraffic(v values) (*loadTraffic, error) {
	l := &loadTraffic{
		batch: v.number("BATCH"), disorder: v.number("DISORDER"), together: v["TOGETHER"] == 1,
		random: rand.New(rand.NewPCG(2026, 20)),
	}
	switch {
	case !slices.Contains([]int{0, 8, 32}, l.disorder):
		return nil, fmt.Errorf("DISORDER=%d must be 0, 8 or 32", l.disorder)
	case l.together && l.disorder > 0:
		return nil,
			fmt.Errorf("TOGETHER=1 must be 0 where DISORDER is %d: a batch in order is one item", l.disorder)
	}
	for i := range v.number("QUEUES") {
		l.lines = append(l.lines, &line{queue: fmt.Sprintf("load/%05d", i)})
	}
	return l, nil
}

// request is one of messages of a queue, each of 100 bytes of JSON.
func (l *loadTraffic) request(queue string, seqs []int64) []traffic.Message {
	kind := map[bool]string{true: `,"kind":"arrival"`}[l.together]
	messages := make([]traffic.Message, len(seqs))
	for i, seq := range seqs {
		text := fmt.Sprintf(`{"n":%d,"queue":%q,"text":"`, seq, queue)
		messages[i] = traffic.Plain(queue, seq, text+strings.Repeat("-", max(0, 98-len(text)))+`"}`, kind)
	}
	return messages
}

// first sends each queue as many messages as a batch has, in whole windows: all of it must come out
// before the rest is sent.
func (l *loadTraffic) first(send func(...traffic.Message) error) error {
	window := max(l.disorder, 1)
	for _, line := range l.lines {
		if err := send(l.request(line.queue,
			line.take(max(l.batch-l.batch%window, window), l.disorder, l.random))...); err != nil {
			return err
		}
	}
	return nil
}

// due sends the requests of so many more messages that are due.
func (l *loadTraffic) due(messages int, send func(...traffic.Message) error) error {
	for l.owed += messages; l.owed >= l.batch; l.owed -= l.batch {
		line := l.lines[l.turn%len(l.lines)]
		l.turn++
		if err := send(l.request(line.queue, line.take(l.batch, l.disorder, l.random))...); err != nil {
			return err
		}
	}
	return nil
}

// last sends what is missing in all windows.
func (l *loadTraffic) last(send func(...traffic.Message) error) error {
	for _, line := range l.lines {
		if err := trial.Chunks(l.request(line.queue, line.rest()), l.batch, send); err != nil {
			return err
		}
	}
	return nil
}
