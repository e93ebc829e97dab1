package ui

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/streamsort/streamsort/internal/bulk"
	"github.com/streamsort/streamsort/internal/client"
)

const (
	mostRuns     = 50  // that are remembered
	shownTargets = 200 // of the consumers that a run selects
)

// The states of a bulk operation.
const (
	looking  = "looking"
	dryRun   = "dry-run"
	running  = "running"
	stopping = "stopping"
	stopped  = "stopped"
	done     = "done"
	failed   = "failed" // nothing was done
)

type run struct {
	bulk.Request
	ID, State, Problem string        // ID is its address
	Found              int           // while it is looking
	Shown              []bulk.Result // the first that are selected, with what became of each
	shown              map[string]int
	LeftOut            string
	At, Started, Ended time.Time
	Report             bulk.Report
	who                string
}

// Active reports whether it goes on by itself.
func (r run) Active() bool {
	return r.State == looking || r.State == running || r.State == stopping
}

// job is a bulk operation in this process: it goes on with or without a viewer.
type job struct {
	run
	looked *bulk.Run          // from the dry run to the end
	cancel context.CancelFunc // of what goes on
}

// runs are the bulk operations of this process, the last one first.
type runs struct {
	sync.Mutex
	jobs  []*job
	ended bool
	group sync.WaitGroup
}

// find finds a run of somebody's; call it with the lock.
func (r *runs) find(who, id string) (*job, error) {
	for _, j := range r.jobs {
		if j.ID == id && j.who == who {
			return j, nil
		}
	}
	return nil, &client.Problem{
		Status: http.StatusNotFound,
		Detail: "this page runs no such bulk operation: those of a process end with it",
	}
}

func (r *runs) locked(do func()) {
	r.Lock()
	defer r.Unlock()
	do()
}

// add takes a new job, and forgets the oldest that is over.
func (r *runs) add(j *job, work func()) error {
	r.Lock()
	defer r.Unlock()
	for i, old := range slices.Backward(r.jobs) {
		if len(r.jobs) == mostRuns && !old.Active() {
			old.cancel()
			r.jobs = slices.Delete(r.jobs, i, i+1)
			break
		}
	}
	switch {
	case r.ended:
		j.cancel()
		return badQuery("this page ends: start it again")
	case len(r.jobs) == mostRuns:
		j.cancel()
		return badQuery(fmt.Sprintf("%d bulk operations are under way, the most that there may be: "+
			"stop one first", mostRuns))
	}
	r.jobs = slices.Insert(r.jobs, 0, j)
	r.group.Go(work)
	return nil
}

// Close ends the page's bulk operations, waits for what is under way, and returns those that were
// cut short, a line each, with the name that goes on with it.
func (u *UI) Close() (cut []string) {
	u.runs.Lock()
	u.runs.ended = true
	var active []*job
	for _, j := range u.runs.jobs {
		if j.Active() && j.State != looking {
			active = append(active, j)
		}
		j.cancel()
	}
	u.runs.Unlock()
	u.runs.group.Wait()
	for _, j := range active {
		if j.Report.Handled() < j.Report.Selected {
			cut = append(cut, fmt.Sprintf("%s was cut short after %d of %d consumers: "+
				"a bulk operation that goes on with run %s does the others",
				j.Action, j.Report.Handled(), j.Report.Selected, j.Run))
		}
	}
	return cut
}

func requestOf(form url.Values) (bulk.Request, error) {
	text := func(name string) string { return strings.TrimSpace(form.Get(name)) }
	r := bulk.Request{
		Action: text("action"), Start: text("start"), Reason: text("reason"), Run: text("run"),
		Consumer: text("consumer"), State: text("state"), Prefix: text("prefix"),
		Error: text("error"), Since: text("since"),
	}
	for _, pick := range form["pick"] {
		target, err := bulk.ParseTarget(pick)
		if err != nil {
			return r, badQuery(err.Error())
		}
		r.Targets = append(r.Targets, target)
	}
	if form.Has("picks") && len(r.Targets) == 0 {
		return r, badQuery("no consumer is picked: check the boxes of those that it is for")
	}
	if rate := text("rate"); rate != "" {
		n, err := strconv.Atoi(rate)
		if err != nil || n == 0 {
			return r, badQuery("rate is " + strconv.Quote(rate) + ": it must be from 1 to 1000 a second")
		}
		r.Rate = n
	}
	if err := r.Validate(); err != nil {
		return r, badQuery(err.Error())
	}
	return r, nil
}

