package deduptest

import (
	"testing"
	"time"

	"github.com/streamsort/streamsort/pkg/dedup"
)

func testComplete(t *testing.T, s suite) {
	r := claimed(t, s, claimAt(s.key, 1, at))
	failed, _, err := s.Fail(t.Context(), ownerOf(r), "first try")
	check(t, err)
	same(t, "the error of the last attempt", failed.Error, "first try")
	r, _, err = s.Claim(t.Context(), claimAt(s.key, 2, at))
	check(t, err)
	same(t, "the error after the next claim", r.Error, "")
	c := completion(at.Add(time.Second))
	wrote(t, s, "complete", true, completed(r, c))(s.Complete(t.Context(), ownerOf(r), c))
}

func testCompleteFailed(t *testing.T, s suite) {
	r := claimed(t, s, claimAt(s.key, 1, at))
	c := completion(at.Add(time.Second))
	c.Failed, c.Error, c.Result = true, "no such account", dedup.Result{}
	wrote(t, s, "complete with an error", true, completed(r, c))(s.Complete(t.Context(), ownerOf(r), c))
}

func testCompleteAgain(t *testing.T, s suite) {
	r := claimed(t, s, claimAt(s.key, 1, at))
	first, second := completion(at), completion(at.Add(time.Second))
	second.Result.Bytes = []byte("second")
	want := completed(r, first)
	wrote(t, s, "complete", true, want)(s.Complete(t.Context(), ownerOf(r), first))
	wrote(t, s, "complete again", false, want)(s.Complete(t.Context(), ownerOf(r), second))
	wrote(t, s, "fail afterwards", false, want)(s.Fail(t.Context(), ownerOf(r), "why"))
	wrote(t, s, "extend afterwards", false, want)(s.Extend(t.Context(), ownerOf(r), dedup.Extension{LeaseUntil: at.Add(time.Hour), ValidUntil: at.Add(time.Hour)}))
	o := dedup.Override{Key: s.key, Seen: r.Fence, Token: token(9), Repair: repair(dedup.Released)}
	wrote(t, s, "override afterwards", false, want)(s.Override(t.Context(), o))
}

func testCompleteByOthers(t *testing.T, s suite) {
	r := claimed(t, s, claimAt(s.key, 1, at))
	longer := dedup.Extension{LeaseUntil: at.Add(time.Hour), ValidUntil: at.Add(time.Hour)}
	for name, o := range map[string]dedup.Owner{
		"another token": {Key: s.key, Token: token(2), Fence: r.Fence},
		"another fence": {Key: s.key, Token: r.Token, Fence: r.Fence - 1},
	} {
		wrote(t, s, "complete with "+name, false, r)(s.Complete(t.Context(), o, completion(at)))
		wrote(t, s, "fail with "+name, false, r)(s.Fail(t.Context(), o, "why"))
		wrote(t, s, "extend with "+name, false, r)(s.Extend(t.Context(), o, longer))
	}
}

func testPlaces(t *testing.T, s suite) {
	for i, place := range []dedup.Place{dedup.InRow, dedup.InItem, dedup.InOverflow, dedup.Omitted} {
		k := dedup.Key{ID: "place-" + string(place), Processor: "p"}
		r := claimed(t, s, claimAt(k, byte(i), at))
		c := completion(at)
		c.Result = dedup.Result{Codec: "json+zstd", Place: place}
		wrote(t, s, "result in "+string(place), true, completed(r, c))(s.Complete(t.Context(), ownerOf(r), c))
	}
}

func testFail(t *testing.T, s suite) {
	r := claimed(t, s, claimAt(s.key, 1, at))
	want := r
	want.LeaseUntil, want.Error, want.Payload = time.UnixMilli(0).UTC(), "why", nil
	wrote(t, s, "fail", true, want)(s.Fail(t.Context(), ownerOf(r), "why"))
	wrote(t, s, "fail again", true, want)(s.Fail(t.Context(), ownerOf(r), "why"))

	next := claimAt(s.key, 2, at)
	next.Payload = []byte("other")
	want = rowOf(next)
	want.Fence, want.Attempt = r.Fence+1, 2
	wrote(t, s, "the next claim", true, want)(s.Claim(t.Context(), next))
	wrote(t, s, "fail late", false, want)(s.Fail(t.Context(), ownerOf(r), "why"))
	wrote(t, s, "complete late", false, want)(s.Complete(t.Context(), ownerOf(r), completion(at)))
}

