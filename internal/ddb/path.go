package ddb

import (
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

// String is the path as an expression shows it, with names for placeholders.
func (p Path) String() string { return p.Render(func(name string) string { return name }) }

// Render is the path as an expression has it, with what stands there for each name.
func (p Path) Render(name func(string) string) string {
	var out strings.Builder
	for step := range strings.SplitSeq(string(p), stepMark) {
		if at, isIndex := indexOf(step); isIndex {
			out.WriteString("[" + strconv.Itoa(at) + "]")
			continue
		}
		if out.Len() > 0 {
			out.WriteByte('.')
		}
		out.WriteString(name(step))
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
