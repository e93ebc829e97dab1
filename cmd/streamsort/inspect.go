package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/streamsort/streamsort/internal/origin"
	"github.com/streamsort/streamsort/internal/printable"
	"github.com/streamsort/streamsort/internal/view"
	"github.com/streamsort/streamsort/pkg/cursor"
)

type inspectCommand struct {
	readFlags
	Message string `arg:"" help:"QUEUE@SEQ: the queue's name and the message's seq."`
}

type placed struct {
	queue string
	seq   int64
}

// parsePlaced reads QUEUE@SEQ: a queue's name may have an @ of its own.
func parsePlaced(text string) (placed, error) {
	at := strings.LastIndexByte(text, '@')
	if at < 1 {
		return placed{}, usage("%q must be QUEUE@SEQ, such as orders@42", text)
	}
	seq, err := cursor.ParseSeq(text[at+1:])
	if err != nil {
		return placed{}, usage("%q must be QUEUE@SEQ: %v", text, err)
	}
	return placed{text[:at], seq}, nil
}

func (c *inspectCommand) Run(s *session) error {
	p, err := parsePlaced(c.Message)
	if err != nil {
		return err
	}
	var q queue
	if _, err := s.get("/queues", url.Values{"queue": {p.queue}}, &q); err != nil {
		return err
	}
	document, text, err := s.stored(p, q)
	if err != nil {
		return err
	}
	operations, skipped, done, err := s.operationsOn(p)
	if err != nil {
		return err
	}
	consumers, said, err := s.hadBy(p, skipped)
	if err != nil {
		return err
	}
	document["consumers"], document["operations"] = consumers, operations
	return s.print(document, "%s@%d: %s%s%s", p.queue, p.seq, text, said, done)
}

// stored says whether the message is there, and shows it where it is in order.
func (s *session) stored(p placed, q queue) (document map[string]any, text string, err error) {
	switch {
	case p.seq < int64(q.First):
		return map[string]any{"state": "none"},
			fmt.Sprintf("before the queue's first seq, %d: nothing has this place\n", q.First), nil
	case p.seq > int64(q.Position):
		state, text, err := s.beyond(p, q)
		return map[string]any{"state": state}, text, err
	}
	query := url.Values{"queue": {p.queue}, "to": {strconv.FormatInt(p.seq, 10)}}
	if p.seq > 0 {
		query.Set("after", strconv.FormatInt(p.seq-1, 10))
	}
	var page struct{ Messages []json.RawMessage }
	if _, err := s.get("/messages", query, &page); err != nil {
		return nil, "", err
	}
	if len(page.Messages) == 0 {
		return map[string]any{"state": "gone"}, "in order, and no longer stored\n", nil
	}
	var m message
	if err := json.Unmarshal(page.Messages[0], &m); err != nil {
		return nil, "", err
	}
	state, text := "in-order", "in order, stored "+s.clock.at(m.EnqueuedAt)
	if m.Tombstone != "" {
		state, text = "skipped", strings.TrimSpace("skipped "+s.clock.at(m.EnqueuedAt))+
			": no message will ever have this place"
	}
	text = fmt.Sprintf("%s\n  %s\n%s", text, m.text(), m.beside())
	return map[string]any{"state": state, "message": page.Messages[0]}, text, nil
}

