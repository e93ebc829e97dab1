package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/streamsort/streamsort/internal/httpapi"
	"github.com/streamsort/streamsort/internal/intake"
	"github.com/streamsort/streamsort/internal/jsonseq"
	"github.com/streamsort/streamsort/internal/request"
	"github.com/streamsort/streamsort/internal/tenancy"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/delivery"
)

// consumerAnswer is a consumer, as callers see it.
type consumerAnswer struct {
	Consumer  string         `json:"consumer"`
	State     delivery.State `json:"state"`
	Delivered jsonseq.Seq    `json:"delivered"`
	Attempts  int            `json:"attempts"`
	Rewinds   int64          `json:"rewinds"`
	Starting  bool           `json:"starting,omitempty"`
	Claim     *claimAnswer   `json:"claim,omitempty"`
	Failure   *failureAnswer `json:"failure,omitempty"`
	// Answer is what the sink answered when it took the last batch, where it says so.
	Answer  *sinkSaid      `json:"answer,omitempty"`
	Blocked *blockedAnswer `json:"blocked,omitempty"`
	Paused  *pausedAnswer  `json:"paused,omitempty"`
	// Quarantine are the claims that stayed in doubt too long.
	Quarantine []quarantinedAnswer `json:"quarantine,omitempty"`
	// Refused are the replies that could never be stored.
	Refused *refusedAnswer `json:"refused,omitempty"`
}

// failing is the state of a consumer whose last batch failed, between two attempts: it is IDLE in the table.
const failing delivery.State = "FAILING"

// quarantinedAnswer is a claim in quarantine, of the seqs From to To: IN_DOUBT, or
// ABORTED and waiting for an operator.
type quarantinedAnswer struct {
	Token string         `json:"token"`
	From  jsonseq.Seq    `json:"from"`
	To    jsonseq.Seq    `json:"to"`
	State delivery.State `json:"state"`
	Since time.Time      `json:"since"`
}

// claimAnswer is the claim that is in flight: of the seqs From to To.
type claimAnswer struct {
	Token      string      `json:"token"`
	From       jsonseq.Seq `json:"from"`
	To         jsonseq.Seq `json:"to"`
	LeaseUntil time.Time   `json:"leaseUntil"`
	// Deferred: the batch was handed over, and a worker, or the chain of its work, commits it.
	Deferred bool `json:"deferred,omitempty"`
	// Chain is the tag under which a tracked batch's chain is.
	Chain string `json:"chain,omitempty"`
}

// failureAnswer is the last failure since the last commit.
type failureAnswer struct {
	Error   string     `json:"error"`
	At      time.Time  `json:"at"`
	RetryAt *time.Time `json:"retryAt,omitempty"`
}

// sinkSaid is what a sink answered when it took a batch.
type sinkSaid struct {
	Code int       `json:"code"`
	Ms   int64     `json:"ms"`
	At   time.Time `json:"at"`
	Text string    `json:"text,omitempty"`
}

// blockedAnswer is the message that blocks, and since when.
type blockedAnswer struct {
	Seq   jsonseq.Seq `json:"seq"`
	Since time.Time   `json:"since"`
	Age   float64     `json:"ageSeconds"`
}

type refusedAnswer struct {
	Count  int64     `json:"count"`
	Claim  string    `json:"claim"`
	Reason string    `json:"reason"`
	Since  time.Time `json:"since"`
}

type pausedAnswer struct {
	Reason string    `json:"reason"`
	Since  time.Time `json:"since"`
}

// reasonFor is why something failed, in words for this scope; where it is about
// replies, also to which queue they go: it may be any queue of the stack.
func reasonFor(scope tenancy.Scope, replyQueue, why string) string {
	if why = scope.Words(why); replyQueue == "" {
		return why
	}
	return "replies " + toQueue(scope, replyQueue) + ": " + why
}

