package docs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// dictionaries are where each package lists what its store writes: a section of a
// package's comment, or of a page.
var dictionaries = map[string]string{
	"internal/endpoint":          "internal/endpoint/endpoint.go",
	"internal/queuelog":          "docs/design.md",
	"internal/quota":             "internal/quota/quota.go",
	"internal/request":           "docs/delivery.md",
	"internal/tally":             "docs/design.md",
	"internal/trouble":           "internal/trouble/doc.go",
	"pkg/cursor":                 "docs/design.md",
	"pkg/dedup":                  "pkg/dedup/doc.go",
	"pkg/delivery":               "docs/delivery.md",
	"pkg/xorack":                 "pkg/xorack/doc.go",
	"pkg/xorack/internal/chains": "pkg/xorack/doc.go",
}

// stored is that section, and entry what it names: at the head of a line of a
// table, or as a key.
var (
	comment = regexp.MustCompile(`(?m)^// ?`)
	stored  = regexp.MustCompile(`(?s)\n#+ What is stored[^\n]*\n(.*?)\n#+ `)
	entry   = regexp.MustCompile(`(?m)^(?:\t|    ) *(\S+(?:, \S+)*)  |under \(([^)]*)\)`)
)

// attributes are the attributes that a folder's code can write: the tags of its structs, and its
// constants of type ddb.Path. A path that is made of a literal in passing would be none.
func attributes(t *testing.T, folder string) map[string]bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.Field:
				if name := tagged(n); name != "" {
					names[name] = true
				}
			case *ast.ValueSpec:
				for _, value := range n.Values {
					if text, ok := literal(value); ok && isPath(n.Type) {
						names[text] = true
					}
				}
			case *ast.CallExpr:
				if isPath(n.Fun) && len(n.Args) == 1 {
					if text, ok := literal(n.Args[0]); ok {
						t.Errorf("%s: attribute %q is no constant", path, text)
					}
				}
			}
			return true
		})
	}
	return names
}

// tagged is the attribute that a field is stored as, if it is.
func tagged(f *ast.Field) string {
	if f.Tag == nil {
		return ""
	}
	text, _ := literal(f.Tag)
	name, _, _ := strings.Cut(reflect.StructTag(text).Get("ddb"), ",")
	return name
}

func isPath(e ast.Expr) bool {
	selector, ok := e.(*ast.SelectorExpr)
	return ok && selector.Sel.Name == "Path"
}

func literal(e ast.Expr) (string, bool) {
	text, ok := e.(*ast.BasicLit)
	if !ok || text.Kind != token.STRING {
		return "", false
	}
	value, err := strconv.Unquote(text.Value)
	return value, err == nil
}

// TestDictionariesAreWhole: every attribute that a store writes is named where the
// package says what is stored, and every folder that has such names has one.
func TestDictionariesAreWhole(t *testing.T) {
	for folder := range importsOf(t, "..") {
		names := attributes(t, filepath.Join("..", folder))
		page, listed := dictionaries[folder]
		if !listed {
			if len(names) > 0 {
				t.Errorf("%s has attributes, and no dictionary", folder)
			}
			continue
		}
		text, err := os.ReadFile(filepath.Join("..", page))
		if err != nil {
			t.Fatal(err)
		}
		section := stored.FindStringSubmatch(comment.ReplaceAllString(string(text), ""))
		if section == nil || len(names) == 0 {
			t.Fatalf("%s: %d attributes, and this of what is stored: %q", folder, len(names), section)
		}
		entries := map[string]bool{}
		for _, cell := range entry.FindAllStringSubmatch(section[1], -1) {
			for _, name := range strings.Split(cell[1]+cell[2], ",") {
				entries[strings.TrimSpace(name)] = true
			}
		}
		for name := range names {
			if !entries[name] {
				t.Errorf("%s does not say what is stored as %s", page, name)
			}
		}
	}
}
