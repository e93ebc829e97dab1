// Package reply reads replies from JSON documents: those that a consumer's commit brings over HTTP,
// and those that a function answers a batch with.
package reply

import (
	"encoding/json"

	"github.com/streamsort/streamsort/internal/message"
	"github.com/streamsort/streamsort/internal/request"
	"github.com/streamsort/streamsort/internal/strictjson"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/delivery"
	"github.com/streamsort/streamsort/pkg/invalid"
)

// Read reads a JSON array of replies: messages as they are put, each with its queue. The error is
// an [invalid.Error] that names the reply and the field; their bounds are not looked at.
func Read(raw json.RawMessage) ([]delivery.Reply, error) {
	list, err := strictjson.Elements(raw, request.MaxReplies)
	if err != nil {
		return nil, invalid.Named("replies", err)
	}
	replies := make([]delivery.Reply, len(list))
	for i, raw := range list {
		members, err := strictjson.Members(raw)
		if err != nil {
			return nil, invalid.Within("replies", i, err)
		}
		m, err := message.Read(members)
		if err == nil && m.KeyParts != nil {
			err = invalid.New(invalid.Misplaced, "key", "must not be given: a reply goes to a numbered queue, or to one in arrival order")
		}
		if err == nil && m.First != nil {
			err = invalid.New(invalid.Misplaced, "first",
				"must not be given: a reply starts no queue elsewhere")
		}
		if err != nil {
			return nil, invalid.Within("replies", i, err)
		}
		replies[i] = delivery.Reply{Queue: m.Queue, ID: m.ID, Body: m.Body, ContentType: m.ContentType,
			Attributes: m.Attributes, Trace: m.Trace}
		if m.Seq != cursor.NoSeq {
			replies[i].Seq = &m.Seq
		}
	}
	return replies, nil
}