// toQueue names a queue as the caller does, and another's not at all.
func toQueue(scope tenancy.Scope, full string) string {
	if name := scope.Short(full); name != "" {
		return fmt.Sprintf("to queue %q", name)
	}
	return "to a queue of another"
}

func (s *service) answer(scope tenancy.Scope, c delivery.Consumer) *consumerAnswer {
	a := &consumerAnswer{
		Consumer: c.Name, State: c.State, Delivered: jsonseq.Seq(c.Delivered), Attempts: c.Attempts,
		Rewinds: c.Rewinds, Starting: c.Starting != "",
	}
	if c.State == delivery.Idle && c.Fails() {
		a.State = failing
	}
	if c.Claimed() {
		a.Claim = &claimAnswer{c.Token.String(), jsonseq.Seq(c.From + 1), jsonseq.Seq(c.To), c.LeaseUntil, c.Deferred, scope.Short(delivery.ChainOf(c))}
	}
	if c.Error != "" {
		why := c.Error
		if scope.Tenant() != "" {
			why = c.ShownError()
		}
		a.Failure = &failureAnswer{Error: reasonFor(scope, c.ReplyQueue, why), At: c.Failed}
		if !c.RetryAt.IsZero() {
			a.Failure.RetryAt = &c.RetryAt
		}
	}
	if said := c.Answer; said != (delivery.Response{}) {
		if scope.Tenant() != "" && !said.Own {
			said.Text = "" // the stack's owner's endpoint said it
		}
		a.Answer = &sinkSaid{said.Status, said.Took.Milliseconds(), said.At, said.Text}
	}
	if c.State == delivery.Blocked {
		a.Blocked = &blockedAnswer{jsonseq.Seq(c.Delivered + 1), c.BlockedSince, s.age(c.BlockedSince)}
	}
	if c.Paused != "" {
		a.Paused = &pausedAnswer{c.Paused, c.PausedSince}
	}
	if r := c.Refused; r.N > 0 {
		a.Refused = &refusedAnswer{r.N, r.By, toQueue(scope, r.Queue) + ": " + scope.Words(r.Why), r.Since}
	}
	for _, q := range c.Quarantine {
		if q != (delivery.Quarantined{}) {
			a.Quarantine = append(a.Quarantine, quarantinedAnswer{q.Token.String(), jsonseq.Seq(q.From + 1), jsonseq.Seq(q.To), q.State, q.Since})
		}
	}
	return a
}

// statusAnswer is a consumer beside its queue, and its sink where anything is known of that.
type statusAnswer struct {
	*consumerAnswer
	Position jsonseq.Seq    `json:"position"`
	Lag      jsonseq.Seq    `json:"lag"`
	Waiting  *waitingAnswer `json:"waiting,omitempty"`
	Sink     *sinkAnswer    `json:"sink,omitempty"`
}

// waitingAnswer is the next message to deliver: since when it waits, or that it is
// not stored any more.
type waitingAnswer struct {
	Seq     jsonseq.Seq `json:"seq"`
	Since   *time.Time  `json:"since,omitempty"`
	Age     float64     `json:"ageSeconds,omitempty"`
	Missing bool        `json:"missing,omitempty"`
}

// consumersAnswer is a page of a queue's consumers.
type consumersAnswer struct {
	Status    int            `json:"status"`
	Queue     string         `json:"queue"`
	Consumers []statusAnswer `json:"consumers"`
	// Next is what to ask for as after; empty after the last page.
	Next string `json:"next,omitempty"`
}

