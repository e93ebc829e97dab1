package bulk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamsort/streamsort/internal/client"
	"github.com/streamsort/streamsort/internal/dev/bubble"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/printable"
	"github.com/streamsort/streamsort/pkg/invalid"
)

// server answers as the API does about the consumer c of so many queues, which are in the state
// asked for since a minute.
type server struct {
	queues int
	takes  time.Duration // for an operation
	fails  func(queue string) error
	now    time.Time
	sync.Mutex
	begun []time.Time // when operations came
	open  int         // operations under way
	most  int         // of those at once
}

func (s *server) Call(
	ctx context.Context, method, path string, query url.Values, body []byte, out any,
) error {
	answer := map[string]any{}
	since := s.now.Add(-time.Minute)
	switch {
	case method == http.MethodPost:
		var asked struct{ Queue string }
		if err := json.Unmarshal(body, &asked); err != nil {
			return err
		}
		s.enter(1)
		defer s.enter(-1)
		if s.takes > 0 {
			select {
			case <-time.After(s.takes):
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		if s.fails != nil {
			if err := s.fails(asked.Queue); err != nil {
				return err
			}
		}
	case path == "/operations":
		answer["operations"] = []any{}
	case query.Get("queue") != "":
		answer["consumers"] = []any{map[string]any{
			"blocked": map[string]any{"seq": 1, "since": since}, "seq": 1, "error": "refused by " + query.Get("queue"),
		}}
	default:
		var list []any
		for i := range s.queues {
			list = append(list, map[string]any{
				"queue": fmt.Sprint("q", i), "consumer": "c", "since": since, "ageSeconds": 60,
			})
		}
		answer["list"] = list
	}
	text, err := json.Marshal(answer)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, out)
}

func (s *server) enter(n int) {
	s.Lock()
	defer s.Unlock()
	if s.open += n; n > 0 {
		s.begun = append(s.begun, time.Now())
		s.most = max(s.most, s.open)
	}
}

func (s *server) look(t *testing.T, r Request) *Run {
	t.Helper()
	if r.Action == "" {
		r.Action, r.Reason = "redrive", "the ledger is back"
	}
	return check.Get(Look(t.Context(), s, r, nil))
}

// TestRate: operations begin one after the other at the rate, however long each takes; and a run
// that stood still does not make up for it.
func TestRate(t *testing.T) {
	for _, takes := range []time.Duration{0, time.Second} {
		synctest.Test(t, func(t *testing.T) {
			s := &server{queues: 100, takes: takes, now: time.Now()}
			run := s.look(t, Request{Rate: 20})
			began := time.Now()
			report := run.Do(t.Context(), nil)
			check.That(t, report.Whole() && report.Done == 100, "%+v", report)
			for i, at := range s.begun {
				check.Is(t, at.Sub(began), time.Duration(i)*time.Second/20, i)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		s := &server{queues: 200, takes: 10 * time.Second, now: time.Now()}
		run := s.look(t, Request{Rate: 100})
		run.Do(t.Context(), nil)
		for i := range s.begun {
			within := s.begun[i].Sub(s.begun[max(i-asked, 0)])
			check.That(t, i < asked || within >= asked*time.Second/100-burst,
				"operations %d to %d begin within %v", i-asked, i, within)
		}
		check.That(t, s.most == asked, "%d operations are under way at once, not %d", s.most, asked)
	})
}

// TestInterrupted: no operation begins any more; those under way are waited for, but not for longer
// than the grace, and one that is cut then is not counted.
func TestInterrupted(t *testing.T) {
	for takes, want := range map[time.Duration]int{time.Second: 21, 2 * grace: 0} {
		synctest.Test(t, func(t *testing.T) {
			s := &server{queues: 100, takes: takes, now: time.Now()}
			run := s.look(t, Request{Rate: 10})
			ctx, interrupt := context.WithCancel(t.Context())
			time.AfterFunc(2*time.Second+time.Millisecond, interrupt)
			began := time.Now()
			report := run.Do(ctx, nil)
			passed := time.Since(began)
			check.That(t, report.Done == want && report.Handled() == want &&
				report.Stopped == "interrupted" && !report.Whole(), "%+v", report)
			check.Is(t, len(s.begun), 21)
			check.That(t, passed <= 2*time.Second+grace+time.Millisecond, "it lasts %v", passed)
			bubble.Sleep(time.Minute)
		})
	}
}

// TestAPIThatIsAway ends a run soon, with the reason; one that fails now and then does not.
func TestAPIThatIsAway(t *testing.T) {
	away := errors.New("connection refused")
	forbidden := &client.Problem{Status: http.StatusForbidden, Detail: "not you"}
	broken := &client.Problem{Status: http.StatusInternalServerError, Detail: "broken"}
	refusal := &client.Problem{Status: http.StatusConflict, Code: "claimed", Detail: "claimed"}
	for _, c := range []struct {
		fails func(n int) error
		whole bool
	}{
		{func(int) error { return away }, false},
		{func(int) error { return forbidden }, false},
		{func(int) error { return broken }, false},
		{func(int) error { return refusal }, true},
		{func(n int) error { return map[bool]error{true: broken}[n%maxTrouble != 0] }, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			n := 0
			s := &server{queues: 50, now: time.Now(), fails: func(string) error { n++; return c.fails(n) }}
			report := s.look(t, Request{Rate: 10}).Do(t.Context(), nil)
			all := report.Handled() == 50
			check.That(t, all == c.whole && all != (report.Stopped != "") && report.Failed != 0 &&
				!report.Whole(),
				"%v: %+v", c.fails(1), report)
			why := c.fails(1).Error()
			check.That(t, c.whole || report.Failed <= maxTrouble && strings.Contains(report.Stopped, why),
				"%+v", report)
			first := report.Exceptions[0]
			check.That(t, len(report.Exceptions) == report.Failed && first.Failed && first.Why != "",
				"%+v", report.Exceptions)
		})
	}
}

// TestProgress is reported as operations end, one report at a time.
func TestProgress(t *testing.T) {
	s := &server{queues: 100, now: time.Now()}
	var handled []int
	s.look(t, Request{Rate: maxRate}).Do(t.Context(), func(r Report) {
		handled = append(handled, r.Handled())
	})
	for i, n := range handled {
		check.Need(t, n == i+1, "%v", handled)
	}
}

// TestBegan: a run begins by the server's clock, which may be another than the caller's. It selects
// no consumer that came into the state later, or before the time asked for.
func TestBegan(t *testing.T) {
	s := &server{queues: 3, now: time.Date(2040, 5, 6, 7, 8, 9, 0, time.UTC)}
	run := s.look(t, Request{})
	check.That(t, run.began.Equal(s.now) && runTime(run.Name).Equal(s.now) && len(run.Selected) == 3,
		"%v, %s, %v", run.began, run.Name, run.Selected)
	for since, want := range map[string]int{
		"1h": 3, "1m": 3, "59s": 0, "2040-05-06T07:07:09Z": 3, "2040-05-06T07:07:10Z": 0,
	} {
		check.Is(t, len(s.look(t, Request{Since: since}).Selected), want, since)
	}
	s.now = s.now.Add(2 * time.Minute)
	check.Is(t, len(s.look(t, Request{Run: run.Name}).Selected), 0)
}

// TestTargets: a run may be for some consumers alone, which are read one by one. It tells what
// became of each.
func TestTargets(t *testing.T) {
	s := &server{queues: 100, now: time.Date(2040, 5, 6, 7, 8, 9, 0, time.UTC)}
	targets := []Target{{Queue: "q7", Consumer: "c"}, {Queue: "q\u0085\r 3", Consumer: "c"}}
	for i, target := range targets {
		text := target.Text()
		check.Is(t, check.Get(ParseTarget(text)), target, text)
		check.That(t, !strings.ContainsAny(text, "\u0085\r"), "target %d is %q", i, text)
	}
	run := s.look(t, Request{Targets: targets})
	check.Need(t, len(run.Selected) == 2 && run.Selected[0].Error == "refused by q7" &&
		*run.Selected[1].Seq == 1 && run.began.Equal(s.now),
		"%+v", run)
	s.fails = func(queue string) error {
		if queue == "q7" {
			return &client.Problem{Status: http.StatusConflict, Code: "claimed", Detail: "claimed"}
		}
		return nil
	}
	became := map[printable.Name]string{}
	report := run.Do(t.Context(), func(r Report) {
		became[r.Latest.Queue] = r.Latest.Outcome + r.Latest.Why
	})
	check.That(t, report.Done == 1 && report.Failed == 1 && became["q7"] == "failed409: claimed" &&
		became[targets[1].Queue] == "done",
		"%+v, %v", report, became)
	check.Is(t, len(s.look(t, Request{Targets: targets, Error: "by q7"}).Selected), 1)
	check.Is(t, len(s.look(t, Request{Targets: targets, Since: "59s"}).Selected), 0)
}

// TestValidate names the field.
func TestValidate(t *testing.T) {
	for field, r := range map[string]Request{
		"action":   {Action: "remove", Reason: "r"},
		"reason":   {Action: "redrive"},
		"rate":     {Action: "redrive", Reason: "r", Rate: 1001},
		"state":    {Action: "redrive", Reason: "r", State: "paused"},
		"consumer": {Action: "pause", Reason: "r"},
		"since":    {Action: "redrive", Reason: "r", Since: "yesterday"},
		"start":    {Action: "redrive", Reason: "r", Start: "first"},
		"error":    {Action: "redrive", Reason: "r", Error: strings.Repeat("e", 301)},
		"run":      {Action: "redrive", Reason: "r", Run: "1234567890123 x"},
	} {
		check.Is(t, check.As[*invalid.Error](t, r.Validate()).Field, field)
	}
	for _, r := range []Request{
		{Action: "pause", Reason: "r", State: "circuit-open"},
		{Action: "rewind", Reason: "r", Consumer: "c"},
		{Action: "rewind", Reason: "r", Consumer: "c", Start: "1.5"},
		{Action: "pause", Reason: "r", Consumer: "c", Since: "1h"},
		{Action: "redrive", Reason: "r", Since: "-1h"},
		{Action: "redrive", Reason: strings.Repeat("r", 501)},
		{Action: "redrive", Reason: "r", Rate: -1},
		{Action: "redrive", Reason: "r", Run: strings.Repeat("1", 41)},
		{Action: "redrive", Reason: "r", Run: "1234567890123"},
	} {
		check.That(t, r.Validate() != nil, "%+v is taken", r)
	}
	r := Request{Action: "resume", Reason: "r"}
	check.OK(t, r.Validate())
	check.That(t, r.State == "paused" && r.Rate == DefaultRate, "%+v", r)
}

func TestLike(t *testing.T) {
	for _, c := range []struct {
		text, pattern string
		want          bool
	}{
		{"time-out of the call", "", true},
		{"", "", true},
		{"time-out", "out", true},
		{"time-out", "outs", false},
		{"time-out of the call", "time*", true},
		{"a time-out", "out*time", false},
		{"a time-out", "*time*", true},
		{"time-outs", "*out*x", false},
		{"a", "a*a", false},
		{"aa", "a*a", true},
		{"x", "**", true},
		{"abc", "*c*b*", false},
		{strings.Repeat("a", 4096), strings.Repeat("a*", 500) + "b", false},
	} {
		check.Is(t, like(c.text, c.pattern), c.want, c.text, c.pattern)
	}
}

// TestMatches: by a part of the text, by a pattern with *, and by the group of the error or a part
// of it; what is no group is no number of any kind.
func TestMatches(t *testing.T) {
	const text = "arn:aws:lambda:eu-west-1:1:function:f failed: Error: order 17 of 'max' is bad"
	for pattern, want := range map[string]bool{
		"": true, "order 17": true, "order*bad": true, "order 18": false, "18": false, "#": false,
		`ARN failed: Error: order # of "#" is bad`: true, `order # of "#" is bad`: true, `order # of "#" is good`: false,
	} {
		check.Is(t, matches(text, pattern), want, pattern)
	}
}
