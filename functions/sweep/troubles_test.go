package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/emf"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/delivery"
	"github.com/streamsort/streamsort/pkg/xorack"
)

// byTenant are the metrics of a run that have the tenant as a dimension, as "tenant metric value".
func byTenant(t *testing.T, out *bytes.Buffer) map[string]float64 {
	t.Helper()
	got := map[string]float64{}
	for text := range strings.Lines(out.String()) {
		var line struct {
			Tenant string
			AWS    struct {
				CloudWatchMetrics []struct {
					Dimensions [][]string
					Metrics    []struct{ Name string }
				}
			} `json:"_aws"`
		}
		var values map[string]any
		if json.Unmarshal([]byte(text), &line) != nil || json.Unmarshal([]byte(text), &values) != nil {
			t.Fatal(text)
		}
		if line.Tenant == "" {
			continue
		}
		check.Is(t,
			cmp.Diff([][]string{{"service", "tenant"}}, line.AWS.CloudWatchMetrics[0].Dimensions), "")
		for _, metric := range line.AWS.CloudWatchMetrics[0].Metrics {
			got[line.Tenant+" "+metric.Name] = values[metric.Name].(float64)
		}
	}
	out.Reset()
	return got
}

// What alarms watch is written of each tenant that has trouble, and of no other; where there are no
// tenants, of none.
func TestHandlerTellsTenantsApart(t *testing.T) {
	now := time.Now().UTC().Truncate(time.Second)
	clock := func() time.Time { return now }
	sorter := check.Get(cursor.New(cursor.NewMemory(), &cursor.Options{Now: clock}))
	s := sweeperOf(t, sorter)
	s.deliverer = check.Get(delivery.New(delivery.NewMemory(), sorter, &delivery.Options{Now: clock}))
	s.acker = check.Get(xorack.New(xorack.NewMemory(), &xorack.Options{Now: clock}))
	put := func(queue string, seq int64) {
		t.Helper()
		check.OK(t,
			sorter.Put(t.Context(), cursor.Message{Queue: queue, Seq: seq, Body: []byte("1")})[0].Err)
	}
	put("@acme/a", 3)
	put("@well/a", 1)
	now = now.Add(20 * time.Minute)
	put("@acme/b", 3)
	put("@late/a", 3)
	put("orders", 3)
	for _, queue := range []string{"@globex/a", "@globex/b"} {
		put(queue, 1)
		bad := delivery.Reader{Name: "c", Handle: func(context.Context, delivery.Batch) error {
			return delivery.Permanent(errors.New("no luck"))
		}}
		done := s.deliverer.Deliver(t.Context(), queue, bad, -1)
		check.Need(t, done.Outcome == delivery.Blocked, "%+v", done)
	}
	check.Get(s.deliverer.Create(t.Context(), "@well/a", "c", delivery.First))
	for _, tag := range []string{"@acme/t", "t"} {
		check.Get(s.acker.Create(t.Context(), tag, &xorack.CreateOptions{Deadline: time.Minute}))
	}
	now = now.Add(10 * time.Minute)
	s.gapAfter, s.tenants = 10*time.Minute+time.Second, true
	put("orders", 1)
	put("orders", 5)
	run := func(want map[string]float64) {
		t.Helper()
		check.Get(s.run(t.Context(), nil))
		check.Is(t, cmp.Diff(want, byTenant(t, &s.out)), "")
	}
	run(map[string]float64{
		"acme GapAge": 1800, "acme ChainsTimedOut": 1, "globex ConsumersBlocked": 2, "well ConsumerLag": 1800, "(none) ChainsTimedOut": 1,
	})
	now = now.Add(10 * time.Minute)
	run(map[string]float64{
		"acme GapAge": 2400, "late GapAge": 1200, "(none) GapAge": 1200, "globex ConsumersBlocked": 2, "well ConsumerLag": 2400,
	})
	s.tenants = false
	run(map[string]float64{})
}

// A run writes a metric of fifty tenants at the most, the worst.
func TestTroublesAreBounded(t *testing.T) {
	var out bytes.Buffer
	seen := &troubles{of: map[string]map[string]float64{}}
	for n := range 60 {
		seen.worst("GapAge", fmt.Sprintf("@t%d/q", n), float64(n))
		seen.worst("GapAge", fmt.Sprintf("@t%d/q", n), 0)
	}
	metrics := emf.New(&out, emf.Names{}).Begin()
	seen.write(metrics)
	metrics.Flush()
	got := byTenant(t, &out)
	check.That(t, len(got) == 50 && got["t59 GapAge"] == 59 && got["t9 GapAge"] == 0 &&
		got["t10 GapAge"] == 10, "%d: %v", len(got), got)
}
