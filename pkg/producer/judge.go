package producer

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/streamsort/streamsort/internal/client"
	"github.com/streamsort/streamsort/pkg/cursor"
)

// fate is what becomes of a message after a request.
type fate int

const (
	repeat   fate = iota // it goes again, before all others of its queue
	aside                // it goes again, and the others of its queue do not wait for it
	accepted             // it is stored
	refused              // it never will be
)

// verdict is what a request means for a message.
type verdict struct {
	fate   fate
	result Result
	err    error // why it was refused, or goes again
	wait   bool  // its queue waits before it goes again
	// ahead: it was refused because the next message of its queue, behind position, was not stored
	// before.
	ahead    bool
	position int64
}

type judgement struct {
	of []verdict
	// least is how long its queues wait at least.
	least time.Duration
	// again is why all of it is made again; nil where some were answered for.
	again error
	// troubled: what went wrong may be one queue's fault, so those that wait go alone. split: the
	// request is refused as a whole and nobody knows for which message, so it goes in smaller
	// parts.
	troubled, split bool
}

// judge says what an answer means for each message of a request, or that there was none.
func judge(c *call, a Answer, err error) judgement {
	j := judgement{of: make([]verdict, c.messages), least: a.RetryAfter}
	switch {
	case err == nil && a.Status >= http.StatusMultipleChoices:
		j.problem(c, a)
		return j
	case err == nil:
		err = j.results(c, a)
	}
	if err != nil {
		j.troubled = true
		j.repeatAll(err)
	}
	return j
}

// repeatAll has all messages sent again after a wait.
func (j *judgement) repeatAll(err error) {
	j.again = err
	for i := range j.of {
		j.of[i] = verdict{err: err, wait: true}
	}
}

func (j *judgement) results(c *call, a Answer) error {
	var answer struct{ Results []client.Outcome }
	if err := json.Unmarshal(a.Body, &answer); err != nil {
		return fmt.Errorf("an answer that cannot be read: %w", err)
	}
	if len(answer.Results) != c.messages {
		return fmt.Errorf("an answer with %d results for %d messages", len(answer.Results), c.messages)
	}
	for i, r := range answer.Results {
		v := &j.of[i]
		switch {
		case r.Status >= http.StatusInternalServerError || r.Status < http.StatusOK:
			*v, j.troubled = verdict{err: fmt.Errorf("%d: %s", r.Status, r.Detail), wait: true}, true
		case r.Status == http.StatusTooManyRequests:
			*v = verdict{fate: aside, err: fmt.Errorf("%s: %s", cmp.Or(r.Outcome, "429"), r.Detail)}
		case r.Status >= http.StatusMultipleChoices:
			refusal := &RefusedError{Status: r.Status, Outcome: cursor.Outcome(r.Outcome), Code: r.Code,
				Detail: r.Detail}
			*v = verdict{fate: refused, err: refusal}
			if refusal.Outcome == cursor.Ahead {
				refusal.Position = int64(r.New)
				v.ahead, v.position = true, refusal.Position
			}
		default:
			*v = verdict{fate: accepted,
				result: Result{cursor.Outcome(r.Outcome), int64(r.Seq), r.Late, r.SettlesAt}}
		}
	}
	return nil
}

// problem reads an answer that does not name each message.
func (j *judgement) problem(c *call, a Answer) {
	problem := client.Answer{Status: a.Status, Body: a.Body, RetryAfter: a.RetryAfter}.Problem()
	j.repeatAll(problem)
	switch a.Status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusRequestTimeout:
		// They speak of the way, or of who asks, and not of a message: what is in order later is
		// sent then.
	case http.StatusTooManyRequests:
		// Not for one queue's sake: to go alone would make it worse.
	case http.StatusBadRequest:
		j.invalid(c, problem)
	default:
		if a.Status >= http.StatusBadRequest && a.Status < http.StatusInternalServerError {
			j.smaller(c, problem)
			return
		}
		j.troubled = true
		if a.opaque && c.messages == 1 {
			// It may be one that is full, which this answer does not tell.
			for _, f := range c.all() {
				if f.seq != noSeq {
					j.of[0] = verdict{fate: aside, err: problem}
				}
			}
			return
		}
		j.split = a.opaque && c.messages > 1
	}
}

// invalid refuses the messages that a 400 names. The others go again at once.
func (j *judgement) invalid(c *call, problem *client.Problem) {
	found := false
	for _, e := range problem.Errors {
		field, i, ok := e.Of("messages")
		if !ok || i < 0 || i >= len(j.of) {
			continue
		}
		found = true
		j.of[i] = verdict{fate: refused, err: &RefusedError{Status: problem.Status, Code: string(e.Code),
			Field: field, Detail: e.Detail}}
	}
	if !found {
		j.smaller(c, problem)
		return
	}
	j.atOnce()
}

// smaller has the messages sent again at once in smaller requests; one that was alone is refused.
func (j *judgement) smaller(c *call, problem *client.Problem) {
	if c.messages == 1 {
		err := &RefusedError{Status: problem.Status, Code: problem.Code, Detail: problem.Detail}
		if len(problem.Errors) > 0 {
			e := problem.Errors[0]
			err.Code, err.Field, err.Detail = string(e.Code), e.Field, e.Detail
		}
		j.of[0] = verdict{fate: refused, err: err}
		return
	}
	j.split = true
	j.atOnce()
}

// atOnce has what goes again wait for nothing.
func (j *judgement) atOnce() {
	for i := range j.of {
		j.of[i].wait = false
	}
}
