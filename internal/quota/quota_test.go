package quota_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/ddbtest"
	"github.com/streamsort/streamsort/internal/emf"
	"github.com/streamsort/streamsort/internal/httpapi"
	"github.com/streamsort/streamsort/internal/quota"
	"github.com/streamsort/streamsort/internal/trouble"
)

var (
	at       = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	counters = trouble.Definition(trouble.DefaultName)
)

// Each write is one request. An account is taken from in its own window, up to a bound, and is
// moved from what was seen alone.
func TestAccountConforms(t *testing.T) {
	ddbtest.Each(t, func(t *testing.T, kind ddbtest.Kind) {
		on := trouble.Definition("trouble" + ddbtest.Suffix())
		meter := ddbtest.NewMeter(ddbtest.Open(t, kind, on))
		s := quota.NewStore(meter, on)
		at := time.Now().Truncate(time.Minute) // a server deletes what has expired
		w, next, minute := quota.WindowAt(at.Add(3*time.Second), 10*time.Second),
			quota.WindowAt(at.Add(10*time.Second), 10*time.Second), quota.WindowAt(at, time.Minute)
		var there quota.Account
		amounts := func(messages, bytes int64) quota.Amounts {
			return quota.Amounts{quota.Messages: messages, quota.Bytes: bytes}
		}
		take := func(w quota.Window, n, most int64, op string) func() (quota.Account, bool, error) {
			return func() (quota.Account, bool, error) {
				return s.Take(t.Context(), "a", w, amounts(n, 0), amounts(most, 0), op)
			}
		}
		move := func(seen quota.Account, w quota.Window, taken quota.Amounts,
			op string) func() (quota.Account, bool, error) {
			return func() (quota.Account, bool, error) {
				return s.Move(t.Context(), "a", w, seen, taken, op)
			}
		}
		for _, step := range []struct {
			name  string
			write func() (quota.Account, bool, error)
			taken bool
			want  quota.Account
		}{
			{"nothing is there", take(w, 3, 9, "1"), false, quota.Account{}},
			{"the first", move(there, w, amounts(3, 70), "2"), true, quota.Account{Window: w.Start, Taken: amounts(3, 70), Op: "2"}},
			{"another was first", move(there, w, amounts(5, 5), "3"), false, quota.Account{Window: w.Start, Taken: amounts(3, 70), Op: "2"}},
			{"more than most", take(w, 3, 2, "4"), false, quota.Account{Window: w.Start, Taken: amounts(3, 70), Op: "2"}},
			{"another window", take(next, 3, 9, "5"), false, quota.Account{Window: w.Start, Taken: amounts(3, 70), Op: "2"}},
			{"no more than most", take(w, 30, 3, "6"), true, quota.Account{Window: w.Start, Taken: amounts(33, 70), Op: "6"}},
			{"the same again", take(w, 30, 99, "6"), true, quota.Account{Window: w.Start, Taken: amounts(33, 70), Op: "6"}},
			{"moved from what is over", move(quota.Account{Op: "2"}, next, amounts(1, 1), "7"), false, quota.Account{Window: w.Start, Taken: amounts(33, 70), Op: "6"}},
			{"moved", move(quota.Account{Op: "6"}, next, amounts(1, 0), "8"), true, quota.Account{Window: next.Start, Taken: amounts(1, 0), Op: "8"}},
			{"the same move again", move(quota.Account{Op: "6"}, next, amounts(1, 0), "8"), true, quota.Account{Window: next.Start, Taken: amounts(1, 0), Op: "8"}},
		} {
			got, taken, err := step.write()
			check.Is(t, cmp.Diff(step.want, got, cmp.Comparer(time.Time.Equal)), "", step.name)
			check.That(t, err == nil && taken == step.taken, "%s: %v, taken %v", step.name, err, taken)
			total := meter.Take()
			check.That(t, total.Writes == 1 && total.Reads == 0, "%s: %+v", step.name, total)
		}
		// Another tenant's, and that of another length, are others.
		_, taken := check.Get2(s.Move(t.Context(), "b", w, quota.Account{}, amounts(1, 1), "1"))
		check.That(t, taken, "another tenant's is refused")
		few := quota.Amounts{quota.NewQueues: 1, quota.NewChains: 2}
		_, taken = check.Get2(s.Move(t.Context(), "a", minute, quota.Account{}, few, "1"))
		check.That(t, taken, "that of another length is refused")
	})
}

