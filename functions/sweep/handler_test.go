package main

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/emf"
	"github.com/streamsort/streamsort/pkg/cursor"
)

// gapOf makes a Sorter whose queue "q" has a gap that is a minute old and
// announced after a second.
func gapOf(t *testing.T) *cursor.Sorter {
	t.Helper()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	defaults := cursor.DefaultSettings()
	defaults.Policy, defaults.GapAfter = cursor.PolicySkip, time.Second
	s, err := cursor.New(&cursor.Memory{}, &cursor.Options{Defaults: &defaults, Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Put(t.Context(), cursor.Message{Queue: "q", Seq: 3}); err != nil {
		t.Fatal(err)
	}
	now = now.Add(time.Minute)
	return s
}

func TestHandlerSweeps(t *testing.T) {
	sorter := gapOf(t)
	var out bytes.Buffer
	said := map[cursor.AnnouncementKind]int{}
	handle := newHandler(sorter, cursor.SweepOptions{Announce: func(_ context.Context, a cursor.Announcement) error {
		said[a.Kind]++
		return nil
	}}, emf.New(&out))
	report, err := handle(t.Context(), []byte(`{"source":"aws.events","detail-type":"Scheduled Event","detail":{}}`))
	if err != nil || report.Skipped != 2 || said[cursor.GapOpened] != 1 || said[cursor.GapSkipped] != 1 {
		t.Errorf("%+v, %v, said %v", report, err, said)
	}
	for _, metric := range []string{`"OpenGaps":1`, `"GapAge":60`, `"Skipped":2`, `"GapsOpened":1`, `"GapsSkipped":1`} {
		if !strings.Contains(out.String(), metric) {
			t.Errorf("no %s in the metrics: %s", metric, &out)
		}
	}
	out.Reset()
	if _, err := handle(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), `"OpenGaps":0`) {
		t.Errorf("no gap is not told: %s", &out)
	}
}

func TestHandlerTellsWhatFailed(t *testing.T) {
	var out bytes.Buffer
	deaf := errors.New("nobody there")
	handle := newHandler(gapOf(t), cursor.SweepOptions{
		Announce: func(context.Context, cursor.Announcement) error { return deaf },
	}, emf.New(&out))
	if report, err := handle(t.Context(), nil); !errors.Is(err, deaf) || report.Failed == 0 {
		t.Errorf("%+v, %v; want the failure", report, err)
	}
}

func TestHandlerStopsBeforeItsTimeIsOver(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), margin)
	defer cancel()
	if _, err := newHandler(gapOf(t), cursor.SweepOptions{}, emf.New(&bytes.Buffer{}))(ctx, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v, want that there was no time", err)
	}
}

func TestFromEnvironmentNamesWhatIsMissing(t *testing.T) {
	t.Setenv("STREAMSORT_MESSAGES_TABLE", "")
	if _, err := fromEnvironment(&bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), "STREAMSORT_MESSAGES_TABLE") {
		t.Errorf("error %v", err)
	}
}
