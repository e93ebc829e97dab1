package deduptest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/pkg/dedup"
)

func testRead(t *testing.T, s suite) {
	for _, strong := range []bool{true, false} {
		same(t, "the row that is not there", s.row(t, s.key, strong), dedup.Row{})
	}
	r := claimed(t, s, claimAt(s.key, 1, at))
	settles(t, "a read that is not strong", func() dedup.Row { return s.row(t, s.key, false) }, r)
}

func testScan(t *testing.T, s suite) {
	want := map[string]dedup.Row{}
	for i := range 7 {
		k := dedup.Key{ID: fmt.Sprint("id-", i), Processor: fmt.Sprint("p", i%2)}
		want[k.String()] = claimed(t, s, claimAt(k, byte(i), at))
	}
	// A result of its own is no row.
	s.puts(t, 1, []byte("x"))
	done := want[dedup.Key{ID: "id-3", Processor: "p1"}.String()]
	done = swapped(t, s, done, completed(done))
	want[done.String()] = done
	settles(t, "all", func() map[string]dedup.Row { return scanned(t, s) }, want)
	if _, err := s.Rows(t.Context(), "nowhere"); err != nil {
		var invalid *dedup.InvalidError
		same(t, "an after that no page gave is an InvalidError", errors.As(err, &invalid), true)
	}
}

// scanned walks over all pages, and finds the rows of this test.
func scanned(t *testing.T, s suite) map[string]dedup.Row {
	t.Helper()
	found := map[string]dedup.Row{}
	for after := ""; ; {
		page, err := s.Rows(t.Context(), after)
		check.OK(t, err)
		same(t, "broken rows", len(page.Broken), 0)
		for _, r := range page.Rows {
			if r.Processor != "p0" && r.Processor != "p1" {
				continue
			}
			if _, twice := found[r.String()]; twice {
				t.Errorf("%s twice", r.Key)
			}
			found[r.String()] = r
		}
		if after = page.Next; after == "" {
			return found
		}
	}
}

// puts stores a result of its own.
func (s suite) puts(t *testing.T, n byte, body []byte) {
	t.Helper()
	check.OK(t, s.PutResult(t.Context(),
		dedup.StoredResult{Key: s.key, Token: token(n), Body: body, ExpiresOn: seconds(at)}))
}

func testResults(t *testing.T, s suite) {
	read := func(n byte, strong bool) []byte {
		body, err := s.Result(t.Context(), s.key, token(n), strong)
		check.OK(t, err)
		return body
	}
	large := bytes.Repeat([]byte{0, 0xff, 'x'}, 100_000)
	s.puts(t, 1, large)
	s.puts(t, 2, []byte("two"))
	s.puts(t, 2, []byte("two"))
	same(t, "large", bytes.Equal(read(1, true), large), true)
	same(t, "another token's", read(2, true), []byte("two"))
	settles(t, "not strong", func() []byte { return read(2, false) }, []byte("two"))
	same(t, "nobody's", read(3, true), nil)
	same(t, "the row", s.row(t, s.key, true), dedup.Row{})
	for range 2 {
		s.puts(t, 2, nil)
		same(t, "without a body", read(2, true), nil)
	}
	same(t, "the other one", len(read(1, true)), len(large))
}

func testRacingClaims(t *testing.T, s suite) {
	claimed(t, s, claimAt(s.key, 0, at))
	later := at.Add(2 * claimAt(s.key, 0, at).LeaseUntil.Sub(at))
	same(t, "how many took it over", race(t, func(n int) (dedup.Row, bool, error) {
		return s.Claim(t.Context(), claimAt(s.key, byte(n+1), later))
	}), 1)
}

func testRacingSwaps(t *testing.T, s suite) {
	r := claimed(t, s, claimAt(s.key, 0, at))
	same(t, "how many of them changed it", race(t, func(int) (dedup.Row, bool, error) {
		return s.Swap(t.Context(), r, completed(r))
	}), 1)
}

// race makes 16 requests at once, and returns how many had their effect.
func race(t *testing.T, request func(n int) (dedup.Row, bool, error)) (done int) {
	t.Helper()
	var wait sync.WaitGroup
	var had [16]bool
	var errs [16]error
	for n := range errs {
		wait.Go(func() { _, had[n], errs[n] = request(n) })
	}
	wait.Wait()
	check.OK(t, errors.Join(errs[:]...))
	for _, one := range had {
		if one {
			done++
		}
	}
	return done
}

func testEndedContext(t *testing.T, s suite) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, _, err := s.Claim(ctx, claimAt(s.key, 1, at))
	same(t, "the context's error", errors.Is(err, context.Canceled), true)
	same(t, "nothing is written", s.row(t, s.key, true), dedup.Row{})
}
