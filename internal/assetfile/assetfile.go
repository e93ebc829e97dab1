// Package assetfile reads files that lie beside a function's program and that hold its
// configuration, each one list of things with names:
//
//	{"consumers": [{"name": "billing", …}, …]}
//
// What only the deployment knows is in the function's environment, and the file names the variable:
// ${NAME}. A [List] says what a file holds; [List.Read] reads it, strictly.
package assetfile

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"regexp"

	"github.com/streamsort/streamsort/internal/strictjson"
	"github.com/streamsort/streamsort/pkg/invalid"
)

// List is a kind of file.
type List[T any] struct {
	// Name is the list's, the file's only member.
	Name string
	// Max is how many elements it has at the most; it has one at least.
	Max int
	// Variable finds a variable in the text, ${ and } with it; its first group is the variable's
	// own name. Nil: there are none.
	Variable *regexp.Regexp
	// Element reads an element.
	Element func(raw json.RawMessage) (T, error)
	// NameOf is an element's name, which no other one has.
	NameOf func(T) string
}

// Load reads what a file holds: see [Text]. The error has its path.
func Load[T any](folder, name string,
	read func(text []byte, lookup func(string) (string, bool)) ([]T, error)) ([]T, error) {
	text, path, err := Text(folder, name)
	if err != nil {
		return nil, err
	}
	all, err := read(text, os.LookupEnv)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return all, nil
}

// Read reads a file's text; lookup is as os.LookupEnv. The error names the element and the member,
// or the variables that are not set.
func (l List[T]) Read(text []byte, lookup func(string) (string, bool)) ([]T, error) {
	text, err := l.expand(text, lookup)
	if err != nil {
		return nil, err
	}
	list, err := l.elements(text)
	if err != nil {
		return nil, err
	}
	if len(list) < 1 || len(list) > l.Max {
		return nil, fmt.Errorf("%s has %d: it must have from 1 to %d", l.Name, len(list), l.Max)
	}
	all := make([]T, len(list))
	place := map[string]int{}
	for i, raw := range list {
		if all[i], err = l.Element(raw); err != nil {
			return nil, invalid.Within(l.Name, i, strictjson.In("", err))
		}
		name := l.NameOf(all[i])
		if other, twice := place[name]; twice {
			return nil, fmt.Errorf("%s[%d].name %q is that of %s[%d] too", l.Name, i, name, l.Name, other)
		}
		place[name] = i
	}
	return all, nil
}

func (l List[T]) elements(text []byte) ([]json.RawMessage, error) {
	members, err := strictjson.Members(text)
	if err != nil {
		return nil, err
	}
	var list []json.RawMessage
	for _, m := range members {
		if m.Name != l.Name {
			return nil, fmt.Errorf("%s is not known: there is %s", m.Name, l.Name)
		}
		if list, err = strictjson.Elements(m.Value, math.MaxInt); err != nil {
			return nil, fmt.Errorf("%s %w", l.Name, err)
		}
	}
	return list, nil
}

// expand puts the values of the variables in. The error joins those that are not set.
func (l List[T]) expand(text []byte, lookup func(string) (string, bool)) ([]byte, error) {
	if l.Variable == nil {
		return text, nil
	}
	var errs []error
	text = l.Variable.ReplaceAllFunc(text, func(found []byte) []byte {
		name := string(l.Variable.FindSubmatch(found)[1])
		value, ok := lookup(name)
		if !ok {
			errs = append(errs, fmt.Errorf("%s, which the file names, is not set", name))
		}
		quoted, err := json.Marshal(value)
		if err != nil {
			errs = append(errs, err)
			return nil
		}
		return quoted[1 : len(quoted)-1]
	})
	return text, errors.Join(errs...)
}
