// Command mutant plants known bugs, one at a time, and demands that the tests named for each turn
// red: tests that cannot fail show nothing. A bug is a few replacements of text ([mutant]); the
// files themselves stay as they are (go test -overlay). It prints a table, and ends with 1 where a
// bug survives or can no longer be planted.
//
//	go run ./verify/mutant            all
//	go run ./verify/mutant -changed   those that a change since BASE can concern
//	                                    (origin/main, or the commit before)
//	go run ./verify/mutant -only V2   those whose name has the text
//	go run ./verify/mutant -for 3m    as many as are begun in this time, from all over
//	                                    the list
//	go run ./verify/mutant -clauses   no planted bugs: each clause of the stores'
//	                                    requests left out, one at a time
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// mutant is a planted bug.
type mutant struct {
	name string
	// folder has the files, from the project's root.
	folder string
	// caught is what must turn red.
	caught test
	edits  []edit
}

// test is the tests of a package that a pattern of go test -run selects.
type test struct{ folder, pattern string }

// suite is a simulator, by its package.
type suite string

const (
	cursorSuite   suite = "cursorsim"
	logSuite      suite = "logsim"
	deliverySuite suite = "deliverysim"
	twoPhaseSuite suite = "twophasesim"
	replySuite    suite = "repliessim"
	dedupSuite    suite = "dedupsim"
	ackerSuite    suite = "xoracksim"
)

func (s suite) folder() string { return "./verify/sim/" + string(s) }

// in walks one of the small scenarios, in which the bug shows.
func (s suite) in(name string) test {
	return test{s.folder(), "TestEverySmallSchedule/^" + name + "$"}
}

// trace walks the traces whose names begin so.
func (s suite) trace(name string) test { return test{s.folder(), "TestTrace" + name} }

// edit replaces a text that occurs exactly once in a file.
type edit struct{ file, find, replace string }

// bug is a mutant by its edits: a file, a text and what replaces it, one such three after another.
func bug(name, folder string, caught test, edits ...string) mutant {
	m := mutant{name: name, folder: folder, caught: caught}
	for e := range slices.Chunk(edits, 3) {
		m.edits = append(m.edits, edit{e[0], e[1], e[2]}) // panics where one is not whole
	}
	return m
}

// mutants are those of all packages.
func mutants() []mutant {
	return slices.Concat(sorterMutants, logMutants, deliveryMutants, twoPhaseMutants, replyMutants,
		dedupMutants, ackerMutants,
		timerMutants, edgeMutants)
}

// What a mutant's tests may take. A limit of time alone would be red wherever the machine is busy;
// what waits for ever without a CPU ends by it.
const (
	cpuLimit   = 2 * time.Minute
	quickLimit = 10 * time.Second // of a store's tests, which take less than a second
	timeLimit  = 10 * time.Minute
)

// workers is how many mutants are tried side by side.
const workers = 2

