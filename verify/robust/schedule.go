package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/streamsort/streamsort/internal/request"
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

// settings are the consumer's of a sink in consumers.json.
func (s schedule) settings(sink map[string]any) map[string]any {
	return map[string]any{
		"name": consumer, "retries": texts(s.retries), "blockAfter": s.blockAfter.String(),
		"circuit": map[string]any{"probes": texts(s.probes), "wakeRate": s.wakeRate},
		"sink":    sink,
	}
}

func texts(all []time.Duration) []string {
	return strings.Fields(strings.Trim(fmt.Sprint(all), "[]"))
}

// patch is a template: that of the demo, with this consumer for those of the demo.
func (s schedule) patch(base string, sink map[string]any) ([]byte, error) {
	reader := map[string]any{"name": consumer, "circuit": map[string]any{"wakeRate": s.wakeRate}}
	readers, err := json.Marshal(map[string]any{"consumers": []any{reader}})
	if err != nil {
		return nil, err
	}
	consumers, err := json.Marshal(map[string]any{"consumers": []any{s.settings(sink)}})
	if err != nil {
		return nil, err
	}
	replace := func(path string, value []byte) map[string]string {
		return map[string]string{"op": "replace", "path": path, "value": string(value)}
	}
	return json.Marshal(map[string]any{"Base": base, "Patch": []any{
		replace("/Resources/ProcessFunction/Metadata/streamsort:files/consumers.json", consumers),
		replace("/Resources/SweepFunction/Properties/Environment/Variables/STREAMSORT_READERS", readers),
	}})
}

// tries is how often a queue is tried in a time, one try included that was under way before.
func (s schedule) tries(in time.Duration) int {
	for n := 0; ; n++ {
		if in -= request.RetryAfter(n+1, s.retries); in < 0 {
			return n + 1
		}
	}
}

// intervals is how many probes may be made in a time since the circuit opened.
func (s schedule) intervals(open time.Duration) int64 {
	for n := 0; ; n++ {
		if open -= request.RetryAfter(n+1, s.probes); open < 0 {
			return int64(n)
		}
	}
}
