package cursor_test

import (
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/queuelog"
	"github.com/streamsort/streamsort/pkg/cursor"
)

// What delivery asks of the tables.

func TestStoreNudge(t *testing.T) {
	onCursor(t, func(t *testing.T, s *cursor.Store, q string, want cursor.Cursor) {
		for _, later := range []time.Time{at, at.Add(time.Millisecond)} {
			check.OK(t, s.Inside().Notify(t.Context(), q, later))
			want.Notified = later
			same(t, "notified", standing(t, s, q), want)
		}
	})
}

func TestStoreRaiseFloor(t *testing.T) {
	onEach(t, func(t *testing.T, s *cursor.Store, q string) {
		want := newCursor(q)
		want.Position = 5
		create(t, s, want)
		for i, step := range []struct {
			name     string
			to, want int64
			raised   bool
		}{
			{"raised", 3, 3, true},
			{"raised again", 3, 3, false},
			{"lowered", 2, 3, false},
			{"beyond the position", 6, 3, false},
			{"up to the position", 5, 5, true},
		} {
			now := at.Add(time.Duration(i) * time.Second)
			want.Floor = step.want
			if step.raised {
				want.FloorSince = now
			}
			same(t, step.name, check.Get(s.Inside().RaiseFloor(t.Context(), q, step.to, now)), want)
			same(t, step.name+", read", standing(t, s, q), want)
		}
	})
}

func TestStoreDelete(t *testing.T) {
	onEach(t, func(t *testing.T, s *cursor.Store, q string) {
		for seq := range int64(30) {
			put(t, s, wholeMessage(q, seq))
		}
		put(t, s, wholeMessage(q+" other", 3))
		seqs := []int64{99}
		for seq := range int64(24) {
			seqs = append(seqs, seq)
		}
		for range 2 {
			same(t, "left undone", check.Get(s.Inside().DeleteMessages(t.Context(), q, seqs...)), 0)
		}
		page := check.Get(s.Inside().Messages(t.Context(),
			queuelog.Query{Queue: q, First: 0, Last: cursor.MaxSeq, Strong: true}))
		for i, m := range page.Messages {
			same(t, "kept", m.Seq, int64(24+i))
		}
		same(t, "kept", len(page.Messages), 6)
		_, found, err := s.Inside().Message(t.Context(), q+" other", 3)
		check.That(t, err == nil && found, "the other queue's message: found %v, error %v", found, err)
	})
}