// An account is in its tenant's own partition, has what TTL deletes it by, and is in no list of
// rows: not in the index either.
func TestWhereAccountsAre(t *testing.T) {
	d := newDesk(t)
	d.passed(d.process(quota.Amounts{quota.Messages: 1}), "@a/b", 1)
	items := d.memory.Items(counters.Name)
	check.Need(t, len(items) == 1, "%v", items)
	it := items[0]
	check.Is(t, it.Get("state").Str()+", "+it.Get("at").Str(), "quota @a/b, 10")
	check.That(t, it.Has(ddb.Path(counters.TTL)) &&
		!it.Has(ddb.Path(counters.Index.Sort.Name)), "%v", it)
}

// Whatever becomes of a request, a tenant is never given more than there is; and one whose answer
// is lost is known by its own name, and takes nothing twice.
func TestTakeThatGoesWrong(t *testing.T) {
	for _, fault := range []ddbtest.Fault{ddbtest.Refused, ddbtest.Throttled, ddbtest.Lost,
		ddbtest.Repeated} {
		for nth := 1; nth < 5; nth++ {
			d := newDesk(t)
			faults := ddbtest.NewFaults(d.memory)
			d.store = quota.NewStore(faults, counters)
			k, other := d.process(quota.Amounts{quota.NewQueues: 10}),
				d.process(quota.Amounts{quota.NewQueues: 10})
			faults.Fail(nth, fault)
			passed := int64(0)
			for n := range int64(6) {
				if d.take([]*quota.Keeper{k, other}[n%2], "a", quota.Amounts{quota.NewQueues: 4}) == "" {
					passed += 4
				}
			}
			check.That(t, fault != ddbtest.Repeated || passed == 12,
				"request %d, %s: %d passed, want 12", nth, fault, passed)
			check.That(t, fault == ddbtest.Repeated || strings.Contains(d.out.String(), "QuotaUnknown"),
				"request %d, %s: nothing went wrong", nth, fault)
		}
	}
}

// desk is processes that share counters.
type desk struct {
	testing.TB
	now    time.Time
	memory *ddb.Memory
	meter  *ddbtest.Meter
	fail   error
	store  *quota.Store
	out    bytes.Buffer
}

func newDesk(t testing.TB) *desk {
	d := &desk{TB: t, now: at}
	d.memory = ddb.NewMemory(counters)
	d.meter = ddbtest.NewMeter(ddb.Func(func(ctx context.Context, r ddb.Request) (ddb.Answer, error) {
		if d.fail != nil {
			return ddb.Answer{}, d.fail
		}
		return d.memory.Do(ctx, r)
	}))
	d.store = quota.NewStore(d.meter, counters)
	return d
}

// process is a Keeper of these limits for every tenant.
func (d *desk) process(limits quota.Amounts, more ...quota.Quota) *quota.Keeper {
	return quota.NewKeeper(d.store, append(more, quota.Quota{Name: "*", Limits: limits}),
		func() time.Time {
			return d.now
		})
}

// take is the kind that refuses a request, empty where it passes.
func (d *desk) take(k *quota.Keeper, tenant string, need quota.Amounts) string {
	d.Helper()
	metrics := emf.New(&d.out, emf.Names{}).Begin()
	defer metrics.Flush()
	err := k.Take(context.Background(), metrics, tenant, need)
	var problem *httpapi.Problem
	if err == nil {
		return ""
	}
	check.Need(d, errors.As(err, &problem) && problem.Status == 429 && problem.Code() == "quota" &&
		problem.RetryAfter >= 1,
		"error %v", err)
	return problem.More["quota"].(string)
}

// passed is how many requests of one message each pass.
func (d *desk) passed(k *quota.Keeper, tenant string, requests int) (n int) {
	d.Helper()
	for range requests {
		if d.take(k, tenant, quota.Amounts{quota.Messages: 1}) == "" {
			n++
		}
	}
	return n
}

func TestAnotherTenantHasItsOwn(t *testing.T) {
	d := newDesk(t)
	k := d.process(quota.Amounts{quota.Messages: 1},
		quota.Quota{Name: "b", Limits: quota.Amounts{quota.Messages: 2}},
		quota.Quota{Name: "c", Limits: quota.Amounts{quota.Bytes: 1}})
	for tenant, want := range map[string]int{"a": 10, "b": 20, "c": 99, "": 99} {
		check.Is(t, d.passed(k, tenant, 99), want, tenant)
	}
	check.Is(t, d.passed(nil, "a", 9), 9)
}

