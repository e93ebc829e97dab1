package quota

import (
	"context"
	"strconv"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/trouble"
	"github.com/streamsort/streamsort/pkg/table"
)

// The attributes of an item, which is the account of a tenant for windows of one length.
const (
	attrBegins    ddb.Path = "begins"
	attrOp        ddb.Path = "op"
	attrExpiresOn ddb.Path = "expiresOn"
)

var attrOf = [kinds]ddb.Path{Messages: "messages", Bytes: "bytes", NewQueues: "newQueues",
	NewChains: "newChains"}

// Window is a time in which a tenant's use is counted.
type Window struct {
	Start  time.Time
	Length time.Duration
}

// end is when the next window begins.
func (w Window) end() time.Time { return w.Start.Add(w.Length) }

// keptFor is how long after its last window an account is kept: as long as the longest debt that is
// remembered while nothing is asked of it.
const keptFor = 31 * 24 * time.Hour

// Account is what a tenant has taken of its windows of one length. The zero Account is that of a
// tenant that took nothing.
type Account struct {
	// Window is the start of the window that was last taken from, Taken what was taken of it, with
	// what the windows before it owe.
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

// NewStore returns the Store on the trouble table of an engine.
func NewStore(engine ddb.Engine, on table.Definition) *Store { return &Store{engine, &on} }

// Take adds to what a tenant has taken of a window, if its account is at that window and no kind of
// which something is taken stands above most. It returns the account as it is then, and whether it
// was taken. One UpdateItem; 1 write unit.
//
// Lost response: the repeat finds its own op, and adds nothing; where another took something in
// between, it may add again, and the tenant has so much less. Another did it first: the account
// says what is left. We die right after: the tenant has so much less.
func (s *Store) Take(ctx context.Context, tenant string, w Window, take, most Amounts,
	op string) (Account, bool, error) {
	conds := []ddb.Cond{attrBegins.Eq(ddb.Seconds(w.Start)), attrOp.Ne(ddb.Text(op))}
	actions := []ddb.Action{attrOp.Set(ddb.Text(op)),
		attrExpiresOn.Set(ddb.Seconds(w.end().Add(keptFor)))}
	for k, n := range take {
		if n > 0 {
			conds = append(conds, attrOf[k].Le(ddb.Int(most[k])))
			actions = append(actions, attrOf[k].Add(ddb.Int(n)))
		}
	}
	a, err := s.engine.Do(ctx, ddb.Update{Op: ddb.Op{Op: "take", Table: s.definition},
		Key: key(tenant, w), If: ddb.And(conds...), Do: actions})
	return took(a, op, err)
}

// Move moves a tenant's account from what was seen to a window of which so much is taken. It
// returns the account as it is then, and whether it was moved. One UpdateItem; 1 write unit.
//
// Lost response: the repeat finds its own op. Another did it first: the account says how far it is.
// We die right after: as of Take.
func (s *Store) Move(ctx context.Context, tenant string, w Window, seen Account, taken Amounts,
	op string) (Account, bool, error) {
	unchanged := attrOp.Eq(ddb.Text(seen.Op))
	if seen.Op == "" {
		unchanged = attrOp.Missing()
	}
	actions := []ddb.Action{attrBegins.Set(ddb.Seconds(w.Start)), attrOp.Set(ddb.Text(op)),
		attrExpiresOn.Set(ddb.Seconds(w.end().Add(keptFor)))}
	for k, n := range taken {
		if terms[k].window == w.Length {
			actions = append(actions, attrOf[k].Set(ddb.Int(n)))
		}
	}
	a, err := s.engine.Do(ctx, ddb.Update{Op: ddb.Op{Op: "move account", Table: s.definition},
		Key: key(tenant, w), If: unchanged, Do: actions})
	return took(a, op, err)
}

// Keys begin the partition keys of accounts, behind which the tenant is: each has a partition of
// its own, so that many requests of one throttle no other, and no row.
const Keys = "quota "

func key(tenant string, w Window) ddb.Item {
	return trouble.Key(trouble.State(Keys+tenant), strconv.Itoa(int(w.Length.Seconds())))
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
