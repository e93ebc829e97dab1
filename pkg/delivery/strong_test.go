package delivery_test

import (
	"testing"
	"time"

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
	var err error
	k.d, err = delivery.New(store, k.sorter, &delivery.Options{ForEach: fanout.OneByOne, Now: func() time.Time { return k.now }})
	k.must(err)
	_, err = k.d.Operate(t.Context(), skips(order("op"), 2))
	k.must(err)
	k.operations("skip 2 done=true ")
	list, err := k.d.Status(t.Context(), "q")
	k.must(err)
	if len(list) != 1 || list[0].Delivered != 2 || list[0].State != delivery.Idle {
		t.Errorf("%+v, want the consumer at 2", list)
	}
}
