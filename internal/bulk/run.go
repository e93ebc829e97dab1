package bulk

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/streamsort/streamsort/internal/client"
	"github.com/streamsort/streamsort/internal/pause"
	"github.com/streamsort/streamsort/internal/view"
)

// Exception is a consumer that was not acted on, and why.
type Exception struct {
	Target
	// Failed: the API refused the operation. The consumer changed meanwhile where it is false.
	Failed bool   `json:"failed,omitempty"`
	Why    string `json:"why"`
}

// Report says how far a run is, and at its end what became of each consumer.
type Report struct {
	Run      string `json:"run"`
	Action   string `json:"action"`
	Selected int    `json:"selected"`
	// Done were acted on now, Already by an earlier part of the run, or are paused without it.
	Done    int `json:"done"`
	Already int `json:"already"`
	// Changed left the state, or were changed by somebody else, before their operation.
	Changed int `json:"changed"`
	// Failed were refused. The same request with the run's name tries them again.
	Failed int `json:"failed"`
	// Exceptions are the first of those that changed or failed.
	Exceptions []Exception `json:"exceptions,omitempty"`
	// Stopped is why the run ended before all had their turn; empty where it did not.
	Stopped string `json:"stopped,omitempty"`
	// Latest is the consumer whose operation ended last, as long as the run goes on.
	Latest Result `json:"-"`
}

// Result is what became of a consumer: done, already, changed or failed.
type Result struct {
	Target
	Outcome, Why string
}

// Handled is how many had their turn.
func (r Report) Handled() int { return r.Done + r.Already + r.Changed + r.Failed }

// Whole reports whether nothing is left to do.
func (r Report) Whole() bool { return r.Handled() == r.Selected && r.Failed == 0 }

const (
	// maxExceptions is how many a report shows.
	maxExceptions = 100
	// grace is how long what is under way may take when the context has ended.
	grace = 5 * time.Second
	// maxTries is how often it is tried on a consumer that others change at the same moment.
	maxTries = 3
	// maxTrouble is how many operations in a row may fail by no fault of their consumers.
	maxTrouble = 5
	// burst is how much time a run makes up for that stood still.
	burst = 100 * time.Millisecond
)

// Do acts on each selected consumer, and returns what became of them. Where the context ends, or
// the API is away or refuses everything, it stops, and the report says so. progress, if not nil, is
// called after each operation, by one goroutine at a time. 2 requests a consumer; of a run that was
// cut short 1 more.
//
// Lost response: the client repeats the operation under its id. Another did it first: the consumer
// is counted as changed. We die right after: the next part of the run finds it in the audit log.
func (r *Run) Do(ctx context.Context, progress func(Report)) Report {
	tally := tally{
		report:   Report{Run: r.Name, Action: r.Action, Selected: len(r.Selected)},
		progress: progress,
	}
	acting, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(grace, cut) })()
	var group errgroup.Group
	group.SetLimit(asked)
	interval := time.Second / time.Duration(r.Rate)
	next := time.Now()
	for _, target := range r.Selected {
		if pause.For(ctx, time.Until(next)) != nil || ctx.Err() != nil || tally.stopped() {
			break
		}
		group.Go(func() error {
			outcome, why := r.act(acting, target)
			if acting.Err() == nil || outcome != trouble { // nobody knows otherwise
				tally.count(target, outcome, why)
			}
			return nil
		})
		if late := time.Now().Add(-burst); next.Before(late) {
			next = late
		}
		next = next.Add(interval)
	}
	_ = group.Wait()
	return tally.end(ctx)
}

type outcome int

const (
	done outcome = iota
	already
	changed
	refused // by the consumer, as it is
	trouble // the API is away, throttles, or refuses the caller
)

type tally struct {
	sync.Mutex
	report   Report
	progress func(Report)
	row      int // of trouble
	last     string
}

func (t *tally) count(target Target, o outcome, why string) {
	t.Lock()
	defer t.Unlock()
	r := &t.report
	*[...]*int{&r.Done, &r.Already, &r.Changed, &r.Failed, &r.Failed}[o]++
	became := [...]string{"done", "already", "changed", "failed", "failed"}[o]
	r.Latest = Result{target, became, why}
	if o == trouble {
		t.row, t.last = t.row+1, why
	} else {
		t.row = 0
	}
	if o >= changed && len(r.Exceptions) < maxExceptions {
		r.Exceptions = append(r.Exceptions, Exception{target, o != changed, why})
	}
	if t.progress != nil {
		report := *r
		report.Exceptions = slices.Clone(report.Exceptions)
		t.progress(report)
	}
}

