package delivery_test

import (
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/ddbtest"
	"github.com/streamsort/streamsort/internal/fanout"
	"github.com/streamsort/streamsort/pkg/delivery"
)

// TestAnOperatorSeesWhatWasJustDone: in the audit log, and in the consumers' states.
func TestAnOperatorSeesWhatWasJustDone(t *testing.T) {
	k := newDesk(t)
	k.put("q", 1, 2, 3)
	k.block("q", 2)
	k.pass(time.Second)
	store := k.storeOn(ddbtest.NewStale(k.consumers, nil).Do)
	k.d = check.Get(delivery.New(store, k.sorter, &delivery.Options{ForEach: fanout.OneByOne, Now: func() time.Time { return k.now }}))
	check.Get(k.d.Operate(t.Context(), skips(order("op"), 2)))
	k.operations("skip 2 done=true ")
	list := check.Get(k.d.Status(t.Context(), "q"))
	check.That(t, len(list) == 1 && list[0].Delivered == 2 && list[0].State == delivery.Idle,
		"%+v, want the consumer at 2", list)
}
