package main

import (
	"encoding/hex"
	"net/http"
	"time"

	"github.com/streamsort/streamsort/internal/httpapi"
	"github.com/streamsort/streamsort/pkg/xorack"
	"github.com/streamsort/streamsort/pkg/xorack/stamps"
)

type result struct {
	Status    int            `json:"status"`
	Operation string         `json:"operation"`
	Outcome   xorack.Outcome `json:"outcome,omitempty"`
	// Edges are the root edges of a chain that was created, or the children that were started, in
	// their order: tokens.
	Edges []xorack.Edge `json:"edges,omitempty"`
	// Outstanding are the edges that have not ended, as far as was asked, and More that there are
	// others.
	Outstanding []waiting `json:"outstanding,omitzero"`
	More        bool      `json:"more,omitempty"`
	// Stamp is what the stamps come to, in hexadecimal digits, and Acked whether that is all zeros.
	Stamp  string       `json:"stamp,omitempty"`
	Acked  *bool        `json:"acked,omitempty"`
	Chain  *chainAnswer `json:"chain,omitempty"`
	Type   string       `json:"type,omitempty"`
	Code   string       `json:"code,omitempty"`
	Detail string       `json:"detail,omitempty"`

	problem *httpapi.Problem
}

func (r result) document() (int, any, error) {
	if r.problem != nil {
		return 0, nil, r.problem
	}
	return r.Status, r, nil
}

func failed(o order, problem *httpapi.Problem) result {
	return result{Status: problem.Status, Operation: o.Operation, Type: httpapi.ProblemBase +
		problem.Type, Code: problem.Code(), Detail: problem.Error(), problem: problem}
}

type chainAnswer struct {
	Tag        string     `json:"tag"`
	State      string     `json:"state"`
	Created    bool       `json:"created"`
	Edges      int64      `json:"edges"`
	EdgesEnded int        `json:"edgesEnded"`
	Stamps     int        `json:"stamps,omitempty"`
	CreatedAt  *time.Time `json:"createdAt,omitempty"`
	Age        float64    `json:"ageSeconds"`
	Deadline   *time.Time `json:"deadline,omitempty"`
	Idle       string     `json:"idle,omitempty"`
	Progress   *time.Time `json:"progressAt,omitempty"`
	EndedAt    *time.Time `json:"endedAt,omitempty"`
	Reason     string     `json:"reason,omitempty"`
	EventID    string     `json:"eventId,omitempty"`
}

func (s *service) answer(to *httpapi.Call, c xorack.Chain) *chainAnswer {
	a := &chainAnswer{
		Tag: to.Short(c.Tag), State: string(c.End()), Created: c.IsCreated(), Edges: c.Edges,
		EdgesEnded: c.EdgesEnded(),
		Stamps:     len(c.Stamps), Age: c.Age(s.now()).Seconds(), Reason: to.Words(c.Reason),
	}
	if c.IsCreated() {
		a.CreatedAt, a.Deadline = &c.Created, &c.Deadline
	}
	if c.Idle > 0 {
		a.Idle = c.Idle.String()
	}
	if !c.Seen.IsZero() {
		a.Progress = &c.Seen
	}
	if c.End() == xorack.Open {
		a.State = "OPEN"
		return a
	}
	ended := c.Ended()
	a.EndedAt, a.EventID = &ended, c.EventID()
	return a
}

func resultOf(o order, outcome xorack.Outcome) result {
	problem := httpapi.NewProblem(http.StatusGone, "ended", "The chain has ended",
		"the operation changed nothing: "+string(outcome))
	switch {
	case outcome == xorack.Applied, outcome == xorack.Ended, outcome == xorack.EdgeEnded &&
		o.Operation == "fail":
		return result{Status: http.StatusOK, Operation: o.Operation, Outcome: outcome}
	case outcome == xorack.EdgeEnded:
		problem.Title = "The edge has ended"
	case outcome == xorack.OtherChildren:
		problem = httpapi.NewProblem(http.StatusConflict, "other-children",
			"The operation counted with other children",
			"the first ones stay: which children follow must depend on the edge's work alone")
	}
	problem.More = map[string]any{"outcome": outcome}
	r := failed(o, problem)
	r.Outcome = outcome
	return r
}

func stamped(o order, state stamps.State) result {
	r := resultOf(o, state.Outcome)
	r.Stamp, r.Acked = hex.EncodeToString(state.Stamp), &state.Acked
	return r
}
