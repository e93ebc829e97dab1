package main

import (
	"context"
	"net/http"

	"github.com/streamsort/streamsort/internal/jsonseq"
	"github.com/streamsort/streamsort/internal/message"
)

func readMessages(ctx context.Context, c *call) (int, any, error) {
	var asked struct {
		Queue string         `json:"queue"`
		After *jsonseq.Asked `json:"after"`
		To    *jsonseq.Asked `json:"to"`
		Limit int64          `json:"limit" bounds:"1..1000" default:"100"`
	}
	if err := c.Parameters(&asked, &asked.Queue); err != nil {
		return 0, nil, err
	}
	it, err := c.sorter.Status(ctx, asked.Queue)
	if err != nil {
		return 0, nil, err
	}
	after, to := it.Settings.First-1, it.Position
	if asked.After != nil {
		after = max(after, int64(*asked.After))
	}
	if asked.To != nil {
		to = min(to, int64(*asked.To))
	}
	if asked.Limit < to-after {
		to = after + asked.Limit
	}
	messages, last, size := []message.Document{}, after, 0
	for m, err := range c.sorter.Read(ctx, asked.Queue, after, to) {
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
	}{http.StatusOK, c.Short(asked.Queue), jsonseq.Seq(after), jsonseq.Seq(last),
		jsonseq.Seq(it.Position), messages}, nil
}
