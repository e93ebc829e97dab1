package ui

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/jsonseq"
	"github.com/streamsort/streamsort/internal/view"
)

// TestRuler draws queues: runs in order, without a hole between them, in the box also at the ends
// of the range of seqs.
func TestRuler(t *testing.T) {
	const last = math.MaxInt64
	at := func(first, position, maxParked jsonseq.Seq, parked int) queue {
		return queue{
			Position: position, MaxParked: maxParked, First: first, Parked: parked, GapOpen: maxParked > 0,
		}
	}
	more := at(1, 2, 5, 6)
	more.Queue = "more"
	for name, c := range map[string]struct {
		q         queue
		missing   []gap
		consumers []consumer
		want      []span // without places
	}{
		"empty":    {at(1, 0, 0, 0), nil, nil, nil},
		"in order": {at(1, 5, 0, 0), nil, []consumer{{Head: view.Head{Delivered: new(jsonseq.Seq(2))}}}, []span{{Kind: "done", From: 1, To: 5}}},
		"a gap":    {at(1, 2, 5, 0), []gap{{From: 3, To: 4}}, nil, []span{{Kind: "done", From: 1, To: 2}, {Kind: "missing", From: 3, To: 4}, {Kind: "parked", From: 5, To: 5}}},
		"parked beyond the first that is known": {
			at(1, 2, 5, 6),
			[]gap{{From: 3, To: 4}},
			nil,
			[]span{{Kind: "done", From: 1, To: 2}, {Kind: "missing", From: 3, To: 4}, {Kind: "parked", From: 5, To: 10}},
		},
		"more gaps": {
			more,
			[]gap{{From: 3, To: 4}},
			nil,
			[]span{{Kind: "done", From: 1, To: 2}, {Kind: "missing", From: 3, To: 4}, {Kind: "parked", From: 5, To: 5}},
		},
		"two gaps":      {at(1, 2, 5, 0), []gap{{From: 3, To: 4}, {From: 7, To: 8}}, nil, []span{{Kind: "done", From: 1, To: 2}, {Kind: "missing", From: 3, To: 4}, {Kind: "parked", From: 5, To: 6}, {Kind: "missing", From: 7, To: 8}, {Kind: "parked", From: 9, To: 9}}},
		"the last seqs": {at(1, last-2, last, 0), []gap{{From: last - 1, To: last - 1}}, nil, []span{{Kind: "done", From: last - 11, To: last - 2}, {Kind: "missing", From: last - 1, To: last - 1}, {Kind: "parked", From: last, To: last}}},
	} {
		t.Run(name, func(t *testing.T) {
			r := draw(c.q, gaps{Gaps: c.missing, More: c.q.Queue == "more"}, c.consumers)
			var got []span
			for _, s := range r.Spans {
				check.That(t, s.X >= 0 && s.X+s.Width <= rulerWidth+0.01 && s.Width >= leastWidth,
					"%+v is not in the box", s)
				got = append(got, span{Kind: s.Kind, From: s.From, To: s.To})
			}
			check.Is(t, cmp.Diff(c.want, got), "")
			for _, m := range r.Marks {
				check.That(t, m.X >= 0 && m.X <= rulerWidth, "%+v is not in the box", m)
			}
		})
	}
}

// TestChart draws figures in their box, and has the same as a table, the latest first.
func TestChart(t *testing.T) {
	began := time.Unix(1_790_000_000, 0)
	samples := []sample{{began, 10}, {began.Add(10 * time.Second), 10},
		{began.Add(20 * time.Second), 30}, {began.Add(40 * time.Second), 30}}
	times := timesOf(samples)
	if n := len(times); n != 21 || !times[0].Equal(began) || !times[20].Equal(samples[3].at) {
		t.Fatalf("%d times: %v", n, times)
	}
	rates := perMinute(samples, times)
	for i, want := range map[int][2]float64{0: {10, 0}, 5: {10, 0}, 6: {14, 120},
		10: {30, 120}, 20: {30, 0}} {
		value := math.Round(at(samples, times[i]))
		check.That(t, value == want[0] && math.Abs(rates[i]-want[1]) <= 1e-6,
			"after %d s: %v, %v a minute, not %v", 2*i, value, rates[i], want)
	}
	c := level("Lag", "messages", samples)
	points := strings.Fields(c.Lines[0].Points)
	check.That(t, len(points) == 21 && points[0] == "0.0,52.7" && points[20] == "300.0,2.0", "%q",
		points)
	check.That(t, c.Top == "30" && c.Lines[0].Last == "30" && c.Rows[0].Values[0] == "30" &&
		c.Rows[20].Values[0] == "10" && len(c.Rows) == 21,
		"%+v", c)
	c = drawChart("Lag", timesOf(samples[:1]), series{"messages", "first", []float64{1}})
	check.That(t, c.Note != "" && c.Lines == nil, "%+v", c)
}

// TestTrendsAreBounded: a line has its first sample for half an hour, in no more than so many.
func TestTrendsAreBounded(t *testing.T) {
	began := time.Unix(1_790_000_000, 0)
	lines := newTrends()
	for i := range 3000 {
		samples := lines.note("a line", began.Add(time.Duration(i)*time.Second), int64(i))
		if first := samples[0].value; len(samples) > mostSamples ||
			int64(i)-first < min(int64(i), 1700) || samples[len(samples)-1].value != int64(i) {
			t.Fatalf("after %d s: %d samples, from %d", i, len(samples), first)
		}
	}
}
