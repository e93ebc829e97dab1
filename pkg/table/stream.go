package table

import "encoding/json"

// StreamEvent is the event that Lambda passes to a function behind a table's stream. Records are
// decoded one by one, so that a record that cannot be read fails alone.
type StreamEvent struct {
	Records []json.RawMessage `json:"Records"`
}
