package reply

import (
	"cmp"
	"encoding/json"
	"fmt"

	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/delivery"
)

// document is a reply as it travels, and as a marker keeps it.
type document struct {
	Queue       string            `json:"queue"`
	Seq         *int64            `json:"seq,omitempty"`
	ID          string            `json:"id,omitempty"`
	Body        []byte            `json:"bodyBase64"`
	ContentType string            `json:"contentType"`
	Attributes  map[string]string `json:"attributes,omitempty"`
	Traceparent string            `json:"traceparent,omitempty"`
	Tracestate  string            `json:"tracestate,omitempty"`
}

// Encode writes replies as a JSON array of the documents that docs/openapi.yaml calls Reply; nil
// for none. Those that no claim could have are a *cursor.InvalidError.
func Encode(replies []delivery.Reply) ([]byte, error) {
	if len(replies) == 0 {
		return nil, nil
	}
	if err := (delivery.Batch{}).Answerable().Reply(replies...); err != nil {
		return nil, err
	}
	documents := make([]document, len(replies))
	for i, r := range replies {
		documents[i] = document{r.Queue, r.Seq, r.ID, r.Body,
			cmp.Or(r.ContentType, cursor.DefaultContentType), r.Attributes, r.Trace.Parent, r.Trace.State}
		if r.Body == nil {
			documents[i].Body = []byte{}
		}
	}
	return json.Marshal(documents)
}

// Decode reads what Encode wrote.
func Decode(text []byte) ([]delivery.Reply, error) {
	if len(text) == 0 {
		return nil, nil
	}
	var documents []document
	if err := json.Unmarshal(text, &documents); err != nil {
		return nil, fmt.Errorf("replies: %w", err)
	}
	replies := make([]delivery.Reply, len(documents))
	for i, d := range documents {
		replies[i] = delivery.Reply{
			Queue: d.Queue, Seq: d.Seq, ID: d.ID, Body: d.Body, ContentType: d.ContentType,
			Attributes: d.Attributes,
			Trace:      cursor.Trace{Parent: d.Traceparent, State: d.Tracestate},
		}
	}
	return replies, nil
}
