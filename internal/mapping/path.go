package mapping

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/streamsort/streamsort/internal/sortkey"
	"github.com/streamsort/streamsort/pkg/invalid"
)

const (
	maxText         = 1000
	maxSteps        = 20
	maxAlternatives = 32
	maxIndexDigits  = 3
)

// list is paths with commas between: the parts of a key, or of an id.
type list []path

// path is alternatives, of which the first counts that is present.
type path []term

// term is a place in an event: steps alone, a variable with steps behind it, or a literal. It
// counts where its condition holds.
type term struct {
	when                        *condition
	variable, argument, literal string
	steps                       []step
	// header is the argument of @header in small letters, once it is checked.
	header string
}

// condition holds where a value is present, and where it is one of some texts, if they are given.
type condition struct {
	of     term
	equals []string
}

// step is a member's name, an index, or, of each, all elements.
type step struct {
	name  string
	index int
	all   bool
}

// special are the characters that a name has a backslash before.
const special = `.,|[]@'\=&`

// parse reads a list. Its error has no field.
func parse(text string) (list, error) {
	if len(text) > maxText {
		return nil, fail(invalid.TooLarge, "",
			"has %d bytes: at most %d are taken", len(text), maxText)
	}
	odd := func(r rune) bool { return r < ' ' || r == utf8.RuneError }
	if i := strings.IndexFunc(text, odd); i >= 0 {
		return nil, fail(invalid.Malformed, "",
			"has a control character, or what is not UTF-8, at byte %d of %.40q", i, text)
	}
	p := &parser{text: text}
	paths := list{nil}
	for {
		t, err := p.term()
		if err != nil {
			return nil, err
		}
		last := len(paths) - 1
		if paths[last] = append(paths[last], t); len(paths[last]) > maxAlternatives {
			return nil, fail(invalid.OutOfRange, "",
				"has more than %d alternatives", maxAlternatives)
		}
		switch p.next() {
		case 0:
			return paths, nil
		case ',':
			paths = append(paths, nil)
		case '|':
		default:
			return nil, p.wrong("has %q where ',', '|' or its end must be", p.text[p.at-1:])
		}
		if len(paths) > sortkey.MaxKeyParts {
			return nil, fail(invalid.OutOfRange, "",
				"has more than %d paths: at most %d parts are taken", sortkey.MaxKeyParts, sortkey.MaxKeyParts)
		}
	}
}

func fail(code invalid.Code, field, format string, args ...any) error {
	return invalid.New(code, field, fmt.Sprintf(format, args...))
}

type parser struct {
	text string
	at   int
}

func (p *parser) wrong(format string, args ...any) error {
	return fail(invalid.Malformed, "", format+": it is %q", append(args, p.text)...)
}

// peek is the next byte, 0 at the end; next takes it, behind spaces.
func (p *parser) peek() byte {
	if p.at == len(p.text) {
		return 0
	}
	return p.text[p.at]
}

func (p *parser) next() byte {
	p.spaces()
	c := p.peek()
	if p.at < len(p.text) {
		p.at++
	}
	return c
}

func (p *parser) spaces() {
	for p.peek() == ' ' {
		p.at++
	}
}

// until is the text up to one of these bytes, without backslashes, and without the spaces at its
// end. escapable are the characters that a backslash may stand before.
func (p *parser) until(ends, escapable string) (string, error) {
	var b strings.Builder
	solid := 0
	for p.at < len(p.text) && !strings.ContainsRune(ends, rune(p.peek())) {
		c := p.peek()
		p.at++
		if c == '\\' {
			if c = p.peek(); c == 0 || !strings.ContainsRune(escapable, rune(c)) {
				return "", p.wrong(`has a backslash before something else than %s`, escapable)
			}
			p.at++
		}
		if b.WriteByte(c); c != ' ' {
			solid = b.Len()
		}
	}
	return b.String()[:solid], nil
}

