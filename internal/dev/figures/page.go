package figures

import (
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/streamsort/streamsort/internal/dev/pages"
)

// File is the page of figures, and the file that shows some of them.
type File struct{ counted, measured, readme pages.Part }

// At is the page of a project.
func At(root string) File {
	figures := filepath.Join(root, "docs", "figures.md")
	const begins, ends = "<!-- counted: begin -->\n", "<!-- counted: end -->\n"
	return File{
		counted:  pages.Part{Path: figures, Begins: begins, Ends: ends},
		measured: pages.Part{Path: figures, Begins: "<!-- measured: begin -->\n", Ends: "<!-- measured: end -->\n"},
		readme:   pages.Part{Path: filepath.Join(root, "README.md"), Begins: begins, Ends: ends},
	}
}

// Counted writes tables into the page, and some of their rows into the README.
func (f File) Counted(tables []Table) error {
	return errors.Join(f.counted.Write(Text(tables)), f.readme.Write(Short(tables)))
}

// Stale says what of tables is not what the page and the README have.
func (f File) Stale(tables []Table) error {
	const command = "go run ./verify/bench -only counts"
	return errors.Join(f.counted.Holds(Text(tables), command), f.readme.Holds(Short(tables), command))
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
