package dedup

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dynamo"
	"github.com/streamsort/streamsort/pkg/table"
)

// rowTable is the [Store] on a table as [Names.Tables] defines it.
type rowTable struct {
	engine     ddb.Engine
	definition *table.Definition
	names      Names
	decode     func(ddb.Item) (Row, error)
}

var _ Store = (*rowTable)(nil)

// NewDynamo returns the Store on a table of DynamoDB as [Names.Tables] defines it. It makes no
// request.
func NewDynamo(client *dynamodb.Client, names Names) (Store, error) {
	if client == nil {
		return nil, missing("client")
	}
	return NewTable(dynamo.NewEngine(client), names)
}

// NewMemory returns a Store in memory, for tests of code that uses this package.
// Everything is gone with the process, and nothing is deleted before that.
func NewMemory() Store { return newTable(ddb.NewMemory(Names{}.Tables()...), Names{}) }

// NewTable returns the Store on the table of an engine, for this module alone.
func NewTable(engine ddb.Engine, names Names) (*rowTable, error) { //nolint:revive // for this module alone
	if err := names.validate(); err != nil {
		return nil, err
	}
	return newTable(engine, names), nil
}

func newTable(engine ddb.Engine, names Names) *rowTable {
	names = names.withDefaults()
	return &rowTable{engine, &names.Tables()[0], names, names.decodeRow}
}

func (t *rowTable) op(name string) ddb.Op { return ddb.Op{Op: name, Table: t.definition} }

// at is where the table has an attribute.
func (t *rowTable) at(attribute ddb.Path) ddb.Path { return t.names.attribute(attribute) }

// isKnown is part of every condition on a row: a later version of this package
// may keep something in it that a write of this one would break.
func (t *rowTable) isKnown() ddb.Cond { return t.at(attrVersion).Le(ddb.Int(layout)) }

// update is one conditional UpdateItem: the row that is stored afterwards, and
// whether the condition held.
func (t *rowTable) update(ctx context.Context, op string, k Key, condition ddb.Cond, do ...ddb.Action) (Row, bool, error) {
	a, err := t.engine.Do(ctx, ddb.Update{Op: t.op(op), Key: t.names.key(k), If: condition, Do: do})
	if err != nil {
		return Row{}, false, err
	}
	r, err := t.Decode(a.Item)
	return r, a.Held && err == nil, err
}
