package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/streamsort/streamsort/internal/client"
	"github.com/streamsort/streamsort/internal/printable"
	"github.com/streamsort/streamsort/pkg/cursor"
)

// traceCommand prints the times of a message.
type traceCommand struct {
	readFlags
	Message string `arg:"" help:"QUEUE@SEQ: the queue's name and the message's seq."`
}

// traced is what is known of a message's way. Times are as they were written; empty where they
// are not recorded.
type traced struct {
	Queue       string `json:"queue"`
	Seq         string `json:"seq"`
	Traceparent string `json:"traceparent,omitempty"`
	Tracestate  string `json:"tracestate,omitempty"`
	ID          string `json:"id,omitempty"`
	// State is as inspect has it; Put is when the message was stored, Advanced when the put that stored it was
	// answered, where that moved the queue over it.
	State    string `json:"state"`
	Put      string `json:"put,omitempty"`
	Advanced string `json:"advanced,omitempty"`
	// Logs tells whether the functions' logs could be read: those of a local stack can.
	Logs      bool       `json:"logs"`
	Consumers []passedBy `json:"consumers"`

	text string // what inspect says of where it is
}

// passedBy is what is known of a message for a consumer.
type passedBy struct {
	Consumer string `json:"consumer"`
	// State is waiting, claimed, committed, or skipped.
	State string `json:"state"`
	// Deliveries are those that the logs have, in their order.
	Deliveries []deliveryTimes `json:"deliveries"`
}

// deliveryTimes is a line of process.
type deliveryTimes struct {
	Attempt     int    `json:"attempt"`
	ClaimedAt   string `json:"claimedAt"`
	ReturnedAt  string `json:"returnedAt"`
	CommittedAt string `json:"committedAt,omitempty"`
	Failed      bool   `json:"failed,omitempty"`
}

// Run implements the verb.
func (c *traceCommand) Run(s *session) error {
	p, err := parsePlaced(c.Message)
	if err != nil {
		return err
	}
	var q queue
	if _, err := s.get("/queues", url.Values{"queue": {p.queue}}, &q); err != nil {
		return err
	}
	t, err := s.trace(p, q)
	if err != nil {
		return err
	}
	raw, err := json.Marshal(t)
	if err != nil {
		return err
	}
	if err := s.print(raw, "%s", t.lines(s.clock)); err != nil || t.State == "in-order" || t.State == "parked" {
		return err
	}
	return fmt.Errorf("no message is known at %s@%s", printable.Text(t.Queue), t.Seq)
}

// trace gathers what is known of a message's way.
func (s *session) trace(p placed, q queue) (*traced, error) {
	document, text, err := s.stored(p, q)
	if err != nil {
		return nil, err
	}
	t := &traced{Queue: p.queue, Seq: strconv.FormatInt(p.seq, 10), State: fmt.Sprint(document["state"]), Consumers: []passedBy{}, text: text}
	if raw, ok := document["message"].(json.RawMessage); ok {
		var m message
		if err := json.Unmarshal(raw, &m); err != nil {
			return nil, err
		}
		t.ID, t.Traceparent, t.Tracestate, t.Put = m.ID, m.Traceparent, m.Tracestate, m.EnqueuedAt
	}
	_, skipped, _, err := s.operationsOn(p)
	if err != nil {
		return nil, err
	}
	if err := s.passed(t, p, skipped); err != nil {
		return nil, err
	}
	return t, s.readLogs(t, p)
}

// passed is where each consumer is, as it is stored.
func (s *session) passed(t *traced, p placed, skipped map[string]bool) error {
	return s.eachConsumer(p.queue, func(it consumer, delivered int64, _ json.RawMessage) {
		state := "waiting"
		switch {
		case delivered >= p.seq && skipped[it.Consumer]:
			state = "skipped"
		case delivered >= p.seq:
			state = "committed"
		case it.at(p.seq):
			state = "claimed"
		}
		t.Consumers = append(t.Consumers, passedBy{Consumer: it.Consumer, State: state, Deliveries: []deliveryTimes{}})
	})
}

// logged is a line of a function's log that is about messages of a queue.
type logged struct {
	Message, Timestamp       string
	Queue, Consumer, Outcome string
	Seq, From, To            seq
	deliveryTimes
}

