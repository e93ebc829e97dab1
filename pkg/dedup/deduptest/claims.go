package deduptest

import (
	"testing"
	"time"

	"github.com/streamsort/streamsort/pkg/dedup"
)

func testClaim(t *testing.T, s suite) {
	c := claimAt(s.key, 1, at)
	wrote(t, s, "claim", true, rowOf(c))(s.Claim(t.Context(), c))
	wrote(t, s, "the same request again", false, rowOf(c))(s.Claim(t.Context(), c))
}

func testBareClaim(t *testing.T, s suite) {
	c := claimAt(s.key, 1, at)
	c.Payload = nil
	wrote(t, s, "claim", true, rowOf(c))(s.Claim(t.Context(), c))
}

func testRunning(t *testing.T, s suite) {
	first := claimAt(s.key, 1, at)
	r := claimed(t, s, first)
	for _, after := range []time.Duration{0, time.Minute, time.Minute + margin - time.Millisecond} {
		wrote(t, s, "claim "+after.String()+" later", false,
			r)(s.Claim(t.Context(), claimAt(s.key, 2, at.Add(after))))
	}
}

func testTakeover(t *testing.T, s suite) {
	claimed(t, s, claimAt(s.key, 1, at))
	second := claimAt(s.key, 2, at.Add(time.Minute+margin))
	want := rowOf(second)
	want.Fence, want.Attempt = at.UnixMilli()+2, 2
	wrote(t, s, "takeover", true, want)(s.Claim(t.Context(), second))
}

func testClaimCompleted(t *testing.T, s suite) {
	r := claimed(t, s, claimAt(s.key, 1, at))
	r = swapped(t, s, r, completed(r))
	wrote(t, s, "claim", false, r)(s.Claim(t.Context(), claimAt(s.key, 2, at.Add(30*time.Minute))))
}

func testClaimExpired(t *testing.T, s suite) {
	r := claimed(t, s, claimAt(s.key, 1, at))
	wrote(t, s, "a claim of an expired row", false,
		r)(s.Claim(t.Context(), claimAt(s.key, 2, at.Add(time.Hour))))
}

func testAttempts(t *testing.T, s suite) {
	r := claimed(t, s, claimAt(s.key, 1, at))
	for attempt, limit := range []int64{0, 2, 3} {
		now := at.Add(time.Duration(attempt+1) * 2 * time.Minute)
		c := claimAt(s.key, byte(attempt+2), now)
		c.MaxAttempts = limit
		want := rowOf(c)
		want.Fence, want.Attempt = r.Fence+1, r.Attempt+1
		if limit > 0 && r.Attempt >= limit {
			wrote(t, s, "no attempt left", false, r)(s.Claim(t.Context(), c))
			continue
		}
		wrote(t, s, "an attempt left", true, want)(s.Claim(t.Context(), c))
		r = want
	}
}

func testPayloads(t *testing.T, s suite) {
	r := claimed(t, s, claimAt(s.key, 1, at))
	now := at.Add(2 * time.Minute)
	other := claimAt(s.key, 2, now)
	other.Payload = []byte("other")
	wrote(t, s, "another payload", false, r)(s.Claim(t.Context(), other))

	none := claimAt(s.key, 3, now)
	none.Payload = nil
	want := rowOf(none)
	want.Fence, want.Attempt, want.Payload = r.Fence+1, 2, r.Payload
	wrote(t, s, "no payload", true, want)(s.Claim(t.Context(), none))

	bare := dedup.Key{ID: "order-2", Processor: s.key.Processor}
	none.Key = bare
	r = claimed(t, s, none)
	first := claimAt(bare, 4, now.Add(2*time.Minute))
	want = rowOf(first)
	want.Fence, want.Attempt = r.Fence+1, 2
	wrote(t, s, "the first payload", true, want)(s.Claim(t.Context(), first))
}

func testKeys(t *testing.T, s suite) {
	want := map[dedup.Key]dedup.Row{}
	for i, k := range []dedup.Key{
		{ID: "a", Processor: "b"},
		{ID: "a", Processor: "c"},
		{ID: "b", Processor: "a"},
		{ID: "1:a", Processor: "b"},
		{ID: "a:1", Processor: "b:1"},
		{ID: "1", Processor: "b:1:a"},
		{ID: "grüße \x00\n\U0001F600", Processor: "é"},
	} {
		want[k] = claimed(t, s, claimAt(k, byte(i), at))
	}
	for k, r := range want {
		same(t, k.String(), s.row(t, k, true), r)
	}
}
