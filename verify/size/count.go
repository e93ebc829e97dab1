package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// maxLines and maxColumns bound a function and a line.
const (
	maxLines   = 80
	maxColumns = 100
)

// tree is what is counted of a repository.
type tree struct {
	counts map[string]int
	order  []string
	// variables are the environment variables that the product's code names.
	variables map[string]bool
	// tables are the tables' variables among them, layouts the numbers of the items' layouts by the
	// file's folder.
	tables map[string]bool
	layout map[string]bool
}

// count counts a repository.
func count(repository fs.FS) ([]entry, error) {
	t := &tree{
		counts: map[string]int{}, variables: map[string]bool{}, tables: map[string]bool{},
		layout: map[string]bool{},
	}
	for _, name := range names {
		t.add(name, 0)
	}
	if err := fs.WalkDir(repository, ".", func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && passedOver(file):
			return fs.SkipDir
		case d.IsDir():
			return nil
		}
		return t.file(repository, file)
	}); err != nil {
		return nil, err
	}
	t.add("environment variables", len(t.variables))
	t.add("tables", len(t.tables))
	t.add("layouts of a cursor", len(t.layout))
	slices.Sort(t.order[len(names):])
	counts := make([]entry, len(t.order))
	for i, name := range t.order {
		counts[i] = entry{name, t.counts[name]}
	}
	return counts, nil
}

// names are the counts that each repository has, in the order of the file. Those of the exported
// names of a package come behind them.
var names = []string{
	"Go, product", "Go, tools", "Go, tests", "JSON", "words of docs", "README lines",
	"CDK properties", "environment variables", "queue settings", "CLI verbs", "CLI flags", "make targets",
	"tables", "layouts of a cursor",
	"functions over 80 lines", "lines over 100 columns, Go", "lines over 100 columns, docs",
	"package comments over 80 lines", "words of the style list", "sentences that begin with Of, Who, Whoever, Nobody",
}

func (t *tree) add(name string, n int) {
	if _, ok := t.counts[name]; !ok {
		t.order = append(t.order, name)
	}
	t.counts[name] += n
}

// passedOver says whether a folder is made by tools, and not part of the repository.
func passedOver(folder string) bool {
	base := path.Base(folder)
	return folder != "." && strings.HasPrefix(base, ".") || base == "node_modules" || base == "dist" ||
		base == "cdk.out"
}

// file counts one file.
func (t *tree) file(repository fs.FS, file string) error {
	ending := path.Ext(file)
	if ending != ".go" && ending != ".md" && ending != ".json" && file != "Makefile" {
		return nil
	}
	content, err := fs.ReadFile(repository, file)
	if err != nil {
		return err
	}
	text := string(content)
	switch {
	case file == "Makefile":
		t.add("make targets", len(target.FindAllString(text, -1)))
	case ending == ".json" && path.Base(file) != "package-lock.json":
		t.add("JSON", lines(text))
	case ending == ".md":
		t.page(file, text)
	case ending == ".go":
		return t.source(file, text)
	}
	return nil
}

var target = regexp.MustCompile(`(?m)^[a-z-]+:($|[^=])`)

// page counts a page of the documentation.
func (t *tree) page(file, text string) {
	t.style(text)
	if file == "README.md" {
		t.add("README lines", lines(text))
	}
	if top, _, _ := strings.Cut(file, "/"); top == "docs" || top == "infra" || top == "README.md" {
		for _, word := range strings.Fields(text) {
			if strings.Trim(word, "|:-") != "" { // a table's bars, and its rule, are no words
				t.add("words of docs", 1)
			}
		}
	}
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); utf8.RuneCountInString(line) > maxColumns && line[0] != '|' &&
			!strings.Contains(line, "](http") {
			t.add("lines over 100 columns, docs", 1)
		}
	}
}

