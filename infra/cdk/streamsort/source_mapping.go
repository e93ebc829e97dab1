package streamsort

import (
	"github.com/streamsort/streamsort/internal/source"
	"github.com/streamsort/streamsort/internal/strictjson"
)

// text is a source as its function reads it.
func (o Source) text(kind string, partial bool) (string, error) {
	order := ""
	if o.Arrival {
		order = "arrival"
	}
	raw, err := strictjson.Marshal(struct {
		Name       string            `json:"name"`
		Kind       string            `json:"kind"`
		Queue      string            `json:"queue,omitempty"`
		Prefix     *string           `json:"prefix,omitempty"`
		Seq        string            `json:"seq,omitempty"`
		First      string            `json:"first,omitempty"`
		Key        string            `json:"key,omitempty"`
		KeyType    string            `json:"keyType,omitempty"`
		ID         string            `json:"id,omitempty"`
		Prev       string            `json:"prev,omitempty"`
		Each       string            `json:"each,omitempty"`
		Body       string            `json:"body,omitempty"`
		Attributes map[string]string `json:"attributes,omitempty"`
		Order      string            `json:"order,omitempty"`
		Partial    bool              `json:"partial,omitempty"`
	}{o.Name, kind, o.Queue, o.Prefix, o.Seq, o.First, o.Key, o.KeyType, o.ID, o.Prev, o.Each, o.Body,
		o.Attributes, order, partial})
	if err != nil {
		return "", err
	}
	_, err = source.Read(raw)
	return string(raw), err
}
