package cost

import (
	"bytes"
	"math"
	"testing"

	"github.com/streamsort/streamsort/internal/emf"
)

// aMillion is what a million messages cost with one consumer.
func aMillion(t *testing.T, w Workload) float64 {
	t.Helper()
	return bills(t, w)[ours].Total() / w.Messages() * million
}

// TestSingles: in which configuration single messages keep to $1.90 a million, and that no other one does; docs/reference/cost.md
// has what they cost.
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
		if got := aMillion(t, w); (got <= 1.90) != c.keeps {
			t.Errorf("%+v: $%.3f a million, want at most $1.90: %v", w, got, c.keeps)
		}
	}
}

// TestBesideFIFO: where we are dearer than SQS FIFO, and where we are not: batches that are one item, from a size on, and
// singles in asynchronous mode.
func TestBesideFIFO(t *testing.T) {
	batch := func(size int, set func(*Workload)) Workload {
		w, _ := inBatches(size)
		set(&w)
		return w
	}
	byDefault := func(*Workload) {}
	single := singly(16)
	cheapest(&single)
	for _, c := range []struct {
		name    string
		w       Workload
		cheaper bool
	}{
		{ours, single, false},
		{"async, one consumer", single, true},
		{ours, batch(10, cheapest), false},
		{ours, batch(100, cheapest), false},
		{oursAppended, batch(10, cheapest), false},
		{oursAppended, batch(25, byDefault), false},
		{oursAppended, batch(25, cheapest), true},
		{oursAppended, batch(40, byDefault), false},
		{oursAppended, batch(50, byDefault), true},
		{oursAppended, batch(100, byDefault), true},
	} {
		all := bills(t, c.w)
		if own, fifo := all[c.name].Total(), all[theirs].Total(); (own < fifo) != c.cheaper {
			t.Errorf("%s, %+v: $%.3f a million, SQS FIFO $%.3f", c.name, c.w, own/c.w.Messages()*million, fifo/c.w.Messages()*million)
		}
	}
}

// TestDefault: what a million single messages may cost by default; docs/reference/cost.md has the configuration.
func TestDefault(t *testing.T) {
	if got := aMillion(t, singly(16)); got > 2.75 {
		t.Errorf("$%.3f a million, want at most $2.75", got)
	}
	traced := singly(16)
	traced.Tracing = true
	if got := aMillion(t, traced); got <= 2.75 {
		t.Errorf("$%.3f a million with X-Ray", got)
	}
}

// TestHundreds: the goal for batches of 100 JSON messages in order, with one consumer, API, logs and X-Ray, which is on.
func TestHundreds(t *testing.T) {
	_, w := inBatches(100)
	w.Tracing = true
	b := bills(t, w)[oursAppended]
	if got := b.Total() / w.Messages() * million; got > 0.15 || b.API == 0 || b.Logs == 0 || b.XRay == 0 {
		t.Errorf("$%.3f a million, want at most $0.15: %+v", got, b)
	}
}

// TestDoor: what the function URL saves is the API's price and its access log, and nothing
// that a call takes.
func TestDoor(t *testing.T) {
	w := singly(10)
	api := bills(t, w)["sync"]
	w.URL = true
	url := bills(t, w)["sync"]
	if saved := (api.Total() - url.Total()) / w.Messages() * million; url.API != 0 || math.Abs(saved-((300+2328*0.9)/2628+140e6/(1<<30)*0.5)) > 1e-6 || api.Functions != url.Functions {
		t.Errorf("$%.4f a million are saved: %+v, %+v", saved, api, url)
	}
}

// TestGathered: what is gathered for longer costs less, and the first row is what a bill has.
func TestGathered(t *testing.T) {
	batches, _ := inBatches(25)
	if got, want := batches.gathered()[0].Process, batches.per(ours)-batches.per("sync"); math.Abs(got-want) > 1e-9 {
		t.Errorf("at once a consumer of batches is $%.4f a million, and the bill has $%.4f", got, want)
	}
	w := singly(100)
	curve := w.gathered()
	if got, want := curve[0].Process, aMillion(t, w)-bills(t, w)["sync"].Total()/w.Messages()*million; math.Abs(got-want) > 1e-9 {
		t.Errorf("at once a consumer is $%.4f a million, and the bill has $%.4f", got, want)
	}
	for i, g := range curve[1:] {
		if before := curve[i]; g.Sort >= before.Sort || g.Process >= before.Process || g.Records < before.Records {
			t.Errorf("%+v, behind %+v", g, before)
		}
	}
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
	if n := out.Len() - 1 + 26; n != callLine {
		t.Errorf("a put logs %d bytes, the bill has %d:\n%s", n, callLine, &out)
	}
}
