// Package intake is what the functions that take messages in have in common: it
// gathers the messages of one call ([Put]), stores them through pkg/cursor
// ([Put.Store]), counts what became of each, and answers it as callers see it
// ([Answer], [Answer.Refused]).
//
// A message with a seq goes to a numbered queue, one with a key to a keyed one, any other
// to a queue in arrival order, under an id by which its repeat is known. All are right to
// repeat at any time: a producer that gets no answer for a message sends it
// again.
package intake

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/streamsort/streamsort/internal/calllog"
	"github.com/streamsort/streamsort/internal/emf"
	"github.com/streamsort/streamsort/internal/quota"
	"github.com/streamsort/streamsort/internal/tenancy"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/invalid"
	"github.com/streamsort/streamsort/pkg/tenant"
)

// Put is what one call brings.
type Put struct {
	// Scope is whose names the messages' queues and ids are: an operator's where it
	// is not set.
	Scope tenancy.Scope
	// Tenant is whose quotas the messages count against, and Quotas are all tenants':
	// nobody's where one of them is not set.
	Tenant string
	Quotas *quota.Keeper
	// Log names the queue that is watched.
	Log calllog.Log
	// Trace is that of each message which has none of its own.
	Trace cursor.Trace
	// Single means that it is one message, and not in a list.
	Single bool
	// count is how many messages there are; messages are those with a seq, keyed those with
	// a key, arrivals the others. numbered, sorted and arrived are their places in the call.
	count                     int
	messages                  []cursor.Message
	keyed                     []cursor.Keyed
	arrivals                  []cursor.Arrival
	numbered, sorted, arrived [][]int
	// key is the id that Join was given, which is that of the whole call.
	key string
	// Events means that the messages are made of events, by a mapping: two different ones under
	// one id are answered as if they came in two calls. Any other call contradicts itself then.
	Events bool
	firsts map[string]first
	twins  [][2]int // the places of a message that is not stored, and of the one before it
}

// first is the first message that has a name.
type first struct {
	cursor.Keyed
	place int
}

// Sent is a put of messages from a sender or a source, which is no tenant; but what it stores in
// a tenant's queues is that one's. The queues are of one kind, and all of one tenant, or none. It
// cannot put them again: a time of a key that is too far ahead becomes that of receipt.
func Sent(messages []cursor.Keyed, numbered bool, received time.Time) *Put {
	of, _ := tenant.Split(messages[0].Queue)
	p := &Put{Tenant: of, Events: true}
	for _, m := range messages {
		m.Received = received
		p.Take(m, numbered)
	}
	return p
}

// Take adds a message of any kind: one without a seq and a key is known by its own id.
func (p *Put) Take(m cursor.Keyed, numbered bool) {
	p.trace(&m.Message)
	switch {
	case p.Events && p.clashes(m, numbered):
	case numbered:
		p.messages, p.numbered = append(p.messages, m.Message), append(p.numbered, []int{p.count})
	case m.Key != nil:
		p.keyed, p.sorted = append(p.keyed, m), append(p.sorted, []int{p.count})
	default:
		id := m.ID
		m.ID = ""
		p.arrive(m.Message, id)
	}
	p.count++
}

// clashes tells whether another message before this one has its name, and notes that.
func (p *Put) clashes(m cursor.Keyed, numbered bool) bool {
	name := fmt.Sprintf("%q %q %#v", m.Queue, m.ID, m.Key)
	if numbered {
		name = fmt.Sprintf("%q %d", m.Queue, m.Seq)
	}
	if p.firsts == nil {
		p.firsts = map[string]first{}
	}
	before, there := p.firsts[name]
	if !there {
		p.firsts[name] = first{m, p.count}
	}
	if !there || before.ID == m.ID && before.Prev == m.Prev && before.ContentType == m.ContentType &&
		bytes.Equal(before.Body, m.Body) && maps.Equal(before.Attributes, m.Attributes) {
		return false
	}
	p.twins = append(p.twins, [2]int{p.count, before.place})
	return true
}

// arrive adds the first message that has an id.
func (p *Put) arrive(m cursor.Message, id string) {
	queue := m.Queue
	m.Queue = ""
	p.arrivals = append(p.arrivals, cursor.Arrival{Queue: queue, ID: id, Messages: []cursor.Message{m}})
	p.arrived = append(p.arrived, []int{p.count})
}

// Join adds a message without a seq to those of its queue, which have the id
// together.
func (p *Put) Join(m cursor.Message, id string) {
	p.key = id
	p.trace(&m)
	i := slices.IndexFunc(p.arrivals, func(a cursor.Arrival) bool { return a.Queue == m.Queue })
	if i < 0 {
		p.arrive(m, id)
	} else {
		m.Queue = ""
		p.arrivals[i].Messages, p.arrived[i] = append(p.arrivals[i].Messages, m), append(p.arrived[i], p.count)
	}
	p.count++
}

