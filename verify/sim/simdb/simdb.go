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
		now := func() (ddb.Answer, error) { return tables.Do(ctx, r) }
		answered := func(ask func() (ddb.Answer, error)) func() (answer, error) {
			return func() (answer, error) {
				a, err := ask()
				return answer{a, r, h}, err
			}
		}
		request := answered(now)
		if h.Perform != nil {
			request = answered(func() (ddb.Answer, error) { return h.Perform(r, now) })
		}
		if ddb.Writes(r) {
			got, err := sim.Do(p, label(r), true, request)
			return got.Answer, err
		}
		var older func() []func() (answer, error)
		if h.Older != nil && !past.IsStrong(r) {
			older = func() (all []func() (answer, error)) {
				for _, one := range h.Older(r, now) {
					all = append(all, answered(one))
				}
				return all
			}
		}
		got, err := sim.Read(p, label(r), request, older)
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

// label is a request's name and what it is about.
func label(r ddb.Request) sim.Label {
	return func() string {
		var about any = ""
		switch r := r.(type) {
		case ddb.Get:
			about = r.Key
		case ddb.Put:
			about = ddb.KeyOf(r.Table, r.Item)
		case ddb.Update:
			about = r.Key
		case ddb.Delete:
			about = r.Key
		case ddb.Query:
			about = r.Partition
		}
		return fmt.Sprintf("%s %v", r.Name(), about)
	}
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
	sim.Feed(d, a.Held, a.Item.Digest(), a.Next.Digest(), len(a.Items))
	for _, it := range a.Items {
		d.Digest(it.Digest())
	}
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
