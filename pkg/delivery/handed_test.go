package delivery_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/pkg/delivery"
)

// TestHanded: a reader is notified of each batch, in which order things were, and of which it is known that
// it was committed.
func TestHanded(t *testing.T) {
	k := newDesk(t)
	k.put("q", 1, 2, 3, 4, 5)
	var got []string
	r := k.reader()
	bad := errors.New("bad")
	r.Handle = func(_ context.Context, b delivery.Batch) error {
		if b.From == 3 {
			return bad
		}
		return nil
	}
	r.Handed = func(h delivery.Handed) {
		check.That(t, !h.Claimed.IsZero() && !h.Returned.Before(h.Claimed) && (h.Committed.IsZero() || !h.Committed.Before(h.Returned)),
			"%+v", h)
		got = append(got, fmt.Sprintf("%d-%d %v %v", h.Batch.From+1, h.Batch.To, !h.Committed.IsZero(), h.Err))
	}
	done := k.d.Deliver(t.Context(), "q", r, -1)
	k.must(done.Err)
	if want := []string{"1-3 true <nil>", "4-5 false bad"}; !slices.Equal(got, want) {
		t.Errorf("notified %q, want %q", got, want)
	}

	// Another took its claim over meanwhile: it is not known to be committed.
	k.put("other", 1)
	got = nil
	r.Handle = func(context.Context, delivery.Batch) error {
		k.pass(time.Hour)
		k.d.Deliver(t.Context(), "other", k.reader(), -1)
		return nil
	}
	if done := k.d.Deliver(t.Context(), "other", r, -1); ending(done) != endedLost {
		t.Errorf("ended %s: %v", ending(done), done.Err)
	}
	if want := []string{"1-1 false <nil>"}; !slices.Equal(got, want) {
		t.Errorf("notified %q, want %q", got, want)
	}
}
