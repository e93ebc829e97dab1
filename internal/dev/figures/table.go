// Package figures counts what the operations take, for docs/reference/figures.md: requests' units
// by AWS's rules, on tables in memory that charge as DynamoDB does, beside what any algorithm must
// take at least, the older systems' algorithm, and SQS FIFO.
//
// [Count] counts, and [File] has the page. The counts are the same in every run: a test holds the
// page to them, and the tests of internal/ddb hold the tables in memory to real servers.
// verify/bench measures times, and writes its tables into the same page.
package figures

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/ddbtest"
	"github.com/streamsort/streamsort/internal/dev/meter"
	"github.com/streamsort/streamsort/internal/dev/pages"
	"github.com/streamsort/streamsort/pkg/table"
)

// Table compares one operation in several cases.
type Table struct {
	Title, About string
	// Case says what the rows' names are, Others who stands beside ours.
	Case   string
	Others []string
	Rows   []Row
}

// Row is a case. Its figures are texts, with their units.
type Row struct {
	Name, Limit, Ours string
	// Others are the figures of those beside ours, as many or fewer.
	Others []string
	// Ratio is Ours as a part of Limit, above 1 where ours is worse; 0 where no limit is known.
	Ratio float64
	// Why is why it is more than a tenth above the limit, or why it has no limit.
	Why string

	// dollars are those of the limit, ours and the older system's algorithm, where units are counted.
	dollars []float64
}

// fifoHead stands over what SQS FIFO costs.
const fifoHead = "SQS FIFO, $"

// counted is a row of units. The older system's are nil, and fifo is 0, where it has nothing of the
// kind.
func counted(name string, limit, ours Units, older *Units, fifo float64, why string) Row {
	r := Row{
		Name: name, Limit: limit.String(), Ours: ours.priced(),
		Ratio: ours.Dollars() / limit.Dollars(), Why: why,
		Others: make([]string, 2), dollars: []float64{limit.Dollars(), ours.Dollars()},
	}
	if older != nil {
		r.Others[0], r.dollars = older.priced(), append(r.dollars, older.Dollars())
	}
	if fifo > 0 {
		r.Others[1] = short(fifo)
	}
	return r
}

// rounded is the ratio in as many digits as it is shown and compared in.
func (r Row) rounded() float64 { return math.Round(r.Ratio*1000) / 1000 }

func (r Row) shown() string {
	if r.Ratio == 0 {
		return "not known"
	}
	return fmt.Sprintf("%#.4g", r.rounded())
}

// Text is the table in Markdown, without the columns that no row fills. A row that is above its
// limit, or has none, and does not say why is an error, and so is one that is counted below its
// limit.
func (t Table) Text() (string, error) {
	head := append([]string{t.Case, "limit", "ours", "ours / limit"}, t.Others...)
	rows := make([][]string, len(t.Rows))
	for i, r := range t.Rows {
		rows[i] = append([]string{r.Name, r.Limit, r.Ours, r.shown()}, r.Others...)
		rows[i] = append(rows[i], make([]string, len(head)-len(rows[i]))...)
	}
	for at := len(head) - 1; at >= 0; at-- {
		if !slices.ContainsFunc(rows, func(cells []string) bool { return cells[at] != "" }) {
			head = slices.Delete(head, at, at+1)
			for i, cells := range rows {
				rows[i] = slices.Delete(cells, at, at+1)
			}
		}
	}
	below, err := t.whys()
	return fmt.Sprintf("## %s\n\n%s\n\n%s\n%s", t.Title, wrapped(t.About),
		pages.Table(head, rows...), below), err
}

// whys say why rows are above the limit or have none, those of one reason together.
func (t Table) whys() (text string, err error) {
	var reasons []string
	names := map[string][]string{}
	for _, r := range t.Rows {
		which := "Above 1.10"
		switch {
		case r.Ratio == 0:
			which = "No limit is known here"
		case r.dollars != nil && r.rounded() < 1:
			return "", fmt.Errorf("%s: %s: %s of its limit, so that is no limit", t.Title, r.Name, r.shown())
		case r.rounded() <= 1.10:
			continue
		}
		if r.Why == "" {
			return "", fmt.Errorf("%s: %s: %s of its limit, and the table does not say why",
				t.Title, r.Name, r.shown())
		}
		about := which + " (%s). " + strings.ToUpper(r.Why[:1]) + r.Why[1:] + "."
		if !slices.Contains(reasons, about) {
			reasons = append(reasons, about)
		}
		names[about] = append(names[about], r.Name)
	}
	for _, about := range reasons {
		text += wrapped(fmt.Sprintf(about, strings.Join(names[about], "; "))) + "\n\n"
	}
	return text, nil
}

// wrapped is a paragraph in lines of up to 100 columns.
func wrapped(paragraph string) string {
	var text strings.Builder
	column := 0
	for _, word := range strings.Fields(paragraph) {
		switch width := utf8.RuneCountInString(word); {
		case column == 0:
			column = width
		case column+1+width > 100:
			text.WriteByte('\n')
			column = width
		default:
			text.WriteByte(' ')
			column += 1 + width
		}
		text.WriteString(word)
	}
	return text.String()
}

// Units are what one message, edge or batch takes.
type Units struct{ Writes, Reads float64 }

// Dollars is what a million of them cost.
func (u Units) Dollars() float64 { return meter.Count{Writes: u.Writes, Reads: u.Reads}.Dollars() }

// String is both, or the one that is not 0.
func (u Units) String() string {
	writes, reads := short(u.Writes), short(u.Reads)
	switch {
	case reads == "0":
		return writes + " W"
	case writes == "0":
		return reads + " R"
	}
	return writes + " W + " + reads + " R"
}

func (u Units) priced() string { return u.String() + ", $" + short(u.Dollars()) }

// short is a number in three digits, as far as it matters.
func short(x float64) string {
	if x < 0.0005 {
		return "0"
	}
	return strconv.FormatFloat(x, 'g', 3, 64)
}

// metered are tables in memory that count what is charged, indexes included.
type metered struct {
	*ddbtest.Meter
	memory *ddb.Memory
}

func newMetered(tables ...table.Definition) *metered {
	memory := ddb.NewMemory(tables...)
	return &metered{ddbtest.NewMeter(memory), memory}
}

func (m *metered) of(n int, do func()) Units {
	m.Take()
	do()
	total, each := m.Take().Units, float64(n)
	return Units{Writes: (total.Writes + total.Index) / each, Reads: total.Reads / each}
}
