package main

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"

	"github.com/alecthomas/kong"
)

// bound is how many of something are wanted at most, the value of a --limit. The zero bound was not
// given.
type bound struct {
	given bool
	n     int
}

// Decode implements kong.MapperValue.
func (b *bound) Decode(ctx *kong.DecodeContext) error {
	n, err := wholeNumber(ctx)
	*b = bound{given: true, n: n}
	return err
}

// wholeNumber reads the value of a flag. The parser takes -1 for a flag; here it is a number, which
// is refused with the numbers that may be given.
func wholeNumber(ctx *kong.DecodeContext) (int, error) {
	token := ctx.Scan.Peek()
	if token.IsEOL() {
		return 0, errors.New("a whole number must follow")
	}
	n, err := strconv.Atoi(token.String())
	if err != nil {
		return 0, fmt.Errorf("%q must be a whole number", token)
	}
	ctx.Scan.Pop()
	return n, nil
}

// wholeNumbers has the parser read each flag that is an int so.
var wholeNumbers = kong.KindMapper(reflect.Int, kong.MapperFunc(func(ctx *kong.DecodeContext, target reflect.Value) error {
	n, err := wholeNumber(ctx)
	target.SetInt(int64(n))
	return err
}))

// orAll is the bound, 0 for all; unsaid where it was not given.
func (b bound) orAll(unsaid int) (int, error) {
	switch {
	case !b.given:
		return unsaid, nil
	case b.n < 0:
		return 0, usageError(fmt.Sprintf("--limit is %d: it must be 0, for all, or more", b.n))
	}
	return b.n, nil
}

// within is the bound, which has bounds of its own; unsaid where it was not given.
func (b bound) within(least, most, unsaid int) (int, error) {
	switch {
	case !b.given:
		return unsaid, nil
	case b.n < least || b.n > most:
		return 0, usageError(fmt.Sprintf("--limit is %d: it must be from %d to %d", b.n, least, most))
	}
	return b.n, nil
}
