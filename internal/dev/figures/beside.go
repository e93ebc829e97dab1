package figures

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

// beside is a row beside its limit.
type beside struct {
	name string
	// ratio is what ours takes as a part of what the limit takes; 0 where no limit is known.
	ratio float64
	// why is why it is more than a tenth above that, or why it has no limit.
	why string
}

// shown is the ratio as the page has it, in as many digits as it is compared in.
func (b beside) shown() string {
	if b.ratio == 0 {
		return "not known"
	}
	return fmt.Sprintf("%#.4g", b.rounded())
}

func (b beside) rounded() float64 { return math.Round(b.ratio*1000) / 1000 }

func (b beside) over() bool { return b.rounded() > 1.10 }

// whys say why rows are above the limit or have none, those of one reason together. A row that does not say why
// is an error.
func whys(rows []beside) (text []string, err error) {
	var reasons []string
	names := map[string][]string{}
	for _, r := range rows {
		about := "Above 1.10 (%s): " + r.why + "."
		switch {
		case r.ratio == 0:
			about = "No limit is known here (%s): " + r.why + "."
		case !r.over():
			continue
		}
		if r.why == "" {
			return nil, fmt.Errorf("%s: %s of its limit, and the table does not say why", r.name, r.shown())
		}
		if !slices.Contains(reasons, about) {
			reasons = append(reasons, about)
		}
		names[about] = append(names[about], r.name)
	}
	for _, about := range reasons {
		text = append(text, wrapped(fmt.Sprintf(about, strings.Join(names[about], "; ")))+"\n\n")
	}
	return text, nil
}

// grid writes rows of cells under their heads, and what is to be said below; a head that no row fills is left out.
func grid(text *strings.Builder, title, about string, head []string, rows [][]string, below []string) {
	fmt.Fprintf(text, "## %s\n\n%s\n\n", title, wrapped(about))
	for at := len(head) - 1; at >= 0; at-- {
		if !slices.ContainsFunc(rows, func(cells []string) bool { return cells[at] != "" }) {
			head = slices.Delete(head, at, at+1)
			for i, cells := range rows {
				rows[i] = slices.Delete(cells, at, at+1)
			}
		}
	}
	heading(text, head)
	for _, cells := range rows {
		line(text, cells)
	}
	text.WriteString("\n" + strings.Join(below, ""))
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

func heading(text *strings.Builder, cells []string) {
	line(text, cells)
	text.WriteString(strings.Repeat("|---", len(cells)) + "|\n")
}

func line(text *strings.Builder, cells []string) {
	fmt.Fprintf(text, "| %s |\n", strings.Join(cells, " | "))
}
