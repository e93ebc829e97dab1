// Package table says in plain values what a DynamoDB table has to look like: its keys, what its
// stream shows, and which attribute makes items expire.
//
// Each of the other packages exports the definitions of its own tables as values of [Definition].
// What makes tables ([Create], a user's own scripts, the CDK stack) reads them from there, so a key
// or a stream view is written down once.
package table

import (
	"encoding/json"
	"errors"
)

// ErrNewerLayout: an item, or a document, was written by a later version of the package that reads
// it, which keeps something in it that this version does not know.
var ErrNewerLayout = errors.New("written by a newer version")

// StreamEvent is the event that Lambda passes to a function behind a table's stream. Records are
// decoded one by one, so that a record that cannot be read fails alone.
type StreamEvent struct {
	Records []json.RawMessage `json:"Records"`
}

// KeyType is the DynamoDB type of a key attribute.
type KeyType string

// The types that a key attribute can have.
const (
	String KeyType = "S"
	Number KeyType = "N"
	Binary KeyType = "B"
)

// StreamView is what a table's stream shows of each change. The values are DynamoDB's own
// StreamViewType names.
type StreamView string

// The stream views in use. NoStream means that the table has no stream.
const (
	NoStream        StreamView = ""
	KeysOnly        StreamView = "KEYS_ONLY"
	NewAndOldImages StreamView = "NEW_AND_OLD_IMAGES"
	NewImage        StreamView = "NEW_IMAGE"
	OldImage        StreamView = "OLD_IMAGE"
)

// Key is one attribute of a primary key.
type Key struct {
	Name string
	Type KeyType
}

// Index is a global secondary index that shows keys only. An item without the index's key
// attributes is not in it.
type Index struct {
	// Name is the index's name: 3 to 255 characters, as a table's.
	Name      string
	Partition Key
	// Sort is the sort key; its Name is empty where the index has none.
	Sort Key
}

// Definition is what a table has to look like.
type Definition struct {
	// Name is the table's name: 3 to 255 characters of a-z, A-Z, 0-9, '_', '-', '.'.
	Name string
	// Partition is the partition key.
	Partition Key
	// Sort is the sort key; its Name is empty where the table has none.
	Sort Key
	// Stream is what the table's stream shows, NoStream where it has none.
	Stream StreamView
	// TTL is the attribute by which DynamoDB deletes expired items (seconds since 1970), empty
	// where items never expire by themselves.
	TTL string
	// Index is the table's global secondary index; its Name is empty where the table has none.
	Index Index
	// Layout is the newest layout of the table's items that this version knows: what is in "v" of
	// an item. Zero where they have none.
	Layout int64
}
