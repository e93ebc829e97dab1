package figures

import (
	"fmt"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/streamsort/streamsort/internal/dev/pages"
)

// File is the page of figures.
type File struct{ counted, measured pages.Part }

// At is the page of a project.
func At(root string) File {
	figures := filepath.Join(root, "docs", "reference", "figures.md")
	return File{
		counted:  pages.Part{Path: figures, Begins: "<!-- counted: begin -->\n", Ends: "<!-- counted: end -->\n"},
		measured: pages.Part{Path: figures, Begins: "<!-- measured: begin -->\n", Ends: "<!-- measured: end -->\n"},
	}
}

// Counted writes tables into the page.
func (f File) Counted(tables []Table) error {
	return f.counted.Write(Text(tables))
}

// Stale reports tables that the page does not have.
func (f File) Stale(tables []Table) error {
	return f.counted.Holds(Text(tables), "go run ./verify/bench -only counts")
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
	return f.measured.Write(text)
}

// MeasuredAgain writes one table into the page, which keeps the others.
func (f File) MeasuredAgain(t Measured) error {
	one, err := t.Text()
	if err != nil {
		return err
	}
	part, err := f.measured.Read()
	if err != nil {
		return err
	}
	before, rest, there := strings.Cut(part, "## "+t.Title+"\n")
	after := ""
	if at := strings.Index(rest, "## "); there && at >= 0 {
		after = rest[at:]
	}
	return f.measured.Write(before + one + after)
}
