package main

import (
	"context"
	"errors"
	"net/http"

	"github.com/streamsort/streamsort/internal/announce"
	"github.com/streamsort/streamsort/internal/httpapi"
	"github.com/streamsort/streamsort/internal/trouble"
	"github.com/streamsort/streamsort/pkg/invalid"
	"github.com/streamsort/streamsort/pkg/xorack"
	"github.com/streamsort/streamsort/pkg/xorack/stamps"
)

// doAll does a batch: first what creates chains and what has stamps, in their order; then all that
// ends and starts edges, those of one chain in one write; then the rest in its order. So a batch
// may create a chain, work on it, and look at it.
func (s *service) doAll(ctx context.Context, c *httpapi.Call, orders []order) []result {
	results := make([]result, len(orders))
	var work []int
	for i, o := range orders {
		switch o.Operation {
		case "create", "stamp":
			results[i] = s.do(ctx, c, o)
		case "done", "add":
			work = append(work, i)
		}
	}
	s.merge(ctx, c, orders, work, results)
	for i, o := range orders {
		switch o.Operation {
		case "fan", "fail", "extend", "get", "outstanding", "delete":
			results[i] = s.do(ctx, c, o)
		}
	}
	return results
}

func (s *service) merge(ctx context.Context, c *httpapi.Call, orders []order, work []int,
	results []result) {
	operations := make([]xorack.Operation, len(work))
	for i, at := range work {
		o := orders[at]
		operations[i] = xorack.EndOf(o.Edge, o.children...)
		if o.Operation == "add" {
			operations[i] = xorack.StartOf(o.Edge, o.Batch, o.children...)
		}
	}
	done, errs := s.acker.Apply(ctx, operations)
	for i, at := range work {
		results[at] = s.edged(ctx, c, orders[at], done[i], errs[i])
	}
}

func (s *service) edged(ctx context.Context, c *httpapi.Call, o order, r xorack.Result,
	err error) result {
	if err != nil {
		return refused(ctx, c, o, err)
	}
	a := resultOf(o, r.Outcome)
	a.Chain = s.answer(c, r.Chain)
	if r.Outcome == xorack.Applied || r.Outcome == xorack.Ended {
		a.Edges = o.children
		c.Metrics.Count("Acks", 1)
	}
	return a
}

func (s *service) do(ctx context.Context, c *httpapi.Call, o order) result {
	switch o.Operation {
	case "create":
		return s.create(ctx, c, o)
	case "stamp":
		state, err := s.stamper.Stamp(ctx, o.Tag, o.stamp, &stamps.Options{ID: o.ID})
		if err != nil {
			return refused(ctx, c, o, err)
		}
		c.Metrics.Count("Acks", 1)
		return stamped(o, state)
	case "done":
		r, err := s.acker.Done(ctx, o.Edge, o.children...)
		return s.edged(ctx, c, o, r, err)
	case "add":
		r, err := s.acker.Add(ctx, o.Edge, o.Batch, o.children...)
		return s.edged(ctx, c, o, r, err)
	case "fan":
		r, err := s.acker.Fan(ctx, o.Edge, o.Edges)
		o.children = o.Edge.Fan(o.Edges)
		return s.edged(ctx, c, o, r, err)
	case "fail":
		r, err := s.acker.Fail(ctx, o.Edge, o.Reason)
		return s.edged(ctx, c, o, r, err)
	case "extend":
		r, err := s.acker.Extend(ctx, o.Edge, o.Until)
		return s.edged(ctx, c, o, r, err)
	case "delete":
		return s.remove(ctx, c, o)
	case "outstanding":
		return s.outstanding(ctx, c, o)
	}
	chain, err := s.acker.Get(ctx, o.Tag)
	if err != nil {
		return refused(ctx, c, o, err)
	}
	return result{Status: http.StatusOK, Operation: o.Operation, Chain: s.answer(c, chain)}
}

