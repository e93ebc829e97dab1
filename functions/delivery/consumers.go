package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/streamsort/streamsort/internal/httpapi"
	"github.com/streamsort/streamsort/internal/intake"
	"github.com/streamsort/streamsort/internal/jsonseq"
	"github.com/streamsort/streamsort/internal/lists"
	"github.com/streamsort/streamsort/internal/printable"
	"github.com/streamsort/streamsort/internal/request"
	"github.com/streamsort/streamsort/internal/tenancy"
	"github.com/streamsort/streamsort/internal/view"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/delivery"
)

// reasonFor is why something failed, in words for this scope; where it is about replies, also to
// which queue they go: it may be any queue of the stack.
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

// oneConsumer checks the parameter with which a list is of one consumer alone, where it is given.
// It takes a pointer, so that it can stand beside the read of the parameter.
func oneConsumer(name *string) error {
	if *name == "" {
		return nil
	}
	return delivery.ValidateConsumer(*name)
}

// answer is a consumer as callers see it, beside its queue's position.
func (s *service) answer(scope tenancy.Scope, of delivery.Status, k known) *view.Consumer {
	a := &view.Consumer{Head: s.head(scope, of, k), Rewinds: of.Rewinds,
		Starting: of.Starting != "", Sink: shown(scope, k.sink)}
	for _, t := range of.Last {
		if t.N > 0 {
			a.Attempts = append(a.Attempts, attempt(scope, t))
		}
	}
	if of.Claimed() {
		a.Claim = &view.Claim{
			State: string(of.State), Token: of.Token.String(), From: jsonseq.Seq(of.From + 1),
			To: jsonseq.Seq(of.To), LeaseUntil: of.LeaseUntil,
			Deferred: of.Deferred, Chain: printable.Name(scope.Short(delivery.ChainOf(of.Consumer))),
		}
	}
	if said := of.Answer; said != (delivery.Response{}) {
		if scope.Tenant() != "" && !said.Own {
			said.Text = "" // the stack's owner's endpoint said it
		}
		a.Answer = &view.Answer{Code: said.Status, Ms: said.Took.Milliseconds(), At: said.At,
			Text: printable.Name(said.Text)}
	}
	if of.State == delivery.Blocked {
		a.Blocked = &view.Block{Seq: jsonseq.Seq(of.Delivered + 1), Since: of.BlockedSince,
			Age: s.age(of.BlockedSince)}
	}
	if of.Paused != "" {
		a.Paused = &view.Pause{Reason: printable.Name(of.Paused), Since: of.PausedSince}
	}
	if r := of.Refused; r.N > 0 {
		a.Refused = &view.Refused{Count: r.N, Claim: r.By,
			Reason: printable.Name(toQueue(scope, r.Queue) + ": " + scope.Words(r.Why)), Since: r.Since}
	}
	for _, q := range of.Quarantine {
		if q != (delivery.Quarantined{}) {
			a.Quarantine = append(a.Quarantine, view.Quarantine{Token: q.Token.String(),
				From: jsonseq.Seq(q.From + 1), To: jsonseq.Seq(q.To), State: string(q.State), Since: q.Since})
		}
	}
	return a
}

// consumers shows how far a queue's consumers are; or one of them, and for how long its next
// message waits. Where no queue is named it lists those of many.
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
	if err := cmp.Or(lists.Consumers.Check(c), c.Parameters(&asked, &asked.Queue),
		oneConsumer(&asked.Consumer)); err != nil {
		return 0, nil, err
	}
	one := asked.Consumer
	list, err := s.deliverer.Status(ctx, asked.Queue)
	if err != nil {
		return 0, nil, err
	}
	list = slices.DeleteFunc(list, func(it delivery.Status) bool {
		return it.Name <= asked.After || one != "" && it.Name != one
	})
	document := view.Consumers{Status: http.StatusOK, Queue: printable.Name(c.Short(asked.Queue)),
		Consumers: []view.Consumer{}}
	if len(list) > asked.Limit {
		list = list[:asked.Limit]
		document.Next = list[asked.Limit-1].Name
	}
	known, err := s.know(ctx, list)
	if err != nil {
		return 0, nil, err
	}
	for i, it := range list {
		document.Consumers = append(document.Consumers, *s.answer(c.Scope, it, known[i]))
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

// waiting looks at the message that a consumer gets next; nil without one yet. 1 read or 2, of the
// whole message.
func (s *service) waiting(ctx context.Context, it delivery.Status) (*view.Wait, error) {
	if it.Lag() == 0 {
		return nil, nil
	}
	next := &view.Wait{Seq: jsonseq.Seq(it.Delivered + 1)}
	for m, err := range s.sorter.Read(ctx, it.Queue, it.Delivered, it.Delivered+1) {
		switch {
		case errors.As(err, new(*cursor.MissingError)):
			next.Missing = true
		case err != nil:
			return nil, err
		default:
			next.Since, next.Age = m.EnqueuedAt, s.age(m.EnqueuedAt)
		}
	}
	return next, nil
}

// operated is a consumer after it was made, or after an operation; of a removed one only its name
// is left.
type operated struct {
	Status   int    `json:"status"`
	ID       string `json:"id,omitempty"`
	Action   string `json:"action,omitempty"`
	Queue    string `json:"queue"`
	Consumer string `json:"consumer,omitempty"`
	*consumerAnswer
}

type consumerAnswer = view.Consumer

// after is a consumer after an operation, beside where its queue is then, and what is known of its
// sink: two reads. Where they fail the operation is done all the same.
func (s *service) after(ctx context.Context, scope tenancy.Scope,
	of delivery.Consumer) *consumerAnswer {
	beside := delivery.Status{Consumer: of, Position: of.Delivered}
	if cur, err := s.sorter.Status(ctx, of.Queue); err == nil {
		beside.Position = cur.Position
	}
	sink, _ := s.deliverer.Inside(request.Inside{}).Health(ctx, of.Name)
	return s.answer(scope, beside, known{sink: sink})
}

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
	var change cursor.Change
	if asked.Kind != "" {
		_ = change.Set("kind", asked.Kind) // it is one of the kinds
	}
	var load intake.Load
	load.Use(asked.Queue)
	if err := load.Take(ctx, s.quotas, c.Metrics, c.Tenant(), s.sorter); err != nil {
		return 0, nil, err
	}
	made, err := s.deliverer.Inside(request.Inside{}).CreateFor(ctx, delivery.Who(c.Identity()),
		asked.Queue, asked.Consumer, asked.Start, change.Kind)
	if err != nil {
		return 0, nil, err
	}
	return http.StatusOK, operated{Status: http.StatusOK, Queue: c.Short(asked.Queue),
		Consumer: asked.Consumer, consumerAnswer: s.after(ctx, c.Scope, made)}, nil
}
