package main

import (
	"encoding/json"
	"errors"
	"net/url"
	"time"

	"github.com/streamsort/streamsort/internal/client"
)

// tailCommand prints a queue's messages.
type tailCommand struct {
	Queue  string `arg:"" optional:"" help:"The queue's name; with --batches, all queues where none is given."`
	After  string `help:"Begin after this seq; at the queue's first where none is given."`
	Follow bool   `short:"f" help:"Go on as the queue moves, until it is interrupted; a queue that is not there yet is waited for."`

	Batches       bool   `help:"Print the batches that leave by the cursors' stream instead, from its oldest record on, until it is interrupted. The stream is that of AWS_ENDPOINT_URL_DYNAMODB or of AWS_REGION."`
	Count         int    `help:"With --batches: end after so many."`
	MessagesTable string `help:"With --batches: the table of messages." default:"streamsort-messages"`
	CursorsTable  string `help:"With --batches: the table of cursors." default:"streamsort-cursors"`
}

// followEvery is how often a queue is asked for more.
const followEvery = time.Second

// Run implements the verb.
func (c *tailCommand) Run(s *session) error {
	if c.Batches {
		return c.batches(s)
	}
	if c.Queue == "" {
		return errors.New("a queue is needed, or --batches")
	}
	after := c.After
	for {
		query := url.Values{"queue": {c.Queue}}
		if after != "" {
			query.Set("after", after)
		}
		var page struct {
			Last, Position seq
			Messages       []json.RawMessage
		}
		_, err := s.get("/messages", query, &page)
		var problem *client.Problem
		if c.Follow && errors.As(err, &problem) && problem.Code == "no-queue" {
			page.Messages, err = nil, nil // it is waited for
		}
		if err != nil {
			return err
		}
		for _, raw := range page.Messages {
			if err := s.message(raw); err != nil {
				return err
			}
		}
		if len(page.Messages) > 0 {
			after = string(page.Last)
		}
		if page.Last != page.Position && len(page.Messages) > 0 {
			continue
		}
		if !c.Follow {
			return nil
		}
		select {
		case <-s.ctx.Done():
			return nil
		case <-time.After(followEvery):
		}
	}
}

func (s *session) message(raw json.RawMessage) error {
	var m struct {
		Seq        seq
		ID         string
		Body       json.RawMessage
		BodyBase64 string
		Tombstone  string
	}
	if err := json.Unmarshal(raw, &m); err != nil {
		return err
	}
	body := string(m.Body)
	switch {
	case m.Tombstone != "":
		body = "(" + m.Tombstone + ")"
	case m.BodyBase64 != "":
		body = "base64 " + m.BodyBase64
	}
	return s.print(raw, "%s\t%s\t%s\n", m.Seq, printable(m.ID), body)
}
