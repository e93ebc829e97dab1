// Package intake is what the functions that take messages in have in common: it gathers the
// messages of one call ([Put]), stores them through pkg/cursor ([Put.Store]), counts what became of
// each, and answers it as callers see it ([Answer], [Answer.Refused]).
//
// A message with a seq goes to a numbered queue, one with a key to a keyed one, any other to a
// queue in arrival order, under an id by which its repeat is known. All are right to repeat at any
// time: a producer that gets no answer for a message sends it again.
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
	"github.com/streamsort/streamsort/internal/fanout"
	"github.com/streamsort/streamsort/internal/quota"
	"github.com/streamsort/streamsort/internal/tenancy"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/invalid"
	"github.com/streamsort/streamsort/pkg/tenant"
)

// MaxMessages is how many messages one call takes, and how many of an event are stored at a time.
const MaxMessages = 500

// Put is what one call brings.
type Put struct {
	// Scope is whose names the messages' queues and ids are: an operator's where it is not set.
	Scope tenancy.Scope
	// Tenant is whose quotas the messages count against, and Quotas are all tenants': nobody's
	// where one of them is not set.
	Tenant string
	Quotas *quota.Keeper
	// Log names the queue that is watched.
	Log calllog.Log
	// Trace is that of each message which has none of its own.
	Trace cursor.Trace
	// Single means that it is one message, and not in a list.
	Single bool
	// count is how many messages there are. messages are those that are stored, places are theirs
	// in the call.
	count    int
	messages []cursor.Message
	places   []int
	// Events means that the messages are made of events, by a mapping: two different ones under one
	// id are answered as if they came in two calls. Any other call contradicts itself then.
	Events bool
	firsts map[string]int // the places of the first messages that have a name
	twins  [][2]int       // the places of a message that is not stored, and of the one before it
}

// Sent is a put of messages from a sender or a source, which is no tenant; but what it stores in a
// tenant's queues is that one's. The queues are all of one tenant, or none. It cannot put them
// again: a time of a key that is too far ahead becomes that of receipt.
func Sent(messages []cursor.Message, received time.Time) *Put {
	of, _ := tenant.Split(messages[0].Queue)
	p := &Put{Tenant: of, Events: true}
	for _, m := range messages {
		m.Received = received
		p.Take(m)
	}
	return p
}

// Take adds a message of any kind.
func (p *Put) Take(m cursor.Message) {
	if m.Trace.Parent == "" {
		m.Trace = p.Trace
	}
	place := p.count
	if p.count++; p.Events && m.PutID == "" && p.clashes(m, place) {
		return
	}
	p.messages, p.places = append(p.messages, m), append(p.places, place)
}

// clashes reports whether another message before this one has its name, and notes that.
func (p *Put) clashes(m cursor.Message, place int) bool {
	name := fmt.Sprintf("%q %q %#v", m.Queue, m.ID, m.KeyParts)
	if m.Seq != cursor.NoSeq && m.KeyParts == nil {
		name = fmt.Sprintf("%q %d", m.Queue, m.Seq)
	}
	if p.firsts == nil {
		p.firsts = map[string]int{}
	}
	i, there := p.firsts[name]
	if !there {
		p.firsts[name] = len(p.messages)
		return false
	}
	before := p.messages[i]
	if before.ID == m.ID && before.Prev == m.Prev && before.ContentType == m.ContentType &&
		bytes.Equal(before.Body, m.Body) && maps.Equal(before.Attributes, m.Attributes) {
		return false
	}
	p.twins = append(p.twins, [2]int{place, p.places[i]})
	return true
}

// Store stores the messages. The answers are in the order of the call. An error means that nothing
// was stored; what happens later is in each message's answer.
func (p *Put) Store(ctx context.Context, sorter *cursor.Sorter,
	metrics *emf.Metrics) ([]Answer, error) {
	if err := p.name(); err != nil {
		return nil, err
	}
	// A call that contradicts itself takes no quota, and nothing of it is stored.
	if err := cursor.Validate(p.messages); err != nil {
		return nil, p.inCall(err)
	}
	var load Load
	for _, m := range p.messages {
		load.Add(m.Queue, m.Body, m.Attributes)
	}
	if err := load.Take(ctx, p.Quotas, metrics, p.Tenant, sorter); err != nil {
		return nil, err
	}
	answers := make([]Answer, p.count)
	for i, r := range sorter.Put(ctx, p.messages...) {
		count(metrics, r)
		if r.ClockAhead {
			slog.WarnContext(ctx, "a clock is ahead: the key is the time of receipt", "queue", r.Queue, "id",
				p.messages[i].ID)
		}
		answers[p.places[i]] = p.newAnswer(r, &p.messages[i])
	}
	for _, places := range p.twins {
		a := answers[places[1]]
		if a.Failure == nil && a.Status < http.StatusBadRequest {
			a = Answer{Queue: a.Queue, Seq: a.Seq, Outcome: cursor.Conflict,
				Detail: "another message of the call has its id, or seq, and stays"}
			a.Status = statusOf[a.Outcome]
		}
		count(metrics, cursor.Result{Outcome: a.Outcome, Err: a.Failure})
		answers[places[0]] = a
	}
	p.logWatched(ctx, answers)
	return answers, nil
}

func (p *Put) logWatched(ctx context.Context, answers []Answer) {
	watched := p.Log.Watched()
	if watched == "" {
		return
	}
	own := p.Scope.Short(watched) // empty for one of another tenant
	for _, a := range answers {
		if a.Queue == own {
			slog.InfoContext(ctx, "put", "queue", watched, "seq", a.Seq, "outcome", string(a.Outcome),
				"failed", a.Failure != nil)
		}
	}
}

