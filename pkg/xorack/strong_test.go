package xorack_test

import (
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/ddbtest"
	"github.com/streamsort/streamsort/internal/fanout"
	"github.com/streamsort/streamsort/pkg/xorack"
)

// TestGetSeesWhatWasJustDone: a process that looks at a chain after an answer about it sees
// what the answer says.
func TestGetSeesWhatWasJustDone(t *testing.T) {
	store := storeOn(t, ddbtest.NewStale(ddb.NewMemory(xorack.Names{}.Tables()...), nil), xorack.Names{})
	a := check.Get(xorack.New(store, &xorack.Options{ForEach: fanout.OneByOne, Now: func() time.Time { return start }}))
	created := check.Get(a.Create(t.Context(), "t", nil))
	if c, err := a.Get(t.Context(), "t"); err != nil || c.End() != xorack.Open {
		t.Errorf("%+v, %v; want the chain that was created", c, err)
	}
	check.Get(a.Done(t.Context(), created.Root))
	c, err := a.Get(t.Context(), "t")
	check.That(t, err == nil && c.End() == xorack.Done, "%+v, %v; want it to be done", c, err)
}
