package main

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/streamsort/streamsort/internal/dev/cost"
	"github.com/streamsort/streamsort/internal/settings"
	"github.com/streamsort/streamsort/pkg/cursor"
)

// options say what is sent.
type options struct {
	// rate is how many messages a second, 1 to 100,000, queues how many queues share them, 1 to 100,000.
	rate, queues int
	// batch is how many messages of one queue a request has, 1 to 500.
	batch int
	// disorder is by how many places a queue's messages come too late at most: 0, 8 or 32.
	disorder int
	// packs says whether batches in order are one item each: as the stack has it by default, always or never.
	packs cursor.Packs
	// time is how long messages are sent, 1 second to 24 hours.
	time time.Duration
}

// fromEnvironment reads RATE, QUEUES, BATCH, DISORDER, PACKS and TIME. The error names all that is wrong.
func fromEnvironment(get func(string) string) (options, error) {
	o := options{rate: 200, queues: 100, batch: 1, packs: cursor.DefaultSettings().Packs, time: time.Minute}
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
	read("PACKS", func(text string) bool {
		o.packs = map[string]cursor.Packs{"0": cursor.PacksOff, "1": cursor.PacksOn}[text]
		return o.packs != ""
	}, "0 or 1")
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
	variables := map[string]string{"SweepFunction.STREAMSORT_EVENT_BUS": ""}
	packs := o.packs
	if packs == cursor.PacksAuto && o.batch == 1 {
		// A queue is made by a whole window at once, where it is out of order; singles alone would make it without.
		packs = cursor.PacksOff
	}
	variables[settings.QueueVariable("packs")] = string(packs)
	return variables
}
