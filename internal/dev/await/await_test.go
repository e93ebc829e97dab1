package await_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/streamsort/streamsort/internal/dev/await"
)

// red is a test that notes its failure.
type red struct {
	testing.TB
	said string
}

func (r *red) Helper() {}

func (r *red) Fatalf(format string, arguments ...any) { r.said = fmt.Sprintf(format, arguments...) }

// TestUntil: it gives up on what stands still, and never on what moves.
func TestUntil(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		polls := 0
		await.Until(t, "the last", func() (bool, any) { polls++; return polls == 10_000, polls / 1999 })
		polls = 0
		r := &red{TB: t}
		await.Until(r, "it", func() (bool, any) { polls++; return false, min(polls, 100) })
		if polls != 2100 || !strings.Contains(r.said, "waited in vain for it: 2000 polls saw 100") {
			t.Errorf("%d polls, %q", polls, r.said)
		}
		r, polls = &red{TB: t}, 0
		if await.True(r, "it", func() bool { polls++; return polls == 2000 }); r.said != "" {
			t.Error(r.said)
		}
	})
}