// A request is refused for the kind of which nothing is left; nothing is counted of that, or of the
// others of its window.
func TestARequestPassesWhollyOrNotAtAll(t *testing.T) {
	d := newDesk(t)
	k := d.process(quota.Amounts{quota.Messages: 1, quota.Bytes: 100, quota.NewQueues: 2,
		quota.NewChains: 1})
	for i, step := range []struct {
		need quota.Amounts
		want string
	}{
		{quota.Amounts{quota.Messages: 8, quota.Bytes: 1000}, ""},
		{quota.Amounts{quota.Messages: 1, quota.Bytes: 1}, "bytes"},
		{quota.Amounts{quota.Messages: 1}, ""},
		{quota.Amounts{quota.Messages: 1, quota.NewQueues: 2}, ""},
		{quota.Amounts{quota.Messages: 1}, "messages"},
		{quota.Amounts{quota.NewQueues: 1}, "newQueues"},
		{quota.Amounts{quota.NewChains: 1}, ""},
		{quota.Amounts{quota.NewChains: 1}, "newChains"},
	} {
		check.Is(t, d.take(k, "a", step.need), step.want, i, step.need)
	}
	for _, metric := range []string{`"QuotaExceeded":1`, `"quota":"newChains"`,
		`["service","quota"]`} {
		check.Has(t, d.out.String(), metric)
	}
}

// What a request takes beyond its window is a debt, which windows pay back: meanwhile nothing
// passes, and nothing is asked, by processes that know of it.
func TestALargeRequestIsADebt(t *testing.T) {
	d := newDesk(t)
	limits := quota.Amounts{quota.Messages: 1}
	k, other := d.process(limits), d.process(limits)
	need := quota.Amounts{quota.Messages: 1}
	for _, step := range []struct {
		after  time.Duration
		k      *quota.Keeper
		n      int64
		want   string
		writes int
	}{
		{0, k, 7, "", 2},
		{0, other, 38, "", 1}, // 45 of 10: 3 windows and a half
		{0, k, 1, "messages", 1},
		{10 * time.Second, k, 1, "messages", 0},
		{0, other, 1, "messages", 0},
		{20 * time.Second, d.process(limits), 1, "messages", 1},
		{0, k, 1, "messages", 0},
		{10 * time.Second, k, 5, "", 1},
		{0, k, 1, "messages", 0},
		{time.Hour, other, 100, "", 2},
	} {
		d.now = d.now.Add(step.after)
		d.meter.Take()
		need[quota.Messages] = step.n
		got, writes := d.take(step.k, "a", need), d.meter.Take().Writes
		check.That(t, got == step.want && writes <= step.writes,
			"%s: %d is refused for %q, want %q, after %d writes", d.now, step.n, got, step.want, writes)
	}
}

// The answer says which quota it is, and when to come again: after the debt.
func TestWhatARefusedRequestIsTold(t *testing.T) {
	for n, want := range map[int64]int{20: 7, 39: 7, 40: 17, 77: 27} {
		d := newDesk(t)
		d.now = d.now.Add(3500 * time.Millisecond)
		k := d.process(quota.Amounts{quota.Messages: 2})
		metrics := emf.New(&d.out, emf.Names{}).Begin()
		var problem *httpapi.Problem
		check.OK(t, k.Take(t.Context(), metrics, "a", quota.Amounts{quota.Messages: n}))
		err := k.Take(t.Context(), metrics, "a", quota.Amounts{quota.Messages: 1})
		check.Need(t, errors.As(err, &problem), "behind %d: %v", n, err)
		check.Is(t, problem.RetryAfter, want, n)
		check.Is(t, cmp.Diff(map[string]any{"quota": "messages", "limit": int64(2), "per": "second"},
			problem.More), "")
	}
}

// What a quota costs: writes, by a tenant's load in one process, after the first window.
func TestFigures(t *testing.T) {
	for _, c := range []struct {
		name            string
		requests, batch int // in each window of ten seconds
		units           float64
	}{
		{"below a hundredth of the limit", 10, 10, 0},
		{"a steady stream of single messages", 2000, 1, 1},
		{"a steady stream of batches of 25", 200, 25, 1},
		{"all of the limit", 10000, 1, 1},
		{"twice the limit", 20000, 1, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newDesk(t)
			k := d.process(quota.Amounts{quota.Messages: 1000, quota.Bytes: 1000 * 1000})
			for window := range 4 {
				for range c.requests {
					d.take(k, "a",
						quota.Amounts{quota.Messages: int64(c.batch), quota.Bytes: int64(c.batch) * 100})
				}
				total := d.meter.Take()
				t.Logf("window %d: %v write units, %.4f a message", window, total.Units.Writes,
					float64(total.Units.Writes)/float64(c.requests*c.batch))
				if window > 0 && float64(total.Units.Writes) > c.units || window == 0 && total.Writes > 8 ||
					total.Reads != 0 {
					t.Errorf("window %d: %+v, want %v write units", window, total, c.units)
				}
				d.now = d.now.Add(10 * time.Second)
			}
		})
	}
}

