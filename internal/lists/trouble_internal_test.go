package lists

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/httpapi/httpapitest"
	"github.com/streamsort/streamsort/internal/trouble"
	"github.com/streamsort/streamsort/internal/view"
)

// TestASummaryIsBounded: rows that have expired and are still there are looked at as well.
func TestASummaryIsBounded(t *testing.T) {
	now := time.Date(2026, 5, 6, 7, 8, 9, 0, time.UTC)
	store := trouble.NewStore(ddb.NewMemory(trouble.Definition("rows")), trouble.Definition("rows"))
	for i := range maxCounted + 100 {
		row := trouble.Row{State: trouble.Failed, Queue: fmt.Sprintf("%06d", i),
			Since: now.Add(-time.Hour), ExpiresOn: now.Add(-time.Minute)}
		if i%2 == 0 {
			row.ExpiresOn = now.Add(time.Minute)
		}
		check.OK(t, store.Put(t.Context(), row))
	}
	rows, more, err := all(t.Context(), store, trouble.Failed, "", now)
	check.That(t, err == nil && len(rows) == maxCounted/2 && more,
		"%d, more %t, %v; want %d, and more", len(rows), more, err, maxCounted/2)
	rows, more, err = all(t.Context(), store, trouble.Failed, "0000", now)
	check.That(t, err == nil && len(rows) == 50 && !more,
		"of a prefix %d, more %t, %v; want 50", len(rows), more, err)
	failed := check.Get(count(t.Context(), store, "", now)).states["failed"]
	check.That(t, failed.Count == maxCounted/2 && failed.More, "%+v", failed)
}

// TestCounts: a consumer counts in each state that it is in, but for those that follow from
// another, and is in one group.
func TestCounts(t *testing.T) {
	now := time.Date(2026, 5, 6, 7, 8, 9, 0, time.UTC)
	store := trouble.NewStore(ddb.NewMemory(trouble.Definition("rows")), trouble.Definition("rows"))
	put := func(state trouble.State, queue, consumer, why string) {
		t.Helper()
		check.OK(t, store.Put(t.Context(), trouble.Row{State: state, Queue: queue, Consumer: consumer,
			Error: why, Since: now.Add(-time.Minute)}))
	}
	put(trouble.Gap, "g", "", "")
	put(trouble.Blocked, "b1", "books", "order 1 is bad")
	put(trouble.Lagging, "b1", "books", "order 1 is bad")
	put(trouble.Paused, "b1", "books", "order 1 is bad")
	put(trouble.Blocked, "b2", "books", "order 2 is bad")
	put(trouble.Missing, "b3", "books", "")
	put(trouble.Failing, "r1", "books", "order 3 is bad")
	put(trouble.Lagging, "l1", "books", "")
	put(trouble.CircuitOpen, "", "away", "")
	put(trouble.HeldBy("away"), "h1", "away", "")
	put(trouble.Failing, "h1", "away", "no answer")
	put(trouble.Failing, "h2", "away", "no answer") // held, and no row says so yet
	put(trouble.CircuitOpen, "", "alone", "")
	n := check.Get(count(t.Context(), store, "", now))
	want := map[view.State]int{view.Gap: 1, view.Blocked: 3, view.Paused: 1, view.Retrying: 1,
		view.CatchingUp: 1, view.Held: 2, view.InDoubt: 0}
	for state, wanted := range want {
		check.Is(t, n.states[state].Count, wanted, state)
	}
	groups := map[view.State][]string{}
	for _, row := range n.failing {
		a := aspectOf(row)
		groups[a.state] = append(groups[a.state], row.Queue+": "+row.Error)
	}
	for state, wanted := range map[view.State][]string{
		view.Blocked: {"b1: order 1 is bad", "b2: order 2 is bad", "b3: "}, view.Retrying: {"r1: order 3 is bad"},
		view.Held: {"h1: no answer", "h2: no answer"},
	} {
		slices.Sort(groups[state])
		check.That(t, slices.Equal(groups[state], wanted),
			"%s: %q, want %q", state, groups[state], wanted)
	}
}

// TestPagesOfAFleet: of 5,000 queues that an open circuit breaker holds, each is on one page, also
// those that failed before it opened and of which no row says yet that they are held.
func TestPagesOfAFleet(t *testing.T) {
	const queues, noted, failed = 5000, 3000, 2000
	now := time.Date(2026, 5, 6, 7, 8, 9, 0, time.UTC)
	store := trouble.NewStore(ddb.NewMemory(trouble.Definition("rows")), trouble.Definition("rows"))
	put := func(state trouble.State, queue string) {
		t.Helper()
		row := trouble.Row{State: state, Queue: queue, Consumer: "away", Since: now}
		check.OK(t, store.Put(t.Context(), row))
	}
	put(trouble.CircuitOpen, "")
	for i := range queues {
		queue := fmt.Sprintf("q%04d", i)
		if i < noted {
			put(trouble.HeldBy("away"), queue)
		}
		if i >= failed {
			put(trouble.Failing, queue)
		}
	}
	for state, want := range map[view.State]int{view.Held: queues, view.Retrying: 0} {
		seen := map[string]int{}
		for s, pages := (Selection{kind: Consumers, State: state, Limit: 100}), 0; ; pages++ {
			rows, next, err := s.page(t.Context(), store, now)
			check.Need(t, err == nil && len(rows) <= s.Limit && pages <= queues/s.Limit+3,
				"%s: page %d has %d rows, %v", state, pages, len(rows), err)
			for _, row := range rows {
				seen[row.Queue]++
			}
			if next == "" {
				break
			}
			check.OK(t, s.goOn(next))
		}
		for queue, n := range seen {
			check.That(t, n <= 1 && queue != "", "%s: %q is listed %d times", state, queue, n)
		}
		check.That(t, len(seen) == want, "%s: %d queues, want %d", state, len(seen), want)
	}
}

// TestKindsAreTheContract: a kind has the parameters and the states of the contract.
func TestKindsAreTheContract(t *testing.T) {
	for _, k := range []*Kind{Queues, Consumers, Chains} {
		params := httpapitest.Contract(t).Paths.Value("/" + k.name).Get.Parameters
		want, names := map[string]bool{}, map[string]bool{}
		for _, p := range params {
			want[p.Value.Name] = true
		}
		for _, state := range params.GetByInAndName("query", "state").Schema.Value.Enum {
			want["="+state.(string)] = true
		}
		for _, name := range slices.Concat([]string{k.one}, k.beside, k.ofList) {
			names[name] = true
		}
		for _, state := range k.states {
			names["="+string(state)] = true
		}
		check.Is(t, cmp.Diff(want, names), "", k.name)
	}
}
