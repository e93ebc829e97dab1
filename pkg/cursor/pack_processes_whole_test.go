//go:build whole

package cursor_test

import (
	"testing"

	"github.com/streamsort/streamsort/pkg/cursor"
)

// TestBatchesOfManyProcesses: batches in order are an item each, whichever process gets each: one that remembers an
// older position looks once, which is a read unit, and not 25 writes.
func TestBatchesOfManyProcesses(t *testing.T) {
	m := newPacking(t)
	settings := cursor.DefaultSettings()
	settings.Packs = cursor.PacksOn
	var processes []*cursor.Sorter
	for range 3 {
		s, err := cursor.New(m.store, &cursor.Options{Defaults: &settings})
		if err != nil {
			t.Fatal(err)
		}
		processes = append(processes, s)
	}
	next := int64(1)
	put := func(n int) {
		m.sorter = processes[n%len(processes)]
		m.run(jsonBody, next, 25, 100)
		next += 25
	}
	for n := range 3 {
		put(n)
	}
	cost := m.cost(func() {
		for n := range 9 {
			put(n)
		}
	}).Total()
	if cost.Writes > 9*2 || cost.Reads > 9 || cost.Requests != 9*3 {
		t.Errorf("9 batches of 25: %+v; want 2 write units and a read unit each, in 3 requests", cost)
	}
}
