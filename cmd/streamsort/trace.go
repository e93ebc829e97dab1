package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/streamsort/streamsort/internal/client"
	"github.com/streamsort/streamsort/pkg/cursor"
)

// times are those of a message that the functions' logs have. Times are as they were written.
type times struct {
	// Advanced is when the put that stored the message was answered, where that moved the queue over it.
	Advanced string `json:"advanced,omitempty"`
	// Deliveries are those of all consumers, in their order.
	Deliveries []deliveryTimes `json:"deliveries,omitempty"`
}

// deliveryTimes is a line of process.
type deliveryTimes struct {
	Consumer    string `json:"consumer"`
	Attempt     int    `json:"attempt"`
	ClaimedAt   string `json:"claimedAt"`
	ReturnedAt  string `json:"returnedAt"`
	CommittedAt string `json:"committedAt,omitempty"`
	Failed      bool   `json:"failed,omitempty"`
}

// logged is a line of a function's log that is about messages of a queue.
type logged struct {
	Message, Timestamp string
	Queue, Outcome     string
	Seq, From, To      seq
	deliveryTimes
}

// times takes from the functions' logs what they have of a message: those of a stack on this machine,
// which keeps the last lines of each. On AWS they are in CloudWatch, and nothing is known.
func (s *session) times(p placed) (t times, err error) {
	var functions []struct{ Name string }
	_, err = s.get("/_streamsort/functions", nil, &functions)
	var problem *client.Problem
	switch {
	case errors.As(err, &problem):
		return t, nil
	case err != nil:
		return t, err
	}
	for _, f := range functions {
		var lines []string
		if _, err := s.get("/_streamsort/logs", url.Values{"function": {f.Name}, "lines": {"1000"}}, &lines); err != nil {
			return t, err
		}
		for _, line := range lines {
			var l logged
			if json.Unmarshal([]byte(line), &l) == nil && l.Queue == p.queue {
				t.take(l, p.seq)
			}
		}
	}
	return t, nil
}

// take takes what a line says of a seq.
func (t *times) take(l logged, of int64) {
	switch l.Message {
	case "put":
		if l.Outcome == string(cursor.Advanced) && string(l.Seq) == strconv.FormatInt(of, 10) {
			t.Advanced = l.Timestamp
		}
	case "delivery":
		from, errFrom := l.From.number()
		to, errTo := l.To.number()
		if errFrom == nil && errTo == nil && from <= of && of <= to {
			t.Deliveries = append(t.Deliveries, l.deliveryTimes)
		}
	}
}

// known reports whether a delivery to the consumer is known.
func (t times) known(consumer string) bool {
	return slices.ContainsFunc(t.Deliveries, func(d deliveryTimes) bool { return d.Consumer == consumer })
}

// whose says whose trace a message is a part of.
func whose(traceparent string) string {
	parts := strings.Split(traceparent, "-")
	sampled := "not sampled"
	if cursor.TraceOf(traceparent, "").Sampled() {
		sampled = "sampled"
	}
	return fmt.Sprintf("trace %s, span %s of its producer, %s", parts[1], parts[2], sampled)
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
