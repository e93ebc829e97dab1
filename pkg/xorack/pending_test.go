package xorack_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/pkg/xorack"
)

// pending are the tags of all pages, and the most read units of a page.
func (f *fixture) pending(limit int, between func()) (tags []string, most float64) {
	f.t.Helper()
	var after xorack.Pending
	for range 10_000 {
		f.meter.Take()
		page, more, err := f.Pending(f.t.Context(), after, limit)
		check.Need(f.t, err == nil && len(page) <= limit && (!more || len(page) >= limit),
			"%d chains, more %v, %v", len(page), more, err)
		most = max(most, f.meter.Take().Units.Reads)
		for _, it := range page {
			tags = append(tags, it.Tag)
			after = it
		}
		if !more {
			return tags, most
		}
		between()
	}
	f.t.Fatal("the pages do not end")
	return nil, 0
}

// TestPendingListsEachOnce: whatever ends and begins meanwhile, what is open all the while is
// listed once.
func TestPendingListsEachOnce(t *testing.T) {
	f := newFixture(t)
	stays, ends := map[string]bool{}, []xorack.Edge{}
	for i := range 200 {
		stays[fmt.Sprintf("stays-%d", i)] = true
		f.create(fmt.Sprintf("stays-%d", i), nil)
		ends = append(ends, f.create(fmt.Sprintf("ends-%d", i), nil))
	}
	for _, limit := range []int{1, 7, 50, 1000} {
		tags, _ := f.pending(limit, func() {
			f.create(fmt.Sprintf("comes-%d-%d", limit, len(ends)), nil)
			end := ends[0]
			ends = ends[1:]
			done, err := f.Done(t.Context(), end)
			if err == nil {
				_, err = f.Finish(t.Context(), done.Chain, nil)
			}
			check.OK(t, err)
			if len(ends) == 0 {
				ends = append(ends, f.create("again-"+fmt.Sprint(limit, len(stays), f.now), nil))
				f.now = f.now.Add(time.Millisecond)
			}
		})
		seen := map[string]int{}
		for _, tag := range tags {
			seen[tag]++
		}
		for tag := range stays {
			check.That(t, seen[tag] == 1, "by %d: %s is listed %d times", limit, tag, seen[tag])
		}
	}
}

// TestPendingIsWhatTheSweepLooksAt: an end is pending until it is announced; what was never created
// is not.
func TestPendingIsWhatTheSweepLooksAt(t *testing.T) {
	f := newFixture(t)
	failed := check.Get(f.Fail(t.Context(), f.create("fails", nil), "why"))
	f.create("open", nil)
	check.Get(f.Done(t.Context(), xorack.Root("orphan", "", 0)))
	want := func(tags ...string) {
		t.Helper()
		got, _ := f.pending(100, func() {})
		if slices.Sort(got); !slices.Equal(got, tags) {
			t.Errorf("%v are pending, want %v", got, tags)
		}
	}
	want("fails", "open")
	check.Get(f.Finish(t.Context(), failed.Chain, nil))
	want("open")
}

// TestPendingUnits: 50 chains are 1 read unit at most where there are many, and all of few 8.
func TestPendingUnits(t *testing.T) {
	f := newFixture(t)
	n := 0
	for _, c := range []struct {
		chains int
		most   float64
	}{{0, 8}, {30, 8}, {2000, 1}, {10_000, 1}} {
		for ; n < c.chains; n++ {
			f.create(fmt.Sprintf("orders/2026-11-23/%08d", n), nil)
		}
		tags, most := f.pending(50, func() {})
		check.That(t, len(tags) == c.chains && most == c.most,
			"%d chains: %d are listed, for %v units a page at most; want %v", c.chains,
			len(tags), most, c.most)
	}
}
