package main

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/bulk"
	"github.com/streamsort/streamsort/internal/client"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/ddbtest"
	"github.com/streamsort/streamsort/internal/request"
	"github.com/streamsort/streamsort/pkg/delivery"
)

// bulkServer is the API of a server over HTTP, as a bulk operation asks it.
type bulkServer struct {
	*server
	api  *client.Client
	lost func(*http.Request) bool // whether an answer gets lost
}

func newBulkServer(t *testing.T) *bulkServer {
	none := func(*http.Request) bool { return false }
	s := &bulkServer{server: newServer(t, ddbtest.Memory), lost: none}
	s.api = check.Get(client.New(s.web(func(r *http.Request) bool { return s.lost(r) })))
	return s
}

// blockedIn has a consumer blocked on seq 1 in so many queues, q0 and on.
func (s *bulkServer) blockedIn(queues int) {
	for i := range queues {
		queue := fmt.Sprint("q", i)
		s.put(queue, 3)
		s.create(fmt.Sprintf(`{"queue":%q,"consumer":"billing"}`, queue))
		s.block(queue, "billing", 1)
	}
}

func (s *bulkServer) look(r bulk.Request) *bulk.Run {
	s.t.Helper()
	r.Reason, r.Rate = "the ledger is back", 1000
	return check.Get(bulk.Look(s.t.Context(), s.api, r, nil))
}

// doneBy is how often the audit log has an action as done in a queue, by a run.
func (s *bulkServer) doneBy(run, queue string) (n int) {
	s.t.Helper()
	page, _ := check.Get2(s.deliverer.Inside(request.Inside{}).Audit(s.t.Context(), queue, ""))
	for _, o := range page {
		if o.Done && strings.HasPrefix(o.Op, run) {
			n++
		}
	}
	return n
}

func (s *bulkServer) want(what string, got, want bulk.Report) {
	s.t.Helper()
	got.Run, got.Action, got.Exceptions = "", "", nil
	check.That(s.t, fmt.Sprint(got) == fmt.Sprint(want), "%s: %+v, want %+v", what, got, want)
}

// TestBulk: Look selects by state, name, prefix and error, and changes nothing. A run acts on none
// that is as asked already, nor does its second part, which finds the same list. What another
// action did under its name is not taken for done.
func TestBulk(t *testing.T) {
	s := newBulkServer(t)
	s.blockedIn(3)
	s.put("other", 1)
	s.create(`{"queue":"other","consumer":"billing"}`)
	for _, c := range []struct {
		request bulk.Request
		want    int
	}{
		{bulk.Request{Action: "redrive"}, 3},
		{bulk.Request{Action: "redrive", Prefix: "q1"}, 1},
		{bulk.Request{Action: "redrive", Error: "cannot*billed"}, 3},
		{bulk.Request{Action: "redrive", Error: "time*out"}, 0},
		{bulk.Request{Action: "pause", Consumer: "billing"}, 4},
		{bulk.Request{Action: "pause", Consumer: "billing", State: "blocked"}, 3},
		{bulk.Request{Action: "resume"}, 0},
	} {
		check.Is(t, len(s.look(c.request).Selected), c.want, c.request)
	}
	check.Is(t, s.doneBy("", "q1"), 1)

	run := s.look(bulk.Request{Action: "pause", State: "blocked"})
	s.operateOn("q0", "pause")
	s.want("one is paused", run.Do(t.Context(), nil), bulk.Report{Selected: 3, Done: 2, Already: 1})
	again := s.look(bulk.Request{Action: "pause", State: "blocked", Run: run.Name})
	s.want("again", again.Do(t.Context(), nil), bulk.Report{Selected: 3, Already: 3})
	check.Is(t, s.doneBy(run.Name, "q0"), 0)
	resumed := s.look(bulk.Request{Action: "resume"}).Do(t.Context(), nil)
	s.want("resumed", resumed, bulk.Report{Selected: 3, Done: 3})

	report := s.look(bulk.Request{Action: "redrive", Run: run.Name}).Do(t.Context(), nil)
	s.want("another action", report, bulk.Report{Selected: 3, Done: 1, Failed: 2})
	check.Has(t, fmt.Sprint(report.Exceptions), "asked for pause; give this one")
}

// TestBulkRunGoesOn: a run that is cut short goes on under its name, and does each operation once,
// also where an operator did something else to the consumer between the two parts.
func TestBulkRunGoesOn(t *testing.T) {
	s := newBulkServer(t)
	const queues = 60
	s.blockedIn(queues)
	request := bulk.Request{Action: "rewind", Start: "first", Consumer: "billing"}
	run := s.look(request)
	ctx, interrupt := context.WithCancel(t.Context())
	first := run.Do(ctx, func(r bulk.Report) {
		if r.Done == 2 {
			interrupt()
		}
	})
	check.Need(t, first.Stopped == "interrupted" && first.Done >= 2 &&
		first.Done != queues, "%+v", first)
	for i := range queues {
		s.operateOn(fmt.Sprint("q", i), "rewind")
	}
	s.now = s.now.Add(time.Minute)
	request.Run = run.Name
	again := s.look(request)
	s.want("the second part", again.Do(t.Context(), nil),
		bulk.Report{Selected: queues, Already: first.Done, Done: queues - first.Done})
	for i := range queues {
		check.Is(t, s.doneBy(run.Name, fmt.Sprint("q", i)), 1, i)
	}
	third := s.look(request).Do(t.Context(), nil)
	s.want("the third", third, bulk.Report{Selected: queues, Already: queues})
}

