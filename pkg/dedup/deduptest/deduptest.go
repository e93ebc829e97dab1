// Package deduptest holds every implementation of [dedup.Store] to what that interface promises.
// Call [Run] from a test of the implementation.
package deduptest

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/pkg/dedup"
)

// at is a moment that the table keeps exactly. It is far ahead: a row whose time has come may be
// deleted at any moment.
var at = time.Date(2126, 3, 4, 5, 6, 7, 89e6, time.UTC)

const margin = 2 * time.Second

// suite is the Store, and the key of the subtest that runs.
type suite struct {
	dedup.Store
	key dedup.Key
}

// Run runs the suite on a Store that has no rows yet.
func Run(t *testing.T, store dedup.Store) {
	for _, c := range []struct {
		name string
		test func(*testing.T, suite)
	}{
		{"claim", testClaim},
		{"claim without the optional", testBareClaim},
		{"claim of a running row", testRunning},
		{"claim after the lease", testTakeover},
		{"claim of a completed row", testClaimCompleted},
		{"claim of an expired row", testClaimExpired},
		{"claim with attempts left", testAttempts},
		{"claim with payloads", testPayloads},
		{"swap", testSwap},
		{"swap of a row that was written since", testSwapChanged},
		{"swap of a completed row that was written since", testSwapCompleted},
		{"what a claim leaves of a row", testClaimAfterSwap},
		{"read", testRead},
		{"scan", testScan},
		{"results", testResults},
		{"keys", testKeys},
		{"racing claims", testRacingClaims},
		{"racing swaps", testRacingSwaps},
		{"ended context", testEndedContext},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.test(t, suite{store, dedup.Key{ID: "order-1", Processor: c.name}})
		})
	}
}

func token(n byte) dedup.Token {
	var t dedup.Token
	for i := range t {
		t[i] = n
	}
	return t
}

// claimAt is a claim with everything, made at a time.
func claimAt(k dedup.Key, n byte, now time.Time) dedup.Claim {
	return dedup.Claim{
		Key: k, Token: token(n), Now: now, Margin: margin, LeaseUntil: now.Add(time.Minute),
		ValidUntil: now.Add(time.Hour), ExpiresOn: seconds(now.Add(2 * time.Hour)),
		Payload: []byte("payload"),
	}
}

func seconds(at time.Time) time.Time { return at.Truncate(time.Second) }

func rowOf(c dedup.Claim) dedup.Row {
	return dedup.Row{
		Key: c.Key, Fence: c.Now.UnixMilli() + 1, Attempt: 1, Token: c.Token, StartedAt: c.Now,
		LeaseUntil: c.LeaseUntil, ValidUntil: c.ValidUntil, ExpiresOn: c.ExpiresOn, Payload: c.Payload,
	}
}

// everything is a row in which no field is zero, and nothing is like in r.
func everything(r dedup.Row) dedup.Row {
	return dedup.Row{
		Key: r.Key, Fence: r.Fence + 1, Attempt: r.Attempt + 6, Token: token(9),
		StartedAt:  r.StartedAt.Add(time.Second),
		LeaseUntil: r.LeaseUntil.Add(time.Second), ValidUntil: r.ValidUntil.Add(time.Second),
		ExpiresOn: r.ExpiresOn.Add(time.Hour),
		Payload:   []byte("other"), CompletedAt: at.Add(2 * time.Second), Failed: true,
		Error:  "no such account",
		Result: dedup.Result{Bytes: []byte{0, 1, 0xff}, Codec: "json+zstd", Place: dedup.InItem},
		Repair: dedup.Repair{By: "ada", Reason: "looked it up", At: at.Add(time.Second)},
	}
}

func completed(r dedup.Row) dedup.Row {
	r.CompletedAt, r.Result = at.Add(time.Second),
		dedup.Result{Bytes: []byte{0, 1, 0xff}, Codec: "json"}
	return r
}

func same[T any](t *testing.T, what string, got, want T) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// settles fails the test where a read that need not be strong does not come to show what is stored.
// Every older state is right until then.
func settles[T any](t *testing.T, what string, read func() T, want T) {
	t.Helper()
	const most = 1000 // not seconds: a slow store answers fewer
	for reads := 1; ; reads++ {
		if got := read(); cmp.Equal(got, want) || reads == most {
			same(t, what, got, want)
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// wrote checks the answer of a write, and what is stored afterwards.
func wrote(t *testing.T, s suite, what string, done bool,
	want dedup.Row) func(dedup.Row, bool, error) {
	return func(got dedup.Row, ok bool, err error) {
		t.Helper()
		check.OK(t, err)
		same(t, what+": done", ok, done)
		same(t, what+": row", got, want)
		k := want.Key
		if k.ID == "" {
			k = s.key
		}
		same(t, what+": row there", s.row(t, k, true), want)
	}
}

func (s suite) row(t *testing.T, k dedup.Key, strong bool) dedup.Row {
	t.Helper()
	r, err := s.Row(t.Context(), k, strong)
	check.OK(t, err)
	return r
}

func claimed(t *testing.T, s suite, c dedup.Claim) dedup.Row {
	t.Helper()
	r, ok, err := s.Claim(t.Context(), c)
	check.OK(t, err)
	same(t, "claimed", ok, true)
	return r
}
