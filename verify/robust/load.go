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
	"github.com/streamsort/streamsort/localstack"
)

const (
	// loadClients is how many requests are under way at a time.
	loadClients  = 32
	loadPatience = time.Minute
)

// The demo's stack, and the function that process calls in it.
var demoTemplates = []string{"examples/demo/streamsort.patch.json", "examples/receiver/receiver.template.json"}

// load sends RATE messages a second to QUEUES, BATCH of one queue a request, each late by DISORDER
// places at most. TOGETHER has the queues in arrival order, in which a batch in order is one item.
// Nothing goes wrong on purpose. Times are those of this machine and its server, and say nothing of
// AWS; requests and units are charged by AWS's rules, and dollars by the prices of `make cost`.
func load(ctx context.Context, w *world) {
	l := check.Get(newLoadTraffic(w.values))
	counted := meter.New(front.Transport())
	w.start(ctx, setup{
		templates: demoTemplates, through: counted,
		// No event bus here: what the sweep announces stays in its log.
		config: localstack.Config{Env: map[string]string{"SweepFunction.STREAMSORT_EVENT_BUS": ""}},
	})
	watched := w.watch("lambda", unfailing, all)
	w.watchLog(watched, "ReceiverFunction")
	// Every queue is made and every function started before anything is counted.
	check.Must(w.send(ctx, loadClients, func(_ context.Context, send func(...message) error) error { return l.first(send) }))
	check.Must(w.drain(ctx, loadPatience, w.idle()))
	w.account.turn(1)
	warm, before, state, began := w.sender.Sent().Messages, counted.Counts(), watched.state(), time.Now()
	err := w.send(ctx, loadClients, func(ctx context.Context, send func(...message) error) error {
		if err := w.pace(ctx, w.time(), w.number("RATE"), func(due int) error { return l.due(due, send) }); err != nil {
			return err
		}
		return l.last(send)
	})
	sending := time.Since(began)
	if err == nil {
		err = w.drain(ctx, loadPatience, w.idle())
	}
	after := watched.state()
	took, last := watched.took(1, all)
	n := max(float64(w.sender.Sent().Messages-warm), 1)
	w.row("messages", "%.0f, delivered in %d batches, %d of them messages again; %d calls made again",
		n, after.batches-state.batches, after.again, w.sender.Sent().Repeats)
	w.row("a second", "%.0f accepted of %d, %.0f delivered", n/sending.Seconds(), w.values["RATE"], n/last.Sub(began).Seconds())
	w.row("put to handed", "median %.0f ms, p90 %.0f, p99 %.0f, p99.9 %.0f, longest %.0f, on this machine",
		percentile(took, 50), percentile(took, 90), percentile(took, 99), percentile(took, 99.9), percentile(took, 100))
	spent := counted.Counts().Sub(before).Total()
	w.row("a message", "%.3f requests, %.3f write and %.3f read units, by AWS's rules", float64(spent.Requests)/n, spent.Writes/n, spent.Reads/n)
	work := cost.Workload{Rate: n / sending.Seconds(), Batch: l.batch, Disorder: cost.Order(fmt.Sprint(l.disorder)), Queues: len(l.lines)}
	a := work.Measured(cost.Units{Writes: spent.Writes / n, Reads: spent.Reads / n}, l.together)
	w.row("a million", "$%.3f for these units, $%.3f with API, functions, logs and storage; make cost has $%.3f: both without fixed costs", a.Tables, a.Total, a.Expected)
	w.nothingGivenUp()
	if len(took) == 0 {
		w.not("nothing was sent: TIME and RATE are not enough for one request")
	}
	check.Must(err)
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
		return nil, fmt.Errorf("TOGETHER=1 must be 0 where DISORDER is %d: a batch in order is one item", l.disorder)
	}
	for i := range v.number("QUEUES") {
		l.lines = append(l.lines, &line{queue: fmt.Sprintf("load/%05d", i)})
	}
	return l, nil
}

// request is one of messages of a queue, each of 100 bytes of JSON.
func (l *loadTraffic) request(queue string, seqs []int64) []message {
	kind := map[bool]string{true: `,"kind":"arrival"`}[l.together]
	messages := make([]message, len(seqs))
	for i, seq := range seqs {
		text := fmt.Sprintf(`{"n":%d,"queue":%q,"text":"`, seq, queue)
		messages[i] = plain(queue, seq, text+strings.Repeat("-", max(0, 98-len(text)))+`"}`, kind)
	}
	return messages
}

// first sends each queue as many messages as a batch has, in whole windows: all of it must come out
// before the rest is sent.
func (l *loadTraffic) first(send func(...message) error) error {
	window := max(l.disorder, 1)
	for _, line := range l.lines {
		if err := send(l.request(line.queue, line.take(max(l.batch-l.batch%window, window), l.disorder, l.random))...); err != nil {
			return err
		}
	}
	return nil
}

// due sends the requests of so many more messages that are due.
func (l *loadTraffic) due(messages int, send func(...message) error) error {
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
func (l *loadTraffic) last(send func(...message) error) error {
	for _, line := range l.lines {
		if err := chunks(l.request(line.queue, line.rest()), l.batch, send); err != nil {
			return err
		}
	}
	return nil
}