func (p *parser) term() (term, error) {
	t, err := p.value()
	p.spaces()
	c := p.peek()
	if err != nil || c != '&' && c != '=' {
		return t, err
	}
	when := &condition{of: t}
	if p.at++; c == '=' {
		if p.next() != '\'' {
			return t, p.wrong("has an = without a literal in quotes behind it")
		}
		equals, err := p.literal()
		if err == nil && p.next() != '&' {
			err = p.wrong("has an = without an & behind it")
		}
		if err != nil {
			return t, err
		}
		when.equals = strings.Split(equals.literal, "|")
	}
	t, err = p.value()
	t.when = when
	return t, err
}

// value reads a term without its condition.
func (p *parser) value() (t term, err error) {
	p.spaces()
	switch p.peek() {
	case '\'':
		p.at++
		return p.literal()
	case '@':
		p.at++
		start := p.at
		for c := p.peek(); c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'; c = p.peek() {
			p.at++
		}
		if t.variable = p.text[start:p.at]; t.variable == "" {
			return t,
				p.wrong("has an @ without a variable's name (a name that begins with it is written \\@)")
		}
		if p.peek() == '(' {
			end := strings.IndexByte(p.text[p.at:], ')')
			if end < 0 {
				return t, p.wrong("has a ( without its )")
			}
			t.argument = strings.TrimSpace(p.text[p.at+1 : p.at+end])
			p.at += end + 1
		}
		t.steps, err = p.steps()
		return t, err
	case '[':
		t.steps, err = p.steps()
		return t, err
	}
	name, err := p.name()
	if err != nil {
		return t, err
	}
	behind, err := p.steps()
	t.steps = append([]step{{name: name}}, behind...)
	if err == nil && len(t.steps) > maxSteps {
		err = fail(invalid.OutOfRange, "", "has more than %d names", maxSteps)
	}
	return t, err
}

