package source

import (
	"github.com/streamsort/streamsort/internal/strictjson"
	"github.com/streamsort/streamsort/pkg/cursor"
)

// Bounds of a source.
const (
	// MaxName is how many bytes a source's name has at most.
	MaxName = 64
	// MaxAttributes is how many attributes a source names at most.
	MaxAttributes = 10
	// MaxText is how many bytes a source's description has at most: all of a function's
	// environment has 4 KB.
	MaxText = 3072
)

// Source is where records come from, and what becomes of them.
type Source struct {
	// Name is the source's own, and begins its queues' names where it says nothing else.
	Name string
	// Kind is what its records are, by its name.
	Kind string
	// Queue is where the queue's name is found, behind Prefix; Default is the name where
	// nothing is there.
	Queue           Place
	Prefix, Default string
	// Seq is where the seq is found. Key are the places of the key's parts, and KeyType is
	// their type. Neither means arrival order.
	Seq     Place
	Key     []Place
	KeyType cursor.KeyType
	// ID is where the id is found, by which a repeat is known. A message with a seq is known by
	// that, and has an id only where the source says so: a sender that puts the same one twice
	// gives the second another id of AWS's. Prev is where the id of the message before is, of
	// a keyed queue.
	ID, Prev Place
	// Body is what becomes the body.
	Body Place
	// Attributes are places whose values become attributes, where there are any.
	Attributes map[string]Place
	// Partial tells that the event source mapping of a Kafka source takes partial answers.
	// Those of the others always do.
	Partial bool

	kind *kind
}

// Numbered says that the source's messages have seqs.
func (s *Source) Numbered() bool { return !s.Seq.none() }

// Keyed says that the source's messages have keys.
func (s *Source) Keyed() bool { return s.Key != nil }

// Place is where a value is found in a record: one of its fields is set, or none.
type Place struct {
	// Field is one of the kind's fields, by its name.
	Field string
	// Path is that of a member of what the record carries, which is a JSON object.
	Path strictjson.FieldPath
	// Record is the path of a member of the record itself, as AWS has it.
	Record strictjson.FieldPath
	// Fixed is the value itself.
	Fixed string
}

func (p Place) none() bool { return p.Field == "" && p.Path == nil && p.Record == nil && p.Fixed == "" }
