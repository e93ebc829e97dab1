package eventsource

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/localstack/template"
)

// start is the beginning of virtual time in the tests of lanes.
var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// clockedLane drives a lane by hand and writes down what it does.
type clockedLane struct {
	*lane
	now   time.Time
	trace []string
}

func newClockedLane(m template.Mapping) *clockedLane {
	if m.BatchSize == 0 {
		m.BatchSize = 100
	}
	return &clockedLane{
		lane: &lane{mapping: &m, backoff: func(n int) time.Duration { return time.Duration(n) * time.Second }, chaos: Chaos{}.Dice(0)},
		now:  start,
	}
}

// span names the records of a batch: "1", "1-4".
func span(b *batch) string {
	first, last := b.records[0].sequence, b.records[len(b.records)-1].sequence
	if first == last {
		return first
	}
	return first + "-" + last
}

// drain lets the lane work until it waits for something from outside.
func (l *clockedLane) drain(answer func(*batch) outcome) {
	for range 10_000 {
		b, wait := l.next(l.now)
		switch {
		case b == nil && wait.IsZero():
			return
		case b == nil:
			l.now = wait
		case b.condition != "":
			l.trace = append(l.trace, fmt.Sprintf("%s %s after %d", span(b), b.condition, b.invokes))
			l.discarded(l.now)
		default:
			o := answer(b)
			result := "ok"
			switch {
			case !o.reached:
				result = "throttled"
			case o.firstFailed == 0:
				result = "failed"
			case o.firstFailed < len(b.records):
				result = fmt.Sprintf("failed at %s", b.records[o.firstFailed].sequence)
			}
			l.trace = append(l.trace, span(b)+" "+result)
			l.finish(b, o, l.now)
		}
	}
	l.trace = append(l.trace, "never ends")
}

// sequences is "1" to "n".
func sequences(n int) []string {
	var s []string
	for i := range n {
		s = append(s, fmt.Sprint(i+1))
	}
	return s
}

// failing answers like a function that cannot take some records, each for a number of times (-1:
// for ever). With report it names the first of them, otherwise it fails as a whole.
func failing(report bool, bad map[string]int) func(*batch) outcome {
	kind := "Unhandled"
	return func(b *batch) outcome {
		for i, r := range b.records {
			if bad[r.sequence] == 0 {
				continue
			}
			bad[r.sequence]--
			if report {
				return outcome{reached: true, firstFailed: i}
			}
			return outcome{reached: true, functionError: &kind}
		}
		return outcome{reached: true, firstFailed: len(b.records)}
	}
}

