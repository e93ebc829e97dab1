package quota_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/ddbtest"
	"github.com/streamsort/streamsort/internal/quota"
	"github.com/streamsort/streamsort/pkg/delivery"
)

// leasesOn are leases on an engine that has the consumers table, by a clock.
func leasesOn(engine ddb.Engine, names string, share int, now *time.Time) *quota.Leases {
	consumers := delivery.Names{Consumers: names}.Tables()[0]
	return quota.NewLeases(engine, consumers, share, func() time.Time { return *now })
}

// TestLeasesConform: a tenant has so many places, each until it is given back or its time is over.
// What is given back late is not taken from the next one. A place that is taken, or given back, is
// one write, and one that has to be looked for two.
func TestLeasesConform(t *testing.T) {
	ddbtest.Each(t, func(t *testing.T, kind ddbtest.Kind) {
		names := "consumers" + ddbtest.Suffix()
		meter := ddbtest.NewMeter(ddbtest.Open(t, kind, delivery.Names{Consumers: names}.Tables()...))
		now := at
		leases := leasesOn(meter, names, 2, &now)
		take := func(tenant string, want bool) quota.Lease {
			t.Helper()
			lease, taken, err := leases.Take(t.Context(), tenant, now.Add(time.Minute))
			if total := meter.Take(); err != nil || taken != want || total.Reads > 0 || total.Writes > 2 {
				t.Errorf("taken %v, %v, by %+v; want %v", taken, err, total, want)
			}
			return lease
		}
		end := func(lease quota.Lease) {
			t.Helper()
			check.OK(t, lease.End(t.Context()))
			check.Is(t, meter.Take().Writes, 1)
		}
		first := take("a", true)
		take("a", true)
		take("a", false)
		take("b", true)
		end(first)
		end(first)
		now = now.Add(time.Second)
		second := take("a", true)
		take("a", false)
		now = now.Add(time.Minute - time.Second) // the other one is good until then, inclusive
		take("a", false)
		now = now.Add(time.Millisecond)
		third := take("a", true)
		take("a", false)
		now = now.Add(time.Second)
		fourth := take("a", true) // in the place of second, whose time is over
		end(second)
		take("a", false)
		end(third)
		end(fourth)
		take("a", true)
		take("a", true)
		take("a", false)
	})
}

// TestNoTenantHasMoreThanItsShare: whatever is taken, given back, repeated, and over, in any order,
// by processes whose responses are lost, and no place that is free is refused.
func TestNoTenantHasMoreThanItsShare(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		now, memory := at, ddb.NewMemory(delivery.Names{Consumers: "consumers"}.Tables()...)
		faults := ddbtest.NewFaults(memory)
		share := rapid.IntRange(1, 4).Draw(t, "share")
		leases := leasesOn(faults, "consumers", share, &now)
		type held struct {
			lease quota.Lease
			until time.Time
		}
		// all are those that processes have, also those whose time is over; unknown is until when
		// those last whose response was lost.
		var all []held
		var unknown []time.Time
		running := func() (has, most int) {
			for _, h := range all {
				if !h.until.Before(now) {
					has++
				}
			}
			most = has
			for _, until := range unknown {
				if !until.Before(now) {
					most++
				}
			}
			return has, most
		}
		t.Repeat(map[string]func(*rapid.T){
			"take": func(t *rapid.T) {
				until := now.Add(time.Duration(rapid.IntRange(1, 5).Draw(t, "seconds")) * time.Second)
				ways := []ddbtest.Fault{"", ddbtest.Repeated, ddbtest.Lost, ddbtest.Refused}
				if fault := rapid.SampledFrom(ways).Draw(t, "fault"); fault != "" {
					faults.Fail(1, fault)
				}
				has, most := running()
				lease, got, err := leases.Take(t.Context(), "a", until)
				switch {
				case err != nil:
					unknown = append(unknown, until)
				case got && has == share:
					t.Fatalf("one more than %d", share)
				case got:
					all = append(all, held{lease, until})
				case most < share:
					t.Fatalf("refused, and of %d places %d are taken", share, most)
				}
			},
			"end": func(t *rapid.T) {
				if len(all) == 0 {
					return
				}
				i := rapid.IntRange(0, len(all)-1).Draw(t, "which")
				faults.Fail(1, ddbtest.Repeated)
				if err := all[i].lease.End(t.Context()); err != nil {
					t.Fatal(err)
				}
				all = append(all[:i], all[i+1:]...)
			},
			"time": func(t *rapid.T) {
				now = now.Add(time.Duration(rapid.IntRange(1, 3000).Draw(t, "ms")) * time.Millisecond)
			},
		})
	})
}
