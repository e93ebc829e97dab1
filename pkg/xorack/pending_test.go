package xorack_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/ddbtest"
	"github.com/streamsort/streamsort/pkg/xorack"
)

// pending is an Acker in memory that lists what is pending, and what that costs.
type pending struct {
	*xorack.Acker
	t     *testing.T
	meter *ddbtest.Meter
	now   time.Time
}

func newPending(t *testing.T) *pending {
	t.Helper()
	p := &pending{t: t, meter: ddbtest.NewMeter(ddb.NewMemory(xorack.Names{}.Tables()...)), now: time.Date(2026, 5, 6, 7, 8, 9, 0, time.UTC)}
	store := xorack.NewStore(p.meter, xorack.Names{})
	p.Acker = check.Get(xorack.New(store, &xorack.Options{Now: func() time.Time { return p.now }}))
	return p
}

func (p *pending) create(tag string) xorack.Edge {
	p.t.Helper()
	created := check.Get(p.Create(p.t.Context(), tag, nil))
	return created.Roots[0]
}

// tags are those of all pages, and the most read units of a page.
func (p *pending) tags(limit int, between func()) (tags []string, most float64) {
	p.t.Helper()
	var after xorack.Pending
	for range 10_000 {
		p.meter.Take()
		page, more, err := p.Pending(p.t.Context(), after, limit)
		check.Need(p.t, err == nil && len(page) <= limit && (!more || len(page) >= limit),
			"%d chains, more %v, %v", len(page), more, err)
		most = max(most, p.meter.Take().Units.Reads)
		for _, it := range page {
			tags = append(tags, it.Tag)
			after = it
		}
		if !more {
			return tags, most
		}
		between()
	}
	p.t.Fatal("the pages do not end")
	return nil, 0
}

// TestPendingListsEachOnce: whatever ends and begins meanwhile, what is open all the while is
// listed once.
func TestPendingListsEachOnce(t *testing.T) {
	p := newPending(t)
	stays, ends := map[string]bool{}, []xorack.Edge{}
	for i := range 200 {
		stays[fmt.Sprintf("stays-%d", i)] = true
		p.create(fmt.Sprintf("stays-%d", i))
		ends = append(ends, p.create(fmt.Sprintf("ends-%d", i)))
	}
	for _, limit := range []int{1, 7, 50, 1000} {
		tags, _ := p.tags(limit, func() {
			p.create(fmt.Sprintf("comes-%d-%d", limit, len(ends)))
			end := ends[0]
			ends = ends[1:]
			done, err := p.Done(t.Context(), end)
			if err == nil {
				_, err = p.Finish(t.Context(), done.Chain, nil)
			}
			check.OK(t, err)
			if len(ends) == 0 {
				ends = append(ends, p.create("again-"+fmt.Sprint(limit, len(stays), p.now)))
				p.now = p.now.Add(time.Millisecond)
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
	p := newPending(t)
	failed := check.Get(p.Fail(t.Context(), p.create("fails"), "why"))
	p.create("open")
	check.Get(p.Done(t.Context(), xorack.Root("orphan", "", 0)))
	want := func(tags ...string) {
		t.Helper()
		got, _ := p.tags(100, func() {})
		if slices.Sort(got); !slices.Equal(got, tags) {
			t.Errorf("%v are pending, want %v", got, tags)
		}
	}
	want("fails", "open")
	check.Get(p.Finish(t.Context(), failed.Chain, nil))
	want("open")
}

// TestPendingUnits: 50 chains are 1 read unit at most where there are many, and all of few 8.
func TestPendingUnits(t *testing.T) {
	p := newPending(t)
	n := 0
	for _, c := range []struct {
		chains int
		most   float64
	}{{0, 8}, {30, 8}, {2000, 1}, {10_000, 1}} {
		for ; n < c.chains; n++ {
			p.create(fmt.Sprintf("orders/2026-11-23/%08d", n))
		}
		tags, most := p.tags(50, func() {})
		check.That(t, len(tags) == c.chains && most == c.most,
			"%d chains: %d are listed, for %v units a page at most; want %v", c.chains, len(tags), most, c.most)
	}
}