// trace gives a message the trace of the call, unless it has its own.
func (p *Put) trace(m *cursor.Message) {
	if m.Trace.Parent == "" {
		m.Trace = p.Trace
	}
}

// Store stores the messages: those with a seq, then those with a key, then the others. The answers are
// in the order of the call. An error means that nothing was stored; what
// happens later is in each message's answer.
func (p *Put) Store(ctx context.Context, sorter *cursor.Sorter, metrics *emf.Metrics) ([]Answer, error) {
	if err := p.name(); err != nil {
		return nil, err
	}
	if err := p.mixed(); err != nil {
		return nil, err
	}
	// A call that contradicts itself takes no quota, and nothing of it is stored.
	if err := cursor.ValidateMessages(p.messages); err != nil {
		return nil, p.inCall(err, p.numbered)
	}
	if err := cursor.ValidateKeyed(p.keyed); err != nil {
		return nil, p.inCall(err, p.sorted)
	}
	if err := cursor.ValidateArrivals(p.arrivals); err != nil {
		return nil, p.inCall(err, p.arrived)
	}
	if err := p.load().Take(ctx, p.Quotas, metrics, p.Tenant, sorter); err != nil {
		return nil, err
	}
	answers := make([]Answer, p.count)
	if len(p.messages) > 0 {
		results, err := sorter.PutGroup(ctx, p.messages)
		if err != nil {
			return nil, p.inCall(err, p.numbered)
		}
		for i, result := range results {
			countNumbered(metrics, result)
			answers[p.numbered[i][0]] = p.newAnswer(result, p.messages[i].Kind)
			answers[p.numbered[i][0]].Failure = result.Err
		}
	}
	if len(p.keyed) > 0 {
		results, err := sorter.PutKeyedGroup(ctx, p.keyed)
		if err != nil {
			return nil, p.inCall(err, p.sorted)
		}
		for i, result := range results {
			countKeyed(metrics, result)
			if result.ClockAhead {
				slog.WarnContext(ctx, "a clock is ahead: the key is the time of receipt", "queue", result.Queue, "id", p.keyed[i].ID)
			}
			answers[p.sorted[i][0]] = p.newKeyedAnswer(result)
			answers[p.sorted[i][0]].Failure = result.Err
		}
	}
	if len(p.arrivals) > 0 {
		results, err := sorter.AppendGroup(ctx, p.arrivals)
		if err != nil {
			return nil, p.inCall(err, p.arrived)
		}
		for i, result := range results {
			count(metrics, result.Outcome, len(p.arrived[i]), result.Err)
			// The move of several is in the answer of each of them.
			if result.Moved != (cursor.Range{}) && result.Seqs.From == result.Moved.From {
				metrics.Count("Advances", 1)
			}
			for n, place := range p.arrived[i] {
				answers[place] = p.newArrivalAnswer(result, n)
				answers[place].Failure = result.Err
			}
		}
	}
	for _, places := range p.twins {
		a := answers[places[1]]
		if a.Failure == nil && a.Status < http.StatusBadRequest {
			a = Answer{Queue: a.Queue, Seq: a.Seq, Outcome: cursor.Conflict, Detail: "another message of the call has its id, or seq, and stays"}
			a.Status = statusOf[a.Outcome]
		}
		count(metrics, a.Outcome, 1, a.Failure)
		answers[places[0]] = a
	}
	p.logWatched(ctx, answers)
	return answers, nil
}

// logWatched logs what became of each message of the queue that is watched.
func (p *Put) logWatched(ctx context.Context, answers []Answer) {
	watched := p.Log.Watched()
	if watched == "" {
		return
	}
	own := p.Scope.Short(watched) // empty for one of another tenant
	for _, a := range answers {
		if a.Queue == own {
			slog.InfoContext(ctx, "put", "queue", watched, "seq", a.Seq, "outcome", string(a.Outcome), "failed", a.Failure != nil)
		}
	}
}

// load is what the call brings.
func (p *Put) load() *Load {
	var l Load
	for _, m := range p.messages {
		l.Add(m.Queue, m.Body, m.Attributes)
	}
	for _, m := range p.keyed {
		l.Add(m.Queue, m.Body, m.Attributes)
	}
	for _, a := range p.arrivals {
		for _, m := range a.Messages {
			l.Add(a.Queue, m.Body, m.Attributes)
		}
	}
	return &l
}

// mixed is what is wrong with a call that brings several kinds of message for one
// queue: a queue is of one kind, and if it is new, none of them says which.
func (p *Put) mixed() error {
	numbered, keyed := map[string]bool{}, map[string]bool{}
	for _, m := range p.keyed {
		keyed[m.Queue] = true
	}
	noKey := func(place int) error {
		return p.in(place, invalid.New(invalid.Missing, "key",
			"is missing, and another message for the same queue has one: a queue takes messages with a key or without, as its first put has them"))
	}
	for i, m := range p.messages {
		if numbered[m.Queue] = true; keyed[m.Queue] {
			return noKey(p.numbered[i][0])
		}
	}
	for i, a := range p.arrivals {
		if keyed[a.Queue] {
			return noKey(p.arrived[i][0])
		}
		if numbered[a.Queue] {
			return p.in(p.arrived[i][0], invalid.New(invalid.Missing, "seq",
				"is missing, and another message for the same queue has one: a queue takes messages with a seq or without, as its first put has them"))
		}
	}
	return nil
}

