package deduptest

import (
	"testing"
	"time"

	"github.com/streamsort/streamsort/pkg/dedup"
)

// swapped makes a swap that must succeed.
func swapped(t *testing.T, s suite, seen, next dedup.Row) dedup.Row {
	t.Helper()
	wrote(t, s, "swap", true, next)(s.Swap(t.Context(), seen, next))
	return next
}

func testSwap(t *testing.T, s suite) {
	bare := claimed(t, s, claimAt(s.key, 1, at))
	all := swapped(t, s, bare, everything(bare))
	wrote(t, s, "the same request again", false, all)(s.Swap(t.Context(), bare, all))

	bare.Payload = nil
	swapped(t, s, all, bare)
	swapped(t, s, bare, bare)
	var none dedup.Row
	missing := dedup.Key{ID: "missing", Processor: s.key.Processor}
	s.key, bare.Key, all.Key = missing, missing, missing
	wrote(t, s, "swap of a row that is not there", false, none)(s.Swap(t.Context(), bare, all))
}

func testSwapChanged(t *testing.T, s suite) {
	r := claimed(t, s, claimAt(s.key, 1, at))
	for name, change := range map[string]func(*dedup.Row){
		"another token":      func(seen *dedup.Row) { seen.Token = token(2) },
		"an older fence":     func(seen *dedup.Row) { seen.Fence-- },
		"a newer fence":      func(seen *dedup.Row) { seen.Fence++ },
		"a shorter lease":    func(seen *dedup.Row) { seen.LeaseUntil = seen.LeaseUntil.Add(-time.Millisecond) },
		"a longer lease":     func(seen *dedup.Row) { seen.LeaseUntil = seen.LeaseUntil.Add(time.Millisecond) },
		"an end":             func(seen *dedup.Row) { seen.CompletedAt = at },
		"an end, and a past": func(seen *dedup.Row) { seen.CompletedAt = time.UnixMilli(0).UTC() },
	} {
		seen := r
		change(&seen)
		wrote(t, s, name+" was seen", false, r)(s.Swap(t.Context(), seen, everything(r)))
	}
}

func testSwapCompleted(t *testing.T, s suite) {
	r := claimed(t, s, claimAt(s.key, 1, at))
	done := swapped(t, s, r, completed(r))
	other := everything(done)
	wrote(t, s, "it was seen running", false, done)(s.Swap(t.Context(), r, other))
	seen := done
	seen.CompletedAt = seen.CompletedAt.Add(time.Millisecond)
	wrote(t, s, "another end was seen", false, done)(s.Swap(t.Context(), seen, other))
	swapped(t, s, done, other)
}

// testClaimAfterSwap: a claim takes a row that was given back, without its last error, and with the
// repair.
func testClaimAfterSwap(t *testing.T, s suite) {
	r := claimed(t, s, claimAt(s.key, 1, at))
	back := r
	back.LeaseUntil, back.Payload, back.Error = time.UnixMilli(0).UTC(), nil, "why"
	back.Attempt, back.Repair = 0, everything(r).Repair
	swapped(t, s, r, back)
	next := claimAt(s.key, 2, at)
	next.Payload, next.MaxAttempts = []byte("other"), 1
	want := rowOf(next)
	want.Fence, want.Repair = r.Fence+1, back.Repair
	wrote(t, s, "the next claim", true, want)(s.Claim(t.Context(), next))
}
