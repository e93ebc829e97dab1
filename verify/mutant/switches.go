package main

import (
	"bufio"
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/tools/go/packages"
)

// The variables of the code that [switches] has.
const (
	switchedOn = "STREAMSORT_MUTANT"
	reached    = "STREAMSORT_MUTANTS"
)

// planted is a package whose mutants are switches, with the tests of the current judge.
type planted struct {
	folder, scratch, overlay string
	sites                    []site
	// binary is the tests of the judge's folder, units what they are run by.
	binary, judgeFolder string
	units               []unit
	// seen are the switches that a test of any judge reached.
	seen map[int]bool
}

// unit is a test, or a part of the test `of`, which of the switches it reaches, and what it takes.
type unit struct {
	name, of string
	reaches  map[int]bool
	took     time.Duration
}

// chosen is which mutants are tried.
type chosen struct {
	// in is whether a site is asked for; all are where it is nil.
	in func(site) bool
	// by is the folder of the tests that judge; where it is empty, the package's own and those of
	// [judges] do.
	by string
	// sample is how many are tried at most, the first ones by a hash of their names: a change of
	// the tests chooses no others. 0 for all.
	sample int
	until  time.Time
}

// plantSwitches writes a package with all its mutants in it.
func plantSwitches(root, scratch, folder string) (*planted, error) {
	const need = packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles |
		packages.NeedImports | packages.NeedTypes | packages.NeedTypesSizes | packages.NeedSyntax |
		packages.NeedTypesInfo
	list, err := packages.Load(&packages.Config{Dir: root, Mode: need}, "./"+folder)
	if err != nil {
		return nil, err
	}
	if len(list) != 1 || len(list[0].Errors) > 0 {
		return nil, fmt.Errorf("%s: %v", folder, list[0].Errors)
	}
	found, files, err := find(list[0], func(path string) (string, error) {
		text, err := os.ReadFile(path)
		return string(text), err
	})
	if err != nil {
		return nil, err
	}
	p := &planted{folder: folder, scratch: scratch, sites: found.sites, seen: map[int]bool{}}
	if len(p.sites) == 0 {
		return p, nil
	}
	texts := map[string]string{
		filepath.Join(root, folder, "mutant_switches.go"): "package " + list[0].Name + "\n" + fmt.Sprintf(switches, len(p.sites)),
	}
	for _, f := range files {
		texts[f.path] = f.switched()
	}
	p.overlay, err = overlay(scratch, texts)
	return p, err
}

// addTests builds the tests of a folder, and finds which of them reaches which switch.
func (p *planted) addTests(root, judge string) error {
	p.units = nil
	p.binary, p.judgeFolder = filepath.Join(p.scratch, "test"), filepath.Join(root, judge)
	_ = os.Remove(p.binary)
	if err := build(root, "./"+judge, p.binary, "-overlay", p.overlay); err != nil {
		return fmt.Errorf("%s %w", judge, err)
	}
	if _, err := os.Stat(p.binary); err != nil {
		return nil // no tests there
	}
	said, err := output(p.judgeFolder, p.binary, "-test.list", ".")
	if err != nil {
		return err
	}
	var units []unit
	for name := range strings.FieldsSeq(said) {
		units = append(units, unit{name: name})
	}
	return p.measure(units)
}

// long is the time of a CPU from which on a test is judged by its parts.
const long = 2 * time.Second

var partLine = regexp.MustCompile(`(?m)^=== RUN   [^/\s]+/([^/\s]+)$`)

// measure runs each of the tests as it is; one that takes long and has parts, by them.
func (p *planted) measure(units []unit) error {
	parts := make([][]unit, len(units))
	err := sideBySide(len(units), func(i int) error {
		u := &units[i]
		note := filepath.Join(p.scratch, fmt.Sprint("reached", i))
		defer func() { _ = os.Remove(note) }()
		said, took, err := p.run([]*unit{u}, time.Hour, time.Hour, reached+"="+note)
		if err != nil {
			return fmt.Errorf("%s %s is red as it is: %w: %.3000s", u.of, u.name, err, said)
		}
		if found := partLine.FindAllStringSubmatch(said, -1); took > long && u.of == "" &&
			len(found) > 1 {
			for _, part := range found {
				parts[i] = append(parts[i], unit{name: part[1], of: u.name})
			}
			return nil
		}
		u.took, u.reaches = took, map[int]bool{}
		text, _ := os.ReadFile(note)
		for number := range strings.FieldsSeq(string(text)) {
			n, _ := strconv.Atoi(number) // [switches] writes numbers
			u.reaches[n] = true
		}
		return nil
	})
	for i, u := range units {
		if parts[i] != nil {
			err = errors.Join(err, p.measure(parts[i]))
			continue
		}
		p.units = append(p.units, u)
		maps.Copy(p.seen, u.reaches)
	}
	return err
}

// run runs tests, or parts of one test, with a variable set.
func (p *planted) run(units []*unit, cpu, wall time.Duration,
	variable string) (string, time.Duration, error) {
	var names []string
	for _, u := range units {
		names = append(names, regexp.QuoteMeta(u.name))
	}
	pattern := "^(" + strings.Join(names, "|") + ")$"
	if of := units[0].of; of != "" {
		pattern = "^" + of + "$/" + pattern
	}
	return runTests(p.binary, p.judgeFolder, pattern, cpu, wall, variable)
}

