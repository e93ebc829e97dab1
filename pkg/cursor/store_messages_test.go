package cursor_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/ddbtest"
	"github.com/streamsort/streamsort/internal/queuelog"
	"github.com/streamsort/streamsort/pkg/cursor"
)

func TestStoreMessage(t *testing.T) {
	onEach(t, func(t *testing.T, s *cursor.Store, q string) {
		_, found := check.Get2(s.Inside().Message(t.Context(), q, 1))
		same(t, "found before it was put", found, false)

		whole := wholeMessage(q, 1)
		bare := cursor.Message{Queue: q, Seq: 2, EnqueuedAt: at, Digest: whole.Digest, Op: whole.Op}
		put(t, s, whole, bare)
		for _, want := range []cursor.Message{whole, bare} {
			gives(t, "found", want, true)(s.Inside().Message(t.Context(), q, want.Seq))
		}

		other := wholeMessage(q, 1)
		other.Body, other.Op = []byte("other"), []byte("87654321")
		got := check.Get(s.Inside().PutMessage(t.Context(), other))
		same(t, "put over another", got, whole)
		got, _ = check.Get2(s.Inside().Message(t.Context(), q, 1))
		same(t, "after it", got, whole)
	})
}

func TestStoreMessages(t *testing.T) {
	onEach(t, func(t *testing.T, s *cursor.Store, q string) {
		for _, seq := range []int64{9, 2, 3, 10, 100, 5} {
			put(t, s, wholeMessage(q, seq))
		}
		for _, c := range []struct {
			first, last int64
			limit       int
			want        []int64
			more        bool
		}{
			{0, cursor.MaxSeq, 0, []int64{2, 3, 5, 9, 10, 100}, false},
			{3, 9, 0, []int64{3, 5, 9}, false},
			{4, 4, 0, nil, false},
			{101, cursor.MaxSeq, 5, nil, false},
			{0, cursor.MaxSeq, 2, []int64{2, 3}, true},
			{3, 10, 3, []int64{3, 5, 9}, true},
		} {
			for _, strong := range []bool{true, false} {
				for _, heads := range []bool{true, false} {
					what := fmt.Sprintf("%d to %d, limit %d, strong %v, heads %v", c.first,
						c.last, c.limit, strong, heads)
					want := cursor.Page{More: c.more}
					for _, seq := range c.want {
						m := wholeMessage(q, seq)
						if heads {
							m = cursor.Message{Queue: q, Seq: seq, EnqueuedAt: m.EnqueuedAt, ExpiresOn: m.ExpiresOn}
						}
						want.Messages = append(want.Messages, m)
					}
					read := func() cursor.Page {
						page := check.Get(s.Inside().Messages(t.Context(), queuelog.Query{
							Queue: q, First: c.first, Last: c.last, Limit: c.limit, Strong: strong, HeadsOnly: heads,
						}))
						if len(page.Messages) == 0 {
							page.Messages = nil // empty or nil, it is the same
						}
						return page
					}
					if strong {
						same(t, what, read(), want)
						continue
					}
					ddbtest.Settles(t, what, read, want)
				}
			}
		}
	})
}

// TestStoreNames: a name is bytes, and nothing in it means anything.
func TestStoreNames(t *testing.T) {
	ddbtest.Each(t, func(t *testing.T, kind ddbtest.Kind) {
		s := freshStore(t, kind)
		names := []string{
			"a", "A", "a ", " a", "a/b", "a#b", "é", "e\u0301", "\x00", "日本", "../..", "{}", `"`,
			strings.Repeat("n", cursor.MaxQueueName),
		}
		for i, name := range names {
			c := newCursor(name)
			c.Position = int64(i)
			create(t, s, c)
			m := wholeMessage(name, 1)
			m.ID = fmt.Sprint(i)
			put(t, s, m)
		}
		for i, name := range names {
			same(t, fmt.Sprintf("position of %q", name), standing(t, s, name).Position, int64(i))
			m, _ := check.Get2(s.Inside().Message(t.Context(), name, 1))
			same(t, fmt.Sprintf("message of %q", name), m.ID, fmt.Sprint(i))
		}
	})
}

func TestStoreKeepUntil(t *testing.T) {
	onEach(t, func(t *testing.T, s *cursor.Store, q string) {
		keep := func(seq int64, until time.Time, want bool) {
			t.Helper()
			same(t, "there", check.Get(s.Inside().KeepUntil(t.Context(), q, seq, until)), want)
		}
		keep(1, at.Add(time.Hour), false)
		_, found := check.Get2(s.Inside().Message(t.Context(), q, 1))
		same(t, "made a hollow message", found, false)

		forever := wholeMessage(q, 2)
		forever.ExpiresOn = time.Time{}
		put(t, s, wholeMessage(q, 1), forever)
		for _, step := range []struct{ until, want time.Time }{
			{at.Add(2 * time.Hour), at.Add(2 * time.Hour)},
			{at.Add(2 * time.Hour), at.Add(2 * time.Hour)},
			{at.Add(time.Minute), at.Add(2 * time.Hour)},
		} {
			keep(1, step.until, true)
			want := wholeMessage(q, 1)
			want.ExpiresOn = step.want
			got, _ := check.Get2(s.Inside().Message(t.Context(), q, 1))
			same(t, "message", got, want)
		}
		keep(2, at.Add(time.Hour), true)
		got, _ := check.Get2(s.Inside().Message(t.Context(), q, 2))
		same(t, "one that is kept for ever", got, forever)
	})
}
