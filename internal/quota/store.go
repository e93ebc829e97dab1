package quota

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dynamo"
	"github.com/streamsort/streamsort/pkg/table"
)

// Names are the names of the tables. An empty field means its default.
type Names struct {
	Quotas string // table of what tenants have taken; "streamsort-quotas"
}

func (n Names) withDefaults() Names { return Names{cmp.Or(n.Quotas, "streamsort-quotas")} }

// The attributes of an item, which counts for one tenant and window.
const (
	attrWindow    ddb.Path = "window"
	attrExpiresOn ddb.Path = "expiresOn"
	attrMessages  ddb.Path = "messages"
	attrBytes     ddb.Path = "bytes"
	attrNewQueues ddb.Path = "newQueues"
	attrNewChains ddb.Path = "newChains"
)

// attrOf is the attribute that counts each kind.
var attrOf = [kinds]ddb.Path{Messages: attrMessages, Bytes: attrBytes, NewQueues: attrNewQueues, NewChains: attrNewChains}

// Tables are the definitions of the tables: one, whose items expire soon after their
// window.
func (n Names) Tables() []table.Definition {
	return []table.Definition{{
		Name:      n.withDefaults().Quotas,
		Partition: table.Key{Name: string(attrWindow), Type: table.String},
		TTL:       string(attrExpiresOn),
	}}
}

// Window is a time in which a tenant's use is counted.
type Window struct {
	Start  time.Time
	Length time.Duration
}

// windowAt is the window of a length that a time is in.
func windowAt(t time.Time, length time.Duration) Window { return Window{t.Truncate(length), length} }

// end is when the next window begins.
func (w Window) end() time.Time { return w.Start.Add(w.Length) }

// keptFor is how long after its end a window's item may be deleted: much longer than
// clocks differ.
const keptFor = time.Hour

// Store counts what tenants take.
type Store struct {
	engine     ddb.Engine
	definition *table.Definition
}

// NewDynamo returns the Store on this table. It makes no request.
func NewDynamo(client *dynamodb.Client, names Names) *Store {
	return NewStore(dynamo.NewEngine(client), names)
}

// NewStore returns the Store on the table of an engine.
func NewStore(engine ddb.Engine, names Names) *Store { return &Store{engine, &names.Tables()[0]} }

// Take adds to what a tenant has taken in a window, and returns the sums. It has no
// condition: who adds sees by the sums which part of it was left. One UpdateItem; 1
// write unit.
//
// Lost response: the repeat adds again; the tenant has so much less in this window.
// Another did it first: each sees the sum with its own part in it, so that no part is
// given twice. We die right after: our part is lost with the window.
func (s *Store) Take(ctx context.Context, tenant string, w Window, take Amounts) (Amounts, error) {
	key := fmt.Sprintf("%s/%d/%d", tenant, int(w.Length.Seconds()), w.Start.Unix())
	update := ddb.Update{
		Op:  ddb.Op{Op: "take", Table: s.definition},
		Key: ddb.Fields{attrWindow: ddb.Text(key)}.Item(),
		Do:  []ddb.Action{attrExpiresOn.Set(ddb.Seconds(w.end().Add(keptFor)))},
	}
	for k, n := range take {
		if n > 0 {
			update.Do = append(update.Do, attrOf[k].Add(ddb.Int(n)))
		}
	}
	a, err := s.engine.Do(ctx, update)
	if err != nil {
		return Amounts{}, err
	}
	d := ddb.Decoder{Item: a.Item}
	var sums Amounts
	for k := range sums {
		sums[k] = d.NumberOr(attrOf[k], 0)
	}
	return sums, d.Err
}
