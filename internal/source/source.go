package source

import "github.com/streamsort/streamsort/internal/mapping"

// MaxText is how many bytes a source's description has at most: all of a function's environment has
// 4 KB.
const MaxText = 3072

// Source is where records come from, and what becomes of them.
type Source struct {
	// Name is the source's own, and begins its queues' names where it says nothing else.
	Name string
	// Kind is what its records are, by its name.
	Kind string
	// Mapping is how its records become messages. A message with a seq is known by that, and has an
	// id only where the source says so: a sender that puts the same one twice gives the second
	// another id of AWS's.
	*mapping.Mapping
	// Partial tells that the event source mapping of a Kafka source takes partial answers. Those of
	// the others always do.
	Partial bool

	kind *kind
}