func TestLaneFailures(t *testing.T) {
	tests := []struct {
		name    string
		mapping template.Mapping
		records int
		report  bool
		bad     map[string]int
		want    []string
	}{
		{
			name: "all accepted", mapping: template.Mapping{BatchSize: 3}, records: 7,
			want: []string{"1-3 ok", "4-6 ok", "7 ok"},
		},
		{
			name: "the whole batch again", mapping: template.Mapping{MaxRetries: -1}, records: 3, bad: map[string]int{"2": 3},
			want: []string{"1-3 failed", "1-3 failed", "1-3 failed", "1-3 ok"},
		},
		{
			name: "retries used up", mapping: template.Mapping{BatchSize: 3, MaxRetries: 2}, records: 4, bad: map[string]int{"2": -1},
			want: []string{"1-3 failed", "1-3 failed", "1-3 failed", "1-3 RetryAttemptsExhausted after 3", "4 ok"},
		},
		{
			name: "no retries", mapping: template.Mapping{MaxRetries: 0}, records: 1, bad: map[string]int{"1": -1},
			want: []string{"1 failed", "1 RetryAttemptsExhausted after 1"},
		},
		{
			name: "the last retry succeeds", mapping: template.Mapping{MaxRetries: 2}, records: 2, bad: map[string]int{"2": 2},
			want: []string{"1-2 failed", "1-2 failed", "1-2 ok"},
		},
		{
			name: "bisect isolates the bad record", mapping: template.Mapping{MaxRetries: 1, Bisect: true}, records: 8, bad: map[string]int{"6": -1},
			want: []string{
				"1-8 failed", "1-4 ok", "5-8 failed", "5-6 failed", "5 ok",
				"6 failed", "6 failed", "6 RetryAttemptsExhausted after 5", "7-8 ok",
			},
		},
		{
			name: "bisect does not use up retries", mapping: template.Mapping{MaxRetries: 0, Bisect: true}, records: 3, bad: map[string]int{"1": 3, "3": -1},
			want: []string{
				"1-3 failed", "1 failed", "1 RetryAttemptsExhausted after 2",
				"2-3 failed", "2 ok", "3 failed", "3 RetryAttemptsExhausted after 3",
			},
		},
		{
			name: "partial: on from the failed record", mapping: template.Mapping{MaxRetries: -1}, records: 5, report: true, bad: map[string]int{"3": 2},
			want: []string{"1-5 failed at 3", "3-5 failed", "3-5 ok"},
		},
		{
			// The behaviour recorded on AWS: 5 deliveries of the last record of three with 3
			// retries, and a message that says 4.
			name: "partial: progress renews the retries", mapping: template.Mapping{MaxRetries: 3}, records: 3, report: true, bad: map[string]int{"3": -1},
			want: []string{"1-3 failed at 3", "3 failed", "3 failed", "3 failed", "3 failed", "3 RetryAttemptsExhausted after 4"},
		},
		{
			name: "partial: everything behind a bad first record is given up with it", mapping: template.Mapping{MaxRetries: 1}, records: 3, report: true, bad: map[string]int{"1": -1},
			want: []string{"1-3 failed", "1-3 failed", "1-3 RetryAttemptsExhausted after 2"},
		},
		{
			name: "partial and bisect: split at the returned record", mapping: template.Mapping{Bisect: true, MaxRetries: 1}, records: 6, report: true, bad: map[string]int{"3": -1},
			want: []string{
				"1-6 failed at 3", "3-6 failed", "3-4 failed", "3 failed", "3 failed", "3 RetryAttemptsExhausted after 4",
				"4 ok", "5-6 ok",
			},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			l := newClockedLane(test.mapping)
			for _, r := range numbered(sequences(test.records)...) {
				l.add(r, l.now)
			}
			l.drain(failing(test.report, test.bad))
			check.Is(t, cmp.Diff(test.want, l.trace), "")
			check.That(t, l.size() == 0 && l.bytes == 0, "%d %d", l.size(), l.bytes)
		})
	}
}

func TestLaneBacksOffBetweenRetries(t *testing.T) {
	l := newClockedLane(template.Mapping{MaxRetries: 2})
	l.add(numbered("1")[0], l.now)
	var at []time.Duration
	l.drain(func(*batch) outcome {
		at = append(at, l.now.Sub(start))
		return outcome{reached: true}
	})
	check.Is(t, cmp.Diff([]time.Duration{0, time.Second, 3 * time.Second}, at), "")
}

// A throttled invocation is tried again without using up retries, and is never bisected.
func TestLaneThrottled(t *testing.T) {
	l := newClockedLane(template.Mapping{MaxRetries: 1})
	for _, r := range numbered("1", "2") {
		l.add(r, l.now)
	}
	calls := 0
	l.drain(func(b *batch) outcome {
		calls++
		return outcome{reached: calls > 3, firstFailed: (calls / 5) * len(b.records)}
	})
	want := []string{"1-2 throttled", "1-2 throttled", "1-2 throttled", "1-2 failed", "1-2 ok"}
	check.Is(t, cmp.Diff(want, l.trace), "")

	l = newClockedLane(template.Mapping{MaxRetries: -1, Bisect: true})
	for _, r := range numbered("1", "2") {
		l.add(r, l.now)
	}
	calls = 0
	l.drain(func(b *batch) outcome {
		calls++
		return outcome{reached: calls > 1, firstFailed: len(b.records)}
	})
	check.Is(t, cmp.Diff([]string{"1-2 throttled", "1-2 ok"}, l.trace), "")
}