func testExtend(t *testing.T, s suite) {
	r := claimed(t, s, claimAt(s.key, 1, at))
	e := dedup.Extension{LeaseUntil: at.Add(2 * time.Minute), ValidUntil: at.Add(9 * time.Hour), ExpiresOn: seconds(at.Add(10 * time.Hour))}
	want := r
	want.LeaseUntil, want.ValidUntil, want.ExpiresOn = e.LeaseUntil, e.ValidUntil, e.ExpiresOn
	wrote(t, s, "extend", true, want)(s.Extend(t.Context(), ownerOf(r), e))
	wrote(t, s, "extend again", false, want)(s.Extend(t.Context(), ownerOf(r), e))
	e.LeaseUntil = at.Add(time.Minute)
	wrote(t, s, "shorten", false, want)(s.Extend(t.Context(), ownerOf(r), e))

	e.LeaseUntil, e.ExpiresOn = at.Add(3*time.Minute), time.Time{}
	want.LeaseUntil, want.ExpiresOn = e.LeaseUntil, e.ExpiresOn
	wrote(t, s, "for ever", true, want)(s.Extend(t.Context(), ownerOf(r), e))
}

func testInvalidate(t *testing.T, s suite) {
	r := claimed(t, s, claimAt(s.key, 1, at))
	gone := seconds(at.Add(5 * time.Hour))
	wrote(t, s, "while it runs", false, r)(s.Invalidate(t.Context(), s.key, r.Fence, gone))
	c := completion(at)
	r, _, err := s.Complete(t.Context(), ownerOf(r), c)
	check(t, err)
	wrote(t, s, "another fence", false, r)(s.Invalidate(t.Context(), s.key, r.Fence-1, gone))
	want := r
	want.ValidUntil, want.ExpiresOn = time.UnixMilli(0).UTC(), gone
	wrote(t, s, "invalidate", true, want)(s.Invalidate(t.Context(), s.key, r.Fence, gone))
	wrote(t, s, "invalidate again", true, want)(s.Invalidate(t.Context(), s.key, r.Fence, gone))

	next := claimAt(s.key, 2, at)
	wrote(t, s, "a claim", false, want)(s.Claim(t.Context(), next))
	replaced := rowOf(next)
	replaced.Fence = want.Fence + 1
	wrote(t, s, "a new life", true, replaced)(s.Replace(t.Context(), next, want.Fence))
}

func testRelease(t *testing.T, s suite) {
	r := claimed(t, s, claimAt(s.key, 1, at))
	o := dedup.Override{Key: s.key, Seen: r.Fence, Token: token(9), Repair: repair(dedup.Released)}
	want := r
	want.Fence++
	want.Token, want.Repair, want.LeaseUntil, want.Attempt, want.Payload = o.Token, o.Repair, time.UnixMilli(0).UTC(), 0, nil
	wrote(t, s, "release", true, want)(s.Override(t.Context(), o))
	wrote(t, s, "release again", false, want)(s.Override(t.Context(), o))
	wrote(t, s, "complete late", false, want)(s.Complete(t.Context(), ownerOf(r), completion(at)))

	next := claimAt(s.key, 2, at)
	next.MaxAttempts = 1
	claimedRow := rowOf(next)
	claimedRow.Fence, claimedRow.Repair = want.Fence+1, want.Repair
	wrote(t, s, "the next claim", true, claimedRow)(s.Claim(t.Context(), next))
}

func testForceComplete(t *testing.T, s suite) {
	r := claimed(t, s, claimAt(s.key, 1, at))
	r, _, err := s.Fail(t.Context(), ownerOf(r), "first try")
	check(t, err)
	c := completion(at)
	o := dedup.Override{Key: s.key, Seen: r.Fence, Token: token(9), Repair: repair(dedup.ForceCompleted), Completion: &c}
	want := completed(r, c)
	want.Fence++
	want.Token, want.Repair = o.Token, o.Repair
	wrote(t, s, "force-complete", true, want)(s.Override(t.Context(), o))
	wrote(t, s, "force-complete again", false, want)(s.Override(t.Context(), o))
	wrote(t, s, "complete late", false, want)(s.Complete(t.Context(), ownerOf(r), completion(at)))
	after := claimAt(s.key, 2, want.ValidUntil)
	replaced := rowOf(after)
	replaced.Fence = want.Fence + 1
	wrote(t, s, "a new life forgets the repair", true, replaced)(s.Replace(t.Context(), after, want.Fence))
}
