package figures

import (
	"fmt"
	"slices"
	"strings"
)

// Text is the text of tables, in Markdown.
func Text(tables []Table) string {
	var text strings.Builder
	for _, t := range tables {
		t.write(&text)
	}
	return text.String()
}

func (t Table) write(text *strings.Builder) {
	fmt.Fprintf(text, "## %s\n\n%s\n\n", t.Title, t.About)
	fifo := slices.ContainsFunc(t.Rows, func(r Row) bool { return r.FIFO > 0 })
	head := []string{t.Case, "limit", "ours", "$ a million", "ours / limit"}
	if t.Older != "" {
		head = append(head, t.Older, "$ a million")
	}
	if fifo {
		head = append(head, "SQS FIFO, $")
	}
	heading(text, head)
	for _, r := range t.Rows {
		cells := []string{r.Name, r.Limit.String(), r.Ours.String(), short(r.Ours.Dollars()), fmt.Sprintf("%.2f", r.Ratio())}
		if r.Older != nil {
			cells = append(cells, r.Older.String(), short(r.Older.Dollars()))
		}
		if fifo {
			cells = append(cells, short(r.FIFO))
		}
		line(text, cells)
	}
	text.WriteString("\n")
	for _, why := range t.whys() {
		text.WriteString(why)
	}
}

// whys say why rows are above the limit, those of one reason together.
func (t Table) whys() (whys []string) {
	var reasons []string
	names := map[string][]string{}
	for _, r := range t.Rows {
		if !r.over() {
			continue
		}
		if !slices.Contains(reasons, r.Why) {
			reasons = append(reasons, r.Why)
		}
		names[r.Why] = append(names[r.Why], r.Name)
	}
	for _, why := range reasons {
		whys = append(whys, fmt.Sprintf("Above 1.10 of the limit (%s): %s.\n\n", strings.Join(names[why], ", "), why))
	}
	return whys
}

// shown are the rows of the README, by their tables' titles and their names.
var shown = []struct{ title, name, as string }{
	{TitleOrders, "in order", "put in order, one by one"},
	{TitleOrders, "window 8", "put up to 8 places late, one by one"},
	{TitleBatches, "100, one item", "put in order, 100 in a request, as one item"},
	{TitleDelivery, "100", "delivered by 100"},
	{TitleAcks, "64", "acked by 64 workers in step"},
}

// Short is the rows that matter most, in Markdown: dollars a million.
func Short(tables []Table) string {
	var text strings.Builder
	heading(&text, []string{"$ a million messages, for DynamoDB", "ours", "ours / limit", "older system", "SQS FIFO"})
	for _, s := range shown {
		for _, t := range tables {
			for _, r := range t.Rows {
				if t.Title != s.title || r.Name != s.name {
					continue
				}
				older, fifo := "", ""
				if r.Older != nil {
					older = fmt.Sprintf("%s (%s)", short(r.Older.Dollars()), t.Older)
				}
				if r.FIFO > 0 {
					fifo = short(r.FIFO)
				}
				line(&text, []string{s.as, short(r.Ours.Dollars()), fmt.Sprintf("%.2f", r.Ratio()), older, fifo})
			}
		}
	}
	return text.String()
}

func heading(text *strings.Builder, cells []string) {
	line(text, cells)
	line(text, slices.Repeat([]string{"---"}, len(cells)))
}

func line(text *strings.Builder, cells []string) {
	fmt.Fprintf(text, "| %s |\n", strings.Join(cells, " | "))
}
