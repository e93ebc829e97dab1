package dedup_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"testing"
	"time"

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
		d, err := dedup.New[string, []byte](&dedup.Memory{}, "p", &dedup.Options[string, []byte]{CompressOver: compressOver})
		if err != nil {
			t.Fatal(err)
		}
		start, err := d.TryStart(t.Context(), "x")
		if err != nil {
			t.Fatal(err)
		}
		first := random(1)
		for _, value := range [][]byte{first, random(2), bytes.Repeat([]byte{3}, 20_000)} {
			if err := start.Attempt.Complete(t.Context(), value); err != nil {
				t.Fatal(err)
			}
		}
		again, err := d.TryStart(t.Context(), "x")
		if err != nil || again.Attempt != nil || !bytes.Equal(again.Duplicate.Value, first) {
			t.Errorf("compressOver %d: %v, attempt %v: not the first result", compressOver, err, again.Attempt)
		}
	}
}

// TestNothingFollowsAFail: the id is given back, and another may have it.
func TestNothingFollowsAFail(t *testing.T) {
	d, err := dedup.New[string, int](&dedup.Memory{}, "p", nil)
	if err != nil {
		t.Fatal(err)
	}
	start, err := d.TryStart(t.Context(), "y", []byte("payload"))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := start.Attempt.Fail(t.Context(), errors.New("no luck")); err != nil {
			t.Fatal(err)
		}
	}
	if err := start.Attempt.Complete(t.Context(), 1); !errors.Is(err, dedup.ErrEnded) {
		t.Errorf("complete: %v, want that it has ended", err)
	}
	if err := start.Attempt.Extend(t.Context(), time.Hour); !errors.Is(err, dedup.ErrEnded) {
		t.Errorf("extend: %v, want that it has ended", err)
	}
	if next, err := d.TryStart(t.Context(), "y", []byte("payload")); err != nil || next.Attempt == nil {
		t.Errorf("%v, %v; want another attempt", next, err)
	}
}