// judge is the test that fails with a mutant switched on; empty where none does.
func (p *planted) judge(n int) (string, error) {
	var all []*unit
	for i := range p.units {
		if p.units[i].reaches[n] {
			all = append(all, &p.units[i])
		}
	}
	slices.SortStableFunc(all, func(a, b *unit) int { return cmp.Compare(a.took, b.took) })
	// The quick ones first, and then ever more at once.
	for most := 200 * time.Millisecond; len(all) > 0; most *= 4 {
		var sum time.Duration
		var now, later []*unit
		for _, u := range all {
			if len(now) == 0 || u.of == now[0].of && sum+u.took <= most {
				now, sum = append(now, u), sum+u.took
			} else {
				later = append(later, u)
			}
		}
		all = later
		// What goes on for ever ends by the time of a CPU; what waits for ever, by the other.
		said, _, err := p.run(now, 10*time.Second+10*sum, 2*time.Minute+20*sum,
			switchedOn+"="+strconv.Itoa(n))
		if by, err := redTest(said, err); by != "" || err != nil {
			return by, err
		}
	}
	return "", nil
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

// operate tries the mutants of a package, and prints those that survive: all the tests of the
// package itself first, and those of the other judges on what is left.
func operate(root, folder string, c chosen, alike map[string]string, out io.Writer) (tally, error) {
	scratch, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return tally{}, err
	}
	defer func() { _ = os.RemoveAll(scratch) }()
	began := time.Now()
	p, err := plantSwitches(root, scratch, folder)
	if err != nil {
		return tally{}, err
	}
	left, err := p.chosen(c, alike)
	if err != nil {
		return tally{}, err
	}
	by := []string{c.by}
	if c.by == "" {
		by = append([]string{folder}, judges[folder]...)
	}
	t := tally{tried: len(left)}
	for _, judge := range by {
		if len(left) == 0 || time.Now().After(c.until) {
			break
		}
		if err := p.addTests(root, judge); err != nil {
			return t, err
		}
		survived := make([]bool, len(left))
		var untried atomic.Int64
		err := sideBySide(len(left), func(i int) error {
			if time.Now().After(c.until) {
				survived[i] = true
				untried.Add(1)
				return nil
			}
			by, err := p.judge(left[i])
			survived[i] = by == ""
			return err
		})
		if err != nil {
			return t, err
		}
		if judge == by[0] {
			t.tried -= int(untried.Load())
		}
		i := -1
		left = slices.DeleteFunc(left, func(int) bool { i++; return !survived[i] })
		if untried.Load() > 0 {
			left = left[:len(left)-int(untried.Load())] // they are the last ones
			break
		}
	}
	t.killed = t.tried - len(left)
	for _, n := range left {
		colour := "GREEN "
		if !p.seen[n] {
			colour = "UNSEEN"
		}
		fmt.Fprintf(out, "%s %s %s\n", colour, folder, p.sites[n].name)
	}
	fmt.Fprintf(out, "%s: %d of %d killed (%.1f %%) in %.0f s\n", folder, t.killed, t.tried,
		100*t.rate(), time.Since(began).Seconds())
	return t, nil
}

// chosen are the numbers of the mutants that are asked for, without those that change nothing.
func (p *planted) chosen(c chosen, alike map[string]string) ([]int, error) {
	there := map[string]bool{}
	var asked []int
	for n, s := range p.sites {
		name := p.folder + " " + s.name
		there[name] = true
		if alike[name] == "" && (c.in == nil || c.in(s)) {
			asked = append(asked, n)
		}
	}
	for name := range alike {
		if strings.HasPrefix(name, p.folder+" ") && !there[name] {
			return nil,
				fmt.Errorf("there is no mutant %q, of which %s says that it changes nothing", name, alikeFile)
		}
	}
	if c.sample > 0 && len(asked) > c.sample {
		hash := func(n int) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(p.sites[n].name))) }
		slices.SortFunc(asked, func(a, b int) int { return cmp.Compare(hash(a), hash(b)) })
		asked = asked[:c.sample]
	}
	return asked, nil
}

// tally is how many mutants of a package were tried, and killed.
type tally struct{ killed, tried int }

func (t tally) rate() float64 {
	if t.tried == 0 {
		return 1
	}
	return float64(t.killed) / float64(t.tried)
}

const alikeFile = "verify/mutant/alike.txt"

// readAlike reads which mutants change nothing, with the reasons: a line has the package, the
// mutant's name, a tab and the reason.
func readAlike(root string) (map[string]string, error) {
	file, err := os.Open(filepath.Join(root, alikeFile))
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	alike := map[string]string{}
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		if line := lines.Text(); line != "" && !strings.HasPrefix(line, "#") {
			name, reason, ok := strings.Cut(line, "\t")
			if !ok || reason == "" {
				return nil, fmt.Errorf("%s: %q has no tab and reason", alikeFile, line)
			}
			alike[name] = reason
		}
	}
	return alike, lines.Err()
}
