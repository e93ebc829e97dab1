package main

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/streamsort/streamsort/internal/errtext"
	"github.com/streamsort/streamsort/internal/fanout"
	"github.com/streamsort/streamsort/internal/jsonseq"
	"github.com/streamsort/streamsort/internal/printable"
	"github.com/streamsort/streamsort/internal/request"
	"github.com/streamsort/streamsort/internal/tenancy"
	"github.com/streamsort/streamsort/internal/trouble"
	"github.com/streamsort/streamsort/internal/view"
	"github.com/streamsort/streamsort/pkg/delivery"
)

// known is what is known of a consumer beside its item.
type known struct {
	sink request.Health
	// missing tells that its next message is not stored any more.
	missing bool
}

// know reads what is known of consumers beside their items: half a read unit for each name, and for
// each that has messages to get and is at none, side by side.
func (s *service) know(ctx context.Context, list []delivery.Status) ([]known, error) {
	of := make([]known, len(list))
	var names []string
	at := map[string]int{}
	for _, it := range list {
		if _, asked := at[it.Name]; !asked {
			at[it.Name], names = len(names), append(names, it.Name)
		}
	}
	sinks, errs := make([]request.Health, len(names)), make([]error, len(names)+len(list))
	fanout.SideBySide(len(names)+len(list), func(i int) {
		if i < len(names) {
			sinks[i], errs[i] = s.deliverer.Inside(request.Inside{}).Health(ctx, names[i])
			return
		}
		it := list[i-len(names)]
		if it.Lag() == 0 || it.State != delivery.Idle || it.Retries() {
			return
		}
		row, found, err := s.trouble.Row(ctx, trouble.Missing, it.Queue, it.Name)
		of[i-len(names)].missing, errs[i] = found && row.Seq == it.Delivered+1, err
	})
	for i, it := range list {
		of[i].sink = sinks[at[it.Name]]
	}
	return of, errors.Join(errs...)
}

// head is what a consumer is in, and the message at its head.
func (s *service) head(scope tenancy.Scope, of delivery.Status, k known) view.Head {
	is, also := view.In(s.aspects(of, k)...)
	h := view.Head{
		Queue: printable.Name(scope.Short(of.Queue)), Consumer: of.Name, State: is.State,
		Cause: is.Cause, Also: also,
		Since: is.Since, NextTry: is.NextTry, Attempt: of.Tries(),
		Lag: new(jsonseq.Seq(of.Lag())), Delivered: new(jsonseq.Seq(of.Delivered)),
		Position: new(jsonseq.Seq(of.Position)),
	}
	if !is.Since.IsZero() {
		h.Age = s.age(is.Since)
	}
	if of.Lag() > 0 {
		h.Seq = new(jsonseq.Seq(of.Delivered + 1))
	}
	if to := of.Last.Together(of.Delivered); to > 0 && of.State != delivery.Blocked {
		h.To = new(jsonseq.Seq(to))
	}
	if of.Error != "" {
		why := of.Error
		if scope.Tenant() != "" {
			why = errtext.Shown(why, of.Shown)
		}
		h.Error = printable.Name(reasonFor(scope, of.ReplyQueue, why))
		h.Group = printable.Name(errtext.Group(string(h.Error)))
	}
	return h
}

