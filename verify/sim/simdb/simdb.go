// Package simdb is the tables of a simulated run as its actors see them: each request of an actor
// is a point at which another may run, and may go wrong in every way that package sim knows. What
// runs is the code that deploys, with its own conditions and updates, on [ddb.Memory].
package simdb

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/clause"
	"github.com/streamsort/streamsort/internal/dev/past"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/verify/sim"
)

// Hooks are what a model has to say to its actors' requests. Nil means that it has nothing to say.
type Hooks struct {
	// Perform is called when a request reaches the tables, also where it does so twice, or its
	// answer gets lost: it calls do, and may look at the tables before and after.
	Perform func(r ddb.Request, do func() (ddb.Answer, error)) (ddb.Answer, error)
	// Older are the answers that a read which is not strong may get beside that of now.
	Older func(r ddb.Request, now func() (ddb.Answer, error)) []func() (ddb.Answer, error)
	// Hash feeds all of an answer that the actor can act on. All of it if nil.
	Hash func(*sim.Digest, ddb.Request, ddb.Answer)
}

// Queues is the sorter's tables on an engine, under their default names.
func Queues(engine ddb.Engine) *cursor.Store {
	return sim.Must(cursor.NewStore(engine, cursor.Names{}))
}

// Engine is the tables as an actor sees them; nil for who sets a run up, or looks after it.
func Engine(p *sim.Proc, tables ddb.Engine, h *Hooks) ddb.Engine {
	tables = clause.Layer(tables)
	return ddb.Func(func(ctx context.Context, r ddb.Request) (ddb.Answer, error) {
		request := func() (answer, error) {
			a, err := perform(ctx, tables, h, r)
			return answer{a, r, h}, err
		}
		label := func() string { return Label(r) }
		if ddb.Writes(r) {
			got, err := sim.Do(p, label, true, request)
			return got.Answer, err
		}
		got, err := sim.Read(p, label, request, older(ctx, tables, h, r))
		return got.Answer, err
	})
}

// AtOnce is the tables as an actor asks them within a step: it is no point, but what the actor is
// answered, it knows.
func AtOnce(p *sim.Proc, tables ddb.Engine, h *Hooks) ddb.Engine {
	return ddb.Func(func(ctx context.Context, r ddb.Request) (ddb.Answer, error) {
		a, err := tables.Do(ctx, r)
		answer{a, r, h}.Hash(p.Knows())
		return a, err
	})
}

func perform(ctx context.Context, tables ddb.Engine, h *Hooks, r ddb.Request) (ddb.Answer, error) {
	do := func() (ddb.Answer, error) { return tables.Do(ctx, r) }
	if h.Perform == nil {
		return do()
	}
	return h.Perform(r, do)
}

func older(ctx context.Context, tables ddb.Engine, h *Hooks,
	r ddb.Request) func() []func() (answer, error) {
	if h.Older == nil || past.IsStrong(r) {
		return nil
	}
	return func() []func() (answer, error) {
		var all []func() (answer, error)
		for _, one := range h.Older(r, func() (ddb.Answer, error) { return tables.Do(ctx, r) }) {
			all = append(all, func() (answer, error) {
				a, err := one()
				return answer{a, r, h}, err
			})
		}
		return all
	}
}

// Label is a request's name and what it is about.
func Label(r ddb.Request) string {
	switch r := r.(type) {
	case ddb.Get:
		return fmt.Sprintf("%s %v", r.Op.Op, r.Key)
	case ddb.Put:
		return fmt.Sprintf("%s %v", r.Op.Op, ddb.KeyOf(r.Table, r.Item))
	case ddb.Update:
		return fmt.Sprintf("%s %v", r.Op.Op, r.Key)
	case ddb.Delete:
		return fmt.Sprintf("%s %v", r.Op.Op, r.Key)
	case ddb.Query:
		return fmt.Sprintf("%s %v", r.Op.Op, r.Partition)
	}
	return r.Name()
}

// answer is an answer as the simulator hashes and prints it.
type answer struct {
	ddb.Answer
	r ddb.Request
	h *Hooks
}

// Hash implements [sim.Hasher].
func (a answer) Hash(d *sim.Digest) {
	if a.h != nil && a.h.Hash != nil {
		a.h.Hash(d, a.r, a.Answer)
		return
	}
	d.Bool(a.Held)
	d.Digest(a.Item.Digest())
	d.Int(int64(len(a.Items)))
	for _, it := range a.Items {
		d.Digest(it.Digest())
	}
	d.Digest(a.Next.Digest())
}

// String is for traces.
func (a answer) String() string {
	return fmt.Sprintf("held %v, %v %v", a.Held, a.Item, a.Items)
}

// Standing is the item that a request found, stored, or was refused for.
func Standing(r ddb.Request, a ddb.Answer) ddb.Item {
	if put, ok := r.(ddb.Put); ok && a.Held {
		return put.Item
	}
	return a.Item
}

// Record is a record of the cursors' stream as Lambda gets it, with its index in the event for its
// sequence number; older is the zero Cursor where the write made it.
func Record(index int, older, newer cursor.Cursor) json.RawMessage {
	if !older.Exists() {
		return fmt.Appendf(nil, `{"eventName":"INSERT","dynamodb":{"SequenceNumber":"%d","NewImage":%s}}`,
			index, image(newer))
	}
	return fmt.Appendf(nil, `{"eventName":"MODIFY","dynamodb":{"SequenceNumber":"%d","OldImage":%s,"NewImage":%s}}`,
		index, image(older), image(newer))
}

// image is a cursor as the stream shows it.
func image(c cursor.Cursor) []byte {
	return fmt.Appendf(nil, `{"queue":{"S":%q},"v":{"N":"1"},"first":{"N":"%d"},"position":{"N":"%d"},"parked":{"N":"%d"},`+
		`"gapSince":{"N":"%d"},"change":{"S":"advance"},"policy":{"S":%q},"gapAfter":{"N":"%d"},"maxAhead":{"N":"%d"},"mode":{"S":%q}}`,
		c.Queue, c.Settings.First, c.Position, c.MaxParked, c.MovedAt.UnixMilli(), c.Settings.Policy,
		c.Settings.GapAfter.Milliseconds(), c.Settings.MaxAhead, c.Settings.Mode)
}