func main() {
	if err := run(os.Args[1:], os.Getenv("BASE"), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(arguments []string, base string, out io.Writer) error {
	flags := flag.NewFlagSet("mutant", flag.ContinueOnError)
	changed := flags.Bool("changed", false, "only bugs that a change since BASE can concern")
	only := flags.String("only", "", "only bugs whose name has this text")
	clauses := flags.Bool("clauses", false, "drop each clause of the stores' requests instead")
	folder := flags.String("in", "", "only bugs planted in this folder")
	most := flags.Duration("for", 24*time.Hour,
		"begin none after this time: what is left out is counted")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	root, err := moduleFolder()
	if err != nil {
		return err
	}
	if *clauses {
		return clauseMutants(root, *folder, out)
	}
	began := time.Now()
	list := mutants()
	if *changed {
		if list, err = inChanged(root, base, list); err != nil {
			return err
		}
	}
	asked := func(m mutant) bool {
		return strings.Contains(m.name, *only) && (*folder == "" || m.folder == *folder)
	}
	if !slices.ContainsFunc(mutants(), asked) {
		return fmt.Errorf("no bug in folder %q has %q in its name", *folder, *only)
	}
	list = slices.DeleteFunc(list, func(m mutant) bool { return !asked(m) })
	// A run that ends early has seen something of each part of the list.
	rand.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return tryAll(root, list, began.Add(*most), out)
}

// moduleFolder is the root of the module that the command runs in.
func moduleFolder() (string, error) {
	folder, err := output(".", "go", "list", "-m", "-f", "{{.Dir}}")
	return strings.TrimSpace(folder), err
}

// tryAll tries each mutant that it can begin before the time. A change of much would try all, for a
// quarter of an hour: what is not tried is said.
func tryAll(root string, all []mutant, until time.Time, out io.Writer) error {
	scratch, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(scratch) }()
	var mu sync.Mutex
	var failed []string
	left := 0
	_ = sideBySide(len(all), func(i int) error {
		began := time.Now()
		late := began.After(until)
		var by string
		var err error
		if !late {
			by, err = all[i].try(root, filepath.Join(scratch, fmt.Sprint(i)))
		}
		mu.Lock()
		defer mu.Unlock()
		if late {
			left++
			return nil
		}
		if by == "" {
			failed = append(failed, all[i].name)
		}
		fmt.Fprintln(out, line(all[i], by, err, time.Since(began)))
		return nil
	})
	planted := len(all) - left
	fmt.Fprintf(out, "%d planted, %d caught\n", planted, planted-len(failed))
	if left > 0 {
		fmt.Fprintf(out, "%d not planted: the time was over (make mutants plants all)\n", left)
	}
	if len(failed) > 0 {
		return fmt.Errorf("not caught: %s", strings.Join(failed, "; "))
	}
	return nil
}

// sideBySide does things, so many as there are workers at once.
func sideBySide(n int, do func(i int) error) error {
	var things errgroup.Group
	things.SetLimit(workers)
	for i := range n {
		things.Go(func() error { return do(i) })
	}
	return things.Wait()
}

func line(m mutant, by string, err error, took time.Duration) string {
	colour := "red"
	switch {
	case err != nil:
		colour, by = "ERROR", err.Error()
	case by == "":
		colour, by = "GREEN", "survived "+m.caught.pattern
	}
	return fmt.Sprintf("%-6s %-38s %5.1f s  %s", colour, m.name, took.Seconds(), by)
}

// try plants the bug and runs its tests. It returns the test that caught it.
func (m mutant) try(root, scratch string) (string, error) {
	if err := os.Mkdir(scratch, 0o700); err != nil {
		return "", err
	}
	changed, err := m.changed(root)
	if err != nil {
		return "", err
	}
	planted, err := overlay(scratch, changed)
	if err != nil {
		return "", err
	}
	run, err := m.caught.build(root, filepath.Join(scratch, "test"), cpuLimit, "-overlay", planted)
	if err != nil {
		return "", err
	}
	by, err := run()
	if strings.HasSuffix(by, didNotEnd) {
		return "", fmt.Errorf("%s: name a test that fails", by) // it may end no sooner without the bug
	}
	return by, err
}

// built runs tests with some variables set. It returns the one that failed, as [redTest] does.
type built func(environment ...string) (string, error)

// build builds the tests, with the tag whole, as this file. What goes on for longer than cpu is
// killed, which is red as well.
func (t test) build(root, binary string, cpu time.Duration, flags ...string) (built, error) {
	err := build(root, t.folder, binary, append(flags, "-tags", "whole")...)
	return func(environment ...string) (string, error) {
		said, _, err := runTests(binary, filepath.Join(root, t.folder), t.pattern, cpu, timeLimit,
			environment...)
		return redTest(said, err)
	}, err
}

// build builds the tests of a folder.
func build(root, folder, binary string, flags ...string) error {
	_, err := output(root, "go", slices.Concat([]string{"test", "-c", "-o", binary}, flags,
		[]string{folder})...)
	if err != nil {
		return fmt.Errorf("does not compile: %w", err)
	}
	return nil
}

// runTests runs the tests of a binary that a pattern selects, in their package's folder, within so
// much time of a CPU and of a clock. It returns what they said, and what they took of a CPU.
func runTests(binary, folder, pattern string, cpu, wall time.Duration,
	environment ...string) (string, time.Duration, error) {
	ctx, cancel := context.WithTimeout(context.Background(), wall)
	defer cancel()
	limited := fmt.Sprintf(`ulimit -t %d && ulimit -v %d && exec "$0" "$@"`,
		int(cpu.Seconds())+1, 8<<20)
	run := exec.CommandContext(ctx, "sh", "-c", limited, binary, "-test.run", pattern,
		"-test.failfast", "-test.v")
	run.Dir, run.Env = folder, append(os.Environ(), environment...)
	said, err := run.CombinedOutput()
	if run.ProcessState == nil {
		return "", 0, err
	}
	return string(said), run.ProcessState.UserTime() + run.ProcessState.SystemTime(), err
}

// overlay writes files that stand in the place of others, whose paths are given, and the list of
// them for go test -overlay.
func overlay(scratch string, texts map[string]string) (string, error) {
	replace := map[string]string{}
	for path, text := range texts {
		replace[path] = filepath.Join(scratch, fmt.Sprintf("%d.go", len(replace)))
		if err := os.WriteFile(replace[path], []byte(text), 0o600); err != nil {
			return "", err
		}
	}
	list, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	path := filepath.Join(scratch, "overlay.json")
	return path, os.WriteFile(path, list, 0o600)
}

// changed is the texts of the files that the bug is in, by their paths.
func (m mutant) changed(root string) (map[string]string, error) {
	texts := map[string]string{}
	for _, e := range m.edits {
		path := filepath.Join(root, m.folder, e.file)
		text, ok := texts[path]
		if !ok {
			read, err := os.ReadFile(path)
			if err != nil {
				return nil, err
			}
			text = string(read)
		}
		if n := strings.Count(text, e.find); n != 1 {
			return nil, fmt.Errorf("%s has the text %q %d times, want once", e.file, e.find, n)
		}
		texts[path] = strings.Replace(text, e.find, e.replace, 1)
	}
	return texts, nil
}

// didNotEnd is said of a test that was killed: red where it is known to end without a bug.
const didNotEnd = " did not end"

var (
	failLine  = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)`)
	beganLine = regexp.MustCompile(`(?m)^=== RUN   (\S+)`)
)

// redTest is the test that failed, the innermost one of nested ones: the last that began where the
// whole run broke off; empty where all is well.
func redTest(said string, err error) (string, error) {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return "", nil
	case !errors.As(err, &exit):
		return "", err
	}
	if failed := failLine.FindAllStringSubmatch(said, -1); len(failed) > 0 {
		return failed[len(failed)-1][1], nil
	}
	began := beganLine.FindAllStringSubmatch(said, -1)
	if len(began) == 0 && exit.ExitCode() != 2 { // a panic of what begins with the program
		return "", fmt.Errorf("broke off before any test: %w: %.200s", err, said)
	}
	if len(began) == 0 {
		return "what begins with the program", nil
	}
	why := " panicked"
	if exit.String() == "signal: killed" {
		why = didNotEnd
	}
	return began[len(began)-1][1] + why, nil
}
