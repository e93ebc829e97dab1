package figures

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// File is the page of figures, and the file that shows some of them.
type File struct{ page, readme string }

// At is the page of a project.
func At(root string) File {
	return File{filepath.Join(root, "docs", "figures.md"), filepath.Join(root, "README.md")}
}

// The lines around what is counted, what is measured, and what the README shows.
const (
	countedBegins, countedEnds   = "<!-- counted: begin -->\n", "<!-- counted: end -->\n"
	measuredBegins, measuredEnds = "<!-- measured: begin -->\n", "<!-- measured: end -->\n"
)

// Counted writes tables into the page, and some of their rows into the README.
func (f File) Counted(tables []Table) error {
	return errors.Join(
		replace(f.page, countedBegins, countedEnds, Text(tables)),
		replace(f.readme, countedBegins, countedEnds, Short(tables)))
}

// Stale says what of tables is not what the page and the README have.
func (f File) Stale(tables []Table) error {
	return errors.Join(
		differs(f.page, countedBegins, countedEnds, Text(tables)),
		differs(f.readme, countedBegins, countedEnds, Short(tables)))
}

// Measured writes into the page what was measured on this machine.
func (f File) Measured(tables []Measured) error {
	text := fmt.Sprintf("By %s, on %s/%s with %d processors, of which others may have used some.\n\n",
		runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU())
	for _, t := range tables {
		one, err := t.Text()
		if err != nil {
			return err
		}
		text += one
	}
	return replace(f.page, measuredBegins, measuredEnds, text)
}

// MeasuredAgain writes one table into the page, which keeps the others.
func (f File) MeasuredAgain(t Measured) error {
	one, err := t.Text()
	if err != nil {
		return err
	}
	_, part, _, err := between(f.page, measuredBegins, measuredEnds)
	if err != nil {
		return err
	}
	before, rest, there := strings.Cut(part, "## "+t.Title+"\n")
	after := ""
	if at := strings.Index(rest, "## "); there && at >= 0 {
		after = rest[at:]
	}
	return replace(f.page, measuredBegins, measuredEnds, before+one+after)
}

// between splits a file at the lines around a part of it.
func between(path, begins, ends string) (before, part, after string, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return "", "", "", err
	}
	before, rest, begun := strings.Cut(string(text), begins)
	part, after, ended := strings.Cut(rest, ends)
	if !begun || !ended {
		return "", "", "", fmt.Errorf("%s has no lines %q and %q", path, begins, ends)
	}
	return before, part, after, nil
}

func replace(path, begins, ends, with string) error {
	before, _, after, err := between(path, begins, ends)
	if err != nil {
		return err
	}
	return os.WriteFile(path, []byte(before+begins+with+ends+after), 0o644)
}

func differs(path, begins, ends, want string) error {
	_, part, _, err := between(path, begins, ends)
	if err == nil && part != want {
		err = fmt.Errorf("%s is not what is counted now (go run ./verify/bench -only counts writes it):\n%s", path, want)
	}
	return err
}
