package cursor_test

import (
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/pkg/cursor"
)

// TestARepeatWhosePlaceIsGoneIsStale: a retention that was made shorter lets order items go before
// what they name.
func TestARepeatWhosePlaceIsGoneIsStale(t *testing.T) {
	b := newBench(t, nil)
	b.fill("a", 3)
	shorter := b.process(cursor.Options{Retention: cursor.MinRetention})
	for i := range 40 {
		check.Get(appendTo(t.Context(), shorter, arrival(time.Duration(i).String())))
	}
	b.now = b.now.Add(6 * time.Hour)
	b.memory.Expire(b.now)
	b.want("a repeat", b.append(arrival("a0")), "stale")
	b.want("another", b.append(arrival("c")), "advanced 44-44")
}