// source counts a file of Go.
func (t *tree) source(file, text string) error {
	wing := wingOf(file)
	t.add("Go, "+wing, lines(text))
	files := token.NewFileSet()
	parsed, err := parser.ParseFile(files, file, text,
		parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	t.add("lines over 100 columns, Go", longLines(files, parsed, text))
	if wing == "tests" {
		return nil
	}
	if !strings.HasPrefix(file, "verify/size/") { // its own patterns
		t.style(text)
	}
	t.functions(files, parsed)
	if parsed.Doc != nil && strings.Count(parsed.Doc.Text(), "\n") > maxLines {
		t.add("package comments over 80 lines", 1)
	}
	if wing != "product" {
		return nil
	}
	t.exported(path.Dir(file), parsed)
	t.knobs(path.Dir(file), parsed)
	for _, name := range variable.FindAllString(text, -1) {
		t.variables[name] = true
		if strings.HasSuffix(name, `_TABLE"`) {
			t.tables[name] = true
		}
	}
	return nil
}

var variable = regexp.MustCompile(`"STREAMSORT_[A-Z_]+"`)

// wingOf returns the part of the repository that a file of Go is in.
func wingOf(file string) string {
	top, _, _ := strings.Cut(file, "/")
	switch {
	case strings.HasSuffix(file, "_test.go"):
		return "tests"
	case strings.HasPrefix(file, "internal/dev/"):
		return "tools"
	case slices.Contains([]string{"pkg", "functions", "internal", "cmd", "infra"}, top):
		return "product"
	}
	return "tools"
}

// functions counts the functions that are too long.
func (t *tree) functions(files *token.FileSet, parsed *ast.File) {
	for _, d := range parsed.Decls {
		if f, ok := d.(*ast.FuncDecl); ok {
			if first, last := span(files, f); last-first+1 > maxLines {
				t.add("functions over 80 lines", 1)
			}
		}
	}
}

// lines counts lines.
func lines(text string) int { return strings.Count(text, "\n") }

// wholeText is from how many columns on a text in quotes keeps its line: broken, it is not found.
const wholeText = 80

// longLines counts the lines of a file of Go that are over maxColumns wide. A row of a table, a
// text that has to stay whole, what a comment shows as it is, and an address may be longer.
func longLines(files *token.FileSet, parsed *ast.File, text string) (n int) {
	whole := map[int]bool{}
	ast.Inspect(parsed, func(node ast.Node) bool {
		first, last := span(files, node)
		switch node := node.(type) {
		case *ast.CompositeLit:
			for _, row := range node.Elts {
				from, to := span(files, row)
				if isTable(node) && from == to && first < from && from < last {
					whole[from] = true
				}
			}
		case *ast.BasicLit:
			for line := first; line <= last; line++ {
				if first < last || utf8.RuneCountInString(node.Value) > wholeText {
					whole[line] = true
				}
			}
		}
		return true
	})
	number := 0
	for line := range strings.Lines(text) {
		number++
		line = strings.TrimSuffix(line, "\n")
		comment, is := strings.CutPrefix(strings.TrimSpace(line), "//")
		shown := is && (strings.HasPrefix(comment, "\t") || strings.Contains(comment, "https://"))
		if utf8.RuneCountInString(line) > maxColumns && !whole[number] && !shown {
			n++
		}
	}
	return n
}

// isTable says whether what a literal has are rows: of a list, of a map, or of either's element.
func isTable(literal *ast.CompositeLit) bool {
	switch literal.Type.(type) {
	case nil, *ast.ArrayType, *ast.MapType:
		return true
	}
	return false
}

// span returns the first and the last line of a node.
func span(files *token.FileSet, node ast.Node) (first, last int) {
	if node == nil {
		return 0, 0
	}
	return files.Position(node.Pos()).Line, files.Position(node.End()).Line
}

// listed are words that the house style has others for: reports, the caller, delivers, handles, is
// not, fix, the start. The list grows when a reader stumbles.
var listed = regexp.MustCompile(`(?i)\b(told|whoever|hands on|handed on|sees to|is none|made anew|mend(s|ed|ing)?|the begin|of whom)\b`)

// inFront are sentences whose object or relative stands in front.
var inFront = regexp.MustCompile(`(?m)(^\s*(//|-|\*|>)?\s*|[.:!] )(Of|Who|Whoever|Nobody) [a-z]`)

// named are a comment and a field of Go that begin so because it is their name.
var named = regexp.MustCompile(`(?m)^\s*(// (Of|Who) (is|are) |Of string$)`)

// style counts what the house style refuses in a page, or in a file of Go with its comments, help
// texts and errors.
func (t *tree) style(text string) {
	t.add("words of the style list", len(listed.FindAllString(text, -1)))
	t.add("sentences that begin with Of, Who, Whoever, Nobody",
		len(inFront.FindAllString(text, -1))-len(named.FindAllString(text, -1)))
}
