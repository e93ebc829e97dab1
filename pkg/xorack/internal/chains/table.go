package chains

import (
	"context"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/pkg/table"
)

// Table is the chains' table on an engine. Every method is one request; a write returns the item
// that is stored afterwards and whether its condition held, and changes no item of a newer layout.
type Table struct {
	Engine     ddb.Engine
	Definition *table.Definition
}

// isKnown is for items that are there.
var isKnown = Version.Le(ddb.Int(Layout))

// Op is what a request is called.
func (t *Table) Op(name string) ddb.Op { return ddb.Op{Op: name, Table: t.Definition} }

// Key is the key of a tag's item.
func (t *Table) Key(tag string) ddb.Item { return ddb.Fields{Tag: ddb.Text(tag)}.Item() }

// Upsert changes the item under a tag, or makes it, if the condition holds.
func (t *Table) Upsert(ctx context.Context, op, tag string, condition ddb.Cond,
	do ...ddb.Action) (ddb.Item, bool, error) {
	return t.do(ctx, op, tag, ddb.And(condition, ddb.Or(Version.Missing(), isKnown)),
		append(do, Version.SetIfMissing(ddb.Int(Layout))))
}

// Update changes the item under a tag, if it is there and the condition holds.
func (t *Table) Update(ctx context.Context, op, tag string, condition ddb.Cond,
	do ...ddb.Action) (ddb.Item, bool, error) {
	return t.do(ctx, op, tag, ddb.And(condition, isKnown), do)
}

func (t *Table) do(ctx context.Context, op, tag string, condition ddb.Cond,
	do []ddb.Action) (ddb.Item, bool, error) {
	a, err := t.Engine.Do(ctx, ddb.Update{Op: t.Op(op), Key: t.Key(tag), If: condition, Do: do})
	return a.Item, a.Held, err
}

// Replace stores an item in the place of what is left of another chain, if the condition holds:
// [IsOver] or [IsDeleted].
func (t *Table) Replace(ctx context.Context, it ddb.Item, isOver ddb.Cond) (ddb.Item, bool, error) {
	a, err := t.Engine.Do(ctx, ddb.Put{Op: t.Op("replace"), Item: it, If: ddb.And(isOver, isKnown)})
	if a.Held {
		return it, true, err
	}
	return a.Item, false, err
}

// IsThis asks for a chain of this incarnation.
func IsThis(inc [8]byte) ddb.Cond { return Incarnation.Eq(ddb.Blob(inc[:])) }

// IsSame asks for one of this incarnation, or of none.
func IsSame(inc [8]byte) ddb.Cond { return ddb.Or(Incarnation.Missing(), IsThis(inc)) }

// IsOver asks for a chain of this incarnation that was never created, or has expired.
func IsOver(inc [8]byte, now time.Time) ddb.Cond {
	return ddb.And(IsThis(inc), ddb.Or(Created.Missing(), ExpiresOn.Le(ddb.Seconds(now))))
}

// IsDeleted asks for a chain that this operation deleted, and for whose end nothing is left to do.
func IsDeleted(op [8]byte) ddb.Cond { return ddb.And(LastOp.Eq(ddb.Blob(op[:])), Due.Missing()) }

// MayHave asks for nothing, or for a chain of stamps of this length.
func MayHave(length int) ddb.Cond {
	isAsLong := StampLen.Eq(ddb.Int(int64(length)))
	return ddb.And(Sum.Missing(), ddb.Or(StampLen.Missing(), isAsLong))
}