func (s *service) aspects(of delivery.Status, k known) (all []view.Aspect) {
	circuit := k.sink.Circuit
	is := func(state view.State, cause string, since, next time.Time) {
		all = append(all, view.Aspect{State: state, Cause: cause, Since: since, NextTry: next})
	}
	var never time.Time
	waits, over := of.Lag() > 0, !of.LeaseUntil.After(s.now())
	if of.Paused != "" {
		is(view.Paused, "", of.PausedSince, never)
	}
	switch of.State {
	case delivery.Blocked:
		is(view.Blocked, view.Failed, of.BlockedSince, never)
	case delivery.InDoubt, delivery.Prepared:
		if of.State == delivery.InDoubt || over {
			is(view.InDoubt, view.Prepared, of.LeaseUntil, never)
		}
	case delivery.Sending:
		if over {
			is(view.Retrying, view.Replies, of.LeaseUntil, never)
		}
	case delivery.Started:
		if over && !of.Deferred && !of.Retries() {
			is(view.Retrying, view.Died, of.LeaseUntil, never)
		}
	}
	if k.missing {
		is(view.Blocked, view.Missing, never, never)
	}
	if q := of.Quarantine[0]; q != (delivery.Quarantined{}) {
		is(view.InDoubt, view.Quarantined, q.Since, never)
	}
	if waits && of.State != delivery.Blocked {
		switch {
		case circuit.Open():
			is(view.Held, view.Open, circuit.Opened, circuit.ProbeAt)
		case circuit.Waking && of.State == delivery.Idle:
			is(view.Held, view.Waking, never, never)
		}
	}
	if of.Retries() {
		is(view.Retrying, whyRetries(of.Consumer),
			cmp.Or(of.FailingSince, of.Last[0].At, of.Failed, of.LeaseUntil), of.RetryAt)
	}
	switch {
	case of.Starting != "":
		is(view.CatchingUp, view.Starting, never, never)
	case waits && (!of.Claimed() || of.To < of.Position):
		is(view.CatchingUp, "", never, never)
	}
	return all
}

// whyRetries is the cause of a consumer that tries a message again.
func whyRetries(of delivery.Consumer) string {
	switch {
	case !of.Fails() || of.Error == "":
		return view.Died
	case of.Away > 0:
		return view.SinkAway
	}
	return view.Failed
}

// attempt is an attempt on the message at a consumer's head, as callers see it.
func attempt(scope tenancy.Scope, t request.Attempt) view.Attempt {
	answer := t.Answer
	if scope.Tenant() != "" {
		answer = errtext.Shown(answer, t.Shown)
	}
	a := view.Attempt{
		Attempt: t.N, At: t.At, Ms: t.Took.Milliseconds(), From: jsonseq.Seq(t.From + 1),
		To: jsonseq.Seq(t.To), Claim: t.Token,
		Answer: printable.Name(scope.Words(answer)), Died: t.Died,
	}
	if scope.Tenant() == "" { // what is called is the stack's owner's
		a.By, a.RequestID = printable.Name(t.By), t.CallID
	}
	return a
}

// verify reads the consumer of a row, and says what is so of it now in the state that is listed;
// nil where that is over. Two reads.
func (s *service) verify(scope tenancy.Scope, state view.State) func(context.Context,
	trouble.Row) (*view.Head, error) {
	return func(ctx context.Context, row trouble.Row) (*view.Head, error) {
		of, err := s.deliverer.Inside(request.Inside{}).One(ctx, row.Queue, row.Consumer)
		if err != nil || !of.Exists() {
			return nil, err
		}
		var k known
		if of.Lag() > 0 {
			if k.sink, err = s.deliverer.Inside(request.Inside{}).Health(ctx, row.Consumer); err != nil {
				return nil, err
			}
		}
		k.missing = row.State == trouble.Missing && row.Seq == of.Delivered+1 && of.Lag() > 0 &&
			of.State == delivery.Idle
		h := s.head(scope, of, k)
		if !h.Is(state) {
			return nil, nil
		}
		switch row.State {
		case trouble.Lagging:
			h.Cause = view.Lagging
		case trouble.Quarantined:
			h.Seq = new(jsonseq.Seq(row.Seq))
		}
		if h.State != state || h.Since.IsZero() {
			h.Since, h.Age = row.Since, s.age(row.Since)
		}
		return &h, nil
	}
}

// shown is what the caller may know of a sink; nil where nothing is. A tenant shares it with
// others: it sees why nothing is delivered, and when that is tried again, but not what others have
// delivered.
func shown(scope tenancy.Scope, known request.Health) *view.Sink {
	a := view.Sink{OpenSince: known.Circuit.Opened}
	if known.Circuit.Open() {
		a.ProbeAt = known.Circuit.ProbeAt
	}
	if scope.Tenant() == "" {
		a.Waking, a.FailingSince, a.TakenAt = known.Circuit.Waking, known.FailingSince, known.TakenAt
		if known.Circuit.Open() {
			a.Probes = known.Circuit.Probes
		}
	}
	if a == (view.Sink{}) {
		return nil
	}
	return &a
}
