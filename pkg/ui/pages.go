package ui

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/streamsort/streamsort/internal/client"
	"github.com/streamsort/streamsort/internal/fantree"
	"github.com/streamsort/streamsort/internal/printable"
	"github.com/streamsort/streamsort/internal/view"
	"github.com/streamsort/streamsort/pkg/cursor"
)

// page is a screen: its title, in which {queue} stands for the parameter queue, the parameter that
// it must have, and what it asks the API for.
type page struct {
	title, needs string
	load         func(*UI, context.Context, url.Values) (any, error)
}

var pages = map[string]page{
	"overview":  {"Overview", "", (*UI).overview},
	"queues":    {"Queues", "", (*UI).queues},
	"queue":     {"Queue {queue}", "queue", (*UI).queue},
	"message":   {"{queue}@{seq}", "queue", (*UI).message},
	"consumers": {"Consumers", "", (*UI).consumers},
	"search":    {"Search", "", (*UI).search},
	"chains":    {"Chains", "", (*UI).chains},
	"chain":     {"Chain {tag}", "tag", (*UI).chain},
	"bulk":      {"Bulk operations", "", (*UI).bulk},
	"run":       {"Bulk operation", "run", (*UI).bulkRun},
}

func (p page) titled(query url.Values) string {
	given := func(name string) string { return printable.Text(query.Get(name)) }
	names := []string{"{queue}", given("queue"), "{seq}", given("seq"), "{tag}", given("tag")}
	return strings.NewReplacer(names...).Replace(p.title)
}

// The bounds of one queue's screen.
const (
	shownGaps     = "50"
	shownLast     = 10
	shownConsumer = "50"
)

type queueScreen struct {
	Q         queue
	Gaps      gaps
	Consumers []consumer
	More      bool // consumers
	Why       []view.Reason
	Ruler     ruler
	Last      []message // the latest first
	Charts    []chart
	Done      []operation
	Said      string // what the last one did
}

func (u *UI) queue(ctx context.Context, query url.Values) (any, error) {
	name, err := query.Get("queue"), error(nil)
	var s queueScreen
	var of view.Consumers
	ask := u.asking(ctx, &err)
	ask(&s.Q, "/queues", "queue", name)
	if s.Q.GapOpen {
		ask(&s.Gaps, "/gaps", "queue", name, "limit", shownGaps)
	}
	ask(&of, "/consumers", "queue", name, "limit", shownConsumer)
	if err != nil {
		return nil, err
	}
	s.Consumers, s.More = of.Consumers, of.Next != ""
	if s.Last, err = u.last(ctx, s.Q, shownLast); err != nil {
		return nil, err
	}
	var log struct{ Operations []operation }
	err = u.get(ctx, "/operations", client.Query("queue", name), &log)
	if err != nil && statusOf(err) != http.StatusNotFound {
		return nil, err
	}
	s.Done = log.Operations[:min(len(log.Operations), shownLast)]
	s.Why = slices.DeleteFunc(view.Why(s.Q, s.Consumers), func(r view.Reason) bool {
		return r.State == view.CatchingUp && r.Cause == "" // messages come, and go
	})
	s.Ruler = draw(s.Q, s.Gaps, s.Consumers)
	s.Charts = u.chartsOf(ctx, s.Q, s.Consumers)
	s.Said = said(query, s.Consumers)
	return s, nil
}

// last are a queue's last messages in order, so many, the latest first.
func (u *UI) last(ctx context.Context, q queue, most int) ([]message, error) {
	if q.Position < q.First {
		return nil, nil
	}
	asked := client.Query("queue", string(q.Queue), "limit", strconv.Itoa(most))
	if after := int64(q.Position) - int64(most); after >= 0 {
		asked.Set("after", strconv.FormatInt(after, 10))
	}
	var found struct{ Messages []message }
	err := u.get(ctx, "/messages", asked, &found)
	slices.Reverse(found.Messages)
	return found.Messages, err
}

type messageScreen struct {
	Queue     printable.Name
	Seq       int64
	Position  int64
	First     int64
	Message   *message // nil where it is not stored in order
	Missing   *gap     // the gap that it is in
	Behind    []gap    // the gaps that it waits for, stored
	Consumers []consumer
}

// Tried are the consumers that have tried it, with the attempts that are known.
func (s messageScreen) Tried() (tried []consumer) {
	for _, c := range s.Consumers {
		if c.Attempts = c.AttemptsOn(s.Seq); len(c.Attempts) > 0 {
			tried = append(tried, c)
		}
	}
	return tried
}

// Blocked are the consumers that gave up on it.
func (s messageScreen) Blocked() (names []string) {
	for _, c := range s.Consumers {
		if c.Blocked != nil && int64(c.Blocked.Seq) == s.Seq {
			names = append(names, c.Consumer)
		}
	}
	return names
}

// Before is the seq before it; -1 without one.
func (s messageScreen) Before() int64 { return s.Seq - 1 }

// After is the seq behind it; that of the last one that there can be is its own.
func (s messageScreen) After() int64 { return s.Seq + min(1, cursor.MaxSeq-s.Seq) }

func (u *UI) message(ctx context.Context, query url.Values) (any, error) {
	name := query.Get("queue")
	seq, err := cursor.ParseSeq(query.Get("seq"))
	if err != nil {
		return nil, badQuery(fmt.Sprintf("seq is %q: %v", query.Get("seq"), err))
	}
	var q queue
	var of view.Consumers
	ask := u.asking(ctx, &err)
	ask(&q, "/queues", "queue", name)
	s := messageScreen{Queue: printable.Name(name), Seq: seq, Position: int64(q.Position),
		First: int64(q.First)}
	switch {
	case seq < s.First:
	case seq <= s.Position:
		after := ""
		if seq > 0 {
			after = strconv.FormatInt(seq-1, 10)
		}
		var found struct{ Messages []message }
		ask(&found, "/messages", "queue", name, "after", after, "to",
			strconv.FormatInt(seq, 10), "limit", "1")
		if len(found.Messages) > 0 {
			s.Message = &found.Messages[0]
		}
	case q.GapOpen:
		var open gaps
		ask(&open, "/gaps", "queue", name, "limit", "1000")
		s.Missing, s.Behind = open.Place(seq)
	}
	ask(&of, "/consumers", "queue", name, "limit", shownConsumer)
	s.Consumers = of.Consumers
	return s, err
}

// shownParts is how many parts of a fan are asked for, each a request, whenever a chain is shown.
const shownParts = 24

// chain is a chain, and the parts of a fan of an edge of it: of its first one, where no other is
// named.
func (u *UI) chain(ctx context.Context, query url.Values) (any, error) {
	tag := query.Get("tag")
	fanned, err := fantree.Fanned(tag, query.Get("id"), query.Get("edge"))
	if err != nil {
		return nil, badQuery(err.Error())
	}
	whole, err := fantree.Read(func(tag string) (json.RawMessage, error) {
		var found struct{ Chain json.RawMessage }
		err := u.get(ctx, "/chains", client.Query("tag", tag), &found)
		return found.Chain, err
	}, tag, fanned, shownParts)
	if err != nil {
		return nil, err
	}
	ended := u.trends.note(u.who(ctx)+"\x00\x00"+tag, time.Now(), whole.EdgesEnded)
	return map[string]any{"Chain": whole, "Chart": level("Edges that have ended", "edges", ended)}, nil
}
