package main

import (
	"context"
	"net/http"

	"github.com/streamsort/streamsort/internal/httpapi"
	"github.com/streamsort/streamsort/internal/jsonseq"
	"github.com/streamsort/streamsort/internal/lists"
	"github.com/streamsort/streamsort/pkg/handoff"
)

// listedConsumer is a consumer in a list of those of many queues.
type listedConsumer struct {
	Queue     string        `json:"queue"`
	Consumer  string        `json:"consumer"`
	State     handoff.State `json:"state"`
	Paused    bool          `json:"paused,omitempty"`
	Delivered jsonseq.Seq   `json:"delivered"`
	Position  jsonseq.Seq   `json:"position"`
	Lag       jsonseq.Seq   `json:"lag"`
}

// list lists consumers of many queues: those in a state, or those of as many queues as a page has.
func (s *service) list(ctx context.Context, c *httpapi.Call) (int, any, error) {
	asked, err := lists.Consumers(c)
	if err != nil {
		return 0, nil, err
	}
	if asked.Consumer != "" {
		if err := handoff.ValidateConsumer(asked.Consumer); err != nil {
			return 0, nil, err
		}
	}
	if asked.State != "" {
		return lists.InState(ctx, c, s.trouble, asked, s.now())
	}
	walked, err := lists.Walk(ctx, s.sorter, asked)
	if err != nil {
		return 0, nil, err
	}
	document := struct {
		Status int              `json:"status"`
		List   []listedConsumer `json:"list"`
		Looked int              `json:"looked,omitempty"`
		Next   string           `json:"next,omitempty"`
	}{http.StatusOK, []listedConsumer{}, walked.Cost(c), walked.Next}
	for _, it := range walked.Queues {
		consumers, err := s.deliverer.Beside(ctx, it)
		if err != nil {
			return 0, nil, err
		}
		for _, is := range consumers {
			if asked.Consumer == "" || is.Name == asked.Consumer {
				document.List = append(document.List, listedConsumer{
					c.Short(is.Queue), is.Name, is.State, is.Paused != "", jsonseq.Seq(is.Delivered), jsonseq.Seq(is.Position), jsonseq.Seq(is.Lag()),
				})
			}
		}
	}
	return http.StatusOK, document, nil
}

// summary counts who is in trouble.
func (s *service) summary(ctx context.Context, c *httpapi.Call) (int, any, error) {
	return lists.Summarize(ctx, c, s.trouble, s.now())
}
