package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/go-analyze/charts"

	"github.com/streamsort/streamsort/internal/dev/figures"
)

// pictures draws tables beside the page, whose text names the files.
func pictures(root string, tables []figures.Table) error {
	for file, title := range map[string]string{"figures-put.svg": figures.TitleOrders, "figures-acks.svg": figures.TitleAcks} {
		at := slices.IndexFunc(tables, func(t figures.Table) bool { return t.Title == title })
		if at < 0 {
			return fmt.Errorf("no table is called %q", title)
		}
		picture, err := draw(tables[at])
		if err != nil {
			return fmt.Errorf("draw %q: %w", title, err)
		}
		if err := os.WriteFile(filepath.Join(root, "docs", file), picture, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// readable stands out on a light and on a dark page, as do the colours of the bars.
var readable = charts.ColorFromHex("#808080")

// draw draws a table's dollars as bars, on no background.
func draw(t figures.Table) ([]byte, error) {
	names := []string{"limit", "ours", t.Older}
	dollars, cases := make([][]float64, len(names)), make([]string, len(t.Rows))
	for i, r := range t.Rows {
		cases[i] = r.Name
		for j, units := range []figures.Units{r.Limit, r.Ours, *r.Older} {
			dollars[j] = append(dollars[j], units.Dollars())
		}
	}
	p := charts.NewPainter(charts.PainterOptions{OutputFormat: charts.ChartOutputSVG, Width: 720, Height: 320})
	o := charts.NewBarChartOptionWithData(dollars)
	o.Theme = charts.MakeTheme(charts.ThemeOption{
		BackgroundColor: charts.ColorTransparent, TextColor: readable, AxisStrokeColor: readable,
		AxisSplitLineColor: readable.WithAlpha(60),
		SeriesColors:       []charts.Color{charts.ColorFromHex("#9e9e9e"), charts.ColorFromHex("#2e9e5b"), charts.ColorFromHex("#d9822b")},
	})
	o.Title.Text, o.Title.Subtext = t.Title, "dollars a million, by "+t.Case
	o.Legend.SeriesNames, o.Legend.Offset = names, charts.OffsetRight
	o.CategoryAxis.Labels = cases
	if err := p.BarChart(o); err != nil {
		return nil, err
	}
	return p.Bytes()
}
