package eventsource

import (
	"fmt"
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
	now       time.Time
	trace     []string
	delivered int
}

// newClockedLane is a lane to which the records 1 to n were added.
func newClockedLane(m template.Mapping, n int) *clockedLane {
	if m.BatchSize == 0 {
		m.BatchSize = 100
	}
	l := &clockedLane{now: start, lane: &lane{
		mapping: &m, chaos: Chaos{}.Dice(0),
		backoff: func(n int) time.Duration { return time.Duration(n) * time.Second },
	}}
	l.add(1, n)
	return l
}

// add adds records by their sequence numbers.
func (l *clockedLane) add(from, to int) {
	for n := from; n <= to; n++ {
		l.lane.add(numbered(n, n)[0], l.now)
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
			l.done(l.now)
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
			delivered, _ := l.finish(b, o, l.now)
			l.delivered += delivered
		}
	}
	l.trace = append(l.trace, "never ends")
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
			name: "retries used up", mapping: template.Mapping{BatchSize: 3, MaxRetries: 2}, records: 4, bad: map[string]int{"2": -1},
			want: []string{"1-3 failed", "1-3 failed", "1-3 failed", "1-3 RetryAttemptsExhausted after 3", "4 ok"},
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
			l := newClockedLane(test.mapping, test.records)
			l.drain(failing(test.report, test.bad))
			check.Is(t, cmp.Diff(test.want, l.trace), "")
			check.That(t, l.size() == 0 && l.bytes == 0, "%d %d", l.size(), l.bytes)
		})
	}
}

// TestLaneThrottled: an invocation that is throttled is tried again later and later, uses up no
// retries, and is never bisected; one that fails is.
func TestLaneThrottled(t *testing.T) {
	l := newClockedLane(template.Mapping{Bisect: true}, 2)
	calls := 0
	l.drain(func(b *batch) outcome {
		calls++
		return outcome{reached: calls > 3, firstFailed: calls / 5}
	})
	want := []string{"1-2 throttled", "1-2 throttled", "1-2 throttled", "1-2 failed", "1 ok", "2 ok"}
	check.Is(t, cmp.Diff(want, l.trace), "")
	check.Is(t, l.now.Sub(start), (1+2+3+4)*time.Second)
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
			l := newClockedLane(test.mapping, 0)
			for i, age := range test.ages {
				l.lane.add(&record{sequence: fmt.Sprint(i + 1), at: start.Add(-age), json: []byte("{}")}, l.now)
			}
			l.drain(test.answer)
			check.Is(t, cmp.Diff(test.want, l.trace), "")
		})
	}
}

func TestLaneBatchingWindow(t *testing.T) {
	l := newClockedLane(template.Mapping{BatchSize: 3, Window: 10 * time.Second}, 0)
	add := func(after time.Duration, from, to int) {
		l.now = start.Add(after)
		l.add(from, to)
	}
	expect := func(wantWait time.Duration, wantTrace ...string) {
		t.Helper()
		// Only what is due now: time does not go on by itself here.
		for {
			b, wait := l.next(l.now)
			if b == nil {
				check.That(t, !wait.IsZero() == (wantWait > 0) && (wantWait <= 0 ||
					wait.Equal(start.Add(wantWait))), "waits until %v, want %v", wait.Sub(start), wantWait)
				break
			}
			l.trace = append(l.trace, span(b))
			l.finish(b, outcome{reached: true, firstFailed: len(b.records)}, l.now)
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
	// One that is too large goes alone.
	for want, size := range map[int]int{2: 2 << 20, 1: maxPayload} {
		l := newClockedLane(template.Mapping{BatchSize: 10, Window: time.Minute}, 0)
		for range 4 {
			l.lane.add(&record{json: []byte(strings.Repeat("x", size))}, l.now)
		}
		b, _ := l.next(l.now)
		check.Need(t, b != nil, "6 MB are there and the lane waits for the window's end")
		check.Is(t, len(b.records), want)
	}
}

// TestLaneChaos: a batch is repeated from some record on, before anything else, and its records are
// delivered once; held back, and in order; or left out, and never comes.
func TestLaneChaos(t *testing.T) {
	for name, c := range map[string]struct {
		chaos Chaos
		want  []string
	}{
		"repeats": {Chaos{Seed: 4, Duplicate: 0.5}, []string{
			"0s", "1-4 ok", "0s", "1-4 ok", "0s", "1-4 ok", "0s", "2-5 ok", "0s", "6-9 ok",
			"0s", "10 ok", "0s", "10 ok",
		}},
		"late": {Chaos{Seed: 3, Late: 0.5, LateBy: time.Minute}, []string{
			"0s", "1-4 ok", "8s", "5-8 ok", "44s", "9-10 ok",
		}},
		"drops": {Chaos{Seed: 1, Drop: 0.5}, []string{
			"1-4 Dropped after 0", "0s", "5-8 ok", "9-10 Dropped after 0",
		}},
	} {
		l := newClockedLane(template.Mapping{BatchSize: 4}, 10)
		l.chaos = c.chaos.Dice(0)
		l.drain(func(b *batch) outcome {
			l.trace = append(l.trace, l.now.Sub(start).Truncate(time.Second).String())
			return outcome{reached: true, firstFailed: len(b.records)}
		})
		check.Is(t, cmp.Diff(c.want, l.trace), "", name)
		check.Is(t, l.delivered, map[string]int{"repeats": 10, "late": 10, "drops": 4}[name], name)
	}
}
