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

	"golang.org/x/sync/errgroup"

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
	dropped, wrong, began := 0, 0, time.Now()
	for _, s := range stores {
		if only != "" && s.folder != only {
			continue
		}
		clauses, lines, err := s.try(root)
		if err != nil {
			return fmt.Errorf("%s: %w", s.folder, err)
		}
		dropped, wrong = dropped+clauses, wrong+len(lines)
		for _, line := range slices.Sorted(slices.Values(lines)) {
			fmt.Fprintf(out, "%s: %s\n", s.folder, line)
		}
	}
	fmt.Fprintf(out, "%d clauses dropped in %.0f s\n", dropped, time.Since(began).Seconds())
	if wrong > 0 {
		return fmt.Errorf("%d not caught, or said to change nothing and caught", wrong)
	}
	return nil
}

// try drops each of the store's clauses. It returns how many there are, and a line for each that
// is not caught, or is caught and should not be.
func (s store) try(root string) (clauses int, wrong []string, err error) {
	scratch, err := os.MkdirTemp("", "clauses")
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = os.RemoveAll(scratch) }()
	tests := make([]built, len(s.tests))
	for i, t := range s.tests {
		binary := filepath.Join(scratch, fmt.Sprint("test", i))
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
	for name := range s.alike {
		if !slices.Contains(names, name) {
			return 0, nil, fmt.Errorf("no request has the clause %q, which is said to change nothing", name)
		}
	}
	wrong, err = s.dropEach(names, tests)
	return len(names), wrong, err
}

// dropEach runs the tests without each of the clauses.
func (s store) dropEach(names []string, tests []built) (wrong []string, err error) {
	var tries errgroup.Group
	tries.SetLimit(workers)
	var mu sync.Mutex
	for _, name := range names {
		tries.Go(func() error {
			by := ""
			for k := 0; k < len(tests) && by == ""; k++ {
				var err error
				if by, err = tests[k](clause.Dropped + "=" + name); err != nil {
					return err
				}
			}
			if _, alike := s.alike[name]; alike != (by == "") {
				mu.Lock()
				defer mu.Unlock()
				wrong = append(wrong, fmt.Sprintf("%-6s %s", cmp.Or(by, "GREEN"), name))
			}
			return nil
		})
	}
	err = tries.Wait()
	return wrong, err
}
