package deduplambda

import (
	"context"
	"errors"
	"fmt"

	"github.com/streamsort/streamsort/pkg/dedup"
	"github.com/streamsort/streamsort/pkg/invalid"
)

// MissingKey is what becomes of an event without a key.
type MissingKey int

const (
	// Refuse it, with a [dedup.InvalidError] of the field id. The effect does not run.
	Refuse MissingKey = iota
	// RunUnprotected runs the effect all the same, as often as the event comes, and warns.
	RunUnprotected
)

// HandlerOptions are the parts of a handler that have defaults. A nil HandlerOptions means all of
// them.
type HandlerOptions[In any] struct {
	// Payload is what a repeated event must have in common with the first one; see [Fields]. nil
	// means that nothing is compared.
	Payload func(In) ([][]byte, error)
	// MissingKey is what becomes of an event without a key.
	MissingKey MissingKey
}

// OmittedError says that the effect is done, and its result is not known any more: see
// dedup.Outcome. A function that must return a result fails with it.
type OmittedError struct{ Key dedup.Key }

func (e *OmittedError) Error() string {
	return fmt.Sprintf("%s: the effect is done, and its result was not kept", e.Key)
}

// Handler wraps a handler of lambda.Start so that it runs once for each key. The key of an event is
// what key returns ([Field] makes such a function); empty means that it has none.
//
// The errors are those of [dedup.Deduplicator.Once], and [OmittedError]. Where the handler ran and
// its result could not be remembered, the result is returned all the same, without an error: the
// caller has it.
func Handler[In, Out any](d *dedup.Deduplicator[string, Out], key func(In) (string, error),
	handle func(context.Context, In) (Out, error), options *HandlerOptions[In]) func(context.Context,
	In) (Out, error) {
	if options == nil {
		options = &HandlerOptions[In]{}
	}
	if key == nil || handle == nil {
		return func(context.Context, In) (out Out, err error) { return out, missing("key or handler") }
	}
	return func(ctx context.Context, event In) (Out, error) {
		var none Out
		effect := func(ctx context.Context) (Out, error) { return handle(ctx, event) }
		id, err := key(event)
		if err != nil {
			return none, err
		}
		if id == "" && options.MissingKey == RunUnprotected {
			return d.Unprotected(ctx, effect)
		}
		var payload [][]byte
		if options.Payload != nil {
			if payload, err = options.Payload(event); err != nil {
				return none, err
			}
		}
		out, err := d.Once(ctx, id, effect, payload...)
		switch {
		case resultNotStored(out, err):
			return out.Value, nil
		case err != nil:
			return none, err
		case out.Omitted:
			k, _ := d.Key(id) // it was a key a moment ago
			return out.Value, &OmittedError{Key: k}
		}
		return out.Value, nil
	}
}

// resultNotStored reports that the effect ran here, and nothing but its memory is missing.
func resultNotStored[R any](out dedup.Outcome[R], err error) bool {
	_, lost := errors.AsType[*dedup.LostError](err)
	return err != nil && out.Attempt > 0 && !lost
}

// missing is the error of something that must be given and is nil.
func missing(field string) error {
	return invalid.New(invalid.Missing, field, "must not be nil")
}
