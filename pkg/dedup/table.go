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
}

var _ Store = (*rowTable)(nil)

// NewDynamo returns the Store on a table of DynamoDB as [Names.Tables] defines it. It makes no
// request.
func NewDynamo(client *dynamodb.Client, names Names) (Store, error) {
	if client == nil {
		return nil, missing("client")
	}
	return NewTable(dynamo.NewEngine(client), names), nil
}

// NewMemory returns a Store in memory, for tests of code that uses this package. Everything is gone
// with the process, and nothing is deleted before that.
func NewMemory() Store { return NewTable(ddb.NewMemory(Names{}.Tables()...), Names{}) }

// NewTable returns the Store on the table of an engine, for this module alone.
func NewTable(engine ddb.Engine, names Names) *rowTable { //nolint:revive // for this module alone
	return &rowTable{engine, &names.Tables()[0]}
}

func (t *rowTable) op(name string) ddb.Op { return ddb.Op{Op: name, Table: t.definition} }

// isKnown is part of every condition on a row: a later version of this package may keep something
// in it that a write of this one would break.
func isKnown() ddb.Cond { return attrVersion.Le(ddb.Int(layout)) }

// update is one conditional UpdateItem: the row that is stored afterwards, and whether the
// condition held.
func (t *rowTable) update(ctx context.Context, op string, k Key, condition ddb.Cond,
	do ...ddb.Action) (Row, bool, error) {
	a, err := t.engine.Do(ctx, ddb.Update{Op: t.op(op), Key: k.item(), If: condition, Do: do})
	if err != nil {
		return Row{}, false, err
	}
	r, err := t.Decode(a.Item)
	return r, a.Held && err == nil, err
}
