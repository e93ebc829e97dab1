package consumers

import (
	"context"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/past"
	"github.com/streamsort/streamsort/internal/request"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/delivery"
	"github.com/streamsort/streamsort/pkg/table"
	"github.com/streamsort/streamsort/verify/sim"
	"github.com/streamsort/streamsort/verify/sim/simdb"
)

// Tables are the tables of a run, as they stand: requests to them are no points.
type Tables struct {
	*ddb.Memory
	Queues    *cursor.Store
	Consumers *delivery.Store

	// Past is what reads that are not strong may show still; nil where each shows what stands
	// there: see [Tables.Stale].
	Past *past.Past

	// decoder is a store that finds one item, whatever it is asked.
	decoder *delivery.Store
	item    ddb.Item
}

// NewTables returns empty tables of queues and of consumers, and more.
func NewTables(more ...table.Definition) *Tables {
	var queues cursor.Names
	definitions := append(append(queues.Tables(), queues.ArrivalsTable()),
		delivery.Names{}.Tables()...)
	t := &Tables{Memory: ddb.NewMemory(append(definitions, more...)...).Remember()}
	t.Queues, t.Consumers = simdb.Queues(t), On(t)
	t.decoder = On(ddb.Func(func(context.Context, ddb.Request) (ddb.Answer, error) {
		return ddb.Answer{Item: t.item}, nil
	}))
	return t
}

// Stale has reads that are not strong show what stood there before, from now on.
func (t *Tables) Stale() {
	t.Past = past.Of(t.Memory)
	t.OnChange(t.Past.Note)
}

// On are the consumers as somebody sees them.
func On(engine ddb.Engine) *delivery.Store {
	return delivery.NewStore(engine, delivery.Names{}.Tables())
}

// Decoded is an item of the consumers' table as package delivery reads it.
func (t *Tables) Decoded(it ddb.Item) delivery.Consumer {
	t.item = it
	return sim.Must(t.decoder.Requests(request.Inside{}).Consumer(context.Background(), "", ""))
}

// FailsSince has it known, before a run, that a queue of a consumer fails since a time.
func (t *Tables) FailsSince(consumer, queue string, at time.Time) {
	next := request.Health{Consumer: consumer, By: "before",
		Failing: []request.FailingQueue{{Queue: queue, At: at}}, FailingSince: at}
	if _, made, err := t.Consumers.Requests(request.Inside{}).Learn(context.Background(),
		request.Health{Consumer: consumer}, next); err != nil || !made {
		panic(err) // unreachable: nothing goes wrong yet
	}
}

// Health has a request about what is known of a sink done at once, as no point.
func (t *Tables) Health(ctx context.Context, p *sim.Proc, r ddb.Request) (ddb.Answer, error) {
	a, err := t.Do(ctx, r)
	standing := a.Item.Digest()
	p.Knows().Int(standing.Sum())
	return a, err
}

// HashHealth feeds what is known of the sink of a consumer.
func (t *Tables) HashHealth(d *sim.Digest, consumer string) {
	e, _ := t.Consumers.Requests(request.Inside{}).Health(context.Background(), consumer, true)
	d.Int(e.Rev)
	d.Text(e.By)
	d.Int(int64(len(e.Failing)))
	for _, f := range e.Failing {
		d.Text(f.Queue)
		d.Int(f.At.Unix())
	}
	for _, at := range []time.Time{e.FailingSince, e.TakenAt, e.Circuit.Opened, e.Circuit.ProbeAt,
		e.Circuit.Closed} {
		d.Int(at.UnixMilli())
	}
	d.Int(e.Circuit.Probes)
	d.Bool(e.Circuit.Waking)
	d.Bool(e.Circuit.Announced)
}

// HashAnswer feeds all of an answer about consumers that a process acts on. What is stored mostly
// shows whether a write is its own.
func (t *Tables) HashAnswer(d *sim.Digest, r ddb.Request, a ddb.Answer) {
	it := a.Item
	switch r.Name() {
	case "remove":
		d.Bool(a.Held)
		return
	case "consumers":
		d.Int(int64(len(a.Items)))
		for _, it := range a.Items {
			Hash(d, t.Decoded(it))
		}
		return
	case "create consumer":
		if a.Held {
			it = r.(ddb.Put).Item
		}
	case "block", "cancel", "mark in doubt", "settle quarantined":
		d.Bool(a.Held)
	}
	Hash(d, t.Decoded(it))
}
