// Package check has what tests ask most often in one line: that nothing failed ([OK], [Get]), and
// that something holds ([That], [Need]). What runs outside of tests ends at an error by [Must] and
// [Get], and [Try] returns it.
package check

import (
	"errors"
	"runtime"
	"strings"
	"testing"
)

// OK ends the test where there is an error.
func OK(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Must panics with an error, where there is one.
func Must(err error) {
	if err != nil {
		panic(err)
	}
}

// Get is a result without its error; a panic where there is one.
func Get[T any](result T, err error) T {
	Must(err)
	return result
}

// Try returns the error that do panics with. A panic of the runtime's, or with anything else, goes
// on.
func Try(do func()) (err error) {
	defer func() {
		switch thrown := recover().(type) {
		case nil:
		case runtime.Error:
			panic(thrown)
		case error:
			err = thrown
		default:
			panic(thrown)
		}
	}()
	do()
	return nil
}

// Get2 is [Get] for two results.
func Get2[T, U any](first T, second U, err error) (T, U) {
	return Get(first, err), second
}

// That fails the test where something does not hold, with what is seen instead.
func That(t testing.TB, holds bool, format string, seen ...any) {
	t.Helper()
	if !holds {
		t.Errorf(format, seen...)
	}
}

// Need is [That], and ends the test.
func Need(t testing.TB, holds bool, format string, seen ...any) {
	t.Helper()
	if !holds {
		t.Fatalf(format, seen...)
	}
}

// Is fails the test where got is not what is wanted.
func Is[T comparable](t testing.TB, got, want T, about ...any) {
	t.Helper()
	if got != want {
		t.Errorf("got %+v, want %+v %+v", got, want, about)
	}
}

// Has fails the test where a text has not a part.
func Has(t testing.TB, text, part string, about ...any) {
	t.Helper()
	if !strings.Contains(text, part) {
		t.Errorf("no %s in %s %+v", part, text, about)
	}
}

// Err is the error without its result.
func Err[T any](_ T, err error) error { return err }

// Fails fails the test where an error is not the one that is wanted.
func Fails(t testing.TB, err, want error, about ...any) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("error %v, want %v %+v", err, want, about)
	}
}

// As is what of an error has a type. It ends the test where nothing has.
func As[E error](t testing.TB, err error) E {
	t.Helper()
	var want E
	Need(t, errors.As(err, &want), "error %v (%T), want a %T", err, err, want)
	return want
}

// IsA is [As] where no more of the error is looked at.
func IsA[E error](t testing.TB, err error) {
	t.Helper()
	_ = As[E](t, err)
}

// Says fails the test where there is no error, or its text has not a part.
func Says(t testing.TB, err error, part string, about ...any) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), part) {
		t.Errorf("error %v, want one that says %s %+v", err, part, about)
	}
}
