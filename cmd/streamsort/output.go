package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/streamsort/streamsort/internal/printable"
)

// The formats of --output. In text, columns are apart by tabs and times are as the API gives them,
// for other programs; a table is for people.
const (
	asText  = "text"
	asTable = "table"
	asJSON  = "json"  // one document: a list is an array
	asLines = "jsonl" // a document a line
	asNone  = "none"
)

// formatOf is the format that --output means: a table where somebody looks at it.
func formatOf(flag string, terminal bool) string {
	switch {
	case flag != "auto":
		return flag
	case terminal:
		return asTable
	}
	return asText
}

// colored reports whether what is printed has colors. NO_COLOR (no-color.org) is an answer without
// the flag.
func colored(flag string, terminal bool) bool {
	if flag == "auto" {
		return terminal && os.Getenv("NO_COLOR") == ""
	}
	return flag == "always"
}

// print prints a document: as JSON, or as text, where a table has no rows for it.
func (s *session) print(document any, text string, arguments ...any) (err error) {
	switch s.format {
	case asNone:
	case asJSON, asLines:
		raw, is := document.(json.RawMessage)
		if !is {
			raw, err = json.Marshal(document)
		}
		if err == nil {
			_, err = fmt.Fprintf(s.out, "%s\n", printable.JSON(raw))
		}
	default:
		_, err = io.WriteString(s.out, printable.Lines(fmt.Sprintf(text, arguments...)))
	}
	return err
}

// listing is a list on its way out: text, and documents a line each, as they come; a table and an
// array when it ends.
type listing struct {
	s         *session
	heads     []string
	rows      []table.Row
	documents []any
	n         int
	one       bool  // one was asked for: in JSON it is no array
	err       error // why something was not printed
}

func (s *session) listing(heads ...string) *listing {
	return &listing{s: s, heads: heads, documents: []any{}}
}

// add adds an element: a document, and its cells, which text has with tabs between.
func (l *listing) add(document any, cells ...any) {
	l.addText(document, tabbed(cells), cells...)
}

func tabbed(cells []any) string {
	return fmt.Sprintf(strings.Repeat("\t%v", len(cells))[1:], cells...)
}

func (l *listing) addText(document any, text string, cells ...any) {
	l.n++
	switch {
	case l.s.format == asJSON && !l.one:
		l.documents = append(l.documents, document)
	case l.s.format == asTable:
		row := make(table.Row, len(cells))
		for i, cell := range cells {
			row[i] = l.s.paint(printable.Text(fmt.Sprint(cell)))
		}
		l.rows = append(l.rows, row)
	default:
		l.err = cmp.Or(l.err, l.s.print(document, "%s\n", text))
	}
}

// end prints what is not printed yet, or that nothing is left. The error is the one that ended the
// list, and why it could not be printed.
func (l *listing) end(none string, ended error) error {
	err := l.err
	switch {
	case l.s.format == asJSON && !l.one:
		err = l.s.print(l.documents, "")
	case l.n == 0 && ended == nil && l.s.format != asLines:
		err = l.s.print(nil, "%s\n", none)
	case len(l.rows) > 0:
		_, err = fmt.Fprintln(l.s.out, l.s.table(l.heads, l.rows))
	}
	return errors.Join(ended, err)
}

// table is a table without lines, whose columns of numbers end at the same place.
func (s *session) table(heads []string, rows []table.Row) string {
	w := table.NewWriter()
	style := table.StyleDefault
	style.Options = table.OptionsNoBordersAndSeparators
	style.Box.PaddingLeft, style.Box.PaddingRight = "", "  "
	if s.color {
		style.Color.Header = text.Colors{text.Bold}
	}
	w.SetStyle(style)
	w.SuppressTrailingSpaces()
	head := make(table.Row, len(heads))
	columns := make([]table.ColumnConfig, len(heads))
	for i, name := range heads {
		head[i], columns[i] = name, table.ColumnConfig{Number: i + 1, Align: text.AlignAuto}
	}
	w.AppendHeader(head)
	w.SetColumnConfigs(columns)
	w.AppendRows(rows)
	return w.Render()
}

// painted are the states that have a color: red is for people to act on, yellow waits.
var painted = map[string]text.Color{
	"blocked": text.FgRed, "in-doubt": text.FgRed, "held": text.FgRed, "failed": text.FgRed, "timed-out": text.FgRed,
	"critical": text.FgRed, "warning": text.FgYellow,
	"gap": text.FgYellow, "retrying": text.FgYellow, "catching-up": text.FgYellow, "paused": text.FgYellow,
}

func (s *session) paint(cell string) string {
	state, _, _ := strings.Cut(strings.ToLower(strings.ReplaceAll(cell, "_", "-")), ",")
	if color, ok := painted[state]; ok && s.color {
		return color.Sprint(cell)
	}
	return cell
}
