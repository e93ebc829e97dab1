package figures

import (
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