func TestLaneRecordAge(t *testing.T) {
	always := map[string]int{"1": -1, "2": -1, "3": -1}
	throttled := func(*batch) outcome { return outcome{} }
	tests := []struct {
		name    string
		mapping template.Mapping
		ages    []time.Duration // at the start
		answer  func(*batch) outcome
		want    []string
	}{
		{
			name: "too old before the first invocation", mapping: template.Mapping{MaxRecordAge: time.Minute}, ages: []time.Duration{2 * time.Minute, 61 * time.Second, time.Minute},
			answer: failing(false, nil),
			want:   []string{"1-2 RecordAgeExceeded after 0", "3 ok"},
		},
		{
			name: "too old while it is retried", mapping: template.Mapping{MaxRecordAge: time.Minute, MaxRetries: -1}, ages: []time.Duration{59 * time.Second, 56 * time.Second},
			answer: failing(false, always),
			want:   []string{"1-2 failed", "1-2 failed", "1 RecordAgeExceeded after 2", "2 failed", "2 RecordAgeExceeded after 3"},
		},
		{
			name: "too old while it is throttled", mapping: template.Mapping{MaxRecordAge: time.Minute}, ages: []time.Duration{58 * time.Second},
			answer: throttled,
			want:   []string{"1 throttled", "1 throttled", "1 RecordAgeExceeded after 0"},
		},
		{
			name: "without limits until the stream forgets it", mapping: template.Mapping{MaxRetries: -1}, ages: []time.Duration{24*time.Hour - 2*time.Second},
			answer: failing(false, always),
			want:   []string{"1 failed", "1 failed", "1 RecordAgeExceeded after 2"},
		},
		{
			name: "an old record is delivered once without a limit", mapping: template.Mapping{MaxRetries: -1}, ages: []time.Duration{48 * time.Hour},
			answer: failing(false, nil),
			want:   []string{"1 ok"},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			l := newClockedLane(test.mapping)
			for i, age := range test.ages {
				l.add(&record{sequence: fmt.Sprint(i + 1), at: start.Add(-age), json: []byte("{}")}, l.now)
			}
			l.drain(test.answer)
			check.Is(t, cmp.Diff(test.want, l.trace), "")
		})
	}
}

func TestLaneBatchingWindow(t *testing.T) {
	accept := func(b *batch) outcome { return outcome{reached: true, firstFailed: len(b.records)} }
	l := newClockedLane(template.Mapping{BatchSize: 3, Window: 10 * time.Second})
	records := numbered(sequences(9)...)
	add := func(after time.Duration, from, to int) {
		l.now = start.Add(after)
		for _, r := range records[from-1 : to] {
			l.add(r, l.now)
		}
	}
	expect := func(wantWait time.Duration, wantTrace ...string) {
		t.Helper()
		// Only what is due now: time does not go on by itself here.
		for {
			b, wait := l.next(l.now)
			if b == nil {
				if !wait.IsZero() != (wantWait > 0) || wantWait > 0 && !wait.Equal(start.Add(wantWait)) {
					t.Errorf("waits until %v, want %v", wait.Sub(start), wantWait)
				}
				break
			}
			l.trace = append(l.trace, span(b))
			l.finish(b, accept(b), l.now)
		}
		check.Is(t, cmp.Diff(wantTrace, l.trace), "")
	}

	add(0, 1, 1)
	expect(10 * time.Second)
	add(4*time.Second, 2, 2)
	expect(10 * time.Second)
	l.now = start.Add(10 * time.Second)
	expect(0, "1-2") // the window is over
	add(12*time.Second, 3, 3)
	expect(20*time.Second, "1-2") // the next one began when the invocation was complete
	add(13*time.Second, 4, 5)
	expect(0, "1-2", "3-5") // full before the window is over
	add(60*time.Second, 6, 6)
	expect(70*time.Second, "1-2", "3-5") // a window that ended empty begins with the next record
	l.closed = true
	expect(0, "1-2", "3-5", "6") // nothing more can come
}

func TestLanePayloadLimit(t *testing.T) {
	l := newClockedLane(template.Mapping{BatchSize: 10, Window: time.Minute})
	big := func(n int) *record {
		return &record{sequence: fmt.Sprint(n), json: []byte(`"` + strings.Repeat("x", 2<<20) + `"`)}
	}
	for n := range 4 {
		l.add(big(n+1), l.now)
	}
	var sizes []int
	b, _ := l.next(l.now)
	check.Need(t, b != nil, "6 MB are there and the lane waits for the window's end")
	sizes = append(sizes, len(b.payload()))
	l.finish(b, outcome{reached: true, firstFailed: len(b.records)}, l.now)
	check.That(t, len(b.records) == 2 && sizes[0] <= maxPayload, "%d %d", len(b.records), sizes[0])

	huge := &record{sequence: "9", json: []byte(`"` + strings.Repeat("x", maxPayload) + `"`)}
	l = newClockedLane(template.Mapping{BatchSize: 10})
	l.add(huge, l.now)
	b, _ = l.next(l.now)
	check.That(t, b != nil && len(b.records) == 1, "a record larger than the limit is not sent alone")
}

