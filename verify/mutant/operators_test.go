package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/go/packages"

	"github.com/streamsort/streamsort/internal/dev/check"
)

const operated = `package p

type row struct{ Strong bool; N int }

type store struct{ rows []row }

func (s *store) put(a, b int) error { s.rows = append(s.rows, row{Strong: true, N: a}); return nil }

func (s *store) do(a, b int, err error) (bool, error) {
	if a < b && err == nil {
		return false, err
	}
	for range s.rows {
		a++
	}
	switch {
	case a == max(b, 7):
		println(a)
	}
	return a != b, s.put(a, b+1)
}
`

// parsed is a package of one file that imports nothing.
func parsed(t *testing.T, text string) *packages.Package {
	t.Helper()
	set := token.NewFileSet()
	file := check.Get(parser.ParseFile(set, "p.go", text, parser.SkipObjectResolution))
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{},
		Defs: map[*ast.Ident]types.Object{}}
	checked := check.Get(new(types.Config).Check("p", set, []*ast.File{file}, info))
	return &packages.Package{Name: "p", Fset: set, Syntax: []*ast.File{file},
		CompiledGoFiles: []string{"p.go"}, Types: checked, TypesInfo: info}
}

func TestOperators(t *testing.T) {
	found, files, err := find(parsed(t, operated), func(string) (string, error) {
		return operated, nil
	})
	check.OK(t, err)
	var names []string
	for _, s := range found.sites {
		names = append(names, s.name)
	}
	want := []string{
		"store.put: drop: s.rows = append(s.rows, row{Strong: true, N: a})", "store.put: drop field: N: a", "store.put: weak read: true",
		"store.do: never: a < b && err == nil", "store.do: drop term: a < b", "store.do: drop term: err == nil", "store.do: boundary: a < b",
		"store.do: nil error: err", "store.do: flip: false", "store.do: no loop: s.rows", "store.do: drop: a++",
		"store.do: never: a == max(b, 7)", "store.do: always: a == max(b, 7)", "store.do: empty case: case a == max(b, 7): println(a)",
		"store.do: min and max: max(b, 7)", "store.do: drop bound: max(b, 7)", "store.do: drop bound: max(b, 7) (2)", "store.do: drop: println(a)",
		"store.do: never: a != b", "store.do: always: a != b", "store.do: drop call: s.put(a, b+1)", "store.do: off by one: b+1",
	}
	check.Is(t, cmp.Diff(want, names), "")
	// The types of what is switched are right, but for the packages that the switches import.
	text := files[0].switched()
	own := fmt.Sprintf("package p\n"+switches, len(found.sites))
	own = own[:strings.Index(own, "import (")] + "func mutant__(n int) bool { return n < 0 }\n" +
		own[strings.Index(own, "func mutantZero__"):]
	parsed(t, text+strings.NewReplacer("package p\n", "", "cmp.Ordered", "~int|~string").Replace(own))
}

func TestRates(t *testing.T) {
	known := check.Get(readRates("../.."))
	if _, err := readAlike("../.."); err != nil {
		t.Error(err)
	}
	again, err := parseRates(known.String())
	diff := cmp.Diff(known, again, cmp.AllowUnexported(tally{}))
	check.That(t, err == nil && diff == "", "%v, (-written +read):\n%s", err, diff)
	before := rates{"p": {3, 4}}
	err = (rates{"p": {6, 8}, "q": {0, 9}}).fell(before)
	check.That(t, err == nil, "as many, and a new one: %v", err)
	err = (rates{"p": {7, 10}}).fell(before)
	check.That(t, err != nil && strings.Contains(err.Error(), "7 of 10"), "fewer: error %v", err)
	_, err = parseRates("p 5 of 4\n")
	check.That(t, err != nil, "more killed than tried is no error")
}
