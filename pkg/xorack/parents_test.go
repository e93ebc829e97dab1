package xorack_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/ddbtest"
	"github.com/streamsort/streamsort/pkg/xorack"
	"github.com/streamsort/streamsort/pkg/xorack/stamps"
)

// TestWakeFinishesStamps whose last caller died before it recorded the end: the deadline is far.
func TestWakeFinishesStamps(t *testing.T) {
	h := newHurt(t)
	_, err := h.stamper.Create(t.Context(), "t", []byte("a"), &stamps.Options{ID: "1"})
	h.must(err)
	h.faults.Fail(2, ddbtest.Refused)
	if _, err := h.stamper.Stamp(t.Context(), "t", []byte("a"), &stamps.Options{ID: "2"}); err == nil {
		t.Fatal("the end is recorded: no request was refused")
	}
	h.faults.Fail(0, "")
	report, late, err := h.acker.Wake(t.Context(), "t", xorack.SweepOptions{Announce: h.announce})
	if err != nil || report.Finished != 1 || !late.IsZero() || len(h.announced) != 1 {
		t.Errorf("%+v, late %v, %v, %d announced; want it finished and announced", report, late, err, len(h.announced))
	}
}

// TestFinishWithoutItsParent seals a chain whose parent's tag belongs to something else.
func TestFinishWithoutItsParent(t *testing.T) {
	for name, another := range map[string]func(*hurt) error{
		"another chain": func(h *hurt) error {
			_, err := h.acker.Create(t.Context(), "t", &xorack.CreateOptions{ID: "2"})
			return err
		},
		"stamps": func(h *hurt) error {
			_, err := h.stamper.Create(t.Context(), "t", []byte("a"), nil)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHurt(t)
			created, err := h.acker.Create(t.Context(), "t", nil)
			h.must(err)
			inner, err := h.acker.Create(t.Context(), "u", &xorack.CreateOptions{Parent: created.Root})
			h.must(err)
			_, err = h.acker.Delete(t.Context(), "t")
			h.must(err)
			h.must(h.finish("t"))
			h.must(another(h))
			h.must(done(h, inner.Root))
			h.must(h.finish("u"))
			c, err := h.plain.Chain(t.Context(), "u")
			if err != nil || !c.Sealed() {
				t.Errorf("%+v, %v; want it sealed", c, err)
			}
		})
	}
}

// TestOperationsOnStamps are refused: their chain has no edges.
func TestOperationsOnStamps(t *testing.T) {
	h := newHurt(t)
	_, err := h.stamper.Create(t.Context(), "t", []byte("a"), nil)
	h.must(err)
	root := xorack.Root("t", "", 0)
	wantError(t, xorack.ErrOtherKind)(h.acker.Done(t.Context(), root))
	wantError(t, xorack.ErrOtherKind)(h.acker.Fail(t.Context(), root, "why"))
	wantError(t, xorack.ErrOtherKind)(h.acker.Delete(t.Context(), "t"))
}

// TestAWakeUpThatFails counts what failed: the next one does it.
func TestAWakeUpThatFails(t *testing.T) {
	a := newAlarmed(t)
	a.create("t", xorack.CreateOptions{Deadline: time.Minute})
	a.now = start.Add(time.Minute)
	for _, c := range []struct {
		failure error
		want    xorack.SweepReport
	}{
		{ddb.ErrUnavailable, xorack.SweepReport{Chains: 1, TimedOut: 1, Failed: 1}},
		{nil, xorack.SweepReport{Chains: 1, Finished: 1}},
	} {
		announce := func(context.Context, xorack.Chain) error { return c.failure }
		report, next, err := a.Wake(t.Context(), "t", xorack.SweepOptions{Announce: announce})
		if !errors.Is(err, c.failure) || report != c.want || !next.IsZero() {
			t.Errorf("%+v, %v, %v; want %+v, %v", report, next, err, c.want, c.failure)
		}
	}
}
