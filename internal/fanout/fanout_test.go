package fanout_test

import (
	"slices"
	"sync/atomic"
	"testing"

	"github.com/streamsort/streamsort/internal/fanout"
)

// All are done when it returns, and no more than the width at once.
func TestSideBySide(t *testing.T) {
	var done, now, most atomic.Int64
	fanout.SideBySide(1000, func(int) {
		n := now.Add(1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		done.Add(1)
		now.Add(-1)
	})
	if done.Load() != 1000 || most.Load() > 64 {
		t.Errorf("%d of 1000 were done, %d at once", done.Load(), most.Load())
	}
}

func TestOneByOne(t *testing.T) {
	var order []int
	fanout.OneByOne(3, func(i int) { order = append(order, i) })
	if !slices.Equal(order, []int{0, 1, 2}) {
		t.Errorf("order %v", order)
	}
}
