package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/streamsort/streamsort/internal/consumers"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/trial"
	"github.com/streamsort/streamsort/internal/request"
	"github.com/streamsort/streamsort/localstack"
)

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
