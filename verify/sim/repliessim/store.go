package repliessim

import (
	"context"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/past"
	"github.com/streamsort/streamsort/verify/sim"
	"github.com/streamsort/streamsort/verify/sim/simdb"
)

// queueView is the queues' tables as one process sees them. What is asked of the queue that is
// answered is no point, and a read is one only where it may be stale.
func (m *model) queueView(p *sim.Proc) ddb.Engine {
	hooks := &simdb.Hooks{Perform: m.perform, Older: m.Past.Older, Hash: hashAnswer}
	points, others := simdb.Engine(p, m.Memory, hooks), simdb.AtOnce(p, m.Memory, hooks)
	return ddb.Func(func(ctx context.Context, r ddb.Request) (ddb.Answer, error) {
		switch r.Name() {
		case "put arrival", "allocation", "move", "put message":
			return points.Do(ctx, r)
		}
		if m.Past != nil && !ddb.Writes(r) && !past.IsStrong(r) {
			return points.Do(ctx, r)
		}
		return others.Do(ctx, r)
	})
}

// hashAnswer feeds all of an answer that a process can act on.
func hashAnswer(d *sim.Digest, r ddb.Request, a ddb.Answer) {
	it := a.Item
	if put, ok := r.(ddb.Put); ok && a.Held {
		it = put.Item
	}
	switch r.Name() {
	case "put arrival":
		hashArrival(d, it)
	case "allocation", "move":
		simdb.HashOf(d, it, "position", "parked", "tail")
		d.Bool(a.Held)
	case "get cursor":
		simdb.HashOf(d, it, "position", "parked", "tail")
		d.Bool(past.IsStrong(r))
	case "put message", "get message":
		simdb.HashOf(d, it, "body", "op")
	case "get arrivals":
		for _, found := range a.Items {
			hashArrival(d, found)
		}
		d.Int(int64(len(a.Items)))
	}
}

func hashArrival(d *sim.Digest, it ddb.Item) {
	simdb.HashOf(d, it, "id", "op", "seen", "expiresOn")
}

// perform has a request done, and notes what stands there after a put.
func (m *model) perform(r ddb.Request, do func() (ddb.Answer, error)) (ddb.Answer, error) {
	a, err := do()
	put, ok := r.(ddb.Put)
	if !ok {
		return a, err
	}
	there := a.Item
	if a.Held {
		there = put.Item
	}
	key := there.Get("seq").String()
	if r.Name() == "put arrival" {
		key = there.Get("id").Str()
	}
	expiresOn, _ := there.Get("expiresOn").Int64()
	m.rows[there.Get("queue").Str()+"/"+key] = time.Unix(expiresOn, 0).UTC()
	return a, err
}
