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

// The attributes of an item, which is the account of a tenant for windows of one length.
const (
	attrAccount   ddb.Path = "window"
	attrBegins    ddb.Path = "begins"
	attrOp        ddb.Path = "op"
	attrExpiresOn ddb.Path = "expiresOn"
	attrMessages  ddb.Path = "messages"
	attrBytes     ddb.Path = "bytes"
	attrNewQueues ddb.Path = "newQueues"
	attrNewChains ddb.Path = "newChains"
)

// attrOf is the attribute that counts each kind.
var attrOf = [kinds]ddb.Path{Messages: attrMessages, Bytes: attrBytes, NewQueues: attrNewQueues, NewChains: attrNewChains}

// Tables are the definitions of the tables: one, whose items expire a month after their
// window.
func (n Names) Tables() []table.Definition {
	return []table.Definition{{
		Name:      n.withDefaults().Quotas,
		Partition: table.Key{Name: string(attrAccount), Type: table.String},
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

// keptFor is how long after its last window an account is kept: as long as the longest debt
// that is remembered while nothing is asked of it.
const keptFor = 31 * 24 * time.Hour

// Account is what a tenant has taken of its windows of one length. The zero Account is that
// of a tenant that took nothing.
type Account struct {
	// Window is the start of the window that was last taken from, Taken what was taken of
	// it, with what the windows before it owe.
	Window time.Time `ddb:"begins,omitzero,s"`
	Taken  Amounts
	// Op names the request that changed it last.
	Op string `ddb:"op"`
}

var accounts = ddb.NewCodec[Account]("account", 0, 0)

// in is what is taken of a window: each window that passed pays its limit back.
func (a Account) in(w Window, limits Amounts) Amounts {
	taken := a.Taken
	passed := int64(w.Start.Sub(a.Window) / w.Length)
	for kind := range kinds {
		switch limit := limits.inWindow(kind); {
		case passed <= 0:
		case limit == 0 || taken[kind]/limit < passed:
			taken[kind] = 0
		default:
			taken[kind] -= passed * limit
		}
	}
	return taken
}

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

// Take adds to what a tenant has taken of a window, if its account is at that window and no
// kind of which something is taken stands above most. It returns the account as it is then,
// and whether it was taken. One UpdateItem; 1 write unit.
//
// Lost response: the repeat finds its own op, and adds nothing; where another took something in
// between, it may add again, and the tenant has so much less. Another did it first: the account
// says what is left. We die right after: the tenant has so much less.
func (s *Store) Take(ctx context.Context, tenant string, w Window, take, most Amounts, op string) (Account, bool, error) {
	conds := []ddb.Cond{attrBegins.Eq(ddb.Seconds(w.Start)), attrOp.Ne(ddb.Text(op))}
	actions := []ddb.Action{attrOp.Set(ddb.Text(op)), attrExpiresOn.Set(ddb.Seconds(w.end().Add(keptFor)))}
	for k, n := range take {
		if n > 0 {
			conds = append(conds, attrOf[k].Le(ddb.Int(most[k])))
			actions = append(actions, attrOf[k].Add(ddb.Int(n)))
		}
	}
	a, err := s.engine.Do(ctx, ddb.Update{Op: ddb.Op{Op: "take", Table: s.definition}, Key: key(tenant, w), If: ddb.And(conds...), Do: actions})
	return took(a, op, err)
}

// Move moves a tenant's account from what was seen to a window of which so much is taken. It
// returns the account as it is then, and whether it was moved. One UpdateItem; 1 write unit.
//
// Lost response: the repeat finds its own op. Another did it first: the account says how far it
// is. We die right after: as of Take.
func (s *Store) Move(ctx context.Context, tenant string, w Window, seen Account, taken Amounts, op string) (Account, bool, error) {
	unchanged := attrOp.Eq(ddb.Text(seen.Op))
	if seen.Op == "" {
		unchanged = attrOp.Missing()
	}
	actions := []ddb.Action{attrBegins.Set(ddb.Seconds(w.Start)), attrOp.Set(ddb.Text(op)), attrExpiresOn.Set(ddb.Seconds(w.end().Add(keptFor)))}
	for k, n := range taken {
		if terms[k].window == w.Length {
			actions = append(actions, attrOf[k].Set(ddb.Int(n)))
		}
	}
	a, err := s.engine.Do(ctx, ddb.Update{Op: ddb.Op{Op: "move account", Table: s.definition}, Key: key(tenant, w), If: unchanged, Do: actions})
	return took(a, op, err)
}

// key is the key of a tenant's account.
func key(tenant string, w Window) ddb.Item {
	return ddb.Fields{attrAccount: ddb.Text(fmt.Sprintf("%s/%d", tenant, int(w.Length.Seconds())))}.Item()
}

// took is the account that a write has found or left, and whether it is that write's.
func took(a ddb.Answer, op string, err error) (Account, bool, error) {
	if err != nil || !a.Item.Exists() {
		return Account{}, false, err
	}
	there, err := accounts.Decode(a.Item, func(t *Account, d *ddb.Decoder) {
		for k := range t.Taken {
			t.Taken[k] = d.NumberOr(attrOf[k], 0)
		}
	})
	return there, a.Held || there.Op == op, err
}