func (p *Put) name() error {
	for i := range p.messages {
		m := &p.messages[i]
		var errs [4]error
		m.PutID, errs[0] = p.Scope.Full("Idempotency-Key", m.PutID)
		if errs[0] != nil {
			return errs[0] // of the whole call
		}
		m.Queue, errs[1] = p.Scope.Full("queue", m.Queue)
		m.ID, errs[2] = p.Scope.Full("id", m.ID)
		m.Prev, errs[3] = p.Scope.Full("prev", m.Prev)
		if err := cmp.Or(errs[:]...); err != nil && !p.Single {
			return invalid.Within(listOfCall, p.places[i], err)
		} else if err != nil {
			return err
		}
	}
	return nil
}

// inCall is an error of the sorter about the messages of the call, as the caller knows them.
func (p *Put) inCall(err error) error {
	wrong, ok := errors.AsType[*invalid.Error](err)
	if !ok {
		return err
	}
	seen := *wrong
	if len(wrong.At) > 0 {
		seen.At = slices.Clone(wrong.At)
		seen.At[0].Index = p.places[seen.At[0].Index]
	}
	if wrong.Twin != nil {
		seen.Twin = &invalid.Element{List: listOfCall, Index: p.places[wrong.Twin.Index]}
	}
	if p.Single {
		seen.At = nil
	}
	if wrong.Field == "messages" && wrong.Code == invalid.TooLarge {
		seen.Queue, seen.Problem = "", fmt.Sprintf("have %d bytes together for queue %q: at most %d are taken under one Idempotency-Key",
			wrong.Size, p.Scope.Short(wrong.Queue), wrong.Most)
	}
	return &seen
}

const listOfCall = "messages"

var counterOf = map[cursor.Outcome]string{
	cursor.Advanced: "MessagesStored", cursor.Stored: "MessagesStored", cursor.Parked: "MessagesStored",
	cursor.Waiting: "MessagesStored", cursor.Dropped: "MessagesStored",
	cursor.Duplicate: "Duplicates", cursor.Conflict: "Conflicts", cursor.Late: "TooLate", cursor.Stale: "TooLate", cursor.Full: "Full",
}

// count counts what became of a message, and that it is unknown where there is an error. The moves
// of a call are in the answer of each of its messages: they are counted where the first seq of the
// move is.
func count(metrics *emf.Metrics, r cursor.Result) {
	if counter := counterOf[r.Outcome]; counter != "" {
		metrics.Count(counter, 1)
	}
	for _, err := range []error{r.Err, r.Deferred} {
		if err != nil && !errors.As(err, new(*invalid.Error)) {
			metrics.Count("Errors", 1)
		}
	}
	for _, moved := range r.Moves {
		if r.Seq == moved.From+1 {
			metrics.Count("Advances", 1)
		}
	}
	if r.Outcome == cursor.Parked {
		metrics.Count("Parked", 1)
	}
	if r.ClockAhead {
		metrics.Count("ClocksAhead", 1)
	}
	if !r.Placed {
		return // a settler may have been before the writer: who gave it its place counts it
	}
	for name, is := range map[string]bool{"Late": r.Late, "Unlinked": r.Unlinked,
		"Dropped": r.Outcome == cursor.Dropped} {
		if is {
			metrics.Count(name, 1)
		}
	}
}

// Load is what a request of a tenant's brings, as its quotas count it. The zero Load is nothing.
type Load struct {
	messages, bytes int64
	queues          []string
}

// Add adds a message for a queue: its body and its attributes count.
func (l *Load) Add(queue string, body []byte, attributes map[string]string) {
	l.messages++
	l.bytes += int64(len(body))
	for name, value := range attributes {
		l.bytes += int64(len(name) + len(value))
	}
	l.Use(queue)
}

// Use adds a queue, which is made if it is not there.
func (l *Load) Use(queue string) { l.queues = append(l.queues, queue) }

// Take takes the load from a tenant's quotas, or is the problem of the one in which there is no
// room for it. What has to be read for it is read only of a tenant that has room for the messages:
// the queues that this process has not seen lately, one strong read each.
func (l *Load) Take(ctx context.Context, quotas *quota.Keeper, metrics *emf.Metrics, tenant string,
	sorter *cursor.Sorter) error {
	if err := quotas.Take(ctx, metrics, tenant,
		quota.Amounts{quota.Messages: l.messages, quota.Bytes: l.bytes}); err != nil {
		return err
	}
	if !quotas.Bounds(tenant, quota.NewQueues) {
		return nil
	}
	missing, err := missingOf(ctx, sorter, l.queues)
	if err != nil {
		return err
	}
	return quotas.Take(ctx, metrics, tenant, quota.Amounts{quota.NewQueues: missing})
}

// missingOf is how many of the queues are not there. One whose name is invalid is left to the put.
func missingOf(ctx context.Context, sorter *cursor.Sorter,
	queues []string) (missing int64, err error) {
	seen := map[string]bool{}
	var ask []string
	for _, queue := range queues {
		if !seen[queue] && cursor.ValidateQueue(queue) == nil {
			ask = append(ask, queue)
		}
		seen[queue] = true
	}
	errs := make([]error, len(ask))
	fanout.SideBySide(len(ask), func(i int) { _, errs[i] = sorter.Settings(ctx, ask[i]) })
	for _, err := range errs {
		switch {
		case errors.Is(err, cursor.ErrNoQueue):
			missing++
		case err != nil:
			return 0, err
		}
	}
	return missing, nil
}
