package xorack_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/ddbtest"
	"github.com/streamsort/streamsort/pkg/xorack"
)

func testDue(t *testing.T, s *xorack.Store) {
	want := map[string]time.Time{}
	for n := range 40 {
		c := newChain(fmt.Sprint("due ", n))
		c.Due = at.Add(time.Duration(n/4) * time.Second)
		create(t, s, c)
		want[c.Tag] = c.Due
	}
	check.Get2(s.Postpone(t.Context(), "due 0", inc, at, at.Add(time.Hour)))
	delete(want, "due 0")
	check.Get2(s.Apply(t.Context(), work("due 1", -100, 1)))
	check.Get2(s.Seal(t.Context(), "due 1", inc, at, at.Add(time.Hour)))
	delete(want, "due 1")
	until := at.Add(8 * time.Second)
	for tag, due := range want {
		if due.After(until) {
			delete(want, tag)
		}
	}
	ddbtest.Settles(t, "due", func() map[string]time.Time { return allDue(t, s, "due ", until) }, want)
}

// allDue reads all parts, in pages of two, and checks their order. It returns the
// chains whose tags begin with a prefix: others are of other tests.
func allDue(t *testing.T, s *xorack.Store, prefix string, until time.Time) map[string]time.Time {
	t.Helper()
	got := map[string]time.Time{}
	for shard := range xorack.DueShards {
		var last xorack.DueChain
		for {
			page, err := s.Due(t.Context(), xorack.DueQuery{Shard: shard, At: until, After: last, Limit: 2})
			check.OK(t, err)
			if len(page) == 0 {
				break
			}
			for _, one := range page {
				check.That(t, !one.Due.Before(last.Due), "part %d: %v is before %v", shard, one, last)
				_, twice := got[one.Tag]
				check.That(t, !twice, "part %d: %v is there twice", shard, one)
				last = one
				if strings.HasPrefix(one.Tag, prefix) {
					got[one.Tag] = one.Due
				}
			}
		}
	}
	return got
}

// testEndsAreDue: the end of a chain that was never created makes it due, or
// nobody would look for it.
func testEndsAreDue(t *testing.T, s *xorack.Store) {
	for what, end := range map[string]func(tag string) (xorack.Chain, bool, error){
		"failed":  func(tag string) (xorack.Chain, bool, error) { return s.Fail(t.Context(), failure(tag, 2)) },
		"deleted": func(tag string) (xorack.Chain, bool, error) { return s.Delete(t.Context(), tag, op(2), at) },
	} {
		tag := "end " + what
		check.Get2(s.Apply(t.Context(), work(tag, 1, 1)))
		_, changed := check.Get2(end(tag))
		same(t, what, changed, true)
		ddbtest.Settles(t, "due", func() bool { return !allDue(t, s, "end ", at.Add(time.Minute))[tag].IsZero() }, true)
	}
}
