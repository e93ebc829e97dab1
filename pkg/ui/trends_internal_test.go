package ui

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/dev/check"
)

// TestChart draws figures in their box, and has the same as a table, the latest first.
func TestChart(t *testing.T) {
	began := time.Unix(1_790_000_000, 0)
	samples := []sample{{began, 10}, {began.Add(10 * time.Second), 10}, {began.Add(20 * time.Second), 30}, {began.Add(40 * time.Second), 30}}
	times := timesOf(samples)
	if n := len(times); n != 21 || !times[0].Equal(began) || !times[20].Equal(samples[3].at) {
		t.Fatalf("%d times: %v", n, times)
	}
	levels, rates := levels(samples, times), perMinute(samples, times)
	for i, want := range map[int][2]float64{0: {10, 0}, 5: {10, 0}, 6: {14, 120}, 10: {30, 120}, 20: {30, 0}} {
		check.That(t, levels[i] == want[0] && math.Abs(rates[i]-want[1]) <= 1e-6,
			"after %d s: %v, %v a minute, not %v", 2*i, levels[i], rates[i], want)
	}
	c := drawChart("Lag", times, series{"messages", "first", levels})
	if points := strings.Fields(c.Lines[0].Points); len(points) != 21 || points[0] != "0.0,52.7" || points[20] != "300.0,2.0" {
		t.Errorf("%q", points)
	}
	if c.Top != "30" || c.Lines[0].Last != "30" || c.Rows[0].Values[0] != "30" || c.Rows[20].Values[0] != "10" || len(c.Rows) != 21 {
		t.Errorf("%+v", c)
	}
	if c := drawChart("Lag", timesOf(samples[:1]), series{"messages", "first", []float64{1}}); c.Note == "" || c.Lines != nil {
		t.Errorf("%+v", c)
	}
}

// TestTrendsAreBounded: a line has its first sample for half an hour, in no more than so many.
func TestTrendsAreBounded(t *testing.T) {
	began := time.Unix(1_790_000_000, 0)
	lines := newTrends()
	for i := range 3000 {
		samples := lines.note("a line", began.Add(time.Duration(i)*time.Second), int64(i))
		if first := samples[0].value; len(samples) > mostSamples || int64(i)-first < min(int64(i), 1700) || samples[len(samples)-1].value != int64(i) {
			t.Fatalf("after %d s: %d samples, from %d", i, len(samples), first)
		}
	}
}