func (p *parser) literal() (t term, err error) {
	start := p.at
	for p.at < len(p.text) && p.peek() != '\'' {
		if p.peek() == '\\' {
			p.at++
		}
		p.at = min(p.at+1, len(p.text))
	}
	if p.peek() != '\'' {
		return t, p.wrong("has a ' without another")
	}
	inner := parser{text: p.text[start:p.at]}
	p.at++
	for inner.at < len(inner.text) {
		part, err := inner.until(" ", `'\`)
		if err != nil {
			return t, err
		}
		t.literal += part
		for inner.peek() == ' ' {
			t.literal += " "
			inner.at++
		}
	}
	if t.literal == "" {
		return t, p.wrong("has a literal '' without a text")
	}
	return t, nil
}

func (p *parser) name() (string, error) {
	name, err := p.until(".,|[]=&", special)
	if err == nil && name == "" {
		err = p.wrong("has an empty name")
	}
	return name, err
}

// steps are those behind the first name, or a variable.
func (p *parser) steps() (steps []step, err error) {
	for {
		var s step
		switch p.peek() {
		case '.':
			p.at++
			s.name, err = p.name()
		case '[':
			end := strings.IndexByte(p.text[p.at:], ']')
			if end < 0 {
				return nil, p.wrong("has a [ without its ]")
			}
			digits := p.text[p.at+1 : p.at+end]
			p.at += end + 1
			if s.all = digits == ""; s.all {
				break
			}
			if s.index, err = strconv.Atoi(digits); err != nil || len(digits) > maxIndexDigits ||
				s.index < 0 || digits != strconv.Itoa(s.index) {
				err = p.wrong("has [%s], where an index from 0 to 999 must be", digits)
			}
		default:
			return steps, nil
		}
		if err != nil {
			return nil, err
		}
		if steps = append(steps, s); len(steps) > maxSteps {
			return nil, fail(invalid.OutOfRange, "", "has more than %d names", maxSteps)
		}
	}
}

func (l list) String() string {
	texts := make([]string, len(l))
	for i, p := range l {
		texts[i] = p.String()
	}
	return strings.Join(texts, ",")
}

func (p path) String() string {
	texts := make([]string, len(p))
	for i := range p {
		texts[i] = p[i].String()
	}
	return strings.Join(texts, " | ")
}

var escapeName, escapeLiteral = escaper(special), escaper(`'\`)

func escaper(special string) *strings.Replacer {
	var pairs []string
	for _, c := range special {
		pairs = append(pairs, string(c), `\`+string(c))
	}
	return strings.NewReplacer(pairs...)
}

func (t *term) String() string {
	var b strings.Builder
	if t.when != nil {
		b.WriteString(t.when.of.String())
		if t.when.equals != nil {
			b.WriteString("='" + escapeLiteral.Replace(strings.Join(t.when.equals, "|")) + "'")
		}
		b.WriteString(" & ")
	}
	switch {
	case t.literal != "":
		b.WriteString("'" + escapeLiteral.Replace(t.literal) + "'")
	case t.argument != "":
		fmt.Fprintf(&b, "@%s(%s)", t.variable, t.argument)
	case t.variable != "":
		b.WriteString("@" + t.variable)
	}
	b.WriteString(stepsString(t.steps, t.variable != ""))
	return b.String()
}

// stepsString is steps as they are written: behind something, or at the beginning.
func stepsString(steps []step, behind bool) string {
	var b strings.Builder
	for i, s := range steps {
		switch {
		case s.all:
			b.WriteString("[]")
		case s.name == "":
			fmt.Fprintf(&b, "[%d]", s.index)
		case i > 0 || behind:
			b.WriteString("." + escapeName.Replace(s.name))
		default:
			b.WriteString(escapeName.Replace(s.name))
		}
	}
	return b.String()
}

var headerName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,128}$`)

// always reports whether a term is present in every event.
func (t *term) always() bool {
	switch {
	case t.when != nil, t.steps != nil:
		return false
	case t.literal != "":
		return true
	}
	return t.variable == received || t.variable == digest || t.variable == whole || t.variable == index
}

func (l list) check(k *Kind, each bool) error {
	for _, p := range l {
		for i := range p {
			t := &p[i]
			if err := k.check(t, each); err != nil {
				return err
			}
			if t.when != nil {
				if err := k.check(&t.when.of, each); err != nil {
					return err
				}
			}
			if i+1 < len(p) && t.always() {
				return fail(invalid.Clash, "",
					"has %s behind %s, which is always there", p[i+1:], t)
			}
		}
	}
	return nil
}

// check is what is wrong with a term in events of the kind. A header's name gets small letters.
func (k *Kind) check(t *term, each bool) error {
	unknown := func() error {
		return fail(invalid.Unknown, "",
			"has @%s, which is not known: there are @%s", t.variable, strings.Join(k.variables(each), ", @"))
	}
	for _, s := range t.steps {
		if s.all {
			return fail(invalid.Misplaced, "",
				"has [] (%s), which is for each: take one element, such as [0]", t)
		}
	}
	switch takes := t.variable == header || t.variable == form; {
	case t.variable == "" && t.literal == "" && t.steps[0].name == "":
		return fail(invalid.Malformed, "", "begins with [ (%s): write @event%s", t, t)
	case t.variable == "":
		return nil
	case t.steps == nil && slices.Contains(k.Volatile, t.variable):
		return fail(invalid.Misplaced, "",
			"has @%s, which is not for a message: it may differ from one delivery of a record "+
				"to the next", t.variable)
	case !slices.Contains(k.variables(each), t.variable):
		return unknown()
	case takes && t.argument == "", takes && t.variable == header &&
		!headerName.MatchString(t.argument):
		return fail(invalid.Malformed, "",
			"has @%s(%s): it must be @header(NAME), of 1 to 128 letters, digits or '-', or "+
				"@form(NAME)", t.variable, t.argument)
	case !takes && t.argument != "":
		return fail(invalid.Misplaced, "",
			"has @%s(%s): only @header and @form have an argument", t.variable, t.argument)
	case t.steps != nil && (t.variable == header || t.variable == received || t.variable == digest ||
		t.variable == index):
		return fail(invalid.Misplaced, "", "has %s: there is nothing within @%s", t, t.variable)
	}
	if t.variable == header {
		t.header = strings.ToLower(t.argument)
	}
	return nil
}
