package stamps_test

import (
	"crypto/sha256"
	"sync"
	"testing"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/ddbtest"
	"github.com/streamsort/streamsort/internal/fanout"
	"github.com/streamsort/streamsort/pkg/xorack"
	"github.com/streamsort/streamsort/pkg/xorack/stamps"
)

// TestFiguresOfStamps pins the byte interface: 64 stamps of 8 bytes.
func TestFiguresOfStamps(t *testing.T) {
	const tag = "database/file-000013"
	meter := ddbtest.NewMeter(ddb.NewMemory(xorack.Names{}.Tables()...))
	acker, err := xorack.New(xorack.NewStore(meter, xorack.Names{}), nil)
	check.OK(t, err)
	stamper := stamps.New(acker)
	all := make([][]byte, 64)
	for i := range all {
		hash := sha256.Sum256([]byte{byte(i)})
		all[i] = hash[:8]
	}
	// The stamps bring what the chain is created with to zero.
	first, err := stamps.XOR(all...)
	check.OK(t, err)
	if _, err := stamper.Create(t.Context(), tag, first.Stamp, nil); err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	ended := 0
	meter.Take()
	fanout.SideBySide(len(all), func(i int) {
		state, err := stamper.Stamp(t.Context(), tag, all[i], nil)
		if err != nil {
			t.Error(err)
		}
		mu.Lock()
		defer mu.Unlock()
		if state.Outcome == xorack.Ended {
			ended++
		}
	})
	cost := meter.Take()
	units := cost.Units.Writes + cost.Units.Index
	t.Logf("64 stamps of 8 bytes: %.3f write units a stamp, %+v", units/64, cost)
	if units > 1.1*64 || cost.Reads != 0 || ended != 1 {
		t.Errorf("%+v, %d ended it; want 1.1 units a stamp or less", cost, ended)
	}
}
