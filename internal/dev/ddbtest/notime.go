package ddbtest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
)

// NoTime answers no request. It fails the test where one may last longer than until a
// time, and says in asked that there was one.
func NoTime(t testing.TB, until time.Time) (engine ddb.Engine, asked *bool) {
	asked = new(bool)
	return ddb.Func(func(ctx context.Context, _ ddb.Request) (ddb.Answer, error) {
		*asked = true
		if at, ok := ctx.Deadline(); !ok || at.After(until) {
			t.Errorf("a request may last until %v, want %v at the latest", at, until)
		}
		return ddb.Answer{}, errors.New("no time")
	}), asked
}
