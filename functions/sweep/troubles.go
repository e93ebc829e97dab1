package main

import (
	"cmp"
	"maps"
	"slices"
	"sync"

	"github.com/streamsort/streamsort/internal/emf"
	"github.com/streamsort/streamsort/pkg/tenant"
)

// troubles are what a run sees that alarms watch, of each tenant. A nil troubles notes nothing:
// there are no tenants.
type troubles struct {
	mu sync.Mutex
	// of is by metric and tenant.
	of map[string]map[string]float64
}

// maxTroubled is how many tenants a metric is written for in a run, the worst first: each costs as
// much as a metric does, for the hours in which it is written.
const maxTroubled = 50

// noTenant stands for the queues and tags that are no tenant's. It names no tenant itself.
const noTenant = "(none)"

func (t *troubles) worst(metric, name string, seconds float64) {
	t.note(metric, name, func(before float64) float64 { return max(before, seconds) })
}

func (t *troubles) count(metric, name string) {
	t.note(metric, name, func(before float64) float64 { return before + 1 })
}

// note notes a metric of a queue or tag by its stored name.
func (t *troubles) note(metric, name string, with func(before float64) float64) {
	if t == nil {
		return
	}
	of, _ := tenant.Split(name)
	of = cmp.Or(of, noTenant)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.of[metric] == nil {
		t.of[metric] = map[string]float64{}
	}
	t.of[metric][of] = with(t.of[metric][of])
}

func (t *troubles) write(metrics *emf.Metrics) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for metric, values := range t.of {
		unit := emf.Count
		if metric == "GapAge" || metric == "SettleAge" || metric == "ConsumerLag" {
			unit = emf.Seconds
		}
		byWorst := func(a, b string) int {
			return cmp.Or(cmp.Compare(values[b], values[a]), cmp.Compare(a, b))
		}
		names := slices.SortedFunc(maps.Keys(values), byWorst)
		for _, name := range names[:min(len(names), maxTroubled)] {
			metrics.Of("tenant", name).Add(metric, unit, values[name])
		}
	}
}
