package cursorsim

import (
	"errors"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/verify/sim/simtest"
)

func TestEverySmallSchedule(t *testing.T) { simtest.Small(t, Suite()) }

func TestRandomSchedules(t *testing.T) { simtest.Random(t, Suite(), 20_000) }

// V9: a queue that is begun again under the same name mixes with what is left of the old one, and
// with writers that remember it. So a queue's first seq and its position cannot be set once it is
// there.
func TestTraceV9NoReset(t *testing.T) {
	for _, first := range []int64{0, 2} {
		s := check.Get(cursor.New(cursor.NewMemory(), nil))
		check.OK(t, s.Put(t.Context(), cursor.Message{Queue: "q", Seq: 1})[0].Err)
		_, err := s.Configure(t.Context(), "q", cursor.Change{First: &first})
		check.That(t, errors.Is(err, cursor.ErrFixed), "another first seq: error %v, want ErrFixed", err)
		cur := check.Get(s.Status(t.Context(), "q"))
		check.That(t, cur.Position == 1 && cur.Settings.First == 1, "%+v", cur)
	}
}
