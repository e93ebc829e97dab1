package main

import (
	"go/ast"
	"go/token"
	"go/types"
	"reflect"
	"strconv"
	"strings"
)

// exported counts the names that a package of pkg exports: constants, variables, types, functions,
// and methods of exported types.
func (t *tree) exported(folder string, parsed *ast.File) {
	if !strings.HasPrefix(folder, "pkg/") || strings.Contains(folder, "/internal") ||
		parsed.Name.Name == "main" {
		return
	}
	for _, d := range parsed.Decls {
		for _, name := range declared(d) {
			if name.IsExported() {
				t.add("exported names of "+folder, 1)
			}
		}
	}
}

// declared returns what a declaration names. A method of a type that is not exported has no name
// for others.
func declared(d ast.Decl) (names []*ast.Ident) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil ||
			token.IsExported(strings.TrimPrefix(types.ExprString(d.Recv.List[0].Type), "*")) {
			return []*ast.Ident{d.Name}
		}
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				names = append(names, s.Name)
			case *ast.ValueSpec:
				names = append(names, s.Names...)
			}
		}
	}
	return names
}

// knobs counts what a user can set: properties of the CDK, settings of a queue, verbs and flags of
// the command line; and the layouts of a cursor.
func (t *tree) knobs(folder string, parsed *ast.File) {
	ast.Inspect(parsed, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.TypeSpec:
			if fields, ok := n.Type.(*ast.StructType); ok {
				t.fields(folder, n.Name, fields)
			}
		case *ast.ValueSpec:
			if folder == "pkg/cursor" && strings.HasPrefix(n.Names[0].Name, "layout") {
				for _, value := range n.Values {
					if number, ok := value.(*ast.BasicLit); ok {
						t.layout[number.Value] = true
					}
				}
			}
		}
		return true
	})
}

// fields counts those of a struct that are knobs.
func (t *tree) fields(folder string, name *ast.Ident, fields *ast.StructType) {
	for _, f := range fields.Fields.List {
		named := 0
		for _, n := range f.Names {
			if n.IsExported() {
				named++
			}
		}
		switch {
		case folder == "infra/cdk/streamsort" && name.Name == "Props":
			t.add("CDK properties", named)
		case folder == "pkg/cursor" && name.Name == "Settings":
			t.add("queue settings", named)
		case folder == "cmd/streamsort" && f.Tag != nil:
			t.flag(f.Tag.Value, name.Name == "commands")
		}
	}
}

// flag counts a verb or a flag by the tag of its field. A verb under another verb does not count.
func (t *tree) flag(quoted string, top bool) {
	text, err := strconv.Unquote(quoted)
	if err != nil {
		return
	}
	tag := reflect.StructTag(text)
	_, verb := tag.Lookup("cmd")
	_, argument := tag.Lookup("arg")
	_, help := tag.Lookup("help")
	switch {
	case verb && top:
		t.add("CLI verbs", 1)
	case help && !verb && !argument:
		t.add("CLI flags", 1)
	}
}
