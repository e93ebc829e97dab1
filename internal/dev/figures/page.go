package figures

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/go-analyze/charts"

	"github.com/streamsort/streamsort/internal/dev/pages"
)

// Count counts all tables.
func Count() []Table {
	return []Table{orders(), writers(), batches(), delivering(), handing(), acking(), trees(), once()}
}

// File is the page of the project at this root.
type File string

func (f File) path(name string) string {
	return filepath.Join(string(f), "docs", "reference", name)
}

func (f File) part(name string) pages.Part { return pages.Named(f.path("figures.md"), name) }

// Counted writes tables into the page, with their pictures. Where it is not to write, it reports
// what of these is not as it is counted.
func (f File) Counted(tables []Table, write bool) error {
	const command = "make bench ONLY=counts"
	text, errs := "", []error(nil)
	for _, t := range tables {
		one, err := t.Text()
		text, errs = text+one, append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	for file, t := range map[string]Table{"figures-put.svg": tables[0],
		"figures-acks.svg": tables[5]} {
		picture, err := draw(t)
		if err == nil && write {
			err = os.WriteFile(f.path(file), picture, 0o644)
		} else if there, missing := os.ReadFile(f.path(file)); err == nil &&
			!bytes.Equal(there, picture) {
			err = fmt.Errorf("%s is not what is counted now (%s draws it): %w", file, command, missing)
		}
		errs = append(errs, err)
	}
	return errors.Join(append(errs, f.part("counted").Renew(text, command, write))...)
}

// Measured writes a table into its place in the page, and on which machine it was measured.
func (f File) Measured(name string, t Table) error {
	t.About += fmt.Sprintf(" By %s, on %s/%s with %d processors, of which others may have used some.",
		runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU())
	text, err := t.Text()
	if err != nil {
		return err
	}
	return f.part("measured: " + name).Write(text)
}

// mostDrawn is how many rows a picture has: what comes after would leave nothing of them to see.
var mostDrawn = map[string]int{titleAcks: 3}

const titleAcks = "Acks, an edge"

// readable stands out on a light and on a dark page, as do the colours of the bars.
var readable = charts.ColorFromHex("#808080")

// draw draws a table's dollars as bars, on no background. It is the same in every run.
func draw(t Table) ([]byte, error) {
	names := []string{"limit", "ours", t.Others[0]}
	dollars := make([][]float64, len(names))
	var cases []string
	for i, r := range t.Rows {
		if most := mostDrawn[t.Title]; most > 0 && i >= most {
			break
		}
		cases = append(cases, r.Name)
		for j, amount := range r.dollars {
			dollars[j] = append(dollars[j], amount)
		}
	}
	p := charts.NewPainter(charts.PainterOptions{OutputFormat: charts.ChartOutputSVG,
		Width: 720, Height: 320})
	o := charts.NewBarChartOptionWithData(dollars)
	o.Theme = charts.MakeTheme(charts.ThemeOption{
		BackgroundColor: charts.ColorTransparent, TextColor: readable, AxisStrokeColor: readable,
		AxisSplitLineColor: readable.WithAlpha(60),
		SeriesColors: []charts.Color{charts.ColorFromHex("#9e9e9e"), charts.ColorFromHex("#2e9e5b"),
			charts.ColorFromHex("#d9822b")},
	})
	o.Title.Text, o.Title.Subtext = t.Title, "dollars a million, by "+t.Case
	o.Legend.SeriesNames, o.Legend.Offset = names, charts.OffsetRight
	o.CategoryAxis.Labels = cases
	if err := p.BarChart(o); err != nil {
		return nil, err
	}
	return p.Bytes()
}
