package main

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/streamsort/streamsort/internal/httpapi"
	"github.com/streamsort/streamsort/internal/jsonseq"
	"github.com/streamsort/streamsort/internal/message"
	"github.com/streamsort/streamsort/internal/strictjson"
	"github.com/streamsort/streamsort/pkg/cursor"
)

// queueAnswer is a queue's status, as callers see it.
type queueAnswer struct {
	Status   int           `json:"status"`
	Queue    string        `json:"queue"`
	Kind     string        `json:"kind"`
	First    jsonseq.Seq   `json:"first"`
	Position jsonseq.Seq   `json:"position"`
	Parked   jsonseq.Seq   `json:"parked"`
	GapOpen  bool          `json:"gapOpen"`
	GapSince *time.Time    `json:"gapSince,omitempty"`
	GapAge   float64       `json:"gapAgeSeconds,omitempty"`
	Policy   cursor.Policy `json:"policy"`
	GapAfter string        `json:"gapAfter"`
	MaxAhead int64         `json:"maxAhead"`
	Mode     cursor.Mode   `json:"mode"`
}

func (c *call) queueAnswer(it cursor.Cursor) queueAnswer {
	a := queueAnswer{
		Status: http.StatusOK, Queue: c.Short(it.Queue), Kind: it.Settings.Kind.String(), First: jsonseq.Seq(it.Settings.First),
		Position: jsonseq.Seq(it.Position), Parked: jsonseq.Seq(it.Parked), GapOpen: it.GapOpen(),
		Policy: it.Settings.Policy, GapAfter: it.Settings.GapAfter.String(), MaxAhead: it.Settings.MaxAhead, Mode: it.Settings.Mode,
	}
	if a.GapOpen {
		a.GapSince, a.GapAge = &it.GapSince, c.age(it.GapSince)
	}
	return a
}

// age is never negative: another machine's clock may be ahead.
func (c *call) age(since time.Time) float64 { return max(c.now().Sub(since).Seconds(), 0) }

// queue is the parameter of that name: the queue as it is stored.
func (c *call) queue() (string, error) {
	queue, err := c.One("queue")
	if err != nil {
		return "", err
	}
	return c.Full("queue", queue)
}

// queueStatus tells how far a queue is.
func queueStatus(ctx context.Context, c *call) (int, any, error) {
	if err := c.Only("queue"); err != nil {
		return 0, nil, err
	}
	queue, err := c.queue()
	if err != nil {
		return 0, nil, err
	}
	it, err := c.sorter.Status(ctx, queue)
	if err != nil {
		return 0, nil, err
	}
	return http.StatusOK, c.queueAnswer(it), nil
}

// gapAnswer is one gap, as callers see it: From and To are missing, and all
// between.
type gapAnswer struct {
	From  jsonseq.Seq `json:"from"`
	To    jsonseq.Seq `json:"to"`
	Since *time.Time  `json:"since,omitempty"`
	Age   float64     `json:"ageSeconds,omitempty"`
}

// queueGaps lists a queue's gaps.
func queueGaps(ctx context.Context, c *call) (int, any, error) {
	if err := c.Only("queue", "limit"); err != nil {
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
	list, err := c.sorter.Gaps(ctx, queue, limit)
	if err != nil {
		return 0, nil, err
	}
	gaps := make([]gapAnswer, len(list.Gaps))
	for i, gap := range list.Gaps {
		gaps[i] = gapAnswer{From: jsonseq.Seq(gap.Missing.From + 1), To: jsonseq.Seq(gap.Missing.To)}
		if !gap.Since.IsZero() {
			gaps[i].Since, gaps[i].Age = &gap.Since, c.age(gap.Since)
		}
	}
	return http.StatusOK, struct {
		Status   int         `json:"status"`
		Queue    string      `json:"queue"`
		Position jsonseq.Seq `json:"position"`
		Parked   jsonseq.Seq `json:"parked"`
		Gaps     []gapAnswer `json:"gaps"`
		More     bool        `json:"more"`
	}{http.StatusOK, c.Short(queue), jsonseq.Seq(list.Cursor.Position), jsonseq.Seq(list.Cursor.Parked), gaps, list.More}, nil
}

// configureQueue changes a queue's settings, or makes the queue with them.
func configureQueue(ctx context.Context, c *call) (int, any, error) {
	if !c.Direct {
		if err := c.Only(); err != nil {
			return 0, nil, err
		}
	}
	members, err := strictjson.Members(c.Body)
	if err != nil {
		return 0, nil, httpapi.Invalid("body", err.Error())
	}
	queue, change := "", cursor.Change{}
	for _, m := range members {
		var err error
		switch m.Name {
		case "queue":
			queue, err = strictjson.Text(m.Value)
		case "kind":
			change.Kind, err = pointer(message.Kind(m.Value))
		case "first":
			change.First, err = pointer(jsonseq.Read(m.Value))
		case "policy":
			change.Policy, err = textOf[cursor.Policy](m.Value)
		case "gapAfter":
			change.GapAfter, err = durationOf(m.Value)
		case "maxAhead":
			change.MaxAhead, err = pointer(jsonseq.Read(m.Value))
		case "mode":
			change.Mode, err = textOf[cursor.Mode](m.Value)
		default:
			err = errors.New("is not a setting: queue, kind, first, policy, gapAfter, maxAhead and mode are")
		}
		if err != nil {
			return 0, nil, httpapi.Invalid(m.Name, err.Error())
		}
	}
	queue, err = c.Full("queue", queue)
	if err != nil {
		return 0, nil, err
	}
	it, err := c.sorter.Configure(ctx, queue, change)
	if err != nil {
		return 0, nil, err
	}
	return http.StatusOK, c.queueAnswer(it), nil
}

func pointer[T any](value T, err error) (*T, error) { return &value, err }

func textOf[T ~string](raw json.RawMessage) (*T, error) {
	text, err := strictjson.Text(raw)
	value := T(text)
	return &value, err
}

func durationOf(raw json.RawMessage) (*time.Duration, error) {
	text, err := strictjson.Text(raw)
	if err != nil {
		return nil, err
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		return nil, errors.New(`must be a duration such as "90s", "5m" or "48h"`)
	}
	return &d, nil
}
