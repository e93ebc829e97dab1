package main

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/streamsort/streamsort/internal/dev/cost"
	"github.com/streamsort/streamsort/internal/dev/meter"
)

// result is what a load ends with.
type result struct {
	options
	messages, lost int
	// again are batches that came before, in whole or in part, each under a higher token: the claim of a
	// process that was too slow had run out. repeats are calls that were made again.
	batches, again, repeats int
	// sending is how long it took to send, all how long it took until the last message was out.
	sending, all time.Duration
	took         []time.Duration // of the messages, the shortest first
	spent        meter.Count
	// wrong is what must not be.
	wrong []string
}

// print prints the summary.
func (r result) print(out io.Writer) {
	row := func(name, format string, arguments ...any) {
		fmt.Fprintf(out, "    %-14s %s\n", name, fmt.Sprintf(format, arguments...))
	}
	n := max(float64(r.messages), 1)
	accepted := n / r.sending.Seconds()
	row("messages", "%d to %d queues, delivered in %d batches, %d of them again; %d calls made again", r.messages, r.queues, r.batches, r.again, r.repeats)
	row("a second", "%.0f accepted of %d, %.0f delivered", accepted, r.rate, n/r.all.Seconds())
	row("put to handed", "median %.0f ms, p90 %.0f, p99 %.0f, p99.9 %.0f, longest %.0f, on this machine", ms(r.took, 50), ms(r.took, 90), ms(r.took, 99), ms(r.took, 99.9), ms(r.took, 100))
	row("a message", "%.3f requests, %.3f write and %.3f read units, by AWS's rules", float64(r.spent.Requests)/n, r.spent.Writes/n, r.spent.Reads/n)
	units := cost.Units{Writes: r.spent.Writes / n, Reads: r.spent.Reads / n}
	a := r.workload(accepted).Measured(units, r.together)
	row("a million", "$%.3f for these units, $%.3f with API, functions, logs and storage; make cost has $%.3f: both without fixed costs", a.Tables, a.Total, a.Expected)
	row("lost", "%d", r.lost)
	row("wrong", "%d", len(r.wrong))
}

// ms is a percentile in milliseconds.
func ms(sorted []time.Duration, of float64) float64 {
	return percentile(sorted, of).Seconds() * 1000
}

// verdict joins the reasons to fail.
func (r result) verdict() error {
	var errs []error
	for _, said := range r.wrong {
		errs = append(errs, errors.New(said))
	}
	if r.lost != 0 {
		errs = append(errs, fmt.Errorf("%d messages are lost", r.lost))
	}
	if r.messages == 0 {
		errs = append(errs, errors.New("nothing was sent: TIME and RATE are not enough for one request"))
	}
	return errors.Join(errs...)
}
