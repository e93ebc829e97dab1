// Package invalid is the error of input that can never be accepted, the same in all packages here:
// which field it is, of which element of which list, and why, each in a field of its own. Programs
// look at these; the sentence is for people.
//
//	var wrong *invalid.Error
//	if errors.As(err, &wrong) && wrong.Code == invalid.TooLarge && wrong.Field == "body" {
//		…
//	}
package invalid

import (
	"errors"
	"fmt"
	"strings"
)

// Code is why a field cannot be accepted. There are no others than these, and none changes its
// meaning.
type Code string

const (
	// Missing: it is not there, or is empty, and must not be.
	Missing Code = "missing"
	// Unknown: there is no such field here, or no such choice in it.
	Unknown Code = "unknown"
	// Malformed: it cannot be read: it is of another type, broken, or not UTF-8.
	Malformed Code = "malformed"
	// TooLarge: it has more bytes than it may.
	TooLarge Code = "too-large"
	// OutOfRange: a number, a time, or how many elements there are, is out of its bounds.
	OutOfRange Code = "out-of-range"
	// Misplaced: it must not be given here, or not with this value.
	Misplaced Code = "misplaced"
	// Clash: it contradicts what stands elsewhere in the input, or is there already.
	Clash Code = "clash"
)

// Error is a field that can never be accepted.
type Error struct {
	// At is the element that the field is in, where it is in one: a message of a group, a reply of
	// a claim. Where lists are in lists, the outermost comes first.
	At []Element
	// Field is the field's name, as a caller of the HTTP interface sees it; empty where the whole
	// element is wrong.
	Field string
	// Code is why.
	Code Code
	// Problem says what is wrong and what the bound is, in words that stand behind the field. It
	// names no queue and no element: these are the following.
	Problem string
	// Queue is the queue that it is about, by its whole name, where the field does not say so.
	Queue string
	// Twin is the element that it clashes with, where there is one.
	Twin *Element
	// Size is how many bytes there are, and Most how many there may be, of something that is
	// TooLarge; 0 where only Problem says so.
	Size, Most int
	// Err is what it comes of, where a caller asks for that by errors.Is.
	Err error
}

// Element is an element of a list.
type Element struct {
	// List is the list's name, Index the element's place, from 0.
	List  string
	Index int
}

// String is the element as it stands in a path: messages[7].
func (e Element) String() string { return fmt.Sprintf("%s[%d]", e.List, e.Index) }

// New is the error of a field. Its words are for people: see [Error].
func New(code Code, field, problem string) *Error {
	return &Error{Field: field, Code: code, Problem: problem}
}

// TextCode is why a text cannot be accepted that must have 1 to most bytes of UTF-8.
func TextCode(text string, most int) Code {
	switch {
	case text == "":
		return Missing
	case len(text) > most:
		return TooLarge
	}
	return Malformed
}

// Path is where the field is: messages[7].body.
func (e *Error) Path() string {
	var path []string
	for _, element := range e.At {
		path = append(path, element.String())
	}
	if e.Field != "" {
		path = append(path, e.Field)
	}
	return strings.Join(path, ".")
}

// What says what is wrong, in words that stand behind the path.
func (e *Error) What() string {
	switch {
	case e.Twin != nil:
		return fmt.Sprintf("is that of %s, %s", e.Twin, e.Problem)
	case e.Queue != "" && e.Field == "queue":
		return fmt.Sprintf("%q %s", e.Queue, e.Problem)
	case e.Queue != "":
		return fmt.Sprintf("%s (queue %q)", e.Problem, e.Queue)
	}
	return e.Problem
}

func (e *Error) Error() string { return strings.TrimPrefix(e.Path()+" "+e.What(), " ") }

func (e *Error) Unwrap() error { return e.Err }

// Named is an error of a value that did not know its field's name, with that name. An error that is
// no [Error] says that the field cannot be read.
func Named(field string, err error) *Error {
	var known *Error
	if !errors.As(err, &known) {
		return &Error{Field: field, Code: Malformed, Problem: err.Error(), Err: err}
	}
	named := *known
	named.Field = field
	return &named
}

// Within is an error of something in an element of a list. One that is no [Error] stays as it is.
func Within(list string, index int, err error) error {
	var known *Error
	if !errors.As(err, &known) {
		return err
	}
	inside := *known
	inside.At = append([]Element{{list, index}}, known.At...)
	return &inside
}
