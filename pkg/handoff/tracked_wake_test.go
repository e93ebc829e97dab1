package handoff_test

import (
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/fanout"
	"github.com/streamsort/streamsort/pkg/handoff"
	"github.com/streamsort/streamsort/pkg/xorack"
)

// TestWorkThatOutlivesItsLease: the chain says how a tracked claim ends. Whoever comes by once its lease is over tells of
// nothing that is due, else that wakes up the queue, again and again.
func TestWorkThatOutlivesItsLease(t *testing.T) {
	k := &trackedDesk{desk: newDesk(t), chains: ddb.NewMemory(xorack.Names{}.Tables()...)}
	k.d, k.acker = k.process(k.chains)
	var told []time.Time
	d, err := handoff.New(k.store, k.sorter, &handoff.Options{
		ForEach: fanout.OneByOne, Now: func() time.Time { return k.now }, Acker: k.acker,
		WakeUp: func(_, _ string, due time.Time) { told = append(told, due) },
	})
	k.must(err)
	k.d = d
	k.put("q", 1)
	k.ends(handoff.EndedTracked) // its work takes up to an hour
	k.put("q", 2)
	k.ends(handoff.EndedBusy)
	if len(told) != 1 || !told[0].After(k.now) {
		t.Fatalf("told of %v; want the lease's end", told)
	}
	k.now = told[0].Add(time.Second)
	for range 10 {
		k.ends(handoff.EndedBusy)
		k.pass(time.Second)
	}
	if len(told) != 1 {
		t.Errorf("told %d times more, of a lease that is over", len(told)-1)
	}
}
