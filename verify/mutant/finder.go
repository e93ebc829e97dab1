package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

// site is a place at which an operator changes a function.
type site struct {
	// name says where and how: the function, the operator, and the text that it changes.
	name string
	file *source
	// first and last are the lines of the function.
	first, last int
}

// finder finds the sites of a package.
type finder struct {
	pkg   *packages.Package
	sites []site
	times map[string]int
	// file and function are those that it is in; above are the nodes around the current one.
	file        *source
	function    string
	first, last int
	above       []ast.Node
}

// at are the bounds of a node in its file.
func (f *finder) at(n ast.Node) (from, to int) {
	return int(n.Pos() - f.file.pos), int(n.End() - f.file.pos)
}

func (f *finder) textOf(n ast.Node) string {
	from, to := f.at(n)
	return f.file.text[from:to]
}

// add notes a mutant of a node, and returns its number.
func (f *finder) add(operator string, n ast.Node) int {
	what := strings.Join(strings.Fields(f.textOf(n)), " ")
	if len(what) > 60 {
		what = strings.ToValidUTF8(what[:60], "") + "…"
	}
	name := f.function + ": " + operator + ": " + what
	if f.times[name]++; f.times[name] > 1 {
		name += fmt.Sprintf(" (%d)", f.times[name])
	}
	f.sites = append(f.sites, site{name, f.file, f.first, f.last})
	return len(f.sites) - 1
}

// rewrite replaces a node's text: each %s of the format is one of the parts.
func (f *finder) rewrite(n ast.Node, format string, parts ...ast.Node) {
	from, to := f.at(n)
	bounds := make([][2]int, len(parts))
	for i, part := range parts {
		bounds[i][0], bounds[i][1] = f.at(part)
	}
	f.file.rewrites = append(f.file.rewrites,
		rewrite{from, to, func(inside func(from, to int) string) string {
			texts := make([]any, len(bounds))
			for i, b := range bounds {
				texts[i] = inside(b[0], b[1])
			}
			return fmt.Sprintf(format, texts...)
		}})
}

// What switches a condition.
const (
	makesTrue  = "(mutant__(%d) || (%%s))"
	makesFalse = "(!mutant__(%d) && (%%s))"
	negates    = "((%%s) != mutant__(%d))"
)

// switched notes a mutant of a node, and replaces the node's text by a format that has the mutant's
// number, and the text.
func (f *finder) switched(operator string, n ast.Node, format string) {
	f.rewrite(n, fmt.Sprintf(format, f.add(operator, n)), n)
}

func (f *finder) insert(at token.Pos, text string) {
	offset := int(at - f.file.pos)
	f.file.rewrites = append(f.file.rewrites,
		rewrite{offset, offset, func(func(from, to int) string) string {
			return text
		}})
}

func (f *finder) typeOf(e ast.Expr) types.Type { return f.pkg.TypesInfo.TypeOf(e) }

func (f *finder) constant(e ast.Expr) bool { return f.pkg.TypesInfo.Types[e].Value != nil }

func (f *finder) isBool(e ast.Expr) bool {
	basic, ok := types.Unalias(f.typeOf(e)).(*types.Basic)
	return ok && basic.Info()&types.IsBoolean != 0
}

func isError(t types.Type) bool {
	return t != nil && types.Identical(t, types.Universe.Lookup("error").Type())
}

// source is a file with the rewrites that switch its mutants.
type source struct {
	path     string
	text     string
	pos      token.Pos
	rewrites []rewrite
}

// rewrite replaces a range of a file by a text that behaves as the range does until a mutant is
// switched on. inside renders a part of the range with the rewrites that it has.
type rewrite struct {
	from, to int
	text     func(inside func(from, to int) string) string
}

// render is a part of the file with the rewrites from the next one on.
func (s *source) render(from, to, next int) string {
	var out strings.Builder
	for i := next; i < len(s.rewrites); i++ {
		r := s.rewrites[i]
		if r.from < from || r.to > to {
			continue
		}
		if r.from >= to {
			break
		}
		out.WriteString(s.text[from:r.from])
		out.WriteString(r.text(func(a, b int) string { return s.render(a, b, i+1) }))
		from = r.to
	}
	out.WriteString(s.text[from:to])
	return out.String()
}

// switched is the whole file with all its mutants.
func (s *source) switched() string {
	// The first of two rewrites of one range goes around the other.
	slices.SortStableFunc(s.rewrites, func(a, b rewrite) int {
		if a.from != b.from {
			return a.from - b.from
		}
		return b.to - a.to
	})
	return s.render(0, len(s.text), 0)
}

// The functions that switched code calls; they stand in the package beside it. A switch is a
// number; STREAMSORT_MUTANT has the one that is on. With STREAMSORT_MUTANTS set to a file, the
// numbers of those that are reached are appended to it.
const switches = `
import (
	"cmp"
	"fmt"
	"os"
	"sync/atomic"
)

var (
	mutantOn__   = os.Getenv("STREAMSORT_MUTANT")
	mutantNote__ = os.Getenv("STREAMSORT_MUTANTS")
	mutantN__    = func() int { n := -1; fmt.Sscan(mutantOn__, &n); return n }()
	mutantSeen__ [%d]atomic.Bool
)

func mutant__(n int) bool { return n == mutantN__ || mutantNote__ != "" && mutantReached__(n) }

func mutantReached__(n int) bool {
	if !mutantSeen__[n].Swap(true) {
		if f, err := os.OpenFile(mutantNote__, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600); err == nil {
			fmt.Fprintln(f, n)
			f.Close()
		}
	}
	return false
}

func mutantZero__[T any](n int, v T) T {
	if mutant__(n) {
		var zero T
		return zero
	}
	return v
}

func mutantSkip__(n int, call func() error) error {
	if mutant__(n) {
		return nil
	}
	return call()
}

func mutantPlus__[T ~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64](n int, v, d T) T {
	if mutant__(n) {
		return v + d
	}
	return v
}

func mutantSwap__[T any](n int, a, b T) T {
	if mutant__(n) {
		return b
	}
	return a
}

func mutantBound__[T cmp.Ordered](n int, a, b, bound, other T) T {
	switch {
	case mutant__(n):
		return other
	case mutant__(n + 1):
		return a
	case mutant__(n + 2):
		return b
	}
	return bound
}

func mutantMin__[T cmp.Ordered](n int, a, b T) T { return mutantBound__(n, a, b, min(a, b), max(a, b)) }

func mutantMax__[T cmp.Ordered](n int, a, b T) T { return mutantBound__(n, a, b, max(a, b), min(a, b)) }
`
