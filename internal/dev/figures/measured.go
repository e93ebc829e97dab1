package figures

import (
	"fmt"
	"strings"
)

// Measured compares what is measured: on a server, by the clock, or with other libraries.
type Measured struct {
	Title, About string
	// Case says what the rows' names are.
	Case string
	// Others name who stands beside ours.
	Others []string
	Rows   []MeasuredRow
}

// MeasuredRow is a case. Its figures are texts, with their units.
type MeasuredRow struct {
	Name, Limit, Ours string
	// Others are the figures of those beside ours, as many or fewer.
	Others []string
	// Ratio is Ours as a part of Limit, above 1 where ours is worse; 0 where no limit is known.
	Ratio float64
	// Why is why it is more than a tenth above the limit, or why it has no limit.
	Why string
}

// Text is the table in Markdown. A row that is above its limit or has none and does not say why is an error.
func (m Measured) Text() (string, error) {
	head := append([]string{m.Case, "limit", "ours", "ours / limit"}, m.Others...)
	rows, beyond := make([][]string, len(m.Rows)), make([]beside, len(m.Rows))
	for i, r := range m.Rows {
		beyond[i] = beside{r.Name, r.Ratio, r.Why}
		rows[i] = append(append([]string{r.Name, r.Limit, r.Ours, beyond[i].shown()}, r.Others...), make([]string, len(m.Others)-len(r.Others))...)
	}
	below, err := whys(beyond)
	if err != nil {
		return "", fmt.Errorf("%s: %w", m.Title, err)
	}
	var text strings.Builder
	grid(&text, m.Title, m.About, head, rows, below)
	return text.String(), nil
}
