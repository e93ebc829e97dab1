package figures_test

import (
	"strings"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/figures"
)

// TestMeasuredSaysWhy: what is more than a tenth above its limit as the page has it, or has none, says why; columns that
// nobody fills are not there.
func TestMeasuredSaysWhy(t *testing.T) {
	table := func(ratio float64, why string) figures.Measured {
		return figures.Measured{Title: "T", About: "A.", Case: "case", Others: []string{"one", "other"}, Rows: []figures.MeasuredRow{
			{Name: "a", Limit: "1 ms", Ours: "2 ms", Others: []string{"3 ms"}, Ratio: ratio, Why: why},
			{Name: "b", Limit: "1 ms", Ours: "1 ms", Ratio: 1},
		}}
	}
	for _, c := range []struct {
		ratio     float64
		why, want string
	}{
		{1.1004, "", "| a | 1 ms | 2 ms | 1.100 | 3 ms |\n| b | 1 ms | 1 ms | 1.000 |  |\n"},
		{1.1006, "because", "Above 1.10 (a): because.\n"},
		{1.1006, "because", "| a | 1 ms | 2 ms | 1.101 | 3 ms |\n"},
		{0, "because", "| a | 1 ms | 2 ms | not known | 3 ms |\n"},
		{0, "because", "No limit is known here (a): because.\n"},
	} {
		if text, err := table(c.ratio, c.why).Text(); err != nil || !strings.Contains(text, c.want) {
			t.Errorf("%g: %v\n%s\nwant %q", c.ratio, err, text, c.want)
		}
	}
	for _, ratio := range []float64{1.1006, 0} {
		if _, err := table(ratio, "").Text(); err == nil || !strings.HasPrefix(err.Error(), "T: a: ") {
			t.Errorf("%g without a reason: %v", ratio, err)
		}
	}
}
