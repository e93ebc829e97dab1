package bulk

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/streamsort/streamsort/internal/client"
	"github.com/streamsort/streamsort/internal/jsonseq"
	"github.com/streamsort/streamsort/internal/printable"
	"github.com/streamsort/streamsort/internal/view"
	"github.com/streamsort/streamsort/pkg/invalid"
)

// API is what a run asks: a *client.Client, which repeats a request whose answer is lost.
type API interface {
	Call(ctx context.Context, method, path string, query url.Values, body []byte, out any) error
}

// Target is a consumer of a queue, and what it was at when it was selected.
type Target struct {
	Queue    printable.Name `json:"queue"`
	Consumer string         `json:"consumer"`
	Seq      *jsonseq.Seq   `json:"seq,omitempty"`
	Error    printable.Name `json:"error,omitempty"`
}

// Text is the target's names in a form field, for [ParseTarget].
func (t Target) Text() string {
	text, err := json.Marshal([]string{string(t.Queue), t.Consumer})
	if err != nil {
		panic(err) // there is no text that is no JSON
	}
	return string(printable.JSON(text))
}

// ParseTarget reads what [Target.Text] wrote. The error is a *invalid.Error.
func ParseTarget(text string) (Target, error) {
	var names []string
	if err := json.Unmarshal([]byte(text), &names); err != nil || len(names) != 2 {
		return Target{},
			wrong(invalid.Malformed, "pick", `is %q: it must be like ["queue","consumer"]`, text)
	}
	return Target{Queue: printable.Name(names[0]), Consumer: names[1]}, nil
}

// Run is a request, and the consumers that it selects. Make one with [Look].
type Run struct {
	Request
	// Name names the run, for [Request].Run.
	Name     string
	Selected []Target
	// LeftOut says, a line each, which consumers cannot be read.
	LeftOut string

	api     API
	began   time.Time // by the server's clock
	resumed bool      // the audit log may have operations of it
}

// asked is how many requests are under way at once.
const asked = 32

const pageSize = "100"

// Look finds the consumers that a request selects, and changes nothing: a dry run. found, if not
// nil, is called with how many were found so far. The error is a *invalid.Error, or the API's. 1
// request for 100 consumers.
func Look(ctx context.Context, api API, r Request, found func(int)) (*Run, error) {
	if err := r.Validate(); err != nil {
		return nil, err
	}
	run := &Run{Request: r, Name: r.Run, api: api, began: runTime(r.Run), resumed: r.Run != ""}
	if len(r.Targets) > 0 {
		return run, run.lookAt(ctx, found)
	}
	query := client.Query("limit", pageSize, "state", r.State, "consumer",
		r.Consumer, "prefix", r.Prefix)
	for {
		var page view.Rows
		if err := api.Call(ctx, http.MethodGet, "/consumers", query, nil, &page); err != nil {
			return nil, err
		}
		run.begin(page.List)
		for _, row := range page.List {
			if run.lists(row) {
				run.Selected = append(run.Selected, Target{row.Queue, row.Consumer, row.Seq, row.Error})
			}
		}
		if page.Unreadable != "" {
			run.LeftOut += page.Unreadable + "\n"
		}
		if found != nil {
			found(len(run.Selected))
		}
		if page.Next == "" {
			break
		}
		query.Set("after", page.Next)
	}
	run.named()
	return run, nil
}

func (r *Run) named() {
	if r.Name == "" {
		r.begin([]view.Head{{Since: time.Now()}}) // nothing is listed by its time
		r.Name = runName(r.began, rand.Text())
	}
}

// lookAt selects those of the targets that the request is for. 1 request each.
func (r *Run) lookAt(ctx context.Context, found func(int)) error {
	if r.State != "" {
		var page struct{ List []view.Head } // for the server's clock
		query := url.Values{"state": {r.State}, "limit": {"1"}}
		if err := r.api.Call(ctx, http.MethodGet, "/consumers", query, nil, &page); err != nil {
			return err
		}
		r.begin(page.List)
	}
	r.named()
	selected := make([]*Target, len(r.Targets))
	group, within := errgroup.WithContext(ctx)
	group.SetLimit(asked)
	for i, t := range r.Targets {
		group.Go(func() error {
			c, there, err := r.read(within, t)
			if c.Queue = t.Queue; there && r.lists(c.Head) && r.selects(c) {
				selected[i] = &Target{t.Queue, t.Consumer, c.Seq, c.Error}
			}
			return err
		})
	}
	err := group.Wait()
	for _, t := range selected {
		if t != nil {
			r.Selected = append(r.Selected, *t)
		}
	}
	if found != nil {
		found(len(r.Selected))
	}
	return err
}

// begin gives a new run its time, by the server's clock: that of the first page with times.
func (r *Run) begin(page []view.Head) {
	if !r.began.IsZero() {
		return
	}
	for _, listed := range page {
		// A row that begins ahead of the server's clock has no age.
		now := listed.Since.Add(time.Duration(math.Round(listed.Age * float64(time.Second))))
		if !listed.Since.IsZero() && (r.began.IsZero() || now.Before(r.began)) {
			r.began = now.Truncate(time.Millisecond)
		}
	}
}

func (r *Run) lists(row view.Head) bool {
	switch {
	case r.Action == "pause" && row.Is(view.Paused) && !r.resumed:
		return false
	case (r.Action == "redrive" || r.Action == "skip") &&
		(row.Cause == view.Missing ||
			r.State == string(view.Held) && row.Attempt == 0 && row.Error == ""):
		return false // there is no message, or none that failed
	}
	return r.inTime(row.Since) && matches(string(row.Error), r.Error)
}

// inTime reports whether a consumer came into the state within the times that are asked for. The
// rows of what a circuit breaker holds begin anew with each probe.
func (r *Run) inTime(since time.Time) bool {
	earliest, _ := r.earliest(r.began)
	return since.IsZero() ||
		r.State == "" ||
		!since.Before(earliest) && (!since.After(r.began) || r.State == string(view.Held))
}

// read reads a consumer; there is false where it, or its queue, is gone.
func (r *Run) read(ctx context.Context, t Target) (c view.Consumer, there bool, err error) {
	var page view.Consumers
	query := url.Values{"queue": {string(t.Queue)}, "consumer": {t.Consumer}}
	err = r.api.Call(ctx, http.MethodGet, "/consumers", query, nil, &page)
	if code := client.CodeOf(err); slices.Contains(goneCodes, code) {
		return c, false, nil
	}
	if err == nil && len(page.Consumers) != 1 {
		err = fmt.Errorf("the API shows %d consumers, not 1", len(page.Consumers))
	}
	if err != nil {
		return c, false, err
	}
	return page.Consumers[0], true, nil
}

var goneCodes = []string{"no-consumer", "no-queue", "erased"}
