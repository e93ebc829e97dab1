package dedup_test

import (
	"context"
	"testing"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/ddbtest"
	"github.com/streamsort/streamsort/pkg/dedup"
)

// behind is a Deduplicator on tables of which reads that are not strong show what
// stood there before; only some of them, where only is not nil.
func behind(t *testing.T, opts *options, only func(ddb.Request) bool) (*dedup.Deduplicator[string, string], dedup.Store) {
	t.Helper()
	store := check.Get(dedup.NewTable(ddbtest.NewStale(memory(), only), dedup.Names{}))
	return check.Get(dedup.New[string, string](store, "p", opts)), store
}

func answers(value string) func(context.Context) (string, error) {
	return func(context.Context) (string, error) { return value, nil }
}

// TestAnOperatorSeesWhatWasJustDone: a look, a repair and an invalidation take an id as
// it stands.
func TestAnOperatorSeesWhatWasJustDone(t *testing.T) {
	d, _ := behind(t, nil, nil)
	audit := dedup.Audit{By: "ada", Reason: "why", Force: true}
	forced := false
	_, err := d.Once(t.Context(), "a", func(ctx context.Context) (string, error) {
		forced = check.Get(d.ForceComplete(ctx, "a", "by hand", audit))
		return "too late", nil
	})
	check.That(t, err != nil && forced,
		"forced: %v, %v; want the claim that is there to be completed by hand", forced, err)
	check.Is(t, check.Get(d.Status(t.Context(), "a")).Status, dedup.Completed)
	check.Get(d.Once(t.Context(), "b", answers("x")))
	check.That(t, check.Get(d.Invalidate(t.Context(), "b")),
		"what was completed a moment ago is not invalidated")
}

// TestAResultThatWasJustStored: a process that learns that an id is completed finds its result.
func TestAResultThatWasJustStored(t *testing.T) {
	d, _ := behind(t, nil, func(r ddb.Request) bool { return r.Name() == "get result" })
	want := incompressible(10_000)
	for range 2 {
		out, err := d.Once(t.Context(), "a", answers(want))
		check.That(t, err == nil && out.Value == want, "%.20q, %v; want the result", out.Value, err)
	}
}

// TestAResultThatWasJustForgotten: a look may show an id as completed that was
// another process invalidated a moment ago, and whose result is gone. That is no loss: the effect runs.
func TestAResultThatWasJustForgotten(t *testing.T) {
	other, store := behind(t, nil, func(r ddb.Request) bool { return r.Name() == "read" })
	d := check.Get(dedup.New[string, string](store, "p", nil))
	check.Get(other.Once(t.Context(), "a", answers(incompressible(10_000))))
	row := check.Get(other.Status(t.Context(), "a")).Row
	check.Get(other.Invalidate(t.Context(), "a"))
	check.OK(t, store.PutResult(t.Context(), dedup.StoredResult{Key: row.Key, Token: row.Token}))
	if out, err := d.Once(t.Context(), "a", answers("anew")); err != nil || out.Value != "anew" {
		t.Errorf("%.20q, %v; want the effect to run anew", out.Value, err)
	}
}

// TestALookAfterAnInvalidation: a look that shows what this process has invalidated is
// not believed, however old it is.
func TestALookAfterAnInvalidation(t *testing.T) {
	d, _ := behind(t, nil, func(r ddb.Request) bool { return r.Name() == "read" })
	for _, want := range []string{"first", "second", "third"} {
		out, err := d.Once(t.Context(), "a", answers(want))
		check.That(t, err == nil && out.Value == want, "%q, %v; want %q", out.Value, err, want)
		check.That(t, check.Get(d.Invalidate(t.Context(), "a")), "not invalidated")
	}
}
