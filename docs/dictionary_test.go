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

	"github.com/streamsort/streamsort/internal/dev/check"
)

// dictionary is the page that lists what is stored. Each section names in its heading the packages
// whose attributes it has, and each of these at the head of a line or as a key.
const dictionary = "reference/items.md"

var (
	heads = regexp.MustCompile("`([a-z/]+)`")
	entry = regexp.MustCompile(`(?m)^ *(\S+(?:, \S+)*)  |under \(([^)]*)\)`)
)

// entries are the attributes that the dictionary has of each package.
func entries(t *testing.T) map[string]map[string]bool {
	t.Helper()
	text := check.Get(os.ReadFile(dictionary))
	all := map[string]map[string]bool{}
	for _, section := range strings.Split(string(text), "\n## ")[1:] {
		head, body, _ := strings.Cut(section, "\n")
		names := map[string]bool{}
		for _, cell := range entry.FindAllStringSubmatch(body, -1) {
			for _, name := range strings.Split(cell[1]+cell[2], ",") {
				names[strings.TrimSpace(name)] = true
			}
		}
		for _, folder := range heads.FindAllStringSubmatch(head, -1) {
			all[folder[1]] = names
		}
	}
	return all
}

// attributes are the attributes that a folder's code can write: the tags of its structs, and its
// constants of type ddb.Path. A path that is made of a literal in passing would be none.
func attributes(t *testing.T, folder string) map[string]bool {
	t.Helper()
	files := check.Get(filepath.Glob(filepath.Join(folder, "*.go")))
	names := map[string]bool{}
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file := check.Get(parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution))
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

// TestTheDictionaryIsWhole: it has every attribute that a store writes, and no package that writes
// none.
func TestTheDictionaryIsWhole(t *testing.T) {
	listed := entries(t)
	for folder := range importsOf(t, "..") {
		names := attributes(t, filepath.Join("..", folder))
		if listed[folder] != nil && len(names) == 0 {
			t.Errorf("%s is in %s, and writes nothing", folder, dictionary)
		}
		for name := range names {
			if !listed[folder][name] {
				t.Errorf("docs/%s does not list %s of %s", dictionary, name, folder)
			}
		}
	}
}
