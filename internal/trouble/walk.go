package trouble

import (
	"context"

	"github.com/streamsort/streamsort/internal/ddb"
)

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
