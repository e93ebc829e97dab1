//go:build whole

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
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/go/packages"

	"github.com/streamsort/streamsort/internal/dev/check"
)

func TestVerdicts(t *testing.T) {
	one := test{"./p", "TestOne"}
	for name, c := range map[string]struct {
		m    mutant
		want string
		ok   bool
	}{
		"caught":        {mutant{"m", "p", one, []edit{{"one.go", "return 1", "return 2"}}}, "red    m", true},
		"panics":        {mutant{"m", "p", one, []edit{{"one.go", "return 1", "panic(1)"}}}, "TestOne", true},
		"survives":      {mutant{"m", "p", one, []edit{{"one.go", "return 1", "return 2 - 1"}}}, "survived TestOne", false},
		"text is gone":  {mutant{"m", "p", one, []edit{{"one.go", "return 7", "return 2"}}}, "0 times", false},
		"text is twice": {mutant{"m", "p", one, []edit{{"one.go", "n", "m"}}}, "times, want once", false},
		"is killed": {mutant{"m", "p", one, []edit{
			{"one.go", "package p\n", "package p\n\nimport \"syscall\"\n"},
			{"one.go", "return 1", "_ = syscall.Kill(syscall.Getpid(), syscall.SIGKILL); return 1"},
		}}, "TestOne did not end: name a test", false},
		"does not build": {mutant{"m", "p", one, []edit{{"one.go", "return 1", "return"}}}, "does not compile", false},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			err := tryAll(module(t), []mutant{c.m}, time.Now().Add(time.Hour), &out)
			check.That(t, (err == nil) == c.ok && strings.Contains(out.String(), c.want),
				"error %v, said:\n%s\nwant %q", err, out.String(), c.want)
		})
	}
}

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
		check.OK(t, os.MkdirAll(filepath.Dir(path), 0o700))
		check.OK(t, os.WriteFile(path, []byte(text), 0o600))
	}
	return root
}

// TestEveryMutantCompiles where it is planted.
func TestEveryMutantCompiles(t *testing.T) {
	root, err := moduleFolder()
	check.Need(t, err == nil, "%v", err)
	all := mutants()
	of, known := loaded(t, root, all)
	for _, m := range all {
		changed, err := m.changed(root)
		if err == nil {
			err = compiles(of[filepath.Join(root, m.folder)], known, changed)
		}
		check.That(t, err == nil, "%s: %v", m.name, err)
	}
}

// TestEveryBugHasItsTest: the tests that are to turn red are there.
func TestEveryBugHasItsTest(t *testing.T) {
	root := check.Get(moduleFolder())
	declared := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	for _, m := range mutants() {
		pattern, _, _ := strings.Cut(m.caught.pattern, "/")
		files := check.Get(filepath.Glob(filepath.Join(root, m.caught.folder, "*_test.go")))
		check.That(t, slices.ContainsFunc(files, func(file string) bool {
			names := declared.FindAllSubmatch(check.Get(os.ReadFile(file)), -1)
			return slices.ContainsFunc(names, func(name [][]byte) bool {
				return regexp.MustCompile(pattern).Match(name[1])
			})
		}), "%s: no test of %s is named %s", m.name, m.caught.folder, pattern)
	}
}

// loaded is the packages that bugs are planted in, by their folder, and what any of them imports.
func loaded(t *testing.T, root string, all []mutant) (map[string]*packages.Package, imports) {
	t.Helper()
	folders := map[string]bool{}
	for _, m := range all {
		folders["./"+m.folder] = true
	}
	const need = packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports |
		packages.NeedTypes | packages.NeedTypesSizes | packages.NeedSyntax
	list, err := packages.Load(&packages.Config{Dir: root, Mode: need},
		slices.Collect(maps.Keys(folders))...)
	check.Need(t, err == nil, "%v", err)
	of, known := map[string]*packages.Package{}, imports{}
	for _, p := range list {
		check.Need(t, len(p.Errors) == 0, "%v", p.Errors)
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
