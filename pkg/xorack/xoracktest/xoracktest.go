// Package xoracktest holds every implementation of [xorack.Store] to what that
// interface promises. Call [Run] from a test of the implementation.
package xoracktest

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/streamsort/streamsort/pkg/xorack"
)

// at is a moment that all parts of the table keep exactly. It is far ahead: a
// chain whose time has come may be deleted at any moment.
var at = time.Date(2126, 3, 4, 5, 6, 7, 0, time.UTC)

// Run runs the suite. newStore returns a Store on an empty table; it is called
// once a subtest.
func Run(t *testing.T, newStore func(t *testing.T) xorack.Store) {
	for _, c := range []struct {
		name string
		test func(*testing.T, xorack.Store)
	}{
		{"create", testCreate},
		{"create over orphans", testCreateOverOrphans},
		{"orphan at zero", testOrphanAtZero},
		{"create refused", testCreateRefused},
		{"replace", testReplace},
		{"apply", testApply},
		{"apply refused", testApplyRefused},
		{"a hundred at once", testHundred},
		{"splits", testSplits},
		{"full", testFull},
		{"fail", testFail},
		{"extend", testExtend},
		{"time out", testTimeOut},
		{"abandon", testAbandon},
		{"postpone", testPostpone},
		{"delete", testDelete},
		{"seal", testSeal},
		{"stamps", testStamps},
		{"stamps refused", testStampsRefused},
		{"settle", testSettle},
		{"delete stamps", testDeleteStamps},
		{"due", testDue},
		{"sums", testSums},
		{"tags", testTags},
		{"no chain", testNoChain},
		{"racing ends", testRacingEnds},
		{"as in memory", testAsInMemory},
		{"ended context", testEndedContext},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(t, newStore(t)) })
	}
}

// inc is the incarnation of all chains of edges here but strangers.
var inc = xorack.Incarnation{1, 2, 3, 4, 5, 6, 7, 8}

// stranger is another one.
var stranger = xorack.Incarnation{9, 9, 9, 9, 9, 9, 9, 9}

func op(n int) xorack.Op { return xorack.Op{0, 0, 0, 0, 0, 0, byte(n >> 8), byte(n)} }

func sum(n int64) xorack.Sum {
	if n < 0 {
		return xorack.Sum{}.Minus(xorack.Sum{Lo: uint64(-n)})
	}
	return xorack.Sum{Lo: uint64(n)}
}

// newChain is a chain of edges at its creation, with all that it may have.
func newChain(tag string) xorack.Chain {
	return xorack.Chain{
		Tag: tag, Incarnation: inc, Sum: sum(100), Edges: 1, Created: at, Options: [8]byte{7, 7},
		Deadline: at.Add(time.Hour), Idle: 1500 * time.Millisecond, Seen: at, Due: at.Add(1500 * time.Millisecond),
		LastOp: xorack.Op(inc), ExpiresOn: xorack.Never, Parent: xorack.Root("parent", "", 3), Sub: true,
	}
}

// newStamped is a chain of stamps at its creation.
func newStamped(tag string, stamps ...string) xorack.Chain {
	c := xorack.Chain{
		Tag: tag, Incarnation: inc, StampLen: 2, Created: at,
		Deadline: at.Add(time.Hour), Seen: at, Due: at.Add(time.Hour), ExpiresOn: xorack.Never,
	}
	for _, stamp := range stamps {
		c.Stamps = append(c.Stamps, []byte(stamp))
	}
	return c
}

// work is operations that add n to the sum.
func work(tag string, n int64, ops ...int) xorack.Work {
	w := xorack.Work{
		Tag: tag, Incarnation: inc, Delta: sum(n), Edges: 2, Room: 5,
		Now: at.Add(time.Minute), Orphan: at.Add(24 * time.Hour),
	}
	for _, n := range ops {
		w.Ops = append(w.Ops, op(n))
	}
	return w
}

// stamp is a stamp of two bytes behind its mark.
func stamp(tag, marked string) xorack.Stamp {
	return xorack.Stamp{
		Tag: tag, Marked: []byte(marked), Room: 3, Now: at.Add(time.Minute), Orphan: at.Add(24 * time.Hour),
	}
}

// same fails the test where two values differ.
func same[T any](t *testing.T, what string, got, want T) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b xorack.Edge) bool { return a == b })); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// answers fails the test unless a write answers with this chain and this word
// on whether it changed it, and the chain stands there.
func answers(t *testing.T, s xorack.Store, what string, want xorack.Chain, changes bool) func(xorack.Chain, bool, error) {
	t.Helper()
	return func(got xorack.Chain, changed bool, err error) {
		t.Helper()
		check(t, err)
		same(t, what+": changed", changed, changes)
		same(t, what, got, want)
		if want.Exists() {
			same(t, what+": standing", standing(t, s, want.Tag), want)
		}
	}
}

func standing(t *testing.T, s xorack.Store, tag string) xorack.Chain {
	t.Helper()
	c, err := s.Chain(t.Context(), tag)
	check(t, err)
	return c
}

func create(t *testing.T, s xorack.Store, c xorack.Chain) xorack.Chain {
	t.Helper()
	answers(t, s, "create", c, true)(s.Create(t.Context(), c))
	return c
}
