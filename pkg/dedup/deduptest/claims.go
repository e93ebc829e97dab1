package deduptest

import (
	"testing"
	"time"

	"github.com/streamsort/streamsort/pkg/dedup"
)

func testClaim(t *testing.T, s dedup.Store) {
	c := claimAt(key, 1, at)
	wrote(t, s, "claim", true, rowOf(c))(s.Claim(t.Context(), c))
	wrote(t, s, "the same request again", false, rowOf(c))(s.Claim(t.Context(), c))
}

func testBareClaim(t *testing.T, s dedup.Store) {
	c := claimAt(key, 1, at)
	c.Payload, c.ExpiresOn, c.ValidUntil = nil, time.Time{}, dedup.Forever
	wrote(t, s, "claim", true, rowOf(c))(s.Claim(t.Context(), c))
}

func testRunning(t *testing.T, s dedup.Store) {
	first := claimAt(key, 1, at)
	r := claimed(t, s, first)
	for _, after := range []time.Duration{0, time.Minute, time.Minute + margin - time.Millisecond} {
		wrote(t, s, "claim "+after.String()+" later", false, r)(s.Claim(t.Context(), claimAt(key, 2, at.Add(after))))
	}
}

func testTakeover(t *testing.T, s dedup.Store) {
	claimed(t, s, claimAt(key, 1, at))
	second := claimAt(key, 2, at.Add(time.Minute+margin))
	want := rowOf(second)
	want.Fence, want.Attempt = at.UnixMilli()+2, 2
	wrote(t, s, "takeover", true, want)(s.Claim(t.Context(), second))
}

func testClaimCompleted(t *testing.T, s dedup.Store) {
	r := claimed(t, s, claimAt(key, 1, at))
	c := completion(at)
	r, _, err := s.Complete(t.Context(), ownerOf(r), c)
	check(t, err)
	wrote(t, s, "claim", false, r)(s.Claim(t.Context(), claimAt(key, 2, at.Add(2*time.Hour))))
}

func testClaimExpired(t *testing.T, s dedup.Store) {
	r := claimed(t, s, claimAt(key, 1, at))
	wrote(t, s, "a claim of an expired row", false, r)(s.Claim(t.Context(), claimAt(key, 2, at.Add(time.Hour))))
}

func testAttempts(t *testing.T, s dedup.Store) {
	r := claimed(t, s, claimAt(key, 1, at))
	for attempt, limit := range []int64{0, 2, 3} {
		now := at.Add(time.Duration(attempt+1) * 2 * time.Minute)
		c := claimAt(key, byte(attempt+2), now)
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

func testPayloads(t *testing.T, s dedup.Store) {
	r := claimed(t, s, claimAt(key, 1, at))
	now := at.Add(2 * time.Minute)
	other := claimAt(key, 2, now)
	other.Payload = []byte("other")
	wrote(t, s, "another payload", false, r)(s.Claim(t.Context(), other))

	none := claimAt(key, 3, now)
	none.Payload = nil
	want := rowOf(none)
	want.Fence, want.Attempt, want.Payload = r.Fence+1, 2, r.Payload
	wrote(t, s, "no payload", true, want)(s.Claim(t.Context(), none))

	bare := dedup.Key{ID: "order-2", Processor: "payments"}
	none.Key = bare
	r = claimed(t, s, none)
	first := claimAt(bare, 4, now.Add(2*time.Minute))
	want = rowOf(first)
	want.Fence, want.Attempt = r.Fence+1, 2
	wrote(t, s, "the first payload", true, want)(s.Claim(t.Context(), first))
}

func testReplace(t *testing.T, s dedup.Store) {
	r := claimed(t, s, claimAt(key, 1, at))
	again := claimAt(key, 2, at.Add(time.Hour-time.Millisecond))
	wrote(t, s, "before its end", false, r)(s.Replace(t.Context(), again, r.Fence))

	c := completion(at)
	c.ValidUntil = at.Add(time.Hour)
	r, _, err := s.Complete(t.Context(), ownerOf(r), c)
	check(t, err)
	again.Now, again.Payload = at.Add(time.Hour), nil
	wrote(t, s, "another fence", false, r)(s.Replace(t.Context(), again, r.Fence+1))

	want := rowOf(again)
	want.Fence = r.Fence + 1
	wrote(t, s, "replaced", true, want)(s.Replace(t.Context(), again, r.Fence))
	wrote(t, s, "the same request again", false, want)(s.Replace(t.Context(), again, r.Fence))
}

func testNoRow(t *testing.T, s dedup.Store) {
	o := dedup.Owner{Key: key, Token: token(1), Fence: 1}
	var none dedup.Row
	wrote(t, s, "replace", false, none)(s.Replace(t.Context(), claimAt(key, 1, at), 1))
	wrote(t, s, "complete", false, none)(s.Complete(t.Context(), o, completion(at)))
	wrote(t, s, "fail", false, none)(s.Fail(t.Context(), o, "why"))
	wrote(t, s, "extend", false, none)(s.Extend(t.Context(), o, dedup.Extension{LeaseUntil: at, ValidUntil: at}))
	wrote(t, s, "invalidate", false, none)(s.Invalidate(t.Context(), key, 1, at))
	wrote(t, s, "mend", false, none)(s.Mend(t.Context(), dedup.Mending{Key: key, Seen: 1, Repair: repair(dedup.Released)}))
}

func repair(kind dedup.RepairKind) dedup.Repair {
	return dedup.Repair{Kind: kind, By: "ada", Reason: "looked it up", At: at.Add(time.Second)}
}

func testKeys(t *testing.T, s dedup.Store) {
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
		same(t, k.String(), standing(t, s, k), r)
	}
}
