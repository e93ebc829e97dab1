package handoff_test

import (
	"slices"
	"testing"
	"time"

	"github.com/streamsort/streamsort/pkg/handoff"
)

func TestReaderRefuses(t *testing.T) {
	second := []time.Duration{time.Second}
	for _, c := range []struct {
		field string
		r     handoff.Reader
	}{
		{"retries[0]", handoff.Reader{Retries: []time.Duration{time.Millisecond}}},
		{"retries[1]", handoff.Reader{Retries: []time.Duration{time.Second, 61 * time.Minute}}},
		{"retries", handoff.Reader{Retries: slices.Repeat(second, 11)}},
	} {
		c.r.Name = "c"
		invalid(t, c.r.Validate(), c.field)
	}
	good := handoff.Reader{Name: "c", Retries: slices.Repeat(second, 10)}
	if err := good.Validate(); err != nil {
		t.Error(err)
	}
}

// TestRetriesAreASetting: a batch that fails is tried again by the reader's schedule, the
// last time of which comes again and again.
func TestRetriesAreASetting(t *testing.T) {
	k := newDesk(t)
	k.put("q", 1)
	k.poison(1, errNo)
	r := k.reader()
	r.MaxAttempts, r.Retries = 9, []time.Duration{2 * time.Second, 30 * time.Second}
	for _, want := range []time.Duration{2 * time.Second, 30 * time.Second, 30 * time.Second} {
		done := k.d.Deliver(t.Context(), "q", r, -1)
		k.must(done.Err)
		if got := done.Record.RetryAt.Sub(k.now); got != want {
			t.Errorf("it is tried again after %s, want %s", got, want)
		}
		k.pass(want)
	}
}
