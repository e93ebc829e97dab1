package quota_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/ddbtest"
	"github.com/streamsort/streamsort/internal/emf"
	"github.com/streamsort/streamsort/internal/httpapi"
	"github.com/streamsort/streamsort/internal/quota"
)

var at = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// Each take is one request, and answers the sums of its tenant and window alone.
func TestTakeConforms(t *testing.T) {
	ddbtest.Each(t, func(t *testing.T, kind ddbtest.Kind) {
		names := quota.Names{Quotas: "quotas" + ddbtest.Suffix()}
		meter := ddbtest.NewMeter(ddbtest.Open(t, kind, names.Tables()...))
		s := quota.NewStore(meter, names)
		at := time.Now().Truncate(time.Minute) // a server deletes what has expired
		window := quota.WindowAt(at.Add(3*time.Second), 10*time.Second)
		for _, step := range []struct {
			tenant     string
			window     quota.Window
			take, want quota.Amounts
		}{
			{"a", window, quota.Amounts{quota.Messages: 3}, quota.Amounts{quota.Messages: 3}},
			{"a", window, quota.Amounts{quota.Messages: 2, quota.Bytes: 70}, quota.Amounts{quota.Messages: 5, quota.Bytes: 70}},
			{"b", window, quota.Amounts{quota.Bytes: 1}, quota.Amounts{quota.Bytes: 1}},
			{"a", quota.WindowAt(at.Add(10*time.Second), 10*time.Second), quota.Amounts{quota.Messages: 4}, quota.Amounts{quota.Messages: 4}},
			{"a", quota.WindowAt(at, time.Minute), quota.Amounts{quota.NewQueues: 1, quota.NewChains: 2}, quota.Amounts{quota.NewQueues: 1, quota.NewChains: 2}},
		} {
			got, err := s.Take(t.Context(), step.tenant, step.window, step.take)
			if diff := cmp.Diff(step.want, got); err != nil || diff != "" {
				t.Errorf("%+v: %v\n%s", step, err, diff)
			}
			if total := meter.Take(); total.Writes != 1 || total.Reads != 0 {
				t.Errorf("%+v: %d writes, %d reads", step, total.Writes, total.Reads)
			}
		}
	})
}

// Whatever becomes of the request, a tenant is never given more than there is.
func TestTakeThatGoesWrong(t *testing.T) {
	for _, fault := range []ddbtest.Fault{ddbtest.Refused, ddbtest.Throttled, ddbtest.Lost, ddbtest.Repeated} {
		faults := ddbtest.NewFaults(ddb.NewMemory(quota.Names{}.Tables()...))
		s, window, part := quota.NewStore(faults, quota.Names{}), quota.WindowAt(at, time.Minute), quota.Amounts{quota.NewQueues: 2}
		faults.Fail(1, fault)
		got, err := s.Take(t.Context(), "a", window, part)
		after, check := s.Take(t.Context(), "a", window, part)
		want := map[ddbtest.Fault][2]int64{ddbtest.Refused: {0, 2}, ddbtest.Throttled: {0, 2}, ddbtest.Lost: {0, 4}, ddbtest.Repeated: {4, 6}}[fault]
		if (err != nil) != (fault != ddbtest.Repeated) || got[quota.NewQueues] != want[0] || after[quota.NewQueues] != want[1] || check != nil {
			t.Errorf("%s: %v, %v; then %v, %v; want %v", fault, got, err, after, check, want)
		}
	}
}

// desk is processes that share counters.
type desk struct {
	testing.TB
	now   time.Time
	meter *ddbtest.Meter
	fail  error
	store *quota.Store
	out   bytes.Buffer
}

func newDesk(t testing.TB) *desk {
	d := &desk{TB: t, now: at}
	memory := ddb.NewMemory(quota.Names{}.Tables()...)
	d.meter = ddbtest.NewMeter(ddb.Func(func(ctx context.Context, r ddb.Request) (ddb.Answer, error) {
		if d.fail != nil {
			return ddb.Answer{}, d.fail
		}
		return memory.Do(ctx, r)
	}))
	d.store = quota.NewStore(d.meter, quota.Names{})
	return d
}

