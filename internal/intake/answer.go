package intake

import (
	"fmt"
	"net/http"
	"time"

	"github.com/streamsort/streamsort/internal/httpapi"
	"github.com/streamsort/streamsort/internal/jsonseq"
	"github.com/streamsort/streamsort/pkg/cursor"
)

// Answer is what became of a message, as callers see it.
type Answer struct {
	Status  int            `json:"status"`
	Outcome cursor.Outcome `json:"outcome,omitempty"`
	Queue   string         `json:"queue"`
	// Seq is missing where a queue in arrival order gave none, and where a message waits in a keyed
	// one.
	Seq *jsonseq.Seq `json:"seq,omitempty"`
	// Late reports that the message stands, or was dropped, behind greater keys.
	Late bool `json:"late,omitempty"`
	// ClockAhead reports that a time of its key was too far ahead: the time of receipt is there
	// instead.
	ClockAhead bool `json:"clockAhead,omitempty"`
	// SettlesAt is when a message that waits gets its seq at the latest.
	SettlesAt *time.Time `json:"settlesAt,omitempty"`
	// Old and New: this call moved the queue from Old to New.
	Old *jsonseq.Seq `json:"old,omitempty"`
	New *jsonseq.Seq `json:"new,omitempty"`
	// MaxAhead is how far beyond New a seq may be, where one that is farther was refused.
	MaxAhead int64 `json:"maxAhead,omitempty"`
	// First is the queue's first seq, where one that is before it, or passed, was refused.
	First  *jsonseq.Seq `json:"first,omitempty"`
	Detail string       `json:"detail,omitempty"`
	// Code is that of the problem with a message that has no outcome.
	Code string `json:"code,omitempty"`

	// Failure is why the message's fate is unknown, or that it is not for this queue; nil where the
	// outcome says it all.
	Failure error `json:"-"`
}

var statusOf = map[cursor.Outcome]int{
	cursor.Advanced:  http.StatusOK,
	cursor.Duplicate: http.StatusOK,
	cursor.Dropped:   http.StatusOK,
	cursor.Waiting:   http.StatusAccepted,
	cursor.Parked:    http.StatusAccepted,
	cursor.Stored:    http.StatusAccepted,
	cursor.Conflict:  http.StatusConflict,
	cursor.Ahead:     http.StatusConflict,
	cursor.Late:      http.StatusGone,
	cursor.Stale:     http.StatusGone,
	cursor.Full:      http.StatusTooManyRequests,
}

// detailOf says in a sentence what an outcome that is no success means.
var detailOf = map[cursor.Outcome]string{
	cursor.Conflict: "another message is stored under this seq; it stays",
	cursor.Late:     "the seq was skipped: the queue's policy gave up waiting for it",
	cursor.Stale:    "the queue is past this seq, and nothing is stored there any more",
}

var arrivalDetailOf = map[cursor.Outcome]string{
	cursor.Conflict: "another message is stored under this id; it stays",
	cursor.Stale:    "it was stored before, and its place has been deleted",
	cursor.Full:     "the queue has no seqs left",
}

var keyedDetailOf = map[cursor.Outcome]string{
	cursor.Conflict: "another message is stored under this key and id; it stays",
	cursor.Stale:    "it was stored before, and what its queue knew of it has been deleted",
}

func (p *Put) newAnswer(r cursor.Result, m *cursor.Message) Answer {
	a := Answer{
		Status: statusOf[r.Outcome], Outcome: r.Outcome, Queue: p.Scope.Short(r.Queue), Late: r.Late,
		ClockAhead: r.ClockAhead,
		MaxAhead:   r.MaxAhead, Failure: r.Err,
	}
	if r.Seq != cursor.NoSeq {
		a.Seq = seqOf(r.Seq)
		if m.KeyParts == nil {
			a.Old, a.New = seqOf(r.Old), seqOf(r.New)
		}
	}
	if !r.SettlesAt.IsZero() {
		settlesAt := r.SettlesAt.UTC()
		a.SettlesAt = &settlesAt
	}
	switch {
	case m.KeyParts != nil:
		a.Detail = keyedDetailOf[r.Outcome]
	case m.PutID != "" && r.Outcome == cursor.Conflict:
		a.Detail = "another request was stored under this Idempotency-Key, and stays"
	case m.Seq == cursor.NoSeq:
		a.Detail = arrivalDetailOf[r.Outcome]
	default:
		a.detail(r, m.Kind)
	}
	return a
}

func (a *Answer) detail(r cursor.Result, kind cursor.Kind) {
	a.Detail = detailOf[r.Outcome]
	switch {
	case r.NoQueue:
		a.First = seqOf(r.First)
		of := ""
		if kind != "" {
			of = fmt.Sprintf(`"kind": %q, `, kind)
		}
		a.Detail = fmt.Sprintf("a new queue starts at seq %d, and none was made: put \"first\": %d, or \"here\", beside the message, "+
			`or make it with PUT /queues {"queue": %q, %s"first": %d}`, r.First, r.Seq, a.Queue, of, r.Seq)
	case r.Outcome == cursor.Ahead:
		a.Detail = fmt.Sprintf("the queue is in arrival order, and its position is %d: put seq %d next; nothing was stored", r.New, r.New+1)
	case r.Outcome == cursor.Full:
		a.Detail = fmt.Sprintf("the position is %d, and seqs up to %d are accepted now, "+
			"maxAhead (%d) beyond it; nothing was stored: put it again later",
			r.New, r.New+r.MaxAhead, r.MaxAhead)
	case r.Outcome == cursor.Stale:
		a.First = seqOf(r.First)
		if r.Seq < r.First {
			a.Detail = fmt.Sprintf("the queue starts at seq %d, which is fixed: use another one, and put \"first\": %d "+
				"beside its first message", r.First, r.Seq)
		}
	case r.Outcome == cursor.Parked && r.New == r.First-1:
		a.Detail = fmt.Sprintf(
			"it waits for seq %d, with which the queue starts: one that starts elsewhere "+
				"is made with \"first\" beside its first message", r.First)
	}
}

func seqOf(seq int64) *jsonseq.Seq { return (*jsonseq.Seq)(&seq) }

// Refused is the error of an answer that is no success, for a call that brought one message; nil of
// one that is. Where the answer has an outcome it is a problem.
func (a Answer) Refused() error {
	switch {
	case a.Failure != nil:
		return a.Failure
	case a.Status < http.StatusBadRequest:
		return nil
	}
	p := &httpapi.Problem{
		Status: a.Status, Type: string(a.Outcome), Title: "The message was not stored", Detail: a.Detail,
		More: map[string]any{"outcome": a.Outcome, "queue": a.Queue},
	}
	if a.Seq != nil {
		p.More["seq"], p.More["position"] = a.Seq, a.New
	}
	if a.MaxAhead > 0 {
		p.More["maxAhead"] = a.MaxAhead
	}
	if a.First != nil {
		p.More["first"] = a.First
	}
	if a.Outcome == cursor.Full {
		p.RetryAfter = 1
	}
	return p
}
