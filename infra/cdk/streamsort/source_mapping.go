package streamsort

import (
	"github.com/streamsort/streamsort/internal/source"
	"github.com/streamsort/streamsort/internal/strictjson"
)

// SourcePlace is where a value is found in a record of a source: one of its fields is set.
type SourcePlace struct {
	// Field is one of the kind's fields, such as "sequencer" of S3: docs/sources.md has them.
	Field string `json:"field,omitempty"`
	// Path is the dotted path of a member of what the record carries, which is JSON then.
	Path string `json:"path,omitempty"`
	// Record is the dotted path of a member of the record itself, as AWS has it.
	Record string `json:"record,omitempty"`
	// Fixed is the value itself.
	Fixed string `json:"fixed,omitempty"`
}

// SourceQueue is where the name of a record's queue is found: one of Field, Path, Record and
// Fixed; the kind's own where all are empty.
type SourceQueue struct {
	SourcePlace
	// Prefix stands before what is found, so that a record can name no queue but the source's
	// own; nil means the source's name and "/". It is not for Fixed, which is the whole name.
	Prefix *string `json:"prefix,omitempty"`
	// Default takes the place of a value that is not there; empty: the record is set aside.
	Default string `json:"default,omitempty"`
}

// sourceText is a source as its function reads it.
func (o Source) text(kind string, partial bool) (string, error) {
	order := ""
	if o.Arrival {
		order = "arrival"
	}
	var queue *SourceQueue
	if o.Queue != (SourceQueue{}) {
		queue = &o.Queue
	}
	raw, err := strictjson.Marshal(struct {
		Name       string                 `json:"name"`
		Kind       string                 `json:"kind"`
		Queue      *SourceQueue           `json:"queue,omitempty"`
		Seq        *SourcePlace           `json:"seq,omitempty"`
		Key        []SourcePlace          `json:"key,omitempty"`
		KeyType    string                 `json:"keyType,omitempty"`
		ID         *SourcePlace           `json:"id,omitempty"`
		Prev       *SourcePlace           `json:"prev,omitempty"`
		Body       *SourcePlace           `json:"body,omitempty"`
		Attributes map[string]SourcePlace `json:"attributes,omitempty"`
		Order      string                 `json:"order,omitempty"`
		Partial    bool                   `json:"partial,omitempty"`
	}{o.Name, kind, queue, o.Seq, o.Key, o.KeyType, o.ID, o.Prev, o.Body, o.Attributes, order, partial})
	if err != nil {
		return "", err
	}
	_, err = source.Read(raw)
	return string(raw), err
}