// process is a Keeper of these limits for every tenant.
func (d *desk) process(limits quota.Amounts, more ...quota.Quota) *quota.Keeper {
	return quota.NewKeeper(d.store, append(more, quota.Quota{Name: "*", Limits: limits}), func() time.Time { return d.now })
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
	if !errors.As(err, &problem) || problem.Status != 429 || problem.Code() != "quota" || (problem.RetryAfter < 1) != strings.Contains(problem.Error(), "split") {
		d.Fatalf("error %v", err)
	}
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

func TestATenantGetsItsLimitInEachWindow(t *testing.T) {
	d := newDesk(t)
	k := d.process(quota.Amounts{quota.Messages: 100})
	for window := range 3 {
		if n := d.passed(k, "a", 2000); n != 1000 {
			t.Errorf("window %d: %d messages in 10 s, want 1,000", window, n)
		}
		d.now = d.now.Add(10 * time.Second)
	}
}

func TestAnotherTenantHasItsOwn(t *testing.T) {
	d := newDesk(t)
	k := d.process(quota.Amounts{quota.Messages: 1}, quota.Quota{Name: "b", Limits: quota.Amounts{quota.Messages: 2}}, quota.Quota{Name: "c", Limits: quota.Amounts{quota.Bytes: 1}})
	for tenant, want := range map[string]int{"a": 10, "b": 20, "c": 99, "": 99} {
		if n := d.passed(k, tenant, 99); n != want {
			t.Errorf("%q: %d messages, want %d", tenant, n, want)
		}
	}
	if n := d.passed(nil, "a", 9); n != 9 {
		t.Errorf("%d messages of 9 without quotas", n)
	}
}

// A request is refused for the kind of which there is not enough; nothing is counted
// of that, or of the others of its window.
func TestARequestPassesWhollyOrNotAtAll(t *testing.T) {
	d := newDesk(t)
	k := d.process(quota.Amounts{quota.Messages: 1, quota.Bytes: 100, quota.NewQueues: 2, quota.NewChains: 1})
	for i, step := range []struct {
		need quota.Amounts
		want string
	}{
		{quota.Amounts{quota.Messages: 11}, "messages"},
		{quota.Amounts{quota.Messages: 8, quota.Bytes: 1001}, "bytes"},
		{quota.Amounts{quota.Messages: 8, quota.Bytes: 900}, ""},
		{quota.Amounts{quota.Messages: 3, quota.Bytes: 1}, "messages"},
		{quota.Amounts{quota.Messages: 1, quota.Bytes: 101}, "bytes"},
		{quota.Amounts{quota.Messages: 1, quota.Bytes: 100, quota.NewQueues: 3}, "newQueues"},
		{quota.Amounts{quota.NewQueues: 2}, ""},
		{quota.Amounts{quota.NewQueues: 1}, "newQueues"},
		{quota.Amounts{quota.NewChains: 1}, ""},
		{quota.Amounts{quota.NewChains: 1}, "newChains"},
		// What passed the messages' window is taken, though it was refused after it.
		{quota.Amounts{quota.Messages: 1}, ""},
		{quota.Amounts{quota.Messages: 1}, "messages"},
	} {
		if got := d.take(k, "a", step.need); got != step.want {
			t.Errorf("%d: %v is refused for %q, want %q", i, step.need, got, step.want)
		}
	}
	for _, metric := range []string{`"QuotaExceeded":1`, `"quota":"newChains"`, `["service","quota"]`} {
		if !strings.Contains(d.out.String(), metric) {
			t.Errorf("no %s in the metrics: %s", metric, &d.out)
		}
	}
}

// The answer says which quota it is, and when to come again.
func TestWhatARefusedRequestIsTold(t *testing.T) {
	d := newDesk(t)
	d.now = d.now.Add(3500 * time.Millisecond)
	k := d.process(quota.Amounts{quota.Messages: 2})
	metrics := emf.New(&d.out, emf.Names{}).Begin()
	var problem *httpapi.Problem
	if err := k.Take(t.Context(), metrics, "a", quota.Amounts{quota.Messages: 21}); !errors.As(err, &problem) || !strings.Contains(problem.Detail, "split") {
		t.Errorf("%v", err)
	}
	_ = k.Take(t.Context(), metrics, "a", quota.Amounts{quota.Messages: 20})
	if err := k.Take(t.Context(), metrics, "a", quota.Amounts{quota.Messages: 1}); !errors.As(err, &problem) || problem.RetryAfter != 7 {
		t.Errorf("%v", err)
	}
	if diff := cmp.Diff(map[string]any{"quota": "messages", "limit": int64(2), "per": "second"}, problem.More); diff != "" {
		t.Error(diff)
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
					d.take(k, "a", quota.Amounts{quota.Messages: int64(c.batch), quota.Bytes: int64(c.batch) * 100})
				}
				total := d.meter.Take()
				t.Logf("window %d: %v write units, %.4f a message", window, total.Units.Writes, float64(total.Units.Writes)/float64(c.requests*c.batch))
				if window > 0 && float64(total.Units.Writes) > c.units || window == 0 && total.Writes > 7 || total.Reads != 0 {
					t.Errorf("window %d: %+v, want %v write units", window, total, c.units)
				}
				d.now = d.now.Add(10 * time.Second)
			}
		})
	}
}

