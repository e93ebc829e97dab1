package ui

import (
	"testing"
	"time"
)

// TestTrend says how a figure went, also where that is slow.
func TestTrend(t *testing.T) {
	began := time.Unix(1_790_000_000, 0)
	for want, values := range map[string][]int64{"–": {7}, "steady": {7, 7}, "+0.1/s": {7, 13}, "-0.1/s": {13, 7}, "slowly up": {7, 8}, "slowly down": {8, 7}} {
		lines := newTrends()
		var got trend
		for i, value := range values {
			got = trendOf(lines.note("a line", began.Add(time.Duration(i)*time.Minute), value))
		}
		if got.Text() != want || (got.Points == "") == (len(values) > 1) {
			t.Errorf("%v: %s, %q", values, got.Text(), got.Points)
		}
	}
}
