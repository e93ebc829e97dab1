package main

import (
	"cmp"
	"context"
	"net/http"
	"time"

	"github.com/streamsort/streamsort/internal/httpapi"
	"github.com/streamsort/streamsort/internal/intake"
	"github.com/streamsort/streamsort/internal/jsonseq"
	"github.com/streamsort/streamsort/internal/lists"
	"github.com/streamsort/streamsort/internal/printable"
	"github.com/streamsort/streamsort/internal/strictjson"
	"github.com/streamsort/streamsort/internal/view"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/invalid"
)

func (c *call) queueAnswer(it cursor.Cursor) map[string]any {
	a := map[string]any{
		"status": http.StatusOK, "queue": c.Short(it.Queue), "position": jsonseq.Seq(it.Position), "maxParked": jsonseq.Seq(it.MaxParked),
		"gapOpen": it.GapOpen(),
	}
	for name, value := range it.Settings.All() {
		switch value := value.(type) {
		case int64:
			a[name] = jsonseq.Seq(value)
		case time.Duration:
			a[name] = value.String()
		default:
			a[name] = value
		}
	}
	if it.Settings.Kind == cursor.KindKeyed {
		a["lateSoFar"] = it.LateSoFar
		if high := it.High.Key(); high != "" {
			a["highKey"] = high.JSON()
		}
	}
	a["state"] = view.OK
	if it.GapOpen() {
		a["state"], a["seq"] = view.Gap, jsonseq.Seq(it.Position+1)
		c.addGap(a, it.MovedAt)
	}
	return a
}

// addGap adds since when there is a gap: without a look at the message behind it, since the last
// move.
func (c *call) addGap(a map[string]any, since time.Time) {
	a["gapSince"] = since
	if age := c.age(since); age > 0 {
		a["gapAgeSeconds"] = age
	}
}

// age is never negative: another machine's clock may be ahead.
func (c *call) age(since time.Time) float64 { return max(c.now().Sub(since).Seconds(), 0) }

// queueStatus answers how far a queue is. Where none is named it lists many.
func queueStatus(ctx context.Context, c *call) (int, any, error) {
	if !c.Query.Has("queue") {
		return listQueues(ctx, c)
	}
	var asked struct {
		Queue string `json:"queue"`
	}
	if err := cmp.Or(lists.Queues.Check(c.Call), c.Parameters(&asked, &asked.Queue)); err != nil {
		return 0, nil, err
	}
	it, err := c.sorter.Status(ctx, asked.Queue)
	if err != nil {
		return 0, nil, err
	}
	waits, err := c.sorter.Waiting(ctx, it)
	if err != nil {
		return 0, nil, err
	}
	a, count := c.queueAnswer(it), "parked"
	if it.GapOpen() {
		c.addGap(a, waits.Oldest)
	}
	if it.Settings.Kind == cursor.KindKeyed {
		a["parked"], count = 0, "waiting"
		if waits.Count > 0 {
			a["oldestWaiting"], a["dueAt"] = waits.Oldest.UTC(), waits.Due.UTC()
		}
	}
	if a[count] = waits.Count; waits.More {
		a[count+"More"] = true
	}
	return http.StatusOK, a, nil
}

func queueGaps(ctx context.Context, c *call) (int, any, error) {
	var asked struct {
		Queue string `json:"queue"`
		Limit int    `json:"limit" bounds:"1..1000" default:"100"`
	}
	if err := c.Parameters(&asked, &asked.Queue); err != nil {
		return 0, nil, err
	}
	list, err := c.sorter.Gaps(ctx, asked.Queue, asked.Limit)
	if err != nil {
		return 0, nil, err
	}
	a := view.Gaps{
		Status: http.StatusOK, Queue: printable.Name(c.Short(asked.Queue)), More: list.More,
		Position: jsonseq.Seq(list.Cursor.Position), MaxParked: jsonseq.Seq(list.Cursor.MaxParked),
		Gaps: make([]view.Range, len(list.Gaps)),
	}
	for i, gap := range list.Gaps {
		from, to := jsonseq.Seq(gap.Missing.From+1), jsonseq.Seq(gap.Missing.To)
		a.Gaps[i] = view.Range{From: from, To: to, Since: gap.Since}
		if !gap.Since.IsZero() {
			a.Gaps[i].Age = c.age(gap.Since)
		}
	}
	return http.StatusOK, a, nil
}

func configureQueue(ctx context.Context, c *call) (int, any, error) {
	if err := c.Parameters(&struct{}{}); err != nil {
		return 0, nil, err
	}
	members, err := strictjson.Members(c.Body)
	if err != nil {
		return 0, nil, invalid.Named(httpapi.RequestBody, err)
	}
	queue, change := "", cursor.Change{}
	for _, m := range members {
		text := string(m.Value)
		if m.Name == "queue" || text[0] == '"' {
			if text, err = strictjson.Text(m.Value); err != nil {
				return 0, nil, invalid.Named(m.Name, err)
			}
		}
		if m.Name == "queue" {
			queue = text
		} else if err := change.Set(m.Name, text); err != nil {
			return 0, nil, err
		}
	}
	queue, err = c.Full("queue", queue)
	if err != nil {
		return 0, nil, err
	}
	var load intake.Load
	load.Use(queue)
	if err := load.Take(ctx, c.quotas, c.Metrics, c.Tenant(), c.sorter); err != nil {
		return 0, nil, err
	}
	it, err := c.sorter.Configure(ctx, queue, change)
	if err != nil {
		return 0, nil, err
	}
	return http.StatusOK, c.queueAnswer(it), nil
}

func listQueues(ctx context.Context, c *call) (int, any, error) {
	asked, err := lists.Read(c.Call, lists.Queues)
	if err != nil {
		return 0, nil, err
	}
	if asked.State != "" {
		return lists.InState(ctx, c.Call, c.trouble, asked, c.now(), nil)
	}
	walked, err := lists.Walk(ctx, c.sorter, asked)
	if err != nil {
		return 0, nil, err
	}
	list := []map[string]any{}
	for _, it := range walked.Queues {
		a := c.queueAnswer(it)
		delete(a, "status")
		list = append(list, a)
	}
	a := map[string]any{"status": http.StatusOK, "list": list}
	if walked.Next != "" {
		a["next"] = walked.Next
	}
	return http.StatusOK, a, nil
}
