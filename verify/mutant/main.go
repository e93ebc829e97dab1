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
	"path"
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
	// caught is what must turn red.
	caught test
	edits  []edit
}

// folder has the file of the first edit, from the project's root.
func (m mutant) folder() string { return path.Dir(path.Join(m.caught.of, m.edits[0].file)) }

// test is the tests of a package that a pattern of go test -run selects. They hold the code in the
// folder of: the files of an edit are given from there. Both folders are from the project's root.
type test struct{ folder, pattern, of string }

// by are tests in the folder of the code that they hold.
func by(folder, pattern string) test { return test{folder, pattern, folder} }

// suite is a simulator, by its package, and the folder of the code that it runs.
type suite struct{ name, of string }

var (
	cursorSuite   = suite{"cursorsim", sorterFolder}
	logSuite      = suite{"logsim", sorterFolder}
	deliverySuite = suite{"deliverysim", deliveryFolder}
	twoPhaseSuite = suite{"twophasesim", pullFolder}
	replySuite    = suite{"repliessim", deliveryFolder}
	dedupSuite    = suite{"dedupsim", dedupFolder}
	ackerSuite    = suite{"xoracksim", ackerFolder}
)

func (s suite) by(pattern string) test { return test{"verify/sim/" + s.name, pattern, s.of} }

// in walks one of the small scenarios, in which the bug shows.
func (s suite) in(name string) test { return s.by("TestEverySmallSchedule/^" + name + "$") }

// edit replaces a text that occurs exactly once in a file.
type edit struct{ file, find, replace string }

// bug is a mutant by its edits: a file, a text and what replaces it, one such three after another.
func bug(name string, caught test, edits ...string) mutant {
	m := mutant{name: name, caught: caught}
	for e := range slices.Chunk(edits, 3) {
		m.edits = append(m.edits, edit{e[0], e[1], e[2]}) // panics where one is not whole
	}
	return m
}

// mutants are those of all packages.
func mutants() []mutant {
	return slices.Concat(sorterMutants, logMutants, deliveryMutants, twoPhaseMutants, replyMutants,
		dedupMutants, ackerMutants, timerMutants, edgeMutants)
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
	until := time.Now().Add(*most)
	list := slices.DeleteFunc(mutants(), func(m mutant) bool {
		return !strings.Contains(m.name, *only) || *folder != "" && m.folder() != *folder
	})
	if len(list) == 0 {
		return fmt.Errorf("no bug in folder %q has %q in its name", *folder, *only)
	}
	if *changed {
		if list, err = inChanged(root, base, list); err != nil {
			return err
		}
	}
	// A run that ends early has seen something of each part of the list.
	rand.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return tryAll(root, list, until, out)
}

// moduleFolder is the root of the module that the command runs in.
func moduleFolder() (string, error) {
	folder, err := output(".", "go", "list", "-m", "-f", "{{.Dir}}")
	return strings.TrimSpace(folder), err
}

// tryAll tries each mutant that it can begin before the time. A change of much would try all, for a
// quarter of an hour: what is not tried is said.
func tryAll(root string, all []mutant, until time.Time, out io.Writer) error {
	var tries errgroup.Group
	tries.SetLimit(workers)
	var mu sync.Mutex
	var failed []string
	planted := 0
	for ; planted < len(all) && time.Now().Before(until); planted++ {
		m := all[planted]
		tries.Go(func() error {
			began := time.Now()
			by, err := m.try(root)
			mu.Lock()
			defer mu.Unlock()
			colour := "red"
			if err != nil {
				colour, by = "NOT RED", err.Error()
				failed = append(failed, m.name)
			}
			fmt.Fprintf(out, "%-7s %-38s %5.1f s  %s\n", colour, m.name, time.Since(began).Seconds(), by)
			return nil
		})
	}
	_ = tries.Wait()
	fmt.Fprintf(out, "%d planted, %d caught\n", planted, planted-len(failed))
	if left := len(all) - planted; left > 0 {
		fmt.Fprintf(out, "%d not planted: the time was over (make mutants plants all)\n", left)
	}
	if len(failed) > 0 {
		return fmt.Errorf("not caught: %s", strings.Join(failed, "; "))
	}
	return nil
}

