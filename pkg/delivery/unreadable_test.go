package delivery_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/request"
	"github.com/streamsort/streamsort/pkg/delivery"
	"github.com/streamsort/streamsort/pkg/table"
)

// TestAConsumerThatCannotBeReadStopsNoOther: the sweep handles the others of its queue, and
// says that it failed. Nothing is deleted, and all is kept: it may need everything.
func TestAConsumerThatCannotBeReadStopsNoOther(t *testing.T) {
	k := newDesk(t)
	k.put("q", 1, 2)
	k.ends("q", endedCaughtUp)
	for _, name := range []string{"a", "dead"} {
		check.Get(k.d.Create(t.Context(), "q", name, delivery.First))
	}
	dead := check.Get(k.store.Requests(request.Inside{}).Consumer(t.Context(), "q", "dead"))
	check.Get2(k.store.Requests(request.Inside{}).Claim(t.Context(), dead, request.Claim{Req: "dead", To: 2, Now: k.now, LeaseUntil: k.now.Add(time.Minute)}))
	k.newerLayout(0, ddb.Fields{"queue": ddb.Text("q"), "consumer": ddb.Text("a")})
	k.pass(time.Hour)
	report, err := k.d.Sweep(t.Context(), delivery.SweepOptions{Delete: true})
	if !errors.Is(err, table.ErrNewerLayout) || report.Failed != 1 || report.Cancelled != 1 || report.Notified != 1 || report.Deleted != 0 {
		t.Errorf("%+v, %v; want the dead claim cancelled, and the other consumer named", report, err)
	}
	if cur, err := k.sorter.Status(t.Context(), "q"); err != nil || cur.Floor != cur.Settings.First-1 {
		t.Errorf("floor %d, %v; want none raised", cur.Floor, err)
	}
	if seq, found, err := k.d.Inside(request.Inside{}).Delivered(t.Context(), "q"); seq >= 0 || !found || err != nil {
		t.Errorf("delivered %d, %v, %v; want everything kept", seq, found, err)
	}
	if _, err := k.d.Status(t.Context(), "q"); !errors.Is(err, table.ErrNewerLayout) {
		t.Errorf("error %v, want a list that says that it is not all", err)
	}
}

// newerLayout has an item written by a newer version.
func (k *desk) newerLayout(table int, key ddb.Fields) {
	k.t.Helper()
	check.Get(k.consumers.Do(k.t.Context(), ddb.Update{
		Op: ddb.Op{Op: "newer layout", Table: &delivery.Names{}.Tables()[table]}, Key: key.Item(), Do: []ddb.Action{ddb.Path("v").Set(ddb.Int(99))},
	}))
}

// TestAnOperationThatCannotBeReadHidesNoOther: the audit log shows the others, and names it.
func TestAnOperationThatCannotBeReadHidesNoOther(t *testing.T) {
	k := newDesk(t)
	k.put("q", 1)
	check.Get(k.d.Create(t.Context(), "q", "c", delivery.First))
	for _, op := range []string{"first", "newer", "last"} {
		k.pass(time.Second)
		check.Get(k.d.Operate(t.Context(), does("pause", order(op))))
	}
	key := fmt.Sprintf("%015d c newer", k.now.Add(-time.Second).UnixMilli())
	k.newerLayout(1, ddb.Fields{"queue": ddb.Text("q"), "operation": ddb.Text(key)})
	page, _, err := k.d.Inside(request.Inside{}).Audit(t.Context(), "q", "")
	if !errors.Is(err, delivery.ErrUnreadable) || !strings.Contains(fmt.Sprint(err), key) || len(page) != 2 || page[0].Op != "last" || page[1].Op != "first" {
		t.Errorf("%+v, %v; want the others, and %q named", page, err, key)
	}
}
