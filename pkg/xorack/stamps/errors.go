package stamps

import "errors"

// The errors of xor-ack-dynamodb, with its meanings; the others are those of
// [github.com/streamsort/streamsort/pkg/xorack].
var (
	// ErrBufferLengthsUnequal: stamps of different lengths were put together.
	ErrBufferLengthsUnequal = errors.New("stamps have different lengths")
	// ErrLessThanTwoBuffers: XOR was asked of fewer than two stamps.
	ErrLessThanTwoBuffers = errors.New("fewer than two stamps")
	// ErrZeroBufferNoOp: a stamp of zeros changes nothing.
	ErrZeroBufferNoOp = errors.New("stamp is all zeros: it changes nothing")
)
