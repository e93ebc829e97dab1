package cursor_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/invalid"
)

// stage stages an arrival in a process that knows nothing yet.
func (b *bench) stage(kind cursor.Kind, a request) cursor.Arrival {
	b.t.Helper()
	staged, err := b.process(cursor.Options{}).Steps().Stage(b.t.Context(), kind, a.put()...)
	check.Need(b.t, err == nil && len(staged) == 1, "%+v, %v", staged, err)
	return staged[0]
}

func (b *bench) place(staged cursor.Arrival) string {
	b.t.Helper()
	r := b.process(cursor.Options{}).Steps().Place(b.t.Context(), staged)
	check.Need(b.t, r.Err == nil, "%v", r.Err)
	return answer(appended{Outcome: r.Outcome, Seqs: cursor.Range{From: r.Seq - 1, To: r.New}})
}

// TestWhatIsStagedIsSeenWhenItIsPlaced, no matter by whom, and once.
func TestWhatIsStagedIsSeenWhenItIsPlaced(t *testing.T) {
	b := newBench(t, nil)
	staged := b.stage(cursor.KindArrival, several("a", 2))
	b.stage(cursor.KindArrival, several("a", 2)) // a repeat
	check.Is(t, b.append(arrival("b")), "advanced 1-1")
	recalled, found, err := b.process(cursor.Options{}).Steps().Recall(t.Context(), "q", "a")
	check.Need(t, err == nil && found && len(recalled.Messages) == 2,
		"%+v, %v, %v", recalled, found, err)
	for _, s := range []cursor.Arrival{recalled, staged, recalled} {
		same(t, "placed", b.place(s), "advanced 2-3")
	}
	// So many others that it has left the tail.
	b.fill("other", 60)
	for _, s := range []cursor.Arrival{recalled, staged} {
		same(t, "placed", b.place(s), "advanced 2-3")
	}
	want := []string{"1 b body of b", "2  body 0 of a", "3  body 1 of a"}
	read := b.read(0, 3)
	check.That(t, slices.Equal(read, want), "read %q, want %q", read, want)
	same(t, "appended", b.append(several("a", 2)), "duplicate 2-3")
}

// TestStageRefuses what can never be placed.
func TestStageRefuses(t *testing.T) {
	b := newBench(t, nil)
	check.OK(t, b.sorter.Put(t.Context(), cursor.Message{Queue: "n", Seq: 1})[0].Err)
	b.stage(cursor.KindArrival, arrival("a"))
	other := arrival("a")
	other.Messages[0].Body = []byte("another")
	inNumbers := arrival("b")
	inNumbers.Queue = "n"
	for name, c := range map[string]struct {
		kind    cursor.Kind
		arrival request
		field   string
		queue   string
		code    invalid.Code
	}{
		"another under the id":     {cursor.KindArrival, other, "id", "q", invalid.Clash},
		"the queue is numbered":    {cursor.KindArrival, inNumbers, "queue", "n", invalid.Clash},
		"the queue is in arrivals": {cursor.KindNumbered, arrival("c"), "queue", "q", invalid.Clash},
		"out of bounds":            {cursor.KindArrival, several("d", 501), "messages", "", invalid.OutOfRange},
	} {
		_, err := b.process(cursor.Options{}).Steps().Stage(t.Context(), c.kind, c.arrival.put()...)
		var wrong *invalid.Error
		check.That(t, errors.As(err, &wrong) && wrong.Path() == c.field &&
			wrong.Queue == c.queue && wrong.Code == c.code, "%s: %v, want %+v", name, err, c)
	}
	m := b.stage(cursor.KindNumbered, inNumbers).Messages
	check.That(t, len(m) == 1 && string(m[0].Body) == "body of b", "staged %+v", m)
	cur, err := b.sorter.Status(t.Context(), "n")
	check.That(t, err == nil && cur.Position == 1, "%+v, %v", cur, err)
}

// TestWhatIsNeverPlacedExpires, and is found no more.
func TestWhatIsNeverPlacedExpires(t *testing.T) {
	b := newBench(t, nil)
	b.stage(cursor.KindArrival, arrival("a"))
	b.now = b.now.Add(30 * 24 * time.Hour)
	b.memory.Expire(b.now)
	staged, found, err := b.process(cursor.Options{}).Steps().Recall(t.Context(), "q", "a")
	check.That(t, err == nil && !found, "%+v, %v", staged, err)
}