// try plants the bug and runs its tests. It returns the test that caught it; an error where none
// did.
func (m mutant) try(root string) (string, error) {
	changed, err := m.changed(root)
	if err != nil {
		return "", err
	}
	scratch, err := os.MkdirTemp("", "mutant")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(scratch) }()
	planted, err := overlay(scratch, changed)
	if err != nil {
		return "", err
	}
	run, err := m.caught.build(root, filepath.Join(scratch, "test"), cpuLimit, "-overlay", planted)
	if err != nil {
		return "", err
	}
	by, err := run()
	if err == nil && by == "" {
		err = fmt.Errorf("survived %s", m.caught.pattern)
	}
	if strings.HasSuffix(by, didNotEnd) { // it may end no sooner without the bug
		err = fmt.Errorf("%s: name a test that fails", by)
	}
	return by, err
}

// built runs tests with some variables set. It returns the one that failed, as [redTest] does.
type built func(environment ...string) (string, error)

// build builds the tests, with the tag whole, as this file. What goes on for longer than cpu is
// killed, which is red as well.
func (t test) build(root, binary string, cpu time.Duration, flags ...string) (built, error) {
	_, err := output(root, "go", slices.Concat([]string{"test", "-c", "-tags", "whole", "-o", binary},
		flags, []string{"./" + t.folder})...)
	if err != nil {
		return nil, fmt.Errorf("does not compile: %w", err)
	}
	limited := fmt.Sprintf(`ulimit -t %d && ulimit -v %d && exec "$0" "$@"`,
		int(cpu.Seconds())+1, 8<<20)
	return func(environment ...string) (string, error) {
		ctx, cancel := context.WithTimeout(context.Background(), timeLimit)
		defer cancel()
		run := exec.CommandContext(ctx, "sh", "-c", limited, binary, "-test.run", t.pattern,
			"-test.failfast", "-test.v")
		run.Dir, run.Env = filepath.Join(root, t.folder), append(os.Environ(), environment...)
		said, err := run.CombinedOutput()
		return redTest(string(said), err)
	}, nil
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
		path := filepath.Join(root, m.caught.of, e.file)
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

var testLine = regexp.MustCompile(`(?m)^(?:=== RUN|\s*--- FAIL:)\s+(\S+)`)

// redTest is the test that failed, or the last that began where the whole run broke off; empty
// where all is well.
func redTest(said string, err error) (string, error) {
	var exit *exec.ExitError
	if err == nil || !errors.As(err, &exit) {
		return "", err
	}
	all := testLine.FindAllStringSubmatch(said, -1)
	if all == nil {
		return "", fmt.Errorf("broke off before any test: %w: %.200s", err, said)
	}
	by := all[len(all)-1][1]
	if exit.String() == "signal: killed" {
		by += didNotEnd
	}
	return by, nil
}

// inChanged leaves the mutants in whose folder, or that of their tests, something was changed,
// added or deleted since the base; all where it was here. What is not committed counts as well.
//
// The base that is not asked for is where this branch left origin/main, else the commit before. In
// a clone of one commit everything is new.
func inChanged(root, asked string, all []mutant) ([]mutant, error) {
	base := asked
	if base == "" {
		base = "HEAD~1"
		if left, err := output(root, "git", "merge-base", base, "origin/main"); err == nil {
			base = strings.TrimSpace(left)
		}
	}
	folders, err := changedFolders(root, base)
	switch {
	case err != nil && asked != "":
		return nil, fmt.Errorf("BASE=%s: %w", asked, err)
	case err != nil || folders["verify/mutant"]:
		return all, nil
	}
	return slices.DeleteFunc(all, func(m mutant) bool {
		return !folders[m.folder()] && !folders[m.caught.folder]
	}), nil
}

// changedFolders are the folders, from the root, of all files that differ from the base, a
// testdata's files counting as its package's.
func changedFolders(root, base string) (map[string]bool, error) {
	differing, err := output(root, "git", "diff", "--name-only", "--no-renames", "--relative", "-z",
		base, "--", ".")
	if err != nil {
		return nil, err
	}
	added, err := output(root, "git", "ls-files", "--others", "--exclude-standard", "-z")
	if err != nil {
		return nil, err
	}
	folders := map[string]bool{}
	for file := range strings.SplitSeq(differing+added, "\x00") {
		if file != "" {
			folder, _, _ := strings.Cut(path.Dir(file)+"/", "/testdata/")
			folders[strings.TrimSuffix(folder, "/")] = true
		}
	}
	return folders, nil
}

// output is what a command says, run in a folder. Its error has what the command said of it.
func output(folder, name string, arguments ...string) (string, error) {
	command := exec.Command(name, arguments...)
	command.Dir = folder
	said, err := command.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) && len(exit.Stderr) > 0 {
		err = errors.New(strings.TrimSpace(string(exit.Stderr)))
	}
	if err != nil {
		return "", fmt.Errorf("%s %s: %w", name, arguments[0], err)
	}
	return string(said), nil
}
