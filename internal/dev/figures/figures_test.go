package figures

import (
	"flag"
	"strings"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/check"
)

var update = flag.Bool("update", false, "write the counted part of docs/reference/figures.md, and its pictures")

// TestThePageIsWhatIsCounted holds docs/reference/figures.md to a count: each count of requests.
func TestThePageIsWhatIsCounted(t *testing.T) {
	tables := Count()
	err := File("../../..").Counted(tables, *update)
	check.That(t, err == nil, "%v", err)
	for _, r := range tables[0].Rows {
		check.That(t, r.dollars[1] <= r.dollars[2], "%s %.3f %.3f", r.Name, r.dollars[1], r.dollars[2])
	}
}

// TestARowSaysWhy: what is more than a tenth above its limit as the page has it, or has none, says
// why; what is counted is not below it; columns that no row fills are not there.
func TestARowSaysWhy(t *testing.T) {
	table := func(r Row) Table {
		r.Name, r.Limit, r.Ours, r.Others = "a", "1 ms", "2 ms", []string{"3 ms"}
		return Table{Title: "T", About: "A.", Case: "case", Others: []string{"one", "other"}, Rows: []Row{
			r, {Name: "b", Limit: "1 ms", Ours: "1 ms", Ratio: 1},
		}}
	}
	for _, c := range []struct {
		row  Row
		want string // of the text, or of the error
	}{
		{Row{Ratio: 1.1004}, "| a | 1 ms | 2 ms | 1.100 | 3 ms |\n| b | 1 ms | 1 ms | 1.000 |  |\n"},
		{Row{Ratio: 1.1006, Why: "because"}, "Above 1.10 (a): because.\n"},
		{Row{Ratio: 1.1006, Why: "because"}, "| a | 1 ms | 2 ms | 1.101 | 3 ms |\n"},
		{Row{Why: "because"}, "| a | 1 ms | 2 ms | not known | 3 ms |\n"},
		{Row{Why: "because"}, "No limit is known here (a): because.\n"},
		{Row{Ratio: 0.9}, "| a | 1 ms | 2 ms | 0.9000 | 3 ms |\n"},
		{Row{Ratio: 0.9, dollars: []float64{1, 1}}, "T: a: 0.9000 of its limit, so that is no limit"},
		{Row{Ratio: 1.1006}, "T: a: 1.101 of its limit, and the table does not say why"},
		{Row{}, "T: a: not known of its limit, and the table does not say why"},
	} {
		text, err := table(c.row).Text()
		if err != nil {
			text = err.Error()
		}
		check.That(t, strings.Contains(text, c.want), "%+v: %s\nwant %q", c.row, text, c.want)
	}
}
