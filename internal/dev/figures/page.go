package figures

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/streamsort/streamsort/internal/dev/pages"
)

// Count counts all tables.
func Count() []Table {
	return []Table{orders(), writers(), batches(), delivering(), handing(), acking(), trees(), once()}
}

// File is the page of the project at this root.
type File string

func (f File) path(name string) string {
	return filepath.Join(string(f), "docs", "reference", name)
}

func (f File) part(name string) pages.Part { return pages.Named(f.path("figures.md"), name) }

// Counted writes tables into the page, with their pictures. Where it is not to write, it reports
// what of these is not as it is counted.
func (f File) Counted(tables []Table, write bool) error {
	const command = "make bench ONLY=counts"
	text, errs := "", []error(nil)
	for _, t := range tables {
		one, err := t.Text()
		text, errs = text+one, append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	for file, t := range map[string]Table{"figures-put.svg": tables[0],
		"figures-acks.svg": tables[5]} {
		picture, err := draw(t)
		if err == nil && write {
			err = os.WriteFile(f.path(file), picture, 0o644)
		} else if there, missing := os.ReadFile(f.path(file)); err == nil &&
			!bytes.Equal(there, picture) {
			err = fmt.Errorf("%s is not what is counted now (%s draws it): %w", file, command, missing)
		}
		errs = append(errs, err)
	}
	return errors.Join(append(errs, f.part("counted").Renew(text, command, write))...)
}

// Measured writes a table into its place in the page, and on which machine it was measured.
func (f File) Measured(name string, t Table) error {
	t.About += fmt.Sprintf(" By %s, on %s/%s with %d processors, of which others may have used some.",
		runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU())
	text, err := t.Text()
	if err != nil {
		return err
	}
	return f.part("measured: " + name).Write(text)
}