// consumers shows how far a queue's consumers are; or one of them, and for how long
// its next message waits. Where no queue is named it lists those of many.
func (s *service) consumers(ctx context.Context, c *httpapi.Call) (int, any, error) {
	if !c.Query.Has("queue") {
		return s.list(ctx, c)
	}
	var asked struct {
		Queue    string `json:"queue"`
		Consumer string `json:"consumer"`
		After    string `json:"after"`
		Limit    int    `json:"limit" bounds:"1..1000" default:"100"`
	}
	if err := c.Parameters(&asked, &asked.Queue); err != nil {
		return 0, nil, err
	}
	one, limit := asked.Consumer, asked.Limit
	if one != "" {
		if err := delivery.ValidateConsumer(one); err != nil {
			return 0, nil, err
		}
	}
	list, err := s.deliverer.Status(ctx, asked.Queue)
	if err != nil {
		return 0, nil, err
	}
	list = slices.DeleteFunc(list, func(it delivery.Status) bool {
		return it.Name <= asked.After || one != "" && it.Name != one
	})
	document := consumersAnswer{Status: http.StatusOK, Queue: c.Short(asked.Queue), Consumers: []statusAnswer{}}
	if len(list) > limit {
		list = list[:limit]
		document.Next = list[limit-1].Name
	}
	sinks, err := s.sinks(ctx, c, list)
	if err != nil {
		return 0, nil, err
	}
	for i, it := range list {
		document.Consumers = append(document.Consumers, statusAnswer{
			consumerAnswer: s.answer(c.Scope, it.Consumer), Position: jsonseq.Seq(it.Position), Lag: jsonseq.Seq(it.Lag()), Sink: sinks[i],
		})
	}
	if one == "" {
		return http.StatusOK, document, nil
	}
	if len(list) == 0 {
		return 0, nil, delivery.ErrNoConsumer
	}
	if document.Consumers[0].Waiting, err = s.waiting(ctx, list[0]); err != nil {
		return 0, nil, err
	}
	return http.StatusOK, document, nil
}

// waiting looks at the message that a consumer gets next; nil where there is none
// yet. 1 read or 2, of the whole message.
func (s *service) waiting(ctx context.Context, it delivery.Status) (*waitingAnswer, error) {
	if it.Lag() == 0 {
		return nil, nil
	}
	next := &waitingAnswer{Seq: jsonseq.Seq(it.Delivered + 1)}
	for m, err := range s.sorter.Read(ctx, it.Queue, it.Delivered, it.Delivered+1) {
		var missing *cursor.MissingError
		switch {
		case errors.As(err, &missing):
			next.Missing = true
		case err != nil:
			return nil, err
		default:
			next.Since, next.Age = &m.EnqueuedAt, s.age(m.EnqueuedAt)
		}
	}
	return next, nil
}

// operated is a consumer after it was made, or after an operation; of a removed one
// only its name is left.
type operated struct {
	Status   int    `json:"status"`
	ID       string `json:"id,omitempty"`
	Action   string `json:"action,omitempty"`
	Queue    string `json:"queue"`
	Consumer string `json:"consumer,omitempty"`
	*consumerAnswer
}

// create makes a consumer, or returns the one that is there.
func (s *service) create(ctx context.Context, c *httpapi.Call) (int, any, error) {
	var asked struct {
		Queue    string         `json:"queue"`
		Consumer string         `json:"consumer"`
		Start    delivery.Start `json:"start"`
		Kind     string         `json:"kind" one:"numbered arrival keyed"`
	}
	if err := c.Read(&asked, &asked.Queue); err != nil {
		return 0, nil, err
	}
	queue, name := asked.Queue, asked.Consumer
	var kind *cursor.Kind
	if change := (cursor.Change{}); change.Set("kind", asked.Kind) == nil {
		kind = change.Kind
	}
	var load intake.Load
	load.Use(queue)
	if err := load.Take(ctx, s.quotas, c.Metrics, c.Tenant(), s.sorter); err != nil {
		return 0, nil, err
	}
	made, err := s.deliverer.Inside(request.Inside{}).CreateFor(ctx, delivery.Who(c.Identity()), queue, name, asked.Start, kind)
	if err != nil {
		return 0, nil, err
	}
	return http.StatusOK, operated{Status: http.StatusOK, Queue: c.Short(queue), Consumer: name, consumerAnswer: s.answer(c.Scope, made)}, nil
}
