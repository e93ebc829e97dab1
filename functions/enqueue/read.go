package main

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/streamsort/streamsort/internal/edge"
	"github.com/streamsort/streamsort/internal/jsonseq"
)

// maxAnswer is how many bytes of bodies one answer holds, so that it stays
// below Lambda's 6 MB however they are written. The first message always fits.
const maxAnswer = 3 << 20

// readMessages reads a range of a queue, in order, up to its position.
func readMessages(ctx context.Context, c *call) (int, any, *edge.Problem) {
	if problem := c.Only("queue", "after", "to", "limit"); problem != nil {
		return 0, nil, problem
	}
	queue, problem := c.queue()
	if problem != nil {
		return 0, nil, problem
	}
	limit, problem := c.Limit()
	if problem != nil {
		return 0, nil, problem
	}
	it, err := c.sorter.Status(ctx, queue)
	if err != nil {
		return 0, nil, edge.ProblemOf(ctx, err)
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
	messages, last, size := []edge.Message{}, after, 0
	for m, err := range c.sorter.Read(ctx, queue, after, to) {
		if err != nil {
			if len(messages) > 0 {
				break // the next call finds it at its start, and says so
			}
			return 0, nil, edge.ProblemOf(ctx, err)
		}
		if size += len(m.Body); size > maxAnswer && len(messages) > 0 {
			break
		}
		last = m.Seq
		m.ID = c.ShortID(m.ID)
		messages = append(messages, edge.NewMessage(m))
	}
	return http.StatusOK, struct {
		Status   int            `json:"status"`
		Queue    string         `json:"queue"`
		After    jsonseq.Seq    `json:"after"`
		Last     jsonseq.Seq    `json:"last"`
		Position jsonseq.Seq    `json:"position"`
		Messages []edge.Message `json:"messages"`
	}{http.StatusOK, c.Short(queue), jsonseq.Seq(after), jsonseq.Seq(last), jsonseq.Seq(it.Position), messages}, nil
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
