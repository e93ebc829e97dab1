// Package clause leaves a part out of every request of a name, in a program that is run for that:
// with STREAMSORT_CLAUSE set to the part's name (as [ddb.Clauses] has it), what should notice has
// to fail. With STREAMSORT_CLAUSES set to a file, the names of all parts of the requests that are
// made are appended to it instead, each once.
//
// The command verify/mutant does both, for all stores.
package clause

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"

	"github.com/streamsort/streamsort/internal/ddb"
)

// The variables.
const (
	Dropped  = "STREAMSORT_CLAUSE"
	Recorded = "STREAMSORT_CLAUSES"
)

var (
	dropped  = os.Getenv(Dropped)
	recorded = os.Getenv(Recorded)
	once     sync.Map
)

// Layer is the engine as the program's variables say: the same one where neither is set.
func Layer(next ddb.Engine) ddb.Engine {
	switch {
	case dropped != "":
		return ddb.Func(func(ctx context.Context, r ddb.Request) (ddb.Answer, error) {
			return next.Do(ctx, ddb.Without(r, dropped))
		})
	case recorded != "":
		return ddb.Func(func(ctx context.Context, r ddb.Request) (ddb.Answer, error) {
			if err := record(r); err != nil {
				return ddb.Answer{}, err
			}
			return next.Do(ctx, r)
		})
	}
	return next
}

// record notes the names that were not seen before, but for those of requests without a name: a
// test's own.
func record(r ddb.Request) error {
	for _, name := range ddb.Clauses(r) {
		if _, known := once.LoadOrStore(name, true); known || strings.HasPrefix(name, " ") {
			continue
		}
		file, err := os.OpenFile(recorded, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(file, name)
		if err := errors.Join(err, file.Close()); err != nil {
			return err
		}
	}
	return nil
}