// Where the counters do not answer, nobody is refused, and they are left alone until the next
// window.
func TestCountersThatDoNotAnswer(t *testing.T) {
	d := newDesk(t)
	k := d.process(quota.Amounts{quota.Messages: 1})
	d.fail = errors.New("nobody there")
	check.Is(t, d.passed(k, "a", 50), 50)
	check.Is(t, d.meter.Take().Writes, 1)
	check.Has(t, d.out.String(), `"QuotaUnknown":1`)
	d.fail, d.now = nil, d.now.Add(10*time.Second)
	check.Is(t, d.passed(k, "a", 50), 10)
}

// A counter that never answers keeps a request waiting for a second, and no other.
func TestACounterThatHangs(t *testing.T) {
	d := newDesk(t)
	d.store = quota.NewStore(ddb.Func(func(ctx context.Context, _ ddb.Request) (ddb.Answer, error) {
		deadline, ok := ctx.Deadline()
		check.That(t, ok && time.Until(deadline) <= time.Second, "it may hang for longer")
		return ddb.Answer{}, context.DeadlineExceeded
	}), counters)
	check.Is(t, d.passed(d.process(quota.Amounts{quota.Messages: 1}), "a", 20), 20)
}

// In any windows in a row, processes together give a tenant their limits, one request beyond them,
// and a hundredth of a limit for each process and window; one alone refuses nothing while something
// is left.
func TestProcessesShareALimit(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		d := newDesk(t)
		limits := quota.Amounts{quota.Messages: rapid.Int64Range(1, 500).Draw(r, "limit")}
		processes := make([]*quota.Keeper, rapid.IntRange(1, 8).Draw(r, "processes"))
		for i := range processes {
			processes[i] = d.process(limits)
		}
		limit := limits[quota.Messages] * 10
		var passed []int64 // in each window
		var largest, debt int64
		for window := range rapid.IntRange(1, 8).Draw(r, "windows") {
			passed = append(passed, 0)
			for range rapid.IntRange(0, 40).Draw(r, "requests") {
				k := processes[rapid.IntRange(0, len(processes)-1).Draw(r, "process")]
				n := rapid.OneOf(rapid.Int64Range(1, limit/5+1),
					rapid.Int64Range(1, 4*limit)).Draw(r, "messages")
				if d.take(k, "a", quota.Amounts{quota.Messages: n}) == "" {
					passed[window] += n
					largest = max(largest, n)
				} else if len(processes) == 1 && debt+passed[window] < limit {
					r.Fatalf("window %d: %d refused after %d and %d of %d", window, n, debt, passed[window], limit)
				}
			}
			debt = max(debt+passed[window]-limit, 0)
			d.now = d.now.Add(10 * time.Second)
		}
		for first := range passed {
			var sum int64
			for last := first; last < len(passed); last++ {
				sum += passed[last]
				if most := int64(last-first+1)*(limit+int64(len(processes))*(limit/100)) + largest; sum > most {
					r.Fatalf("in the windows %d to %d %d passed, the limit is %d, and the largest request %d",
						first, last, sum, limit, largest)
				}
			}
		}
	})
}

// A large request passes beside others of its tenant, whichever process gets it, and whenever in a
// window it comes again.
func TestALargeRequestBesideATrickle(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		d := newDesk(t)
		limits := quota.Amounts{quota.Messages: rapid.Int64Range(4, 500).Draw(r, "limit")}
		processes := make([]*quota.Keeper, rapid.IntRange(1, 5).Draw(r, "processes"))
		for i := range processes {
			processes[i] = d.process(limits)
		}
		take := func(n int64) bool {
			k := processes[rapid.IntRange(0, len(processes)-1).Draw(r, "process")]
			return d.take(k, "a", quota.Amounts{quota.Messages: n}) == ""
		}
		limit := limits[quota.Messages] * 10
		large := rapid.Int64Range(limit/2, 5*limit).Draw(r, "large")
		phase := rapid.IntRange(0, 10).Draw(r, "phase")
		most := int((large+limit-1)/limit) + 2
		for waited, window := 0, 0; window < 30; window++ {
			for at := range 11 {
				if at == phase {
					if waited++; take(large) {
						waited = 0
					}
				}
				if at > 0 {
					take(rapid.Int64Range(0, limit/40).Draw(r, "small"))
				}
			}
			if waited > most {
				r.Fatalf("%d of %d a window wait for %d windows, want %d at most", large, limit, waited, most)
			}
			d.now = d.now.Add(10 * time.Second)
		}
	})
}

