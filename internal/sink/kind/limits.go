package kind

import (
	"fmt"
	"strings"
	"time"
)

// RequestTimeout bounds one try of a request that is answered at once.
const RequestTimeout = 10 * time.Second

// Limits are what one request to a sink may hold.
type Limits struct {
	// Kind is the name of the sink's kind.
	Kind  string
	Bytes int
	// Entries is 0 where a request has one document.
	Entries int
}

// TooLargeError is a message that the sink can never take.
type TooLargeError struct {
	// Kind is the name of the sink's kind.
	Kind string
	// Seq is the message's.
	Seq int64
	// Bytes is what the message takes there, with its attributes; Limit is what the sink takes.
	Bytes, Limit int
}

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("message %d takes %d bytes in the sink: %s takes at most %d", e.Seq, e.Bytes,
		e.Kind, e.Limit)
}

// MaxErrorText bounds what is kept of a sink's own words, in bytes.
const MaxErrorText = 512

// Bounded is the beginning of a sink's own words.
func Bounded(text string) string {
	if len(text) <= MaxErrorText {
		return strings.ToValidUTF8(text, "\uFFFD")
	}
	return strings.ToValidUTF8(text[:MaxErrorText], "") + "…"
}
