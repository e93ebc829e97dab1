package cost

import (
	"bytes"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/emf"
)

// aMillion is what a million messages cost with one consumer.
func aMillion(t *testing.T, w Workload) float64 {
	t.Helper()
	return bills(t, w)[ours].Total() / w.Messages() * million
}

// TestSingles: in which configuration single messages keep to $1.90 a million, and that no other
// one does; docs/reference/cost.md has what they cost.
func TestSingles(t *testing.T) {
	for _, c := range []struct {
		queues int
		change func(*Workload)
		keeps  bool
	}{
		{16, cheapest, true},
		{110, cheapest, true},
		{125, cheapest, false},
		{16, func(w *Workload) { cheapest(w); w.Tracing = true }, false},
		{16, func(w *Workload) { cheapest(w); w.Window = 0 }, true},
		{16, func(w *Workload) { cheapest(w); w.URL = false }, false},
	} {
		w := singly(c.queues)
		c.change(&w)
		check.Is(t, (aMillion(t, w) <= 1.90), c.keeps, w)
	}
}

// TestDefault: what a million single messages may cost by default; docs/reference/cost.md has the
// configuration.
func TestDefault(t *testing.T) {
	got := aMillion(t, singly(16))
	check.That(t, got <= 2.75, "$%.3f a million, want at most $2.75", got)
	traced := singly(16)
	traced.Tracing = true
	got = aMillion(t, traced)
	check.That(t, got > 2.75, "$%.3f a million with X-Ray", got)
}

// TestHundreds: the goal for batches of 100 JSON messages in order, with one consumer, API, logs
// and X-Ray, which is on.
func TestHundreds(t *testing.T) {
	_, w := inBatches(100)
	w.Tracing = true
	b := bills(t, w)[oursAppended]
	got := b.Total() / w.Messages() * million
	check.That(t, got <= 0.15 && b.API != 0 && b.Logs != 0 && b.XRay != 0, "$%.3f a million", got)
}

// TestCallLine: the line of a put, by the names that a stack's function has.
func TestCallLine(t *testing.T) {
	var out bytes.Buffer
	e := emf.New(&out, emf.Names{Function: "Streamsort-EnqueueFunction0A1B2C3D-aBcDeFgHiJkL"})
	e.Begin().Flush() // the first has a ColdStart more
	out.Reset()
	m := e.Begin()
	m.Count("MessagesStored", 1)
	m.Count("Advances", 1)
	m.Flush()
	check.Is(t, out.Len()-1+26, callLine, &out)
}