// A process whose last window is long ago takes what it needs, and leaves the rest to others.
func TestAProcessThatRestedTakesLittle(t *testing.T) {
	d := newDesk(t)
	limits := quota.Amounts{quota.Messages: 100}
	rested, other := d.process(limits), d.process(limits)
	d.passed(rested, "a", 900)
	d.now = d.now.Add(time.Hour)
	d.passed(rested, "a", 11)
	check.That(t, d.passed(other, "a", 1000) >= 900, "too few are left for another process")
}

// Two processes, one of which has the next window already: the account is the next window's for
// both, and nothing that was taken is lost. One whose clock is far ahead is not followed.
func TestAClockThatIsBehind(t *testing.T) {
	d := newDesk(t)
	limits := []quota.Quota{{Name: "*", Limits: quota.Amounts{quota.Messages: 1}}}
	keeper := func(ahead time.Duration) *quota.Keeper {
		return quota.NewKeeper(d.store, limits, func() time.Time { return d.now.Add(ahead) })
	}
	behind, ahead := keeper(0), keeper(10*time.Second)
	check.Is(t, d.passed(ahead, "a", 7), 7)
	check.Is(t, d.passed(behind, "a", 9), 2)
	d.meter.Take()
	check.Is(t, d.passed(ahead, "a", 9), 1)
	check.That(t, d.meter.Take().Writes <= 1, "more than one write")
	d.passed(keeper(time.Hour), "a", 1)
	check.Is(t, d.passed(keeper(0), "b", 1)+d.passed(keeper(0), "a", 1), 2)
}

// What processes take ahead is no debt: they take no more of a window than it has.
func TestWhatIsTakenAheadIsNoDebt(t *testing.T) {
	d := newDesk(t)
	limits := quota.Amounts{quota.Messages: 1}
	a, b := d.process(limits), d.process(limits)
	d.passed(a, "a", 3)
	d.passed(b, "a", 5)
	d.passed(a, "a", 3)
	d.now = d.now.Add(10 * time.Second)
	check.Is(t, d.passed(a, "a", 20), 10)
}

func TestRead(t *testing.T) {
	got := check.Get(quota.Read([]byte(`{"quotas": [
		{"name": "*", "messages": 100, "bytes": 1000000, "newQueues": 60, "newChains": 600},
		{"name": "acme", "messages": 5000}
	]}`)))
	want := []quota.Quota{
		{Name: "*", Limits: quota.Amounts{quota.Messages: 100, quota.Bytes: 1000000, quota.NewQueues: 60, quota.NewChains: 600}},
		{Name: "acme", Limits: quota.Amounts{quota.Messages: 5000}},
	}
	check.Is(t, cmp.Diff(want, got), "")
}

func TestReadNamesWhatIsWrong(t *testing.T) {
	for entry, want := range map[string]string{
		`{"name": "a/b", "messages": 1}`:                       "quotas[0].name has the character",
		`{"messages": 1}`:                                      "quotas[0].name has 0 bytes",
		`{"name": 1, "messages": 1}`:                           "quotas[0].name ",
		`{"name": "a"}`:                                        "without a quota",
		`{"name": "a", "messages": 0}`:                         "quotas[0].messages must be an integer from 1 to 1000000000000: it is 0",
		`{"name": "a", "bytes": 1000000000001}`:                "quotas[0].bytes must be an integer from 1 to 1000000000000: it is 1000000000001",
		`{"name": "a", "chains": 1}`:                           "quotas[0].chains is not known",
		`{"name": "a", "bytes": 1}, {"name": "a", "bytes": 2}`: "quotas[1].name",
		`{"name": "${A}", "bytes": 1}`:                         "quotas[0].name has the character",
	} {
		err := check.Err(quota.Read(fmt.Appendf(nil, `{"quotas": [%s]}`, entry)))
		check.Has(t, fmt.Sprint(err), want, entry)
	}
}