// TestBulkLostAnswer: an operation whose answer is lost is repeated under its id, and done once;
// also where somebody else acts before the repeat.
func TestBulkLostAnswer(t *testing.T) {
	s := newBulkServer(t)
	s.blockedIn(3)
	lost, most := 0, 3
	s.lost = func(r *http.Request) bool {
		if r.Method != http.MethodPost || lost == most {
			return false
		}
		if lost++; lost == 4 {
			s.operateOn("q0", "rewind")
			s.now = s.now.Add(time.Second)
		}
		return true
	}
	run := s.look(bulk.Request{Action: "redrive"})
	s.want("answers are lost", run.Do(t.Context(), nil), bulk.Report{Selected: 3, Done: 3})
	for i := range 3 {
		queue := fmt.Sprint("q", i)
		c, err := s.consumers.Requests(request.Inside{}).Consumer(t.Context(), queue, "billing")
		// The claim has the token 1, the block takes 2, and each redrive one more.
		if n := s.doneBy(run.Name, queue); err != nil || n != 1 || c.Token.N != 3 || lost != 3 {
			t.Errorf("%s is redriven %d times, and under %v: %v", queue, n, c.Token, err)
		}
	}
	s.block("q0", "billing", 1)
	most++
	run = s.look(bulk.Request{Action: "redrive"})
	s.want("another came between", run.Do(t.Context(), nil), bulk.Report{Selected: 1, Done: 1})
	check.Is(t, s.doneBy(run.Name, "q0"), 1)
}

func (s *bulkServer) operateOn(queue, action string) {
	s.t.Helper()
	more := map[string]string{"redrive": `,"seq":1`, "rewind": `,"start":"latest"`}[action]
	document := fmt.Sprintf(`{"action":%q,"queue":%q,"consumer":"billing","reason":"r"%s}`,
		action, queue, more)
	s.Want(action, s.Request("POST", "/operations", "", document), 200)
}

// TestBulkChangedMeanwhile: consumers that left the state after the dry run, came into it again, or
// are gone, are reported, are not acted on, and have not failed.
func TestBulkChangedMeanwhile(t *testing.T) {
	s := newBulkServer(t)
	s.blockedIn(4)
	run := s.look(bulk.Request{Action: "skip"})
	s.now = s.now.Add(time.Minute)
	s.operateOn("q0", "redrive") // it left the state
	s.operateOn("q1", "redrive") // it came again
	s.block("q1", "billing", 1)
	s.operateOn("q2", "remove") // it is gone
	report := run.Do(t.Context(), nil)
	s.want("changed", report, bulk.Report{Selected: 4, Done: 1, Changed: 3})
	check.That(t, report.Whole() && len(report.Exceptions) == 3, "%+v", report)
	for _, e := range report.Exceptions {
		gone := e.Why == "it is not there any more"
		check.That(t, !e.Failed && e.Why != "" && gone == (e.Queue == "q2"), "%+v", e)
	}
	c, err := s.consumers.Requests(request.Inside{}).Consumer(t.Context(), "q1", "billing")
	check.That(t, err == nil && c.State == delivery.Blocked && c.Delivered == 0, "%+v, %v", c, err)
}

// TestBulkChangedBetween: somebody else acts between the look at a consumer and the operation.
func TestBulkChangedBetween(t *testing.T) {
	s := newBulkServer(t)
	s.blockedIn(1)
	run := s.look(bulk.Request{Action: "skip"})
	between := false
	s.lost = func(r *http.Request) bool {
		if r.URL.Path == "/consumers" && !between {
			between = true
			s.operateOn("q0", "redrive")
		}
		return false
	}
	report := run.Do(t.Context(), nil)
	s.want("changed", report, bulk.Report{Selected: 1, Changed: 1})
	check.That(t, between && report.Whole() &&
		strings.Contains(report.Exceptions[0].Why, "did not fail"), "%+v", report)
}

// TestBulkFailed: an operation that is refused has failed, with the API's reason, and the run goes
// on; the next part of the run tries it again.
func TestBulkFailed(t *testing.T) {
	s := newBulkServer(t)
	s.blockedIn(2)
	s.put("claimed", 1)
	s.create(`{"queue":"claimed","consumer":"billing"}`)
	claim := s.Request("POST", "/claims", "", `{"queue":"claimed","consumer":"billing","request":"r"}`)
	s.Want("claim", claim, 200, `"outcome":"OK"`)
	request := bulk.Request{Action: "rewind", Start: "first", Consumer: "billing"}
	run := s.look(request)
	report := run.Do(t.Context(), nil)
	s.want("one is claimed", report, bulk.Report{Selected: 3, Done: 2, Failed: 1})
	first := report.Exceptions[0]
	check.That(t, !report.Whole() && first.Failed &&
		strings.Contains(first.Why, "409: the claim ends at "), "%+v", report)
	_, token, _ := strings.Cut(claim.Body, `"token":"`)
	token, _, _ = strings.Cut(token, `"`)
	abort := fmt.Sprintf(`{"action":"abort","queue":"claimed","consumer":"billing","token":%q,"reason":"r"}`, token)
	s.Want("abort", s.Request("PATCH", "/claims", "", abort), 200)
	request.Run = run.Name
	again := s.look(request).Do(t.Context(), nil)
	s.want("again", again, bulk.Report{Selected: 3, Already: 2, Done: 1})
}
