package cost

import (
	"bytes"
	"math"
	"testing"

	"github.com/streamsort/streamsort/internal/emf"
)

// singles are a thousand messages a second, each in a request of its own.
func singles(queues int) Workload {
	return Workload{Rate: 1000, Batch: 1, Disorder: InOrder, Queues: queues}
}

// aMillion is what a million messages cost with one consumer.
func aMillion(t *testing.T, w Workload) float64 {
	t.Helper()
	return bills(t, w)["sync, one consumer"].Total() / w.Messages() * million
}

// TestSingles: what the table of docs/cost.md says of single messages.
func TestSingles(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*Workload)
		want   float64
	}{
		{"HTTP API, all calls logged", func(w *Workload) { w.AllLogs = true }, 3.56},
		{"HTTP API, logs by outcome", func(*Workload) {}, 3.15},
		{"function URL, logs by outcome", func(w *Workload) { w.URL = true }, 1.94},
		{"and consumers gather for a second", func(w *Workload) { w.URL, w.Window = true, 1 }, 1.83},
	} {
		w := singles(16)
		c.change(&w)
		if got := aMillion(t, w); math.Abs(got-c.want) > 0.005 {
			t.Errorf("%s: $%.3f a million, want $%.2f", c.name, got, c.want)
		}
	}
}

// TestBesideFIFO: where we are dearer than SQS FIFO, and the one place where we are not.
func TestBesideFIFO(t *testing.T) {
	for _, c := range []struct {
		name  string
		batch int
		want  float64
	}{{"sync, one consumer", 1, 1.83}, {"async, one consumer", 1, 1.26}, {"sync, one consumer", 10, 0.86}, {"sync, one consumer", 100, 0.77}} {
		w := singles(16)
		w.Batch, w.URL, w.Window = c.batch, true, 1
		all := bills(t, w)
		ours, fifo := all[c.name].Total()/w.Messages()*million, all["SQS FIFO"].Total()/w.Messages()*million
		if math.Abs(ours-c.want) > 0.005 || (ours < fifo) != (c.name == "async, one consumer") {
			t.Errorf("%s, %d a request: $%.3f a million, want $%.2f; SQS FIFO $%.2f", c.name, c.batch, ours, c.want, fifo)
		}
	}
}

// TestDoor: what the function URL saves is the API's price and its access log, and nothing
// that a call takes.
func TestDoor(t *testing.T) {
	w := singles(10)
	api := bills(t, w)["sync"]
	w.URL = true
	url := bills(t, w)["sync"]
	if saved := (api.Total() - url.Total()) / w.Messages() * million; url.API != 0 || math.Abs(saved-(1+450e6/(1<<30)*0.5)) > 1e-6 || api.Functions != url.Functions {
		t.Errorf("$%.4f a million are saved: %+v, %+v", saved, api, url)
	}
}

// TestGathered: what is gathered for longer costs less, and the first row is what a bill has.
func TestGathered(t *testing.T) {
	w := singles(100)
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