// beside is what a message has beside its body, a line each.
func (m message) beside() string {
	var said strings.Builder
	line := func(what, text string) {
		if text != "" {
			fmt.Fprintf(&said, "  %s\t%s\n", what, printable.Text(text))
		}
	}
	line("content type", string(m.ContentType))
	for _, name := range slices.Sorted(maps.Keys(m.Attributes)) {
		line("attribute", string(name+"="+m.Attributes[name]))
	}
	if m.Traceparent != "" {
		line("trace context", whose(m.Traceparent))
	}
	line("tracestate", m.Tracestate)
	return said.String()
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

// beyond says what a message is whose turn has not come: missing, or stored beyond what is missing.
func (s *session) beyond(p placed, q queue) (state, text string, err error) {
	if !q.GapOpen {
		return "missing", fmt.Sprintf("not stored: the queue is at %d, and nothing waits beyond\n",
			q.Position), nil
	}
	var list view.Gaps
	if _, err := s.get("/gaps", url.Values{"queue": {p.queue}, "limit": {"1000"}}, &list); err != nil {
		return "", "", err
	}
	in, behind := list.Place(p.seq)
	switch {
	case in != nil:
		return "missing", fmt.Sprintf("not stored: it is in the gap of %d to %d\n", in.From, in.To), nil
	case len(behind) > 0:
		text = fmt.Sprintf("stored, and parked behind the gap of %d to %d", behind[0].From, behind[0].To)
		if len(behind) > 1 {
			text += fmt.Sprintf(", and %d behind that", len(behind)-1)
		}
		return "parked", text + ": what is in it is shown when its turn has come\n", nil
	case list.More:
		return "unknown", "beyond the first thousand gaps\n", nil
	}
	const beyond = "stored or not: it is beyond %d, the first that is known to wait for the gap at %d\n"
	return "unknown", fmt.Sprintf(beyond, list.MaxParked, list.Position+1), nil
}

// hadBy says which consumers had the message, and what the others are at.
func (s *session) hadBy(p placed,
	skipped map[string]bool) (documents []json.RawMessage, text string, err error) {
	documents = []json.RawMessage{}
	var said strings.Builder
	query := url.Values{"queue": {p.queue}}
	for it, raw := range each[consumer](s, "/consumers", query, "consumers", &err) {
		if it.Delivered == nil {
			return nil, "", fmt.Errorf("consumer %s has no delivered", it.Consumer)
		}
		delivered, what := int64(*it.Delivered), ""
		switch {
		case delivered >= p.seq && skipped[it.Consumer]:
			what = "is past it, which an operator skipped"
		case delivered >= p.seq: // what it is at now says nothing of this one
			what = "is past it"
		case it.Claim != nil && int64(it.Claim.From) <= p.seq && p.seq <= int64(it.Claim.To):
			what = "is at it" + it.clauses(s.clock)
		default:
			what = fmt.Sprintf("has not had it: it is at %d%s", delivered, it.clauses(s.clock))
		}
		fmt.Fprintf(&said, "  %s %s\n", it.Consumer, what)
		if a := it.Answer; a != nil && delivered == p.seq && !skipped[it.Consumer] {
			fmt.Fprintf(&said, "    its sink answered %s in %d ms, %s\n",
				strings.TrimSpace(fmt.Sprintf("%d %s", a.Code, a.Text)), a.Ms, s.clock.at(a.At))
		}
		its := view.Consumer(it).AttemptsOn(p.seq)
		for _, a := range its {
			fmt.Fprintf(&said, "    %s\n", tried(a, s.clock))
		}
		if log := s.log(its); log != "" {
			fmt.Fprintf(&said, "    log: %s\n", log)
		}
		documents = append(documents, raw)
	}
	if len(documents) == 0 {
		said.WriteString("  no consumer\n")
	}
	return documents, said.String(), err
}

// tried is an attempt in a line: when it ended, how long it took, what was called, and what was
// answered.
func tried(a view.Attempt, c clock) string {
	text := fmt.Sprintf("attempt %d ended %s", a.Attempt, c.when(a.At))
	if a.Ms > 0 {
		text += fmt.Sprintf(", after %d ms", a.Ms)
	}
	if a.By != "" && !strings.HasPrefix(a.Answer.String(), a.By.String()) {
		text += ", by " + a.By.String()
	}
	if a.RequestID != "" {
		text += ", request " + printable.Text(a.RequestID)
	}
	if a.Died {
		return text + ": nothing was answered, its worker died or ran out of time"
	}
	return text + ": " + a.Answer.String()
}

// log is what prints the log of the function that was called in the last of some attempts; empty
// where no function is known.
func (s *session) log(attempts []view.Attempt) string {
	var last view.Attempt
	if len(attempts) > 0 {
		last = attempts[len(attempts)-1]
	}
	if last.By == "" || last.RequestID == "" {
		return ""
	}
	name := functionIn(string(last.By))
	if at, err := url.Parse(s.URL); err == nil && slices.Contains(origin.Loopback, at.Hostname()) {
		return "streamsort logs " + printable.Text(name)
	}
	return printable.Text(fmt.Sprintf("aws logs filter-log-events --log-group-name /aws/lambda/%s --filter-pattern '\"%s\"'", name, last.RequestID))
}

// mostAudited is how many entries of the audit log are looked through for what was done to a
// message.
const mostAudited = 1000

// operationsOn are the operations on record that name the message, and the consumers for which it
// was skipped.
func (s *session) operationsOn(p placed) (
	documents []json.RawMessage, skipped map[string]bool, text string, err error) {
	documents, skipped = []json.RawMessage{}, map[string]bool{}
	var said strings.Builder
	read := 0
	query := url.Values{"queue": {p.queue}}
	for a, raw := range each[operation](s, "/operations", query, "operations", &err) {
		if read++; read > mostAudited {
			fmt.Fprintf(&said, "  and perhaps operations before the last %d\n", mostAudited)
			break
		}
		if a.Seq == nil || int64(*a.Seq) != p.seq {
			continue
		}
		if a.Action == "skip" && a.Outcome == "done" {
			skipped[a.Consumer] = true
		}
		documents = append(documents, raw)
		said.WriteString("  " + tabbed(a.cells(s.clock)) + "\n")
	}
	return documents, skipped, said.String(), err
}
