package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/streamsort/streamsort/internal/dev/check"
)

// TestCounts counts a small repository that has one of each kind, and something beside it that does
// not count.
func TestCounts(t *testing.T) {
	long := "// " + strings.Repeat("x", 98) + "\n"
	files := map[string]string{
		"Makefile":  ".PHONY: a\na: b ## do it\n\techo\nb:\n\techo ## no target\n",
		"README.md": "one two\nthree\n",
		"NOTES.md":  "not counted as words: told\n",
		"docs/a.md": "Of words it has many. " + strings.Repeat("y", 90) + "\n| " + strings.Repeat("z ", 60) + "|\n",
		"pkg/cursor/a.go": "// Package cursor is told.\npackage cursor\n" + long + `
const layoutOld, layoutNew = 1, 2

type Settings struct{ First, Last int; hidden int }

func (s *Settings) Read() string { return "STREAMSORT_CURSORS_TABLE" + "STREAMSORT_MODE" }
func (o other) Read() {}

type other struct{}
`,
		// The last line of all is too long, and none before it.
		"pkg/cursor/a_test.go": "package cursor\n\nfunc TestTold() {}\n" +
			"//\tx " + strings.Repeat("x", 98) + "\n// https://" + strings.Repeat("x", 98) + "\n" +
			"var rows = []int{\n" + strings.Repeat("1+", 50) + "1,\n}\n\nvar s = `" +
			strings.Repeat("x", 98) + "`\n\nvar n = " + strings.Repeat("1+", 50) + "1\n",
		"pkg/cursor/internal/x/x.go":      "package x\n\nconst Name = 1\n",
		"internal/dev/d.go":               "package dev\n\nfunc long() {" + strings.Repeat("\n", 80) + "}\n",
		"verify/v.json":                   "{}\n",
		"package-lock.json":               "{}\n",
		"node_modules/n/n.go":             "no Go at all",
		".build/b.go":                     "no Go at all",
		"infra/cdk/streamsort/props.go":   "package streamsort\n\ntype Props struct{ A, B *int }\n\ntype Stack struct{ C int }\n",
		"cmd/streamsort/commands.go":      "package main\n\ntype commands struct {\n\tURL string `help:\"u\"`\n\tPut put `cmd:\"\" help:\"p\"`\n}\n",
		"cmd/streamsort/put.go":           "package main\n\ntype put struct {\n\tFile string `arg:\"\" help:\"f\"`\n\tSub sub `cmd:\"\"`\n}\n",
		"internal/docs/d.go":              "// Package docs\n" + strings.Repeat("// is long\n", 81) + "package docs\n",
		"functions/f/testdata/readme.txt": "told\n",
	}
	repository := fstest.MapFS{}
	for name, text := range files {
		repository[name] = &fstest.MapFile{Data: []byte(text)}
	}
	counts := check.Get(count(repository))
	got := map[string]int{}
	for _, c := range counts {
		got[c.name] = c.value
	}
	want := map[string]int{
		"Go, product": 12 + 3 + 5 + 6 + 6 + 83, "Go, tools": 83, "Go, tests": 12, "JSON": 1,
		"words of docs": 3 + 6 + 60, "README lines": 2,
		"CDK properties": 2, "environment variables": 2, "queue settings": 2, "CLI verbs": 1, "CLI flags": 1,
		"make targets": 2, "tables": 1, "layouts of a cursor": 2,
		"functions over 80 lines": 1, "lines over 100 columns, Go": 2, "lines over 100 columns, docs": 1,
		"package comments over 80 lines": 1, "words of the style list": 2,
		"sentences that begin with Of, Who, Whoever, Nobody": 1,
		"exported names of pkg/cursor":                       2,
	}
	check.Is(t, cmp.Diff(want, got, cmpopts.EquateEmpty()), "")
}

// TestOnlyFalls: a count that rose is named, and written only with a reason; one that fell is
// written without.
func TestOnlyFalls(t *testing.T) {
	s := check.Get(parse("# head\n\na: 3\nb: 5\n\n+ 2026-01-02 a: as it was\n"))
	now := []entry{{"a", 4}, {"b", 2}, {"c", 1}}
	rose := s.compare(io.Discard, now)
	if want := []string{"a", "c"}; !slices.Equal(rose, want) {
		t.Errorf("rose: %q, want %q", rose, want)
	}
	got := s.renew(now, rose, "a tool", time.Date(2026, 11, 26, 0, 0, 0, 0, time.UTC))
	want := "# head\n\na: 4\nb: 2\nc: 1\n\n+ 2026-01-02 a: as it was\n+ 2026-11-26 a; c: a tool\n"
	check.Is(t, got, want)
	again := check.Get(parse(got))
	rose = again.compare(io.Discard, now)
	check.That(t, len(rose) == 0, "rose after the update: %q", rose)
}

// TestBadFile: a line that is no count names itself.
func TestBadFile(t *testing.T) {
	for _, text := range []string{"a 3", "a: -1", "a: three"} {
		if _, err := parse(text); err == nil || !strings.Contains(err.Error(), "line 1") {
			t.Errorf("%q: got %v, want an error that names line 1", text, fmt.Sprint(err))
		}
	}
}
