package delivery_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"regexp"
	"testing"

	"github.com/streamsort/streamsort/pkg/delivery"
)

// TestAliasesSayWhatTheyHave: go doc shows neither fields nor methods of a type that is
// an alias, so its comment names them all.
func TestAliasesSayWhatTheyHave(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "record.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	said := map[string]string{}
	ast.Inspect(file, func(n ast.Node) bool {
		if spec, ok := n.(*ast.TypeSpec); ok && spec.Doc != nil {
			said[spec.Name.Name] = spec.Doc.Text()
		}
		return true
	})
	for name, value := range map[string]any{
		"Consumer": delivery.Consumer{}, "Token": delivery.Token{}, "Quarantined": delivery.Quarantined{},
		"Operation": delivery.Operation{}, "Reply": delivery.Reply{}, "ReplyError": delivery.ReplyError{},
	} {
		of := reflect.TypeOf(value)
		members := fieldsOf(of)
		for m := range of.Methods() {
			members = append(members, m.Name)
		}
		for _, member := range members {
			if !regexp.MustCompile(`\b` + member + `\b`).MatchString(said[name]) {
				t.Errorf("the comment of %s does not name %s", name, member)
			}
		}
	}
}

// fieldsOf are the names of a struct's fields, and of those in lists and structs that
// have no alias of their own.
func fieldsOf(of reflect.Type) (names []string) {
	for field := range of.Fields() {
		names = append(names, field.Name)
		inner := field.Type
		if inner.Kind() == reflect.Array {
			inner = inner.Elem()
		}
		switch inner.Name() {
		case "Refused", "Outgoing", "Remembered":
			names = append(names, fieldsOf(inner)...)
		}
	}
	return names
}