// create creates a chain, of stamps where the order has one.
func (s *service) create(ctx context.Context, c *httpapi.Call, o order) result {
	if o.stamp != nil {
		state, err := s.stamper.Create(ctx, o.Tag, o.stamp,
			&stamps.Options{ID: o.ID, Deadline: o.Deadline})
		if err != nil {
			return refused(ctx, c, o, err)
		}
		c.Metrics.Count("ChainsCreated", 1)
		return stamped(o, state)
	}
	created, err := s.acker.Create(ctx, o.Tag, &xorack.CreateOptions{
		ID: o.ID, Edges: o.Edges, Deadline: o.Deadline, Idle: o.Idle, Parent: o.Parent,
	})
	if err != nil {
		return refused(ctx, c, o, err)
	}
	c.Metrics.Count("ChainsCreated", 1)
	r := resultOf(o, created.Outcome)
	r.Chain = s.answer(c, created.Chain)
	if created.Outcome == xorack.Applied || created.Outcome == xorack.Ended {
		r.Edges = created.Roots
	}
	return r
}

// remove deletes a chain of either kind. One that failed or timed out stays what it is, and is
// listed no more; a row that cannot be deleted now expires.
func (s *service) remove(ctx context.Context, c *httpapi.Call, o order) result {
	r, err := s.acker.Delete(ctx, o.Tag)
	if errors.Is(err, xorack.ErrOtherKind) {
		if err := s.stamper.Delete(ctx, o.Tag); err != nil {
			return refused(ctx, c, o, err)
		}
		_ = s.trouble.Delete(ctx,
			trouble.Row{State: trouble.TimedOut, Queue: o.Tag, N: s.now().UnixMilli()})
		return resultOf(o, xorack.Ended)
	}
	if err != nil {
		return refused(ctx, c, o, err)
	}
	if row, listed := announce.RowOf(r.Chain); listed {
		_ = s.trouble.Delete(ctx, row)
	}
	a := resultOf(o, r.Outcome)
	a.Chain = s.answer(c, r.Chain)
	return a
}

func refused(ctx context.Context, c *httpapi.Call, o order, err error) result {
	problem := problemOf(err)
	if problem == nil {
		problem = httpapi.ProblemOf(ctx, c.Scope, asAsked(o, err))
	}
	return failed(o, problem)
}

// asAsked is an error of the acker in the words of the order.
func asAsked(o order, err error) error {
	var wrong *invalid.Error
	switch {
	case errors.Is(err, stamps.ErrZeroBufferNoOp):
		return invalid.New(invalid.Malformed, "stamp", "is all zeros: it changes nothing")
	case o.Operation == "extend" && errors.As(err, &wrong) && wrong.Field == "deadline":
		return invalid.Named("until", wrong)
	}
	return err
}

// problemOf says what an error of the acker is to the caller, nil for one that others have too.
func problemOf(err error) *httpapi.Problem {
	const conflict = http.StatusConflict
	switch {
	case errors.Is(err, xorack.ErrTagNotFound):
		return httpapi.NewProblem(http.StatusNotFound, "no-chain", "There is no such chain",
			"no chain is stored under this tag", "tag")
	case errors.Is(err, xorack.ErrTagExists):
		return httpapi.NewProblem(conflict, "tag-exists", "The tag has a chain",
			"another chain is stored under this tag, or it was created with other options")
	case errors.Is(err, xorack.ErrOtherChain):
		return httpapi.NewProblem(conflict, "other-chain", "The edge belongs to another chain",
			"the tag was used by another chain before or since")
	case errors.Is(err, xorack.ErrOtherKind):
		return httpapi.NewProblem(conflict, "other-kind", "The chain is of the other kind",
			"chains have edges or stamps, not both")
	case errors.Is(err, stamps.ErrBufferLengthsUnequal):
		return httpapi.NewProblem(conflict, "stamp-length",
			"The chain's stamps have another length", err.Error())
	case errors.Is(err, xorack.ErrChainFull):
		return httpapi.NewProblem(conflict, "chain-full", "The chain is full",
			"it has as many operations as one may have; larger trees use chains in chains")
	}
	return nil
}
