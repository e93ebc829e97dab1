//go:build whole

package delivery_test

import (
	"testing"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/ddbtest"
	"github.com/streamsort/streamsort/internal/dev/localdb"
	"github.com/streamsort/streamsort/internal/dev/meter"
	"github.com/streamsort/streamsort/internal/dynamo"
	"github.com/streamsort/streamsort/pkg/table"
	"github.com/streamsort/streamsort/pkg/xorack"
)

// newMeteredTreed has fresh tables of a real server.
func newMeteredTreed(t *testing.T, network *meter.Meter) *treed {
	t.Helper()
	options := &dynamo.Options{Transport: network}
	store, queues := freshTables(t, localdb.Choose(), options)
	client := check.Get(dynamo.New(options))
	names := xorack.Names{Chains: "chains" + ddbtest.Suffix()}
	check.OK(t, table.Create(t.Context(), client, names.Tables()...))
	chains := check.Get(xorack.NewDynamo(client, names))
	return newTreed(t, store, queues, chains)
}

// TestTrackedFigures pins what a tracked batch costs beside the writes of its
// edges: a claim, a creation (and one of the index), and the deferral; a commit, and a seal (and one
// of the index); a notification where there is more to deliver. A look at a chain that is under way is
// one read beside that of the consumer.
func TestTrackedFigures(t *testing.T) {
	network := meter.New(dynamo.Transport())
	k := newMeteredTreed(t, network)
	k.put(upTo(1, 40)...)
	k.must(firstError(k.deliver(10), k.work(), k.finish()))
	k.tags = nil
	cost := func(name string, want meter.Count, do func() error) {
		t.Helper()
		before := network.Counts()
		k.must(do())
		counts := network.Counts().Sub(before)
		w := writes(counts)
		t.Logf("%-24s %d writes, %.1f write units, %.1f read units", name, w.Requests, counts.Total().Writes, counts.Total().Reads)
		if total := counts.Total(); w.Requests != want.Requests || total.Writes != want.Writes || total.Reads > want.Reads {
			t.Errorf("%s: want %d writes, %.1f write units, at most %.1f read units: %v", name, want.Requests, want.Writes, want.Reads, counts)
		}
	}
	cost("deliver", meter.Count{Requests: 3, Writes: 4, Reads: 3}, func() error { return k.deliver(10) })
	cost("a look before the end", meter.Count{Reads: 2}, func() error { return k.deliver(10) })
	cost("the work of 10", meter.Count{Requests: 10, Writes: 10}, k.work)
	c := check.Get(k.acker.Get(t.Context(), k.tags[0]))
	cost("the end, with more to do", meter.Count{Requests: 3, Writes: 4, Reads: 1}, func() error {
		_, err := k.acker.Finish(t.Context(), c, k.d.Ender(nil))
		return err
	})
	k.must(k.deliver(20))
	k.must(k.work())
	c = check.Get(k.acker.Get(t.Context(), k.tags[1]))
	cost("the end, with nothing", meter.Count{Requests: 2, Writes: 3, Reads: 1}, func() error {
		_, err := k.acker.Finish(t.Context(), c, k.d.Ender(nil))
		return err
	})
	check.Is(t, k.standing().Delivered, 40)
}
