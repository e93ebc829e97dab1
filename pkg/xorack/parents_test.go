package xorack_test

import (
	"testing"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/ddbtest"
	"github.com/streamsort/streamsort/pkg/xorack"
	"github.com/streamsort/streamsort/pkg/xorack/stamps"
)

// TestWakeFinishesStamps whose last caller died before it recorded the end: the deadline is far.
func TestWakeFinishesStamps(t *testing.T) {
	h := newHurt(t)
	check.Get(h.stamper.Create(t.Context(), "t", []byte("a"), &stamps.Options{ID: "1"}))
	h.faults.Fail(2, ddbtest.Refused)
	_, err := h.stamper.Stamp(t.Context(), "t", []byte("a"), &stamps.Options{ID: "2"})
	check.Need(t, err != nil, "the end is recorded: no request was refused")
	h.faults.Fail(0, "")
	report, late, err := h.acker.Wake(t.Context(), "t", xorack.SweepOptions{Announce: h.announce})
	check.That(t, err == nil && report.Finished == 1 && late.IsZero() && len(h.announced) == 1,
		"%+v, late %v, %v, %d announced; want it finished and announced", report, late, err, len(h.announced))
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
			created := check.Get(h.acker.Create(t.Context(), "t", nil))
			inner := check.Get(h.acker.Create(t.Context(), "u", &xorack.CreateOptions{Parent: created.Root}))
			check.Get(h.acker.Delete(t.Context(), "t"))
			h.must(h.finish("t"))
			h.must(another(h))
			h.must(done(h, inner.Root))
			h.must(h.finish("u"))
			c, err := h.plain.Chain(t.Context(), "u")
			check.That(t, err == nil && c.Sealed(), "%+v, %v; want it sealed", c, err)
		})
	}
}

// TestOperationsOnStamps are refused: their chain has no edges.
func TestOperationsOnStamps(t *testing.T) {
	h := newHurt(t)
	check.Get(h.stamper.Create(t.Context(), "t", []byte("a"), nil))
	root := xorack.Root("t", "", 0)
	wantError(t, xorack.ErrOtherKind)(h.acker.Done(t.Context(), root))
	wantError(t, xorack.ErrOtherKind)(h.acker.Fail(t.Context(), root, "why"))
	wantError(t, xorack.ErrOtherKind)(h.acker.Delete(t.Context(), "t"))
}
