package handoff_test

import (
	"errors"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/record"
	"github.com/streamsort/streamsort/pkg/handoff"
	"github.com/streamsort/streamsort/pkg/table"
)

// TestAConsumerThatCannotBeReadStopsNoOther: the sweep sees to the others of its queue, and
// says that it failed. Nothing is deleted, and all is kept: it may need everything.
func TestAConsumerThatCannotBeReadStopsNoOther(t *testing.T) {
	k := newDesk(t)
	k.put("q", 1, 2)
	k.ends("q", handoff.EndedCaughtUp)
	for _, name := range []string{"a", "dead"} {
		_, err := k.d.Create(t.Context(), "q", name, handoff.First)
		k.must(err)
	}
	dead, err := k.store.Consumer(t.Context(), "q", "dead")
	k.must(err)
	_, _, err = k.store.Claim(t.Context(), dead, record.Claim{Req: "dead", To: 2, Now: k.now, LeaseUntil: k.now.Add(time.Minute)})
	k.must(err)
	_, err = k.consumers.Do(t.Context(), ddb.Update{
		Op:  ddb.Op{Op: "newer layout", Table: &handoff.Names{}.Tables()[0]},
		Key: ddb.Fields{"queue": ddb.Text("q"), "consumer": ddb.Text("a")}.Item(), Do: []ddb.Action{ddb.Path("v").Set(ddb.Int(99))},
	})
	k.must(err)
	k.pass(time.Hour)
	report, err := k.d.Sweep(t.Context(), handoff.SweepOptions{Delete: true})
	if !errors.Is(err, table.ErrNewerLayout) || report.Failed != 1 || report.Cancelled != 1 || report.Nudged != 1 || report.Deleted != 0 {
		t.Errorf("%+v, %v; want the dead claim cancelled, and the other consumer named", report, err)
	}
	if cur, err := k.sorter.Status(t.Context(), "q"); err != nil || cur.Floor != cur.Settings.First-1 {
		t.Errorf("floor %d, %v; want none raised", cur.Floor, err)
	}
	if seq, found, err := k.d.Delivered(t.Context(), "q"); seq >= 0 || !found || err != nil {
		t.Errorf("delivered %d, %v, %v; want everything kept", seq, found, err)
	}
	if _, err := k.d.Status(t.Context(), "q"); !errors.Is(err, table.ErrNewerLayout) {
		t.Errorf("error %v, want a list that says that it is not all", err)
	}
}
