package main

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/streamsort/streamsort/internal/dev/cost"
)

// options say what is sent.
type options struct {
	// rate is how many messages a second, 1 to 100,000, queues how many queues share them, 1 to 100,000.
	rate, queues int
	// batch is how many messages of one queue a request has, 1 to 500.
	batch int
	// disorder is by how many places a queue's messages come too late at most: 0, 8 or 32.
	disorder int
	// together says that queues are in arrival order, so that a batch in order is one item.
	together bool
	// time is how long messages are sent, 1 second to 24 hours.
	time time.Duration
}

// fromEnvironment reads RATE, QUEUES, BATCH, DISORDER, TOGETHER and TIME. The error names all that is wrong.
func fromEnvironment(get func(string) string) (options, error) {
	o := options{rate: 200, queues: 100, batch: 1, time: time.Minute}
	var errs []error
	read := func(name string, parse func(string) bool, want string) {
		if text := get(name); text != "" && !parse(text) {
			errs = append(errs, fmt.Errorf("%s=%s must be %s", name, text, want))
		}
	}
	for _, number := range []struct {
		name string
		to   *int
		most int
	}{{"RATE", &o.rate, 100_000}, {"QUEUES", &o.queues, 100_000}, {"BATCH", &o.batch, 500}} {
		read(number.name, func(text string) bool {
			n, err := strconv.Atoi(text)
			*number.to = n
			return err == nil && n >= 1 && n <= number.most
		}, fmt.Sprintf("a number from 1 to %d", number.most))
	}
	read("DISORDER", func(text string) bool {
		n, err := strconv.Atoi(text)
		o.disorder = n
		return err == nil && (n == 0 || n == 8 || n == 32)
	}, "0, 8 or 32")
	read("TOGETHER", func(text string) bool {
		o.together = text == "1"
		return text == "0" || text == "1" && o.disorder == 0
	}, "0, or 1 where DISORDER is 0")
	read("TIME", func(text string) bool {
		d, err := time.ParseDuration(text)
		o.time = d
		return err == nil && d >= time.Second && d <= 24*time.Hour
	}, "a duration from 1s to 24h")
	return o, errors.Join(errs...)
}

// workload is what is sent at a rate, as `make cost` has it.
func (o options) workload(rate float64) cost.Workload {
	return cost.Workload{Rate: rate, Batch: o.batch, Disorder: cost.Order(strconv.Itoa(o.disorder)), Queues: o.queues}
}

// variables are those of the functions.
func (o options) variables() map[string]string {
	// No event bus here: what the sweep announces stays in its log.
	return map[string]string{"SweepFunction.STREAMSORT_EVENT_BUS": ""}
}
