package quota

import (
	"context"
	"crypto/rand"
	"fmt"
	mathrand "math/rand/v2"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/pkg/table"
)

const (
	// MinShare and MaxShare bound the leases that a tenant may have at a time: all are in one item,
	// of 4 KB at most.
	MinShare, MaxShare = 1, 100
	// leasesBegin begins the partition keys of the leases, behind which the tenant is.
	leasesBegin = "leases "
	// leasesSort is their sort key: no consumer's, and in the order before those.
	leasesSort = " calls"
)

// Leases bound how many calls of a tenant run at a time. They may be used by any number of
// goroutines, and of processes.
type Leases struct {
	engine ddb.Engine
	table  table.Definition
	share  int
	now    func() time.Time
}

// NewLeases returns leases of which each tenant may have so many at a time. Their items are in the
// consumers table.
func NewLeases(
	engine ddb.Engine, consumers table.Definition, share int, now func() time.Time,
) *Leases {
	return &Leases{engine: engine, table: consumers, share: share, now: now}
}

// Lease is a place among those of a tenant, until it is given back or its time is over.
type Lease struct {
	of     *Leases
	tenant string
	slot   int
	op     string
}

// until and by are the attributes of a place: when its lease ends, and which one it is.
func (l Lease) until() ddb.Path { return ddb.Path(fmt.Sprint("until", l.slot)) }
func (l Lease) by() ddb.Path    { return ddb.Path(fmt.Sprint("by", l.slot)) }

// Take takes a place of a tenant until a time, and reports whether one was free. It is one
// UpdateItem of 1 write unit for each 1 KB of the item, which has 20 places, and one more where the
// first place that it tries is taken.
//
// Lost response: the repeat finds its own lease, and has it. Another did it first: the answer shows
// which places are free, and the next one is tried. We die right after: the lease ends with its
// time.
func (l *Leases) Take(ctx context.Context, tenant string, until time.Time) (Lease, bool, error) {
	lease := Lease{of: l, tenant: tenant, slot: mathrand.IntN(l.share), op: rand.Text()}
	for range maxLosses {
		now := l.now()
		free := ddb.Or(
			lease.until().Missing(), lease.until().Lt(ddb.Millis(now)),
			lease.by().Eq(ddb.Text(lease.op)),
		)
		a, err := l.engine.Do(ctx, ddb.Update{
			Op: ddb.Op{Op: "take lease", Table: &l.table}, Key: l.key(tenant), If: free, Quiet: true,
			Do: []ddb.Action{
				lease.until().Set(ddb.Millis(until)), lease.by().Set(ddb.Text(lease.op)),
			},
		})
		if err != nil || a.Held {
			return lease, a.Held, err
		}
		if !lease.next(a.Item, now) {
			break
		}
	}
	return Lease{}, false, nil
}

// next goes to a place that an item shows as free, if there is one.
func (l *Lease) next(it ddb.Item, now time.Time) bool {
	for range l.of.share {
		l.slot = (l.slot + 1) % l.of.share
		if until, there := it.Get(l.until()).Int64(); !there || until < now.UnixMilli() {
			return true
		}
	}
	return false
}

// End gives a lease back. One UpdateItem, of the same price.
//
// Lost response: the repeat finds no lease of its own. Another did it first, since its time was
// over: that one stays. We die before: it ends with its time.
func (l Lease) End(ctx context.Context) error {
	_, err := l.of.engine.Do(ctx, ddb.Update{
		Op: ddb.Op{Op: "end lease", Table: &l.of.table}, Key: l.of.key(l.tenant), Quiet: true,
		If: l.by().Eq(ddb.Text(l.op)), Do: []ddb.Action{l.until().Remove(), l.by().Remove()},
	})
	return err
}

func (l *Leases) key(tenant string) ddb.Item {
	return ddb.Fields{
		ddb.Path(l.table.Partition.Name): ddb.Text(leasesBegin + tenant),
		ddb.Path(l.table.Sort.Name):      ddb.Text(leasesSort),
	}.Item()
}
