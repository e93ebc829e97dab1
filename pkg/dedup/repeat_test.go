package dedup_test

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/pkg/dedup"
)

// random are bytes that cannot be compressed, enough for an item of their own.
func random(seed uint64) []byte {
	source := rand.NewChaCha8([32]byte{byte(seed)})
	made := make([]byte, 5000)
	_, _ = source.Read(made)
	return made
}

// TestTheFirstResultStands, also where it has an item of its own: a repeat with
// another value changes nothing.
func TestTheFirstResultStands(t *testing.T) {
	for _, compressOver := range []int{-1, 0, 6000} {
		d := check.Get(dedup.New[string, []byte](dedup.NewMemory(), "p", &dedup.Options[string, []byte]{CompressOver: compressOver}))
		start := check.Get(d.TryStart(t.Context(), "x"))
		first := random(1)
		for _, value := range [][]byte{first, random(2), bytes.Repeat([]byte{3}, 20_000)} {
			check.OK(t, start.Attempt.Complete(t.Context(), value))
		}
		again, err := d.TryStart(t.Context(), "x")
		check.That(t, err == nil && again.Attempt == nil && bytes.Equal(again.Duplicate.Value, first),
			"compressOver %d: %v, attempt %v: not the first result", compressOver, err, again.Attempt)
	}
}

// deaf is a table whose first swaps have no answer, after its effect or
// without one.
type deaf struct {
	*ddb.Memory
	before, after int
}

func (d *deaf) Do(ctx context.Context, r ddb.Request) (ddb.Answer, error) {
	if r.Name() == "swap" && d.before > 0 {
		d.before--
		return ddb.Answer{}, dedup.ErrUnavailable
	}
	a, err := d.Memory.Do(ctx, r)
	if r.Name() == "swap" && d.after > 0 {
		d.after--
		return ddb.Answer{}, dedup.ErrUnavailable
	}
	return a, err
}

// TestALateRepeatKeepsItsResult: where Complete is repeated long after the
// store failed, a result with an item of its own lives as long as its row.
func TestALateRepeatKeepsItsResult(t *testing.T) {
	for name, engine := range map[string]*deaf{
		"it was not stored":         {Memory: memory(), before: 1},
		"twice":                     {Memory: memory(), before: 2},
		"it was, without an answer": {Memory: memory(), after: 1},
	} {
		t.Run(name, func(t *testing.T) {
			now := time.Now()
			d := check.Get(dedup.New(on(t, engine), "p", &dedup.Options[string, []byte]{
				Lease: 20 * time.Hour, TTL: 10 * time.Hour, CompressOver: -1, Now: func() time.Time { return now },
			}))
			start := check.Get(d.TryStart(t.Context(), "x"))
			value := random(1)
			for err := start.Attempt.Complete(t.Context(), value); err != nil; err = start.Attempt.Complete(t.Context(), random(2)) {
				isA[*dedup.NotRememberedError](t, err)
				now = now.Add(2 * time.Hour)
			}
			entry := check.Get(d.Status(t.Context(), "x"))
			now = entry.Row.ValidUntil.Add(-time.Second)
			engine.Expire(now)
			again, err := d.TryStart(t.Context(), "x")
			check.That(t, err == nil && bytes.Equal(again.Duplicate.Value, value),
				"%v: not the first result, at the end of its row's time", err)
		})
	}
}

// TestNothingFollowsAFail: the id is given back, and another may have it.
func TestNothingFollowsAFail(t *testing.T) {
	d := check.Get(dedup.New[string, int](dedup.NewMemory(), "p", nil))
	start := check.Get(d.TryStart(t.Context(), "y", []byte("payload")))
	for range 2 {
		check.OK(t, start.Attempt.Fail(t.Context(), errors.New("no luck")))
	}
	check.Fails(t, start.Attempt.Complete(t.Context(), 1), dedup.ErrEnded)
	check.Fails(t, start.Attempt.Extend(t.Context(), time.Hour), dedup.ErrEnded)
	next, err := d.TryStart(t.Context(), "y", []byte("payload"))
	check.That(t, err == nil && next.Attempt != nil, "%v, %v; want another attempt", next, err)
}

// TestAnExtensionInDoubt: an attempt whose extension was stored without an answer goes
// on with its row as it stands, in each way.
func TestAnExtensionInDoubt(t *testing.T) {
	for name, ends := range map[string]func(*dedup.Attempt[string, string]) error{
		"complete": func(a *dedup.Attempt[string, string]) error { return a.Complete(t.Context(), "x") },
		"fail":     func(a *dedup.Attempt[string, string]) error { return a.Fail(t.Context(), errDown) },
		"extend":   func(a *dedup.Attempt[string, string]) error { return a.Extend(t.Context(), 3*time.Hour) },
	} {
		d := process(t, on(t, &deaf{Memory: memory(), after: 1}), nil)
		attempt := check.Get(d.TryStart(t.Context(), "a")).Attempt
		check.Fails(t, attempt.Extend(t.Context(), 2*time.Hour), dedup.ErrUnavailable)
		err := ends(attempt)
		check.That(t, err == nil, "%s: %v", name, err)
	}
}
