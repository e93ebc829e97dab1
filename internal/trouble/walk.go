package trouble

import (
	"context"

	"github.com/streamsort/streamsort/internal/ddb"
)

// walkOf is where the walks are kept: no state has a name that begins with a space.
const walkOf State = " walk"

// Walked reads how far the walk over the rows of a state is: "" where it begins anew. Half a read unit.
func (s *Store) Walked(ctx context.Context, state State) (after string, err error) {
	a, err := s.engine.Do(ctx, ddb.Get{Op: ddb.Op{Op: "trouble walked", Table: s.table}, Key: keyOf(walkOf, string(state))})
	if err != nil || !a.Item.Exists() {
		return "", err
	}
	d := ddb.Decoder{Item: a.Item}
	d.Layout(attrVersion, layout)
	return d.TextOr(attrAfter, ""), d.Err
}

// SaveWalked stores how far the walk over the rows of a state is: 1 write unit.
//
// Lost response: the repeat stores the same. Another did it first: either is a place up to which all
// rows were looked at. We die right after: the next run goes on from here.
func (s *Store) SaveWalked(ctx context.Context, state State, after string) error {
	_, err := s.engine.Do(ctx, ddb.Put{Op: ddb.Op{Op: "save trouble walked", Table: s.table}, Item: ddb.Fields{
		attrState: ddb.Text(string(walkOf)), attrAt: ddb.Text(string(state)), attrVersion: ddb.Int(layout), attrAfter: ddb.Text(after),
	}.Item()})
	return err
}
