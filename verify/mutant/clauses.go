package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/streamsort/streamsort/internal/dev/clause"
)

// store is a package's store, whose requests have clauses: what its conditions ask, and what its
// updates change.
type store struct {
	folder string
	// tests are quick, and have to notice when one is dropped. The first make every request there is.
	tests []test
	// alike are clauses without which nothing differs, and why they are there all the same.
	alike map[string]string
}

// clauseMutants drops each clause of every store's requests, one at a time, at run time: the tests
// are built once. It prints those that nothing catches, and those that something does catch though
// they are said to change nothing.
func clauseMutants(root, only string, out io.Writer) error {
	scratch, err := os.MkdirTemp("", "clauses")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(scratch) }()
	var wrong []string
	dropped, began := 0, time.Now()
	for _, s := range stores {
		if only != "" && s.folder != only {
			continue
		}
		clauses, names, err := s.try(root, scratch, out)
		if err != nil {
			return fmt.Errorf("%s: %w", s.folder, err)
		}
		dropped += clauses
		for _, name := range names {
			wrong = append(wrong, s.folder+": "+name)
		}
	}
	fmt.Fprintf(out, "%d clauses dropped in %.0f s, %d not as they should be\n", dropped,
		time.Since(began).Seconds(), len(wrong))
	if len(wrong) > 0 {
		return fmt.Errorf("not caught, or said to change nothing and caught:\n%s",
			strings.Join(wrong, "\n"))
	}
	return nil
}

// try drops each of the store's clauses. It returns how many there are, and those that are not
// caught, or are caught and should not be.
func (s store) try(root, scratch string, out io.Writer) (int, []string, error) {
	tests := make([]built, len(s.tests))
	for i, t := range s.tests {
		var err error
		binary := filepath.Join(scratch, strings.ReplaceAll(t.folder, "/", "-"))
		if tests[i], err = t.build(root, binary, quickLimit); err != nil {
			return 0, nil, err
		}
	}
	record := filepath.Join(scratch, "clauses")
	if by, err := tests[0](clause.Recorded + "=" + record); err != nil || by != "" {
		return 0, nil, fmt.Errorf("%s is red as it is, %s: %w", s.tests[0].pattern, by, err)
	}
	text, err := os.ReadFile(record)
	if err != nil {
		return 0, nil, err
	}
	names := strings.Split(strings.TrimSpace(string(text)), "\n")
	_ = os.Remove(record)
	for name := range s.alike {
		if !slices.Contains(names, name) {
			return 0, nil, fmt.Errorf("no request has the clause %q, which is said to change nothing", name)
		}
	}
	wrong, err := s.dropEach(names, tests, out)
	return len(names), wrong, err
}

// dropEach runs the tests without each of the clauses.
func (s store) dropEach(names []string, tests []built, out io.Writer) (wrong []string, err error) {
	var mu sync.Mutex
	err = sideBySide(len(names), func(i int) error {
		by := ""
		for k := 0; k < len(tests) && by == ""; k++ {
			var err error
			if by, err = tests[k](clause.Dropped + "=" + names[i]); err != nil {
				return err
			}
		}
		if _, alike := s.alike[names[i]]; alike != (by == "") {
			mu.Lock()
			defer mu.Unlock()
			wrong = append(wrong, names[i])
			fmt.Fprintf(out, "%-6s %s\n", cmp.Or(by, "GREEN"), names[i])
		}
		return nil
	})
	slices.Sort(wrong)
	return wrong, err
}
