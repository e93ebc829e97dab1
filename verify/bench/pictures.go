package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/go-analyze/charts"

	"github.com/streamsort/streamsort/internal/dev/figures"
)

// drawn are the pictures beside the page, whose text names the files: the table of each, and how many of its rows, for
// what comes after those would leave nothing of them to see.
var drawn = []struct {
	file, title string
	rows        int
}{
	{"figures-put.svg", figures.TitleOrders, 5},
	{"figures-acks.svg", figures.TitleAcks, 3},
}

// pictures draws tables; it returns each picture under its path in the project. They are the same in every run.
func pictures(tables []figures.Table) (map[string][]byte, error) {
	all := map[string][]byte{}
	for _, d := range drawn {
		at := slices.IndexFunc(tables, func(t figures.Table) bool { return t.Title == d.title })
		if at < 0 {
			return nil, fmt.Errorf("no table is called %q", d.title)
		}
		t := tables[at]
		t.Rows = t.Rows[:d.rows]
		picture, err := draw(t)
		if err != nil {
			return nil, fmt.Errorf("draw %q: %w", d.title, err)
		}
		all[filepath.Join("docs", "reference", d.file)] = picture
	}
	return all, nil
}

// drawPictures writes them into the project.
func drawPictures(root string, tables []figures.Table) error {
	all, err := pictures(tables)
	for path, picture := range all {
		err = errors.Join(err, os.WriteFile(filepath.Join(root, path), picture, 0o644))
	}
	return err
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
