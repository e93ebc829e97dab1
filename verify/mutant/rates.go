package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// judges are the folders of tests that judge what a package's own tests leave: of the simulator
// that runs it, or of those who call it.
var judges = map[string][]string{
	"internal/announce":          {"functions/ack", "functions/delivery"},
	"internal/httpapi":           {"functions/enqueue"},
	"internal/intake":            {"functions/enqueue", "functions/source"},
	"internal/lists":             {"functions/ack"},
	"internal/mapping":           {"internal/source"},
	"internal/message":           {"functions/enqueue"},
	"internal/secret":            {"internal/webhook"},
	"internal/sink/kind":         {"internal/sink"},
	"internal/source":            {"functions/source"},
	"internal/tenancy":           {"internal/httpapi", "functions/enqueue"},
	"pkg/cursor":                 {"pkg/delivery", "verify/sim/cursorsim", "verify/sim/logsim"},
	"pkg/dedup":                  {"verify/sim/dedupsim"},
	"pkg/delivery":               {"pkg/delivery/pull", "verify/sim/deliverysim"},
	"pkg/delivery/pull":          {"pkg/delivery/pull/sqlmarker"},
	"pkg/xorack":                 {"verify/sim/xoracksim"},
	"pkg/xorack/internal/chains": {"pkg/xorack", "pkg/xorack/stamps", "verify/sim/xoracksim"},
	"pkg/xorack/stamps":          {"verify/sim/xoracksim"},
}

// The files of what the operators' mutants have shown.
const ratesFile = "verify/mutant/rates.txt"

// rates are how many mutants of each package were killed, by its folder; those of a sample that one
// folder of tests judged, by "folder by name".
type rates map[string]tally

var rateLine = regexp.MustCompile(`^(\S+(?: by \S+)?) (\d+) of (\d+)$`)

func parseRates(text string) (rates, error) {
	all := rates{}
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		var t tally
		found := rateLine.FindStringSubmatch(line)
		if found != nil {
			t.killed, _ = strconv.Atoi(found[2])
			t.tried, _ = strconv.Atoi(found[3])
		}
		if found == nil || t.killed > t.tried {
			return nil, fmt.Errorf("%s: %q is not a folder, a number, of and a number", ratesFile, line)
		}
		all[found[1]] = t
	}
	return all, nil
}

func (r rates) String() string {
	out := "# How many of a package's mutants its tests kill: make mutants PKG=./pkg/xorack UPDATE=1\n" +
		"# writes a line, and so does a suite's sample: PKG=./pkg/xorack BY=./verify/sim/xoracksim SAMPLE=60.\n" +
		"# A rate may only rise. A sample is the first ones by a hash of their names.\n"
	for _, folder := range slices.Sorted(maps.Keys(r)) {
		out += fmt.Sprintf("%s %d of %d\n", folder, r[folder].killed, r[folder].tried)
	}
	return out
}

func readRates(root string) (rates, error) {
	text, err := os.ReadFile(filepath.Join(root, ratesFile))
	if err != nil {
		return nil, err
	}
	return parseRates(string(text))
}

// fell is the packages whose rate is lower than it was.
func (r rates) fell(before rates) error {
	var errs []error
	for folder, now := range r {
		if was, ok := before[folder]; ok && now.rate() < was.rate() {
			errs = append(errs, fmt.Errorf("%s: %d of %d mutants are killed, it was %d of %d: add tests that fail with those that survive, or say in %s why one changes nothing",
				folder, now.killed, now.tried, was.killed, was.tried, alikeFile))
		}
	}
	return errors.Join(errs...)
}

// deployed are the folders of the packages that functions are built from, ours or a user's. Kits of
// tests are none.
func deployed(root string) ([]string, error) {
	listed, err := output(root, "go", "list", "-deps", "-f",
		"{{with .Module}}{{if .Main}}{{$.Dir}}{{end}}{{end}}", "./functions/...", "./pkg/...")
	if err != nil {
		return nil, err
	}
	var folders []string
	for folder := range strings.FieldsSeq(listed) {
		from, err := filepath.Rel(root, folder)
		if err != nil {
			return nil, err
		}
		if !strings.HasSuffix(from, "test") {
			folders = append(folders, filepath.ToSlash(from))
		}
	}
	return folders, nil
}

