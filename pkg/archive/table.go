package archive

import (
	"cmp"
	"context"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dynamo"
	"github.com/streamsort/streamsort/pkg/table"
)

// Names are the names of the tables. An empty field means its default, so the
// zero Names is ready to use.
type Names struct {
	Archive string // table of archived messages; "streamsort-archive"
}

func (n Names) withDefaults() Names { return Names{cmp.Or(n.Archive, "streamsort-archive")} }

// The attributes of an item.
const (
	attrKey      ddb.Path = "key"
	attrDocument ddb.Path = "document"
)

// Tables are the definitions of the tables: the archive alone. It has no stream,
// and nothing in it expires.
func (n Names) Tables() []table.Definition {
	return []table.Definition{{
		Name:      n.withDefaults().Archive,
		Partition: table.Key{Name: string(attrKey), Type: table.String},
	}}
}

// Table is the [Store] on a DynamoDB table as [Names.Tables] defines it
// ([NewDynamo]), or in memory ([NewMemory]).
type Table struct {
	engine     ddb.Engine
	definition *table.Definition
}

var _ Store = (*Table)(nil)

// NewDynamo returns the Store on this table. It makes no request.
func NewDynamo(client *dynamodb.Client, names Names) *Table {
	return newTable(dynamo.NewEngine(client), names)
}

// NewMemory returns a Store in memory, for tests of code that uses this package.
// Everything is gone with the process.
func NewMemory() *Table { return newTable(ddb.NewMemory(Names{}.Tables()...), Names{}) }

// newTable returns the Store on the table of an engine.
func newTable(engine ddb.Engine, names Names) *Table { return &Table{engine, &names.Tables()[0]} }

// Put implements [Store]: one PutItem; 1 write unit for each KB.
func (t *Table) Put(ctx context.Context, key string, document []byte) error {
	_, err := t.engine.Do(ctx, ddb.Put{
		Op:   ddb.Op{Op: "put", Table: t.definition},
		Item: ddb.Fields{attrKey: ddb.Text(key), attrDocument: ddb.Blob(document)}.Item(),
	})
	return err
}

// Get implements [Store]: one strong GetItem; 1 read unit for each 4 KB.
func (t *Table) Get(ctx context.Context, key string) ([]byte, error) {
	a, err := t.engine.Do(ctx, ddb.Get{
		Op: ddb.Op{Op: "get", Table: t.definition}, Key: ddb.Fields{attrKey: ddb.Text(key)}.Item(), Strong: true,
	})
	if err != nil {
		return nil, err
	}
	d := ddb.Decoder{Item: a.Item}
	return d.BytesOr(attrDocument), d.Err
}

// Delete implements [Store]: one BatchWriteItem; 1 write unit for each KB of each
// document.
func (t *Table) Delete(ctx context.Context, keys []string) error {
	items := make([]ddb.Item, len(keys))
	for i, key := range keys {
		items[i] = ddb.Fields{attrKey: ddb.Text(key)}.Item()
	}
	a, err := t.engine.Do(ctx, ddb.BatchWrite{Op: ddb.Op{Op: "delete", Table: t.definition}, Deletes: items})
	if err == nil && len(a.Left) > 0 {
		err = ddb.ErrThrottled
	}
	return err
}