func (t *tally) stopped() bool {
	t.Lock()
	defer t.Unlock()
	return t.row >= maxTrouble
}

func (t *tally) end(ctx context.Context) Report {
	stopped := t.stopped()
	t.report.Latest = Result{}
	switch report := &t.report; {
	case report.Handled() == report.Selected:
	case stopped:
		report.Stopped = "the API fails: " + t.last
	case ctx.Err() != nil:
		report.Stopped = "interrupted"
	}
	return t.report
}

func (r *Run) act(ctx context.Context, t Target) (outcome, string) {
	if r.resumed {
		if found, err := r.onRecord(ctx, t); found || err != nil {
			return ended(already, err)
		}
	}
	for try := 1; ; try++ {
		c, there, err := r.read(ctx, t)
		switch {
		case err != nil:
			return ended(done, err)
		case !there:
			return changed, "it is not there any more"
		case r.Action == "pause" && c.Paused != nil:
			return already, ""
		case !r.selects(c):
			return changed, "it is not in this state any more, or again"
		}
		err = r.post(ctx, t, c)
		code := client.CodeOf(err)
		if !slices.Contains(changedCodes, code) {
			return ended(done, err)
		}
		// An operation whose answer was lost may be behind it.
		if found, failed := r.onRecord(ctx, t); found || failed != nil {
			return ended(done, failed)
		}
		if code != "outran" || try == maxTries {
			return changed, err.Error()
		}
	}
}

// changedCodes are the problems of a consumer that is not what it was when it was read.
var changedCodes = append([]string{"not-blocked", "outran"}, goneCodes...)

var errTaken = errors.New("the name is taken")

// ended is an outcome, or how the request for it failed.
func ended(o outcome, err error) (outcome, string) {
	var problem *client.Problem
	switch {
	case err == nil:
		return o, ""
	case errors.Is(err, errTaken):
		return refused, err.Error()
	case errors.As(err, &problem) && !problem.MayPass() &&
		problem.Status != http.StatusUnauthorized && problem.Status != http.StatusForbidden:
		return refused, problem.Error()
	}
	return trouble, err.Error()
}

// selects reports whether a consumer, as it was read, is one to act on. Only the list says which
// consumers lag, or are held by a circuit breaker.
func (r *Run) selects(c view.Consumer) bool {
	if !matches(string(c.Error), r.Error) {
		return false
	}
	if (r.Action == "redrive" || r.Action == "skip") && c.FailedSeq() == nil {
		return false
	}
	switch state := view.State(r.State); state {
	case view.Blocked:
		return c.Blocked != nil && r.inTime(c.Blocked.Since) ||
			r.Action != "redrive" && r.Action != "skip" && c.Is(state)
	case view.Paused:
		return c.Paused != nil && r.inTime(c.Paused.Since)
	case view.InDoubt, view.Retrying:
		return c.Is(state)
	}
	return true
}

func (r *Run) id(t Target) string {
	sum := sha256.Sum256([]byte(t.Consumer))
	return r.Name + "-" + hex.EncodeToString(sum[:8])
}

func (r *Run) post(ctx context.Context, t Target, c view.Consumer) error {
	document := map[string]any{
		"action": r.Action, "queue": string(t.Queue), "consumer": t.Consumer,
		"reason": r.Reason, "id": r.id(t),
	}
	switch r.Action {
	case "redrive", "skip":
		document["seq"] = c.FailedSeq()
	case "rewind":
		document["start"] = r.Start
	}
	body, err := json.Marshal(document)
	if err != nil {
		return err
	}
	return r.api.Call(ctx, http.MethodPost, "/operations", nil, body, &struct{}{})
}

// skew is how far the clocks of the server's processes may be apart.
const skew = 15 * time.Minute

func (r *Run) onRecord(ctx context.Context, t Target) (bool, error) {
	query, id := url.Values{"queue": {string(t.Queue)}, "consumer": {t.Consumer}}, r.id(t)
	for {
		var page struct {
			Operations []view.Operation
			Next       string
		}
		err := r.api.Call(ctx, http.MethodGet, "/operations", query, nil, &page)
		if slices.Contains(goneCodes, client.CodeOf(err)) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		for _, o := range page.Operations { // the latest first
			switch {
			case string(o.ID) == id && o.Action != r.Action:
				return false, fmt.Errorf("%w: run %s asked for %s; give this one another name",
					errTaken, r.Name, o.Action)
			case string(o.ID) == id && o.Outcome == "done":
				return true, nil
			case o.At.Before(r.began.Add(-skew)):
				return false, nil
			}
		}
		if page.Next == "" {
			return false, nil
		}
		query.Set("after", page.Next)
	}
}
