package deduptest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/streamsort/streamsort/pkg/dedup"
)

func testRead(t *testing.T, s suite) {
	for _, strong := range []bool{true, false} {
		r, err := s.Row(t.Context(), s.key, strong)
		check(t, err)
		same(t, "the row that is not there", r, dedup.Row{})
	}
	r := claimed(t, s, claimAt(s.key, 1, at))
	settles(t, "a read that is not strong", func() dedup.Row {
		got, err := s.Row(t.Context(), s.key, false)
		check(t, err)
		return got
	}, r)
}

func testScan(t *testing.T, s suite) {
	want := map[string]dedup.Row{}
	for i := range 7 {
		k := dedup.Key{ID: fmt.Sprint("id-", i), Processor: fmt.Sprint("p", i%2)}
		want[k.String()] = claimed(t, s, claimAt(k, byte(i), at))
	}
	// A result of its own is no row.
	check(t,
		s.PutResult(t.Context(), dedup.StoredResult{Key: s.key, Token: token(1), Body: []byte("x"),
			ExpiresOn: seconds(at)}))
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
		check(t, err)
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

func testResults(t *testing.T, s suite) {
	read := func(n byte, strong bool) []byte {
		body, err := s.Result(t.Context(), s.key, token(n), strong)
		check(t, err)
		return body
	}
	large := bytes.Repeat([]byte{0, 0xff, 'x'}, 100_000)
	check(t,
		s.PutResult(t.Context(), dedup.StoredResult{Key: s.key, Token: token(1), Body: large,
			ExpiresOn: seconds(at)}))
	check(t,
		s.PutResult(t.Context(), dedup.StoredResult{Key: s.key, Token: token(2), Body: []byte("two"),
			ExpiresOn: seconds(at)}))
	check(t,
		s.PutResult(t.Context(), dedup.StoredResult{Key: s.key, Token: token(2), Body: []byte("two"),
			ExpiresOn: seconds(at)}))
	same(t, "large", bytes.Equal(read(1, true), large), true)
	same(t, "another token's", read(2, true), []byte("two"))
	settles(t, "not strong", func() []byte { return read(2, false) }, []byte("two"))
	same(t, "nobody's", read(3, true), nil)
	same(t, "the row", standing(t, s, s.key), dedup.Row{})
	for range 2 {
		check(t,
			s.PutResult(t.Context(),
				dedup.StoredResult{Key: s.key, Token: token(2), ExpiresOn: seconds(at)}))
		same(t, "without a body", read(2, true), nil)
	}
	same(t, "the other one", len(read(1, true)), len(large))
}

func testRacingClaims(t *testing.T, s suite) {
	claimed(t, s, claimAt(s.key, 0, at))
	later := at.Add(2 * claimAt(s.key, 0, at).LeaseUntil.Sub(at))
	fences := race(t, func(n int) (dedup.Row, bool, error) {
		return s.Claim(t.Context(), claimAt(s.key, byte(n+1), later))
	})
	same(t, "how many took it over", len(fences), 1)
}

func testRacingSwaps(t *testing.T, s suite) {
	r := claimed(t, s, claimAt(s.key, 0, at))
	fences := race(t, func(int) (dedup.Row, bool, error) {
		return s.Swap(t.Context(), r, completed(r))
	})
	same(t, "how many of them changed it", len(fences), 1)
}

// race makes 16 requests at once, and returns the fences of those that had their effect.
func race(t *testing.T, request func(n int) (dedup.Row, bool, error)) []int64 {
	t.Helper()
	var (
		mu     sync.Mutex
		fences []int64
		wait   sync.WaitGroup
		errs   []error
	)
	for n := range 16 {
		wait.Go(func() {
			r, done, err := request(n)
			mu.Lock()
			defer mu.Unlock()
			errs = append(errs, err)
			if done {
				fences = append(fences, r.Fence)
			}
		})
	}
	wait.Wait()
	check(t, errors.Join(errs...))
	slices.Sort(fences)
	return fences
}

func testEndedContext(t *testing.T, s suite) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, _, err := s.Claim(ctx, claimAt(s.key, 1, at))
	same(t, "the context's error", errors.Is(err, context.Canceled), true)
	same(t, "nothing is written", standing(t, s, s.key), dedup.Row{})
}