func (u *UI) look(r *http.Request) (string, error) {
	request, err := requestOf(r.PostForm)
	if err != nil {
		return "", err
	}
	j := &job{run: run{
		Request: request, ID: strings.ToLower(rand.Text()), State: looking, At: time.Now(),
		who: u.who(r.Context()),
	}}
	ctx := j.detached(r)
	if err := u.runs.add(j, func() { u.lookFor(ctx, j) }); err != nil {
		return "", err
	}
	return link("run", "run", j.ID), nil
}

// detached is a context that goes on without the browser, with the rights of who asks.
func (j *job) detached(r *http.Request) (ctx context.Context) {
	ctx, j.cancel = context.WithCancel(context.WithoutCancel(r.Context()))
	return ctx
}

func (u *UI) lookFor(ctx context.Context, j *job) {
	found, err := bulk.Look(ctx, u.api, j.Request, func(n int) {
		u.runs.locked(func() { j.Found = n })
	})
	u.runs.locked(func() {
		switch {
		case ctx.Err() != nil:
			j.State, j.Ended = stopped, time.Now()
		case err != nil:
			j.State, j.Ended = failed, time.Now()
			_, j.Problem = u.explain(err)
		default:
			j.State, j.looked, j.Run, j.LeftOut = dryRun, found, found.Name, found.LeftOut
			j.shown = map[string]int{}
			for i, t := range found.Selected[:min(len(found.Selected), shownTargets)] {
				j.Shown, j.shown[t.Text()] = append(j.Shown, bulk.Result{Target: t}), i
			}
			j.Report = bulk.Report{Selected: len(found.Selected)}
		}
	})
}

// start carries out what a dry run found. Started again, it is as it is.
func (u *UI) start(r *http.Request) (string, error) {
	return u.onRun(r, func(j *job) {
		if j.State == dryRun && j.Report.Selected > 0 && !u.runs.ended {
			j.State, j.Started = running, time.Now()
			ctx := j.detached(r)
			u.runs.group.Go(func() { u.carryOut(ctx, j) })
		}
	})
}

func (u *UI) carryOut(ctx context.Context, j *job) {
	report := j.looked.Do(ctx, func(report bulk.Report) {
		u.runs.locked(func() {
			j.Report = report
			if i, is := j.shown[report.Latest.Text()]; is {
				j.Shown[i] = report.Latest
			}
		})
	})
	u.runs.locked(func() {
		j.State, j.Report, j.Ended, j.looked = done, report, time.Now(), nil
		if report.Stopped != "" {
			j.State = stopped
		}
	})
}

// stop ends a run behind what is under way.
func (u *UI) stop(r *http.Request) (string, error) {
	return u.onRun(r, func(j *job) {
		if j.State == running {
			j.State = stopping
		}
		j.cancel()
	})
}

func (u *UI) onRun(r *http.Request, do func(*job)) (string, error) {
	id := r.PostForm.Get("run")
	u.runs.Lock()
	defer u.runs.Unlock()
	j, err := u.runs.find(u.who(r.Context()), id)
	if err == nil {
		do(j)
	}
	return link("run", "run", id), err
}

func (u *UI) bulk(ctx context.Context, query url.Values) (any, error) {
	u.runs.Lock()
	defer u.runs.Unlock()
	var all []run
	who := u.who(ctx)
	for _, j := range u.runs.jobs {
		if j.who == who {
			all = append(all, j.run)
		}
	}
	given := query.Get
	return map[string]any{
		"Runs": all, "State": given("state"), "Consumer": given("consumer"), "Error": given("error"),
		"Action": given("action"), "Actions": bulk.ActionsIn(given("state")),
	}, nil
}

func (u *UI) bulkRun(ctx context.Context, query url.Values) (any, error) {
	u.runs.Lock()
	defer u.runs.Unlock()
	j, err := u.runs.find(u.who(ctx), query.Get("run"))
	if err != nil {
		return nil, err
	}
	is := j.run
	is.Shown = slices.Clone(is.Shown)
	return is, nil
}
