package announce_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/streamsort/streamsort/internal/announce"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/pkg/xorack"
)

func failedChain() xorack.Chain {
	created := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	return xorack.Chain{
		Tag: "night run", Incarnation: xorack.Incarnation{1}, Edges: 3, Ops: []xorack.Op{{1}}, Created: created,
		Recorded: xorack.Failed, Reason: "disk full", LastOp: xorack.Op{2}, EndedAt: created.Add(90 * time.Second),
	}
}

func wantChain() string {
	return `{"id":"` + failedChain().EventID() + `","kind":"chain.failed","tag":"night run","outcome":"FAILED","reason":"disk full",` +
		`"operation":"0200000000000000","edges":3,"edgesEnded":1,"createdAt":"2026-01-02T03:04:05Z","endedAt":"2026-01-02T03:05:35Z","ageSeconds":90}`
}

func TestAnnounceAChain(t *testing.T) {
	details := bus(t, `{"FailedEntryCount":0,"Entries":[{"EventId":"1"}]}`)
	a := check.Get(announce.New("people", "", ""))
	check.OK(t, a.Chain(t.Context(), failedChain()))
	check.Is(t, cmp.Diff([]string{"people streamsort chain.failed " + wantChain()}, *details), "")
}

// TestBatchesAreLogged: the batch whose work failed is named, without why; the
// others, and what was done, are left to who announces them.
func TestBatchesAreLogged(t *testing.T) {
	var logs bytes.Buffer
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewJSONHandler(&logs, nil)))
	defer slog.SetDefault(before)
	down := errors.New("down")
	var ended []string
	end := announce.Batches(func(_ context.Context, c xorack.Chain) error {
		ended = append(ended, c.Tag)
		return down
	})
	failed := xorack.Chain{Tag: "delivery/h/2-r", Data: "billing/a/b", Recorded: xorack.Failed, Reason: "secret"}
	done, other := failed, failed
	done.Recorded, other.Tag = xorack.Done, "order 7"
	for _, c := range []xorack.Chain{failed, done, other} {
		if err := end(t.Context(), c); !errors.Is(err, down) {
			t.Errorf("%s: error %v", c.Tag, err)
		}
	}
	check.That(t, len(ended) == 3, "%q went on, want all three", ended)
	line := logs.String()
	check.That(t, strings.Count(line, "\n") == 1 && strings.Contains(line, `"msg":"chain.failed"`) && strings.Contains(line, `"queue":"a/b","consumer":"billing"`) && !strings.Contains(line, "secret"),
		"logged %s", line)
}
