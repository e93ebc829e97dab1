package ddb

import (
	"iter"
	"strconv"
	"strings"
)

// Path is where a value is in an item: the name of an attribute, or steps further into maps and
// lists ([Path.At], [Path.Index]).
type Path string

// The marks between steps: no name of an attribute has them.
const (
	stepMark  = "\x00"
	indexMark = "\x01"
)

// At is the element of a map.
func (p Path) At(name string) Path { return p + stepMark + Path(name) }

// Index is the element of a list, from 0.
func (p Path) Index(at int) Path { return p + stepMark + indexMark + Path(strconv.Itoa(at)) }

// Step is one step of a path: the name of an attribute or of a map's element, or the index of a
// list's.
type Step struct {
	Name    string
	Index   int
	IsIndex bool
}

// Steps are the steps of a path.
func (p Path) Steps() iter.Seq2[int, Step] {
	return func(yield func(int, Step) bool) {
		for i, rest := 0, p; rest != ""; i++ {
			var name string
			name, rest = rest.cut()
			at, isIndex := indexOf(name)
			if !yield(i, Step{name, at, isIndex}) {
				return
			}
		}
	}
}

// String is the path as an expression shows it, with names for placeholders.
func (p Path) String() string {
	var out strings.Builder
	for i, step := range p.Steps() {
		switch {
		case step.IsIndex:
			out.WriteString("[" + strconv.Itoa(step.Index) + "]")
			continue
		case i > 0:
			out.WriteString(".")
		}
		out.WriteString(step.Name)
	}
	return out.String()
}

// steps are the names and indexes of a path, each as it is written in it.
func (p Path) steps() []string { return strings.Split(string(p), stepMark) }

// cut is the first step, and what follows it.
func (p Path) cut() (step string, rest Path) {
	at := strings.IndexByte(string(p), stepMark[0])
	if at < 0 {
		return string(p), ""
	}
	return string(p[:at]), p[at+1:]
}

func indexOf(step string) (at int, isIndex bool) {
	if !strings.HasPrefix(step, indexMark) {
		return 0, false
	}
	at, err := strconv.Atoi(step[len(indexMark):])
	return at, err == nil
}

// Ref is the value at the path, for a comparison or an update.
func (p Path) Ref() Value { return Value{kind: reference, text: string(p)} }

// IsRef reports whether a value is a [Path.Ref], and its path.
func (v Value) IsRef() (Path, bool) { return Path(v.text), v.kind == reference }
