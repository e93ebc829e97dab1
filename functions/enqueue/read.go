package main

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/streamsort/streamsort/internal/jsonseq"
	"github.com/streamsort/streamsort/internal/message"
	"github.com/streamsort/streamsort/pkg/invalid"
)

// readMessages reads a range of a queue, in order, up to its position.
func readMessages(ctx context.Context, c *call) (int, any, error) {
	if err := c.Only("queue", "after", "to", "limit"); err != nil {
		return 0, nil, err
	}
	queue, err := c.queue()
	if err != nil {
		return 0, nil, err
	}
	limit, err := c.Limit()
	if err != nil {
		return 0, nil, err
	}
	it, err := c.sorter.Status(ctx, queue)
	if err != nil {
		return 0, nil, err
	}
	after, err := c.seq("after", it.Settings.First-1)
	if err != nil {
		return 0, nil, err
	}
	to, err := c.seq("to", it.Position)
	if err != nil {
		return 0, nil, err
	}
	after = max(after, it.Settings.First-1)
	to = min(to, it.Position)
	if int64(limit) < to-after {
		to = after + int64(limit)
	}
	messages, last, size := []message.Document{}, after, 0
	for m, err := range c.sorter.Read(ctx, queue, after, to) {
		if err != nil {
			if len(messages) > 0 {
				break // the next call finds it at its start, and says so
			}
			return 0, nil, err
		}
		m.ID = c.ShortID(m.ID)
		document := message.New(m)
		if size += document.Size(); size > message.MaxAnswer {
			break
		}
		last = m.Seq
		messages = append(messages, document)
	}
	return http.StatusOK, struct {
		Status   int                `json:"status"`
		Queue    string             `json:"queue"`
		After    jsonseq.Seq        `json:"after"`
		Last     jsonseq.Seq        `json:"last"`
		Position jsonseq.Seq        `json:"position"`
		Messages []message.Document `json:"messages"`
	}{http.StatusOK, c.Short(queue), jsonseq.Seq(after), jsonseq.Seq(last), jsonseq.Seq(it.Position), messages}, nil
}

// seq reads a parameter that is a seq.
func (c *call) seq(name string, otherwise int64) (int64, error) {
	text, err := c.One(name)
	if err != nil || text == "" {
		return otherwise, err
	}
	seq, err := jsonseq.Read(json.RawMessage(text))
	if err != nil {
		return 0, invalid.Named(name, err)
	}
	return seq, nil
}
