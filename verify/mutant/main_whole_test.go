//go:build whole

package main

import (
	"bytes"
	"go/ast"
	"go/build"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/dev/check"
)

func TestVerdicts(t *testing.T) {
	one := by("p", "TestOne")
	for name, c := range map[string]struct {
		m    mutant
		want string
		ok   bool
	}{
		"caught":        {mutant{"m", one, []edit{{"one.go", "return 1", "return 2"}}}, "red     m", true},
		"panics":        {mutant{"m", one, []edit{{"one.go", "return 1", "panic(1)"}}}, "TestOne", true},
		"survives":      {mutant{"m", one, []edit{{"one.go", "return 1", "return 2 - 1"}}}, "survived TestOne", false},
		"text is gone":  {mutant{"m", one, []edit{{"one.go", "return 7", "return 2"}}}, "0 times", false},
		"text is twice": {mutant{"m", one, []edit{{"one.go", "n", "m"}}}, "times, want once", false},
		"is killed": {mutant{"m", one, []edit{
			{"one.go", "package p\n", "package p\n\nimport \"syscall\"\n"},
			{"one.go", "return 1", "_ = syscall.Kill(syscall.Getpid(), syscall.SIGKILL); return 1"},
		}}, "TestOne did not end: name a test", false},
		"does not build": {mutant{"m", one, []edit{{"one.go", "return 1", "return"}}}, "does not compile", false},
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
	root := check.Get(moduleFolder())
	compiled := map[string]string{}
	said := check.Get(output(root, "go", "list", "-export", "-deps", "-f",
		"{{.ImportPath}}={{.Export}}", "./functions/...", "./internal/...", "./pkg/..."))
	for line := range strings.FieldsSeq(said) {
		path, file, _ := strings.Cut(line, "=")
		compiled[path] = file
	}
	known := importer.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) {
		return os.Open(compiled[path])
	})
	for _, m := range mutants() {
		changed, err := m.changed(root)
		check.Need(t, err == nil, "%s: %v", m.name, err)
		folders := map[string]bool{}
		for path := range changed {
			folders[filepath.Dir(path)] = true
		}
		for path := range folders {
			folder := check.Get(build.ImportDir(path, 0))
			set := token.NewFileSet()
			var files []*ast.File
			for _, name := range folder.GoFiles {
				path := filepath.Join(folder.Dir, name)
				var text any // of the file itself where it is nil
				if there, ok := changed[path]; ok {
					text = there
				}
				files = append(files,
					check.Get(parser.ParseFile(set, path, text, parser.SkipObjectResolution)))
			}
			_, err = (&types.Config{Importer: known}).Check(path, set, files, nil)
			check.That(t, err == nil, "%s: %v", m.name, err)
		}
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
