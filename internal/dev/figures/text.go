package figures

import (
	"fmt"
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
	head := []string{t.Case, "limit", "ours", "$ a million", "ours / limit", t.Older, "$ a million", "SQS FIFO, $"}
	rows := make([][]string, len(t.Rows))
	for i, r := range t.Rows {
		older, dollars, fifo := "", "", ""
		if r.Older != nil {
			older, dollars = r.Older.String(), short(r.Older.Dollars())
		}
		if r.FIFO > 0 {
			fifo = short(r.FIFO)
		}
		rows[i] = []string{r.Name, r.Limit.String(), r.Ours.String(), short(r.Ours.Dollars()), r.beside().shown(), older, dollars, fifo}
	}
	below, _ := whys(t.besides()) // Count has seen to it that each has its reason
	grid(text, t.Title, t.About, head, rows, below)
}

// besides are the rows beside their limits.
func (t Table) besides() []beside {
	all := make([]beside, len(t.Rows))
	for i, r := range t.Rows {
		all[i] = r.beside()
	}
	return all
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
				line(&text, []string{s.as, short(r.Ours.Dollars()), r.beside().shown(), older, fifo})
			}
		}
	}
	return text.String()
}
