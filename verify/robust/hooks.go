package main

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/traffic"
	"github.com/streamsort/streamsort/internal/dev/trial"
	"github.com/streamsort/streamsort/localstack"
)

const (
	// hooksEnvironments is how many processes of a function there may be. A slow endpoint takes one
	// for as long as it takes: an account has 1,000, and this machine 16 where nothing else is said.
	hooksEnvironments = 100
	// hooksPatience is how long nothing may come out at the end: a killed process may take a
	// wake-up with it, and the sweep, which makes up for it, begins a round every 4 minutes.
	hooksPatience = 6 * time.Minute
	// hooksKilled is how many of the functions' calls have their process killed.
	hooksKilled = 0.01
)

// The parts of the run, of which each has as many messages: all endpoints are good and it counts
// for nothing, all are good, one in twenty has just turned bad, and they are bad since a part ago.
const (
	begun = iota
	allGood
	turned
	known
	hookPhases
)

// mannerOf is how a queue's endpoint answers while some are bad: one in twenty is slow, longer than
// any may take beside others, or answers 503 or 500, or not at all.
func mannerOf(queue string) answer {
	_, number, _ := strings.Cut(queue, "/")
	n, _ := strconv.Atoi(number)
	if n%20 != 7 {
		return good
	}
	return []answer{
		{status: http.StatusServiceUnavailable},
		{status: http.StatusInternalServerError},
		{never: true},
		{status: http.StatusNoContent, after: 1500 * time.Millisecond},
	}[n/20%4]
}

func isGood(p traffic.Place) bool { return mannerOf(p.Queue) == good }

// hooks delivers each of QUEUES to an endpoint of its own, which PUT /endpoints makes, while
// processes are killed. In phases all of them answer at once, then one in twenty turns slow, fails,
// or does not answer at all, and then these stay so. The delays of all others are shown for each,
// with their ratio to the first.
func hooks(ctx context.Context, w *world) {
	var lines []*line
	var queues []string
	for i := range w.number("QUEUES") {
		queues = append(queues, fmt.Sprintf("hooks/%d", i))
		lines = append(lines, &line{queue: queues[i]})
	}
	e := w.startEndpoints(ctx, "3s", localstack.Config{
		Chaos:       localstack.Chaos{Seed: uint64(w.values["SEED"]), Kill: hooksKilled},
		Concurrency: hooksEnvironments,
	}, queues)
	next := 0
	for phase := range hookPhases {
		w.Account.Turn(phase)
		if phase == turned {
			e.turn(mannerOf)
		}
		check.Must(w.Send(ctx, 4, func(ctx context.Context, send func(...traffic.Message) error) error {
			return w.pace(ctx, w.time()/hookPhases, w.number("RATE"), func(due int) error {
				var some []traffic.Message
				for range due {
					l := lines[next%len(lines)]
					next++
					seq := l.take(1, 1, nil)[0]
					some = append(some,
						traffic.Plain(l.queue, seq, fmt.Sprintf(`{"queue":%q,"n":%d}`, l.queue, seq), ""))
				}
				return trial.Chunks(some, batchSize, send)
			})
		}))
	}
	e.turn(func(string) answer { return good })
	w.Say("all is sent, and all endpoints are good again")
	err := w.Drain(ctx, hooksPatience, nil)
	first, _ := e.watched.Took(allGood, isGood)
	for phase, what := range []string{allGood: "all good", turned: "some turned bad",
		known: "some are bad"} {
		if what == "" {
			continue
		}
		took, _ := e.watched.Took(phase, isGood)
		text := fmt.Sprintf("%d messages to good endpoints:", len(took))
		for _, q := range []float64{50, 90, 99} {
			text += fmt.Sprintf("  p%.0f %.0f ms (%.2f)", q, percentile(took, q),
				percentile(took, q)/max(percentile(first, q), 1))
		}
		w.Row(what, "%s", text)
		if len(took) == 0 {
			w.Not("no delay was seen while %s: run it for longer", what)
		}
	}
	w.Row("killed", "%d processes", w.Stack.Killed())
	check.Must(err)
}

// slow has QUEUES at endpoints that take SECONDS beside one that is fast, with CONCURRENCY
// processes of each function. No message of the fast one may wait for as long as a slow one takes.
func slow(ctx context.Context, w *world) {
	takes := time.Duration(w.values["SECONDS"]) * time.Second
	const fast = "hooks/fast"
	queues := make([]string, w.number("QUEUES"))
	for i := range queues {
		queues[i] = fmt.Sprintf("hooks/slow-%d", i)
	}
	e := w.startEndpoints(ctx, (takes + 2*time.Second).String(),
		localstack.Config{Concurrency: w.number("CONCURRENCY")}, append(slices.Clone(queues), fast))
	e.turn(func(queue string) answer {
		if queue == fast {
			return good
		}
		return answer{status: http.StatusNoContent, after: takes}
	})
	seq := int64(0)
	one := func(queue string, seq int64) traffic.Message {
		return traffic.Plain(queue, seq, fmt.Sprintf(`{"n":%d}`, seq), "")
	}
	check.Must(w.Send(ctx, 4, func(ctx context.Context, send func(...traffic.Message) error) error {
		for _, queue := range queues {
			if err := send(one(queue, 1), one(queue, 2)); err != nil {
				return err
			}
		}
		const rate = 10
		return w.pace(ctx, time.Duration(w.values["MESSAGES"])*time.Second/rate, rate,
			func(due int) error {
				for range due {
					seq++
					if err := send(one(fast, seq)); err != nil {
						return err
					}
				}
				return nil
			})
	}))
	err := w.Drain(ctx, hooksPatience, nil)
	for _, name := range []string{"fast", "slow"} {
		took, _ := e.watched.Took(0, func(p traffic.Place) bool {
			return (p.Queue == fast) == (name == "fast")
		})
		w.Row(name, "%d messages: median %.0f ms, p99 %.0f, longest %.0f", len(took),
			percentile(took, 50), percentile(took, 99), percentile(took, 100))
		if name == "fast" {
			w.waitsForNobody(took, takes)
		}
	}
	check.Must(err)
}

// waitsForNobody notes where p99 of a fast endpoint's delays is what slow ones take.
func (w *world) waitsForNobody(fast []time.Duration, slow time.Duration) {
	if p99 := percentile(fast, 99); p99 == 0 || p99 >= slow.Seconds()*1000 {
		w.Not("p99 of the fast endpoint is %.0f ms, beside slow ones that take %v", p99, slow)
	}
}