// Where the counters do not answer, nobody is refused, and they are left alone until
// the next window.
func TestCountersThatDoNotAnswer(t *testing.T) {
	d := newDesk(t)
	k := d.process(quota.Amounts{quota.Messages: 1})
	d.fail = errors.New("nobody there")
	if n := d.passed(k, "a", 50); n != 50 {
		t.Errorf("%d of 50 passed", n)
	}
	if total := d.meter.Take(); total.Writes != 1 {
		t.Errorf("%d requests, want 1", total.Writes)
	}
	if !strings.Contains(d.out.String(), `"QuotaUnknown":1`) {
		t.Errorf("metrics: %s", &d.out)
	}
	d.fail, d.now = nil, d.now.Add(10*time.Second)
	if n := d.passed(k, "a", 50); n != 10 {
		t.Errorf("%d passed in the next window, want 10", n)
	}
}

// A counter that never answers keeps a request waiting for a second, and no other.
func TestACounterThatHangs(t *testing.T) {
	store := quota.NewStore(ddb.Func(func(ctx context.Context, _ ddb.Request) (ddb.Answer, error) {
		if deadline, ok := ctx.Deadline(); !ok || time.Until(deadline) > time.Second {
			t.Error("it may hang for longer")
		}
		return ddb.Answer{}, context.DeadlineExceeded
	}), quota.Names{})
	d := newDesk(t)
	d.store = store
	if n := d.passed(d.process(quota.Amounts{quota.Messages: 1}), "a", 20); n != 20 {
		t.Errorf("%d of 20 passed", n)
	}
}

// Processes together give a tenant its limit, and a hundredth of it each at the most
// beyond; one alone gives all of it.
func TestProcessesShareALimit(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		d := newDesk(t)
		limits := quota.Amounts{quota.Messages: rapid.Int64Range(1, 500).Draw(r, "limit")}
		processes := make([]*quota.Keeper, rapid.IntRange(1, 8).Draw(r, "processes"))
		for i := range processes {
			processes[i] = d.process(limits)
		}
		limit := limits[quota.Messages] * 10
		for range rapid.IntRange(1, 4).Draw(r, "windows") {
			var passed int64
			for range rapid.IntRange(0, 60).Draw(r, "requests") {
				k := processes[rapid.IntRange(0, len(processes)-1).Draw(r, "process")]
				n := rapid.Int64Range(1, limit).Draw(r, "messages")
				if d.take(k, "a", quota.Amounts{quota.Messages: n}) == "" {
					passed += n
				} else if len(processes) == 1 && passed+n <= limit {
					r.Fatalf("%d refused after %d of %d", n, passed, limit)
				}
			}
			if most := limit + int64(len(processes))*(limit/100); passed > most || len(processes) == 1 && passed > limit {
				r.Fatalf("%d passed, the limit is %d", passed, limit)
			}
			d.now = d.now.Add(10 * time.Second)
		}
	})
}

// A process that was told that nothing is left asks no more in that window.
func TestATenantThatIsOverItsLimitCostsNothing(t *testing.T) {
	d := newDesk(t)
	limits := quota.Amounts{quota.Messages: 100}
	d.passed(d.process(limits), "a", 1000)
	d.meter.Take()
	if n := d.passed(d.process(limits), "a", 1000); n != 10 {
		t.Errorf("%d passed, want the free hundredth", n)
	}
	if total := d.meter.Take(); total.Writes != 1 {
		t.Errorf("%d writes, want 1", total.Writes)
	}
}

// A process whose last window is long ago takes what it needs, and leaves the rest to
// others.
func TestAProcessThatRestedTakesLittle(t *testing.T) {
	d := newDesk(t)
	limits := quota.Amounts{quota.Messages: 100}
	rested, other := d.process(limits), d.process(limits)
	d.passed(rested, "a", 900)
	d.now = d.now.Add(time.Hour)
	d.passed(rested, "a", 11)
	if n := d.passed(other, "a", 1000); n < 900 {
		t.Errorf("%d were left for another process", n)
	}
}