// readLogs takes from the functions' logs what they have of a message: those of a stack on this machine,
// which keeps the last lines of each. On AWS they are in CloudWatch, and nothing is said of them.
func (s *session) readLogs(t *traced, p placed) error {
	var functions []struct{ Name string }
	_, err := s.get("/_streamsort/functions", nil, &functions)
	var problem *client.Problem
	switch {
	case errors.As(err, &problem):
		return nil
	case err != nil:
		return err
	}
	t.Logs = true
	for _, f := range functions {
		var lines []string
		if _, err := s.get("/_streamsort/logs", url.Values{"function": {f.Name}, "lines": {"1000"}}, &lines); err != nil {
			return err
		}
		for _, line := range lines {
			var l logged
			if json.Unmarshal([]byte(line), &l) == nil && l.Queue == p.queue {
				t.take(l, p.seq)
			}
		}
	}
	return nil
}

// take takes what a line says of a seq.
func (t *traced) take(l logged, of int64) {
	switch l.Message {
	case "put":
		if l.Outcome == string(cursor.Advanced) && string(l.Seq) == t.Seq {
			t.Advanced = l.Timestamp
		}
	case "handed on":
		from, errFrom := l.From.number()
		to, errTo := l.To.number()
		if errFrom != nil || errTo != nil || of < from || of > to {
			return
		}
		for i := range t.Consumers {
			if t.Consumers[i].Consumer == l.Consumer {
				t.Consumers[i].Deliveries = append(t.Consumers[i].Deliveries, l.deliveryTimes)
			}
		}
	}
}

// lines are the times for people: the message's way in order, with what is not recorded said so.
func (t *traced) lines(c clock) string {
	var b strings.Builder
	switch t.State {
	case "in-order":
		fmt.Fprintf(&b, "%s@%s: %s\n", t.Queue, t.Seq, whose(t.Traceparent))
		fmt.Fprintf(&b, "  put\t%s\n", c.at(t.Put))
		fmt.Fprintf(&b, "  in order\t%s\n", t.inOrder(c))
	case "gone":
		fmt.Fprintf(&b, "%s@%s: %s", t.Queue, t.Seq, t.text)
	default:
		return fmt.Sprintf("%s@%s: %s", t.Queue, t.Seq, t.text)
	}
	for _, by := range t.Consumers {
		if len(by.Deliveries) == 0 {
			fmt.Fprintf(&b, "  %s\t%s%s\n", by.Consumer, by.State, t.unknown(by))
		}
		for _, d := range by.Deliveries {
			fmt.Fprintf(&b, "  %s\t%s\n", by.Consumer, d.line(c))
		}
	}
	if len(t.Consumers) == 0 {
		b.WriteString("  no consumer\n")
	}
	return b.String()
}

// whose says whose trace a message is a part of.
func whose(traceparent string) string {
	if traceparent == "" {
		return "no trace context"
	}
	parts := strings.Split(traceparent, "-")
	sampled := "not sampled"
	if cursor.TraceOf(traceparent, "").Sampled() {
		sampled = "sampled"
	}
	return fmt.Sprintf("trace %s, span %s of its producer, %s", parts[1], parts[2], sampled)
}

// inOrder is when the queue passed the message, as far as that is known: no table keeps it.
func (t *traced) inOrder(c clock) string {
	if t.Advanced != "" {
		return "by its own put, answered " + c.at(t.Advanced)
	}
	first := ""
	for _, by := range t.Consumers {
		for _, d := range by.Deliveries {
			if first == "" || earlier(d.ClaimedAt, first) {
				first = d.ClaimedAt
			}
		}
	}
	if first != "" {
		return "by " + c.at(first) + ", when it was first claimed"
	}
	return "yes; when is not recorded"
}

func earlier(a, b string) bool {
	first, errA := time.Parse(time.RFC3339, a)
	second, errB := time.Parse(time.RFC3339, b)
	return errA == nil && errB == nil && first.Before(second)
}

// unknown says that times are not recorded, and what would record them.
func (t *traced) unknown(by passedBy) string {
	switch {
	case by.State == "waiting":
		return ""
	case !t.Logs:
		return "; when is not recorded here: process logs it of a watched queue (logQueue), and of sampled messages"
	}
	return "; when is not recorded"
}

// line is a delivery for people.
func (d deliveryTimes) line(c clock) string {
	text := "claimed " + c.at(d.ClaimedAt)
	switch {
	case d.Failed:
		text += ", failed " + c.at(d.ReturnedAt)
	case d.CommittedAt != "":
		text += ", sent " + c.at(d.ReturnedAt) + ", committed " + c.at(d.CommittedAt)
	default:
		text += ", sent " + c.at(d.ReturnedAt) + ", not committed by this delivery"
	}
	if d.Attempt > 1 {
		text += fmt.Sprintf(" (attempt %d)", d.Attempt)
	}
	return text
}
