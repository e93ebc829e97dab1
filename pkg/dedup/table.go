package dedup

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dynamo"
	"github.com/streamsort/streamsort/pkg/table"
)

// Table is the [Store] on a DynamoDB table as [Names.Tables] defines it
// ([NewDynamo]), or in memory ([NewMemory]).
type Table struct {
	engine     ddb.Engine
	definition *table.Definition
	names      Names
	decode     func(ddb.Item) (Row, error)
}

var _ Store = (*Table)(nil)

// NewDynamo returns the Store on this table. It makes no request.
func NewDynamo(client *dynamodb.Client, names Names) (*Table, error) {
	if client == nil {
		return nil, missing("client")
	}
	return NewTable(dynamo.NewEngine(client), names)
}

// NewMemory returns a Store in memory, for tests of code that uses this package.
// Everything is gone with the process, and nothing expires automatically: see
// [Table.Expire].
func NewMemory() *Table { return newTable(ddb.NewMemory(Names{}.Tables()...), Names{}) }

// NewTable returns the Store on the table of an engine.
func NewTable(engine ddb.Engine, names Names) (*Table, error) {
	if err := names.validate(); err != nil {
		return nil, err
	}
	return newTable(engine, names), nil
}

func newTable(engine ddb.Engine, names Names) *Table {
	names = names.withDefaults()
	return &Table{engine, &names.Tables()[0], names, names.decodeRow}
}

// Expire deletes what TTL would have deleted by now, and returns how many items
// that were: only in memory, 0 elsewhere.
func (t *Table) Expire(now time.Time) int {
	if memory, ok := t.engine.(*ddb.Memory); ok {
		return memory.Expire(now)
	}
	return 0
}

func (t *Table) op(name string) ddb.Op { return ddb.Op{Op: name, Table: t.definition} }

// at is where the table has an attribute.
func (t *Table) at(attribute ddb.Path) ddb.Path { return t.names.attribute(attribute) }

// isKnown is part of every condition on a row: a later version of this package
// may keep something in it that a write of this one would break.
func (t *Table) isKnown() ddb.Cond { return t.at(attrVersion).Le(ddb.Int(layout)) }

// update is one conditional UpdateItem: the row that is stored afterwards, and
// whether the condition held.
func (t *Table) update(ctx context.Context, op string, k Key, condition ddb.Cond, do ...ddb.Action) (Row, bool, error) {
	a, err := t.engine.Do(ctx, ddb.Update{Op: t.op(op), Key: t.names.key(k), If: condition, Do: do})
	if err != nil {
		return Row{}, false, err
	}
	r, err := t.Decode(a.Item)
	return r, a.Held && err == nil, err
}