// tryPackage tries the mutants of a package. All of them, by all its judges, have to do at least as
// well as the last time.
func tryPackage(root, folder string, c chosen, update bool, out io.Writer) error {
	if folder = strings.TrimPrefix(folder, "./"); folder == "tonight" {
		folders, err := deployed(root)
		if err != nil {
			return err
		}
		slices.Sort(folders)
		folder = folders[time.Now().YearDay()%len(folders)]
	}
	alike, err := readAlike(root)
	if err != nil {
		return err
	}
	known, err := readRates(root)
	if err != nil {
		return err
	}
	t, err := operate(root, folder, c, alike, out)
	name := folder
	if c.by != "" {
		name += " by " + path.Base(c.by)
	}
	if err != nil || c.in != nil || c.by == "" && (c.sample > 0 || time.Now().After(c.until)) {
		return err
	}
	if err := (rates{name: t}).fell(known); err != nil || !update {
		return err
	}
	known[name] = t
	return os.WriteFile(filepath.Join(root, ratesFile), []byte(known.String()), 0o644)
}

// mostChanged is how many mutants of changed functions are tried at once.
const mostChanged = 60

// tryChanged tries mutants of the functions that changed since the base. In a package with a rate
// not more may survive than by its rate.
func tryChanged(root, base string, until time.Time, out io.Writer) error {
	base, err := theBase(root, base)
	if err != nil || base == "" {
		return err
	}
	known, err := readRates(root)
	if err != nil {
		return err
	}
	if text, err := output(root, "git", "show", base+":./"+ratesFile); err == nil {
		before, err := parseRates(text)
		if err != nil {
			return err
		}
		if err := known.fell(before); err != nil {
			return err
		}
	}
	alike, err := readAlike(root)
	if err != nil {
		return err
	}
	folders, err := deployed(root)
	if err != nil {
		return err
	}
	lines, err := changedLines(root, base)
	if err != nil {
		return err
	}
	changed := map[string]int{}
	for file, of := range lines {
		if folder := filepath.ToSlash(filepath.Dir(file)); slices.Contains(folders, folder) {
			changed[folder] += len(of)
		}
	}
	var errs []error
	most := slices.SortedFunc(maps.Keys(changed), func(a, b string) int {
		return cmp.Or(changed[b]-changed[a], cmp.Compare(a, b))
	})
	for _, folder := range most {
		if time.Now().After(until) {
			fmt.Fprintf(out, "%s: not tried, the time was over (make mutants PKG=./%s tries all)\n",
				folder, folder)
			continue
		}
		in := func(s site) bool {
			file, err := filepath.Rel(root, s.file.path)
			return err == nil && slices.ContainsFunc(lines[filepath.ToSlash(file)], func(line int) bool {
				return s.first <= line && line <= s.last
			})
		}
		t, err := operate(root, folder, chosen{in: in, sample: mostChanged, until: until}, alike, out)
		if was, ok := known[folder]; ok && err == nil {
			allowed := math.Ceil((1 - was.rate()) * float64(t.tried))
			if float64(t.tried-t.killed) > allowed {
				err = fmt.Errorf("%s: %d of %d mutants of what changed survive; by the rate of the package %.0f may", folder, t.tried-t.killed, t.tried, allowed)
			}
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// changedLines are the numbers of the lines that differ from the base, by file. What was only
// broken into lines anew does not differ.
func changedLines(root, base string) (map[string][]int, error) {
	diff, err := output(root, "git", "diff", "-U0", "--no-color", "--no-ext-diff", "--no-renames",
		"--relative", "--src-prefix=a/", "--dst-prefix=b/", base, "--", "*.go")
	if err != nil {
		return nil, err
	}
	lines, file := map[string][]int{}, ""
	for part := range strings.SplitSeq(diff, "\n@@ ") {
		part, next, _ := strings.Cut(part, "diff --git ")
		hunk := hunkLine.FindStringSubmatch(part)
		if hunk != nil && !strings.HasSuffix(file, "_test.go") && !onlyBroken(part) {
			first, _ := strconv.Atoi(hunk[1])
			n, _ := strconv.Atoi(cmp.Or(hunk[2], "1"))
			for i := range max(n, 1) { // where lines went, the one that they stood behind
				lines[file] = append(lines[file], first+i)
			}
		}
		if _, name, ok := strings.Cut(next, "\n+++ b/"); ok {
			file = strings.TrimSpace(name)
		}
	}
	return lines, nil
}

// onlyBroken says whether the lines that a hunk takes and those that it gives have the same text.
func onlyBroken(hunk string) bool {
	text := map[byte]string{}
	_, body, _ := strings.Cut(hunk, "\n")
	for line := range strings.Lines(body) {
		text[line[0]] += strings.Join(strings.Fields(line[1:]), "")
	}
	return text['-'] == text['+']
}

// hunkLine has the first of the new lines, and how many there are, where it is not one.
var hunkLine = regexp.MustCompile(`^\S+ \+(\d+)(?:,(\d+))? @@`)
