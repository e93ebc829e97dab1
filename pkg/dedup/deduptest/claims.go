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
	c.Payload, c.ExpiresOn, c.ValidUntil = nil, time.Time{}, dedup.Forever
	wrote(t, s, "claim", true, rowOf(c))(s.Claim(t.Context(), c))
}

func testRunning(t *testing.T, s suite) {
	first := claimAt(s.key, 1, at)
	r := claimed(t, s, first)
	for _, after := range []time.Duration{0, time.Minute, time.Minute + margin - time.Millisecond} {
		wrote(t, s, "claim "+after.String()+" later", false, r)(s.Claim(t.Context(), claimAt(s.key, 2, at.Add(after))))
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
	c := completion(at)
	r, _, err := s.Complete(t.Context(), ownerOf(r), c)
	check(t, err)
	wrote(t, s, "claim", false, r)(s.Claim(t.Context(), claimAt(s.key, 2, at.Add(2*time.Hour))))
}

func testClaimExpired(t *testing.T, s suite) {
	r := claimed(t, s, claimAt(s.key, 1, at))
	wrote(t, s, "a claim of an expired row", false, r)(s.Claim(t.Context(), claimAt(s.key, 2, at.Add(time.Hour))))
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

func testReplace(t *testing.T, s suite) {
	r := claimed(t, s, claimAt(s.key, 1, at))
	again := claimAt(s.key, 2, at.Add(time.Hour-time.Millisecond))
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

func testReplaceForgets(t *testing.T, s suite) {
	failed, elsewhere := completion(at), completion(at)
	failed.Failed, failed.Error, failed.Result = true, "no such account", dedup.Result{}
	elsewhere.Result = dedup.Result{Codec: "json", Place: dedup.InItem}
	for id, ended := range map[string]dedup.Completion{"failed": failed, "elsewhere": elsewhere} {
		k := dedup.Key{ID: id, Processor: s.key.Processor}
		r := claimed(t, s, claimAt(k, 1, at))
		_, _, err := s.Fail(t.Context(), ownerOf(r), "first try")
		check(t, err)
		r, _, err = s.Claim(t.Context(), claimAt(k, 2, at))
		check(t, err)
		r, _, err = s.Complete(t.Context(), ownerOf(r), ended)
		check(t, err)
		again := claimAt(k, 3, ended.ValidUntil)
		want := rowOf(again)
		want.Fence = r.Fence + 1
		wrote(t, s, id+" is forgotten", true, want)(s.Replace(t.Context(), again, r.Fence))
	}
}

func testNoRow(t *testing.T, s suite) {
	o := dedup.Owner{Key: s.key, Token: token(1), Fence: 1}
	var none dedup.Row
	wrote(t, s, "replace", false, none)(s.Replace(t.Context(), claimAt(s.key, 1, at), 1))
	wrote(t, s, "complete", false, none)(s.Complete(t.Context(), o, completion(at)))
	wrote(t, s, "fail", false, none)(s.Fail(t.Context(), o, "why"))
	wrote(t, s, "extend", false, none)(s.Extend(t.Context(), o, dedup.Extension{LeaseUntil: at, ValidUntil: at}))
	wrote(t, s, "invalidate", false, none)(s.Invalidate(t.Context(), s.key, 1, at))
	wrote(t, s, "override", false, none)(s.Override(t.Context(), dedup.Override{Key: s.key, Seen: 1, Repair: repair(dedup.Released)}))
}

func repair(kind dedup.RepairKind) dedup.Repair {
	return dedup.Repair{Kind: kind, By: "ada", Reason: "looked it up", At: at.Add(time.Second)}
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
		same(t, k.String(), standing(t, s, k), r)
	}
}
