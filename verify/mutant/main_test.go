package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/types"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/go/packages"

	"github.com/streamsort/streamsort/verify/sim"
	"github.com/streamsort/streamsort/verify/sim/cursorsim"
	"github.com/streamsort/streamsort/verify/sim/dedupsim"
	"github.com/streamsort/streamsort/verify/sim/handoffsim"
	"github.com/streamsort/streamsort/verify/sim/keyedsim"
	"github.com/streamsort/streamsort/verify/sim/repliessim"
	"github.com/streamsort/streamsort/verify/sim/trackedsim"
	"github.com/streamsort/streamsort/verify/sim/xoracksim"
)

// module makes a module with one function and its test.
func module(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":        "module example.com/one\n\ngo 1.26\n",
		"p/one.go":      "package p\n\nfunc one() int { return 1 }\n",
		"p/one_test.go": "package p\n\nimport \"testing\"\n\nfunc TestOne(t *testing.T) {\n\tif one() != 1 {\n\t\tt.Fatal()\n\t}\n}\n",
	} {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestNothingIsPlantedOnceTheTimeIsOver(t *testing.T) {
	survives := mutant{"m", "p", test{"./p", "TestOne"}, []edit{{"one.go", "return 1", "return 2 - 1"}}}
	var out bytes.Buffer
	if err := tryAll(module(t), []mutant{survives, survives}, time.Now(), &out); err != nil {
		t.Error(err)
	}
	if want := "0 planted, 0 caught\n2 not planted"; !strings.HasPrefix(out.String(), want) {
		t.Errorf("said %q, want %q first", out.String(), want)
	}
}

func TestAShortRunSeesAllPartsOfTheList(t *testing.T) {
	all := make([]mutant, 100)
	for i := range all {
		all[i].name = fmt.Sprint(i)
	}
	var tenths [10]int
	for _, m := range spread(all)[:20] {
		tenths[m.name[0]-'0'] += len(m.name) - 1 // of 10 to 99: the first digit is the tenth
		if len(m.name) == 1 {
			tenths[0]++
		}
	}
	if slices.Contains(tenths[:], 0) {
		t.Errorf("a fifth of the list has of each tenth %v, want some of each", tenths)
	}
}

// TestEveryMutantCanBePlanted: a change of the code that moves a text away, or after
// which the bug does not compile, is noticed without waiting for the mutants' own run.
func TestEveryMutantCanBePlanted(t *testing.T) {
	root, err := moduleFolder()
	if err != nil {
		t.Fatal(err)
	}
	all := mutants()
	of, known := loaded(t, root, all)
	for _, m := range all {
		changed, err := m.changed(root)
		if err == nil {
			err = compiles(of[filepath.Join(root, m.folder)], known, changed)
		}
		if err != nil {
			t.Errorf("%s: %v", m.name, err)
		}
	}
}

// loaded is the packages that bugs are planted in, by their folder, and what any of
// them imports.
func loaded(t *testing.T, root string, all []mutant) (map[string]*packages.Package, imports) {
	t.Helper()
	folders := map[string]bool{}
	for _, m := range all {
		folders["./"+m.folder] = true
	}
	const need = packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports | packages.NeedTypes | packages.NeedTypesSizes | packages.NeedSyntax
	list, err := packages.Load(&packages.Config{Dir: root, Mode: need}, slices.Collect(maps.Keys(folders))...)
	if err != nil {
		t.Fatal(err)
	}
	of, known := map[string]*packages.Package{}, imports{}
	for _, p := range list {
		if len(p.Errors) > 0 {
			t.Fatal(p.Errors)
		}
		of[filepath.Dir(p.GoFiles[0])] = p
		maps.Copy(known, p.Imports)
	}
	return of, known
}

// compiles checks the types of a package with some files changed.
func compiles(p *packages.Package, known imports, changed map[string]string) error {
	files := make([]*ast.File, len(p.Syntax))
	for i, path := range p.CompiledGoFiles {
		files[i] = p.Syntax[i]
		if text, ok := changed[path]; ok {
			parsed, err := parser.ParseFile(p.Fset, path, text, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			files[i] = parsed
		}
	}
	check := types.Config{Importer: known, Sizes: p.TypesSizes}
	_, err := check.Check(p.Types.Path(), p.Fset, files, nil)
	return err
}

// imports are packages by their paths.
type imports map[string]*packages.Package

func (i imports) Import(path string) (*types.Package, error) {
	if path == "unsafe" {
		return types.Unsafe, nil
	}
	if p := i[path]; p != nil {
		return p.Types, nil
	}
	return nil, fmt.Errorf("%s is imported by no package that bugs are planted in", path)
}

// TestSmallSchedulesAreThere: a scenario that goes by another name is noticed
// without waiting for the mutants' own run.
func TestSmallSchedulesAreThere(t *testing.T) {
	there := map[string]bool{}
	for folder, suite := range map[string]sim.Suite{
		deliveries.folder: handoffsim.Suite(), repliesWalked.folder: repliessim.Suite(), dedupSchedules.folder: dedupsim.Suite(),
		ackerSchedules.folder: xoracksim.Suite(), trackings.folder: trackedsim.Suite(), schedules.folder: cursorsim.Suite(),
		keyedSchedules.folder: keyedsim.Suite(),
	} {
		for _, s := range suite.Small {
			there[fmt.Sprint(smallSchedule(folder, s.Name))] = true
		}
	}
	for _, m := range mutants() {
		if strings.Contains(m.caught.pattern, "/^") && !there[fmt.Sprint(m.caught)] {
			t.Errorf("%s: no scenario %s in %s", m.name, m.caught.pattern, m.caught.folder)
		}
	}
}