// name puts the tenant in front of each queue and id.
func (p *Put) name() error {
	full := func(place int, field string, name *string) (err error) {
		if field == "id" && p.key != "" && *name == p.key {
			*name, err = p.Scope.Full("Idempotency-Key", *name)
			return err
		}
		*name, err = p.Scope.Full(field, *name)
		return p.in(place, err)
	}
	for i := range p.messages {
		m, place := &p.messages[i], p.numbered[i][0]
		if err := cmp.Or(full(place, "queue", &m.Queue), full(place, "id", &m.ID)); err != nil {
			return err
		}
	}
	for i := range p.keyed {
		m, place := &p.keyed[i], p.sorted[i][0]
		if err := cmp.Or(full(place, "queue", &m.Queue), full(place, "id", &m.ID), full(place, "prev", &m.Prev)); err != nil {
			return err
		}
	}
	for i := range p.arrivals {
		a, place := &p.arrivals[i], p.arrived[i][0]
		if err := cmp.Or(full(place, "queue", &a.Queue), full(place, "id", &a.ID)); err != nil {
			return err
		}
		for n := range a.Messages {
			if err := full(p.arrived[i][n], "id", &a.Messages[n].ID); err != nil {
				return err
			}
		}
	}
	return nil
}

// inCall is an error of the sorter about the messages of a part of the call, as the
// caller knows them: by their places in the call, and by its key.
func (p *Put) inCall(err error, places [][]int) error {
	var wrong *invalid.Error
	if !errors.As(err, &wrong) || len(wrong.At) == 0 {
		return err
	}
	seen := *wrong
	part, place := places[wrong.At[0].Index], 0
	if len(wrong.At) > 1 {
		place = wrong.At[1].Index
	}
	seen.At = []invalid.Element{{List: listOfCall, Index: part[place]}}
	if wrong.Twin != nil {
		seen.Twin = &invalid.Element{List: listOfCall, Index: places[wrong.Twin.Index][0]}
	}
	together := wrong.Field == "messages"
	if p.Single || together {
		seen.At = nil
	}
	if together && wrong.Code == invalid.TooLarge {
		seen.Queue, seen.Problem = "", fmt.Sprintf("have %d bytes together for queue %q: at most %d are taken under one Idempotency-Key",
			wrong.Size, p.Scope.Short(wrong.Queue), wrong.Most)
	}
	return &seen
}

// listOfCall is the list of a call's messages.
const listOfCall = "messages"

// in puts a message's place in the call before an error about it.
func (p *Put) in(place int, err error) error {
	if p.Single {
		return err
	}
	return invalid.Within(listOfCall, place, err)
}

// counterOf is the counter of the messages that have an outcome.
var counterOf = map[cursor.Outcome]string{
	cursor.Advanced: "MessagesStored", cursor.Stored: "MessagesStored", cursor.Parked: "MessagesStored",
	cursor.Waiting: "MessagesStored", cursor.Dropped: "MessagesStored",
	cursor.Duplicate: "Duplicates", cursor.Conflict: "Conflicts", cursor.Late: "TooLate", cursor.Stale: "TooLate", cursor.Full: "Full",
}

// count counts what became of n messages, and that it is unknown where there is an error.
func count(metrics *emf.Metrics, outcome cursor.Outcome, n int, err error) {
	if counter := counterOf[outcome]; counter != "" {
		metrics.Count(counter, n)
	}
	var wrong *invalid.Error
	if err != nil && !errors.As(err, &wrong) {
		metrics.Count("Errors", 1)
	}
}

// countNumbered counts a result. The moves of a group are in the answer of each of its messages:
// they are counted where the group's first seq of the move is.
func countNumbered(metrics *emf.Metrics, r cursor.Result) {
	count(metrics, r.Outcome, 1, r.Err)
	count(metrics, "", 0, r.Deferred)
	if r.Outcome == cursor.Parked {
		metrics.Count("Parked", 1)
	}
	for _, moved := range r.Moves {
		if r.Seq == moved.From+1 {
			metrics.Count("Advances", 1)
		}
	}
}

// countKeyed counts a result of a keyed queue.
func countKeyed(metrics *emf.Metrics, r cursor.KeyedResult) {
	count(metrics, r.Outcome, 1, r.Err)
	if r.Placed { // who gave it its place counts it: a settler may have been before the writer
		for name, is := range map[string]bool{"Late": r.Late, "Unlinked": r.Unlinked, "Dropped": r.Outcome == cursor.Dropped} {
			if is {
				metrics.Count(name, 1)
			}
		}
	}
	if r.ClockAhead {
		metrics.Count("ClocksAhead", 1)
	}
}
