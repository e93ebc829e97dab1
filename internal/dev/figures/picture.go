package figures

import "github.com/go-analyze/charts"

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
