package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"time"

	"github.com/streamsort/streamsort/internal/edge"
	"github.com/streamsort/streamsort/internal/jsonseq"
	"github.com/streamsort/streamsort/pkg/cursor"
)

// maxAnswer is how many bytes of bodies one answer holds, so that it stays
// below Lambda's 6 MB however they are written. The first message always fits.
const maxAnswer = 3 << 20

// messageAnswer is a message, as callers see it. A JSON body stands there as it
// came, any other one in base64; a tombstone has none.
type messageAnswer struct {
	Seq         jsonseq.Seq       `json:"seq"`
	ID          string            `json:"id,omitempty"`
	Body        json.RawMessage   `json:"body,omitempty"`
	BodyBase64  *string           `json:"bodyBase64,omitempty"`
	ContentType string            `json:"contentType,omitempty"`
	Attributes  map[string]string `json:"attributes,omitempty"`
	EnqueuedAt  time.Time         `json:"enqueuedAt"`
	Tombstone   string            `json:"tombstone,omitempty"`
}

func newMessageAnswer(m cursor.Message) messageAnswer {
	a := messageAnswer{
		Seq: jsonseq.Seq(m.Seq), ID: m.ID, Attributes: m.Attributes, EnqueuedAt: m.EnqueuedAt, Tombstone: m.Tombstone,
	}
	if m.Tombstone != "" {
		return a
	}
	a.ContentType = m.ContentType
	if a.ContentType == "" {
		a.ContentType = cursor.DefaultContentType
	}
	// The encoder takes the white space out of a raw value, and so changes it;
	// only one that comes out as it is may stand there.
	if edge.IsJSON(a.ContentType) && unchanged(m.Body) {
		a.Body = m.Body
		return a
	}
	text := base64.StdEncoding.EncodeToString(m.Body)
	a.BodyBase64 = &text
	return a
}

func unchanged(body []byte) bool {
	if !json.Valid(body) {
		return false
	}
	written, err := edge.Marshal(json.RawMessage(body))
	return err == nil && string(written) == string(body)
}

// readMessages reads a range of a queue, in order, up to its position.
func readMessages(ctx context.Context, c *call) (int, any, *edge.Problem) {
	if problem := c.Only("queue", "after", "to", "limit"); problem != nil {
		return 0, nil, problem
	}
	queue, problem := c.One("queue")
	if problem != nil {
		return 0, nil, problem
	}
	limit, problem := c.limit()
	if problem != nil {
		return 0, nil, problem
	}
	it, err := c.sorter.Status(ctx, queue)
	if err != nil {
		return 0, nil, problemOf(ctx, err)
	}
	after, problem := c.seq("after", it.Settings.First-1)
	if problem != nil {
		return 0, nil, problem
	}
	to, problem := c.seq("to", it.Position)
	if problem != nil {
		return 0, nil, problem
	}
	after = max(after, it.Settings.First-1)
	to = min(to, it.Position)
	if int64(limit) < to-after {
		to = after + int64(limit)
	}
	messages, last, size := []messageAnswer{}, after, 0
	for m, err := range c.sorter.Read(ctx, queue, after, to) {
		if err != nil {
			if len(messages) > 0 {
				break // the next call finds it at its start, and says so
			}
			return 0, nil, problemOf(ctx, err)
		}
		if size += len(m.Body); size > maxAnswer && len(messages) > 0 {
			break
		}
		messages = append(messages, newMessageAnswer(m))
		last = m.Seq
	}
	return http.StatusOK, struct {
		Status   int             `json:"status"`
		Queue    string          `json:"queue"`
		After    jsonseq.Seq     `json:"after"`
		Last     jsonseq.Seq     `json:"last"`
		Position jsonseq.Seq     `json:"position"`
		Messages []messageAnswer `json:"messages"`
	}{http.StatusOK, queue, jsonseq.Seq(after), jsonseq.Seq(last), jsonseq.Seq(it.Position), messages}, nil
}

// seq reads a parameter that is a seq.
func (c *call) seq(name string, otherwise int64) (int64, *edge.Problem) {
	text, problem := c.One(name)
	if problem != nil || text == "" {
		return otherwise, problem
	}
	seq, err := edge.Seq(json.RawMessage(text))
	if err != nil {
		return 0, edge.Invalid(name, err.Error())
	}
	return seq, nil
}
