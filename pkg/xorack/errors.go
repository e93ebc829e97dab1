package xorack

import (
	"errors"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/pkg/invalid"
)

// What a store can fail with, beside the error of an ended context. Both mean that the caller may
// repeat the operation: its repeat finds what the failed one did.
var (
	// ErrThrottled: DynamoDB asks to slow down. Nothing is known to be written.
	ErrThrottled = ddb.ErrThrottled
	// ErrUnavailable: no answer, or a fault of the server. The request may have taken effect all
	// the same.
	ErrUnavailable = ddb.ErrUnavailable
)

var (
	// ErrTagExists: another chain lives under this tag, or the same one was created with other
	// options.
	ErrTagExists = errors.New("tag exists")
	// ErrTagNotFound: no chain is stored under this tag.
	ErrTagNotFound = errors.New("tag not found")
	// ErrChainFull: the chain has as many operations as one item can hold. It will time out. Larger
	// trees use sub-chains ([Acker.Fan]).
	ErrChainFull = errors.New("chain is full")
	// ErrOtherChain: the edge belongs to another chain that had, or will have, the same tag. Where
	// its own is still to be created, a repeat succeeds later.
	ErrOtherChain = errors.New("the tag belongs to another chain")
	// ErrOtherKind: edges were asked of a chain of stamps, or stamps of a chain of edges.
	ErrOtherKind = errors.New("the chain is of the other kind")
)

// InvalidError is an input that can never be accepted: which field, in which of the children, and
// why.
type InvalidError = invalid.Error