func TestLaneIsBusyWhileInvoking(t *testing.T) {
	l := newClockedLane(template.Mapping{BatchSize: 1})
	for _, r := range numbered("1", "2") {
		l.add(r, l.now)
	}
	first, _ := l.next(l.now)
	b, wait := l.next(l.now)
	check.Need(t, b == nil && wait.IsZero(), "%v", b)
	l.finish(first, outcome{reached: true, firstFailed: 1}, l.now)
	b, _ = l.next(l.now)
	check.That(t, b != nil && b.records[0].sequence == "2", "next batch = %v, want record 2", b)
}

// Chaos repeats from some record on, before anything else, and counts a record as delivered once.
func TestLaneChaosRepeats(t *testing.T) {
	l := newClockedLane(template.Mapping{BatchSize: 4, MaxRetries: -1})
	l.chaos = Chaos{Seed: 1, Duplicate: 0.5}.Dice(0)
	const n = 200
	for _, r := range numbered(sequences(n)...) {
		l.add(r, l.now)
	}
	var got []int
	delivered, repeated := 0, 0
	for l.size() > 0 {
		b, wait := l.next(l.now)
		if b == nil {
			l.now = wait
			continue
		}
		for _, r := range b.records {
			var s int
			_, _ = fmt.Sscan(r.sequence, &s)
			got = append(got, s)
		}
		tally := l.finish(b, outcome{reached: true, firstFailed: len(b.records)}, l.now)
		delivered += tally.delivered
		repeated += tally.repeated
	}
	check.That(t, delivered == n && repeated != 0 && len(got) == n+repeated,
		"%d of %d delivered, %d repeated, %d in all", delivered, n, repeated, len(got))
	seen, overlapping := 0, false
	for i, s := range got {
		check.Need(t, s <= seen+1 && (i == 0 || s <= got[i-1]+1), "%d in %v", s, got)
		overlapping = overlapping || i > 0 && s <= seen && s != got[i-1]+1 && s%4 != 1
		seen = max(seen, s)
	}
	check.That(t, overlapping, "no repetition began within a batch")
}

func TestLaneChaosIsLate(t *testing.T) {
	l := newClockedLane(template.Mapping{BatchSize: 1})
	l.chaos = Chaos{Seed: 3, Late: 1, LateBy: time.Minute}.Dice(0)
	for _, r := range numbered("1", "2", "3") {
		l.add(r, l.now)
	}
	var at []time.Duration
	l.drain(func(b *batch) outcome {
		at = append(at, l.now.Sub(start))
		return outcome{reached: true, firstFailed: 1}
	})
	check.That(t, slices.IsSorted(at) && at[0] != 0 && at[2] <= 3*time.Minute, "delivered at %v", at)
	check.Is(t, cmp.Diff([]string{"1 ok", "2 ok", "3 ok"}, l.trace), "")
}

// Chaos drops whole batches: each record is delivered or dropped, in order, and a dropped one never
// comes.
func TestLaneChaosDrops(t *testing.T) {
	l := newClockedLane(template.Mapping{BatchSize: 2, MaxRetries: -1})
	l.chaos = Chaos{Seed: 1, Drop: 0.5}.Dice(0)
	const n = 100
	for _, r := range numbered(sequences(n)...) {
		l.add(r, l.now)
	}
	l.drain(failing(false, nil))
	delivered, lost := 0, 0
	for i, said := range l.trace {
		span := fmt.Sprintf("%d-%d", 2*i+1, 2*i+2)
		switch said {
		case span + " ok":
			delivered++
		case span + " Dropped after 0":
			lost++
		default:
			t.Errorf("step %d: %s, want that of %s", i, said, span)
		}
	}
	check.That(t, delivered+lost == n/2 && delivered != 0 && lost != 0 && l.size() == 0,
		"%d batches delivered, %d dropped, %d records left", delivered, lost, l.size())
}
