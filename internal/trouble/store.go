package trouble

import (
	"context"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/pkg/table"
)

// Store has the rows, on a table as [Definition] has it. A nil Store has no table: it writes
// nothing, and has no rows.
//
// Every method is one request. A method that returns an error may have taken effect all the same,
// and a request may take effect twice.
type Store struct {
	engine ddb.Engine
	table  *table.Definition
}

// NewStore returns the Store on a table of an engine.
func NewStore(engine ddb.Engine, on table.Definition) *Store { return &Store{engine, &on} }

// Put writes a row, in the place of one that is not newer: 1 write unit, and 1 of the index where
// Since is another.
//
// Lost response: the repeat writes the same. Another did it first: theirs stays where it is newer.
// We die right after: nothing is left to do.
func (s *Store) Put(ctx context.Context, r Row) error {
	if s == nil || !fits(r.Queue, r.Consumer) {
		return nil
	}
	_, err := s.engine.Do(ctx, ddb.Put{Op: ddb.Op{Op: "put trouble", Table: s.table}, Item: encode(r),
		If: notNewer(r.N)})
	return err
}

// Delete deletes a row that is not newer than this one; its Since says nothing. 1 write unit, and 1
// of the index where it is there.
//
// Lost response, another did it first: there is no such row, or a newer one, which stays. We die
// right after: nothing is left to do.
func (s *Store) Delete(ctx context.Context, r Row) error {
	if s == nil || !fits(r.Queue, r.Consumer) {
		return nil
	}
	_, err := s.engine.Do(ctx, ddb.Delete{
		Op: ddb.Op{Op: "delete trouble", Table: s.table}, Key: Key(r.State, at(r.Queue, r.Consumer)),
		If: notNewer(r.N),
	})
	return err
}

// notNewer holds for what a change with this number may replace.
func notNewer(n int64) ddb.Cond { return ddb.Or(attrN.Missing(), attrN.Le(ddb.Int(n))) }

// Row reads one row, which may be an older state of it: half a read unit.
func (s *Store) Row(ctx context.Context, state State,
	queue, consumer string) (row Row, found bool, err error) {
	if s == nil || !fits(queue, consumer) {
		return Row{}, false, nil
	}
	a, err := s.engine.Do(ctx,
		ddb.Get{Op: ddb.Op{Op: "trouble", Table: s.table}, Key: Key(state, at(queue, consumer))})
	if err != nil || !a.Item.Exists() {
		return Row{}, false, err
	}
	row, err = decode(a.Item)
	return row, err == nil, err
}

// Forget deletes rows of a queue's consumer, or of the queue itself where consumer is empty,
// whatever their numbers are: it was removed, or erased. 1 write unit a state.
//
// Lost response, another did it first: there is nothing to delete. We die right after: nothing is
// left to do.
func (s *Store) Forget(ctx context.Context, queue, consumer string, states ...State) error {
	if s == nil || !fits(queue, consumer) {
		return nil
	}
	keys := make([]ddb.Item, len(states))
	for i, state := range states {
		keys[i] = Key(state, at(queue, consumer))
	}
	// What is left over is deleted by the sweep.
	_, err := s.engine.Do(ctx, ddb.BatchWrite{Op: ddb.Op{Op: "forget trouble", Table: s.table},
		Deletes: keys})
	return err
}

// Place is how far a walk over the rows of all states is: behind a row of a state. The zero Place
// is before the first.
type Place struct {
	State State  `ddb:"in,optional"`
	After string `ddb:"after,optional"`
}

var places = ddb.NewCodec[Place]("place", layout, layout)

// walkOf and walkAt are where the place is kept: no state has a name that begins with a space.
const walkOf, walkAt = State(" walk"), " walk"

// Walked reads how far the walk is: half a read unit.
func (s *Store) Walked(ctx context.Context) (Place, error) {
	a, err := s.engine.Do(ctx, ddb.Get{Op: ddb.Op{Op: "trouble walked", Table: s.table},
		Key: Key(walkOf, walkAt)})
	if err != nil {
		return Place{}, err
	}
	return places.Decode(a.Item)
}

// SaveWalked stores how far the walk is: 1 write unit.
//
// Lost response: the repeat stores the same. Another did it first: either is a place up to which
// rows were looked at. We die right after: the next run goes on from here.
func (s *Store) SaveWalked(ctx context.Context, at Place) error {
	it := places.Item(&at, attrState.Set(ddb.Text(string(walkOf))), attrAt.Set(ddb.Text(walkAt)))
	_, err := s.engine.Do(ctx,
		ddb.Put{Op: ddb.Op{Op: "save trouble walked", Table: s.table}, Item: it})
	return err
}
