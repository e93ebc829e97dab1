package main

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/fanout"
	"github.com/streamsort/streamsort/internal/httpapi/httpapitest"
	"github.com/streamsort/streamsort/internal/request"
	"github.com/streamsort/streamsort/internal/runtime/runtimetest"
	"github.com/streamsort/streamsort/internal/trouble"
	"github.com/streamsort/streamsort/internal/view"
	"github.com/streamsort/streamsort/pkg/delivery"
)

func (s *server) note(rows ...trouble.Row) {
	s.t.Helper()
	for _, row := range rows {
		row.Since, row.N = s.now.Add(-time.Minute), 1
		check.OK(s.t, s.consumers.Requests(request.Inside{}).Trouble().Put(s.t.Context(), row))
	}
}

// pauses makes consumers of queues, with a message to get, and pauses them.
func (s *server) pauses(queue string, consumers ...string) {
	s.t.Helper()
	s.put(queue, 1)
	for _, name := range consumers {
		_, err := s.deliverer.Create(s.t.Context(), queue, name, delivery.First)
		if err == nil {
			_, err = s.deliverer.Operate(s.t.Context(),
				delivery.Order{Kind: "pause", Queue: queue, Consumer: name, Reason: "why", Op: "pause " + name})
		}
		check.OK(s.t, err)
	}
}

func (s *server) opens(consumer string) {
	s.t.Helper()
	was, err := s.consumers.Requests(request.Inside{}).Health(s.t.Context(), consumer, true)
	check.OK(s.t, err)
	h := request.Health{Consumer: consumer, By: "r",
		Circuit: request.Circuit{Opened: s.now.Add(-time.Minute), ProbeAt: s.now.Add(time.Second)}}
	_, made, err := s.consumers.Requests(request.Inside{}).Learn(s.t.Context(), was, h)
	check.Need(s.t, err == nil && made, "%v %v", made, err)
	s.note(trouble.Row{State: trouble.CircuitOpen, Consumer: consumer})
}

// listed are the queues and consumers of all pages of a list.
func (s *server) listed(as, path string, query url.Values) string {
	s.t.Helper()
	var all []string
	for _, row := range runtimetest.Listed[struct{ Queue, Consumer string }](s.t,
		func(after string) httpapitest.Answer {
			query.Set("after", after)
			return s.as(as, "GET", path, query.Encode(), "")
		}) {
		all = append(all, row.Queue+"|"+row.Consumer)
	}
	return strings.Join(all, " ")
}

// TestListsOfTrouble: each row of a state once, whichever caller asks, and nobody another's.
func TestListsOfTrouble(t *testing.T) {
	onEach(t, func(s *server) {
		for _, queue := range []string{"b", "a", "@acme/x", "@acme/y", "@acme-eu/x"} {
			s.pauses(queue, "c", "d")
		}
		s.opens("c")
		s.opens("none")
		s.note(trouble.Row{State: trouble.HeldBy("c"), Queue: "@acme/x", Consumer: "c"},
			trouble.Row{State: trouble.Paused, Queue: "over", Consumer: "c"})
		s.note(trouble.Row{State: trouble.Failed, Queue: "@acme/x"},
			trouble.Row{State: trouble.TimedOut, Queue: "job 7"},
			trouble.Row{State: trouble.TimedOut, Queue: "job 8", ExpiresOn: s.now})
		for _, c := range []struct{ as, query, want string }{
			{"", "state=paused", "a|c a|d b|c b|d @acme-eu/x|c @acme-eu/x|d @acme/x|c @acme/x|d @acme/y|c @acme/y|d"},
			{"", "state=paused&consumer=d", "a|d b|d @acme-eu/x|d @acme/x|d @acme/y|d"},
			{"", "state=paused&prefix=@acme/", "@acme/x|c @acme/x|d @acme/y|c @acme/y|d"},
			{"", "state=retrying", ""},
			{"", "state=held", "@acme/x|c"},
			{"", "state=held&consumer=c", "@acme/x|c"},
			{"acme", "state=paused", "x|c x|d y|c y|d"},
			{"acme", "state=paused&prefix=y", "y|c y|d"},
			{"acme", "state=paused&prefix=@acme-eu", ""},
			{"acme", "state=held", "x|c"},
			{"acme", "state=held&consumer=c", "x|c"},
			{"globex", "state=paused", ""},
		} {
			for _, limit := range []string{"1", "3", "100"} {
				query := check.Get(url.ParseQuery(c.query + "&limit=" + limit))
				check.Is(t, s.listed(c.as, "/consumers", query), c.want, c.as, c.query, limit)
			}
		}
		a := s.Request("GET", "/consumers", "state=paused&limit=1", "")
		s.Want("a row", a, 200, `{"queue":"a","consumer":"c","state":"paused","also":["held"],"since":"`,
			`"seq":1,"lag":1,"delivered":0,"position":1}`)
		s.pauses("@acme/w", "e")
		check.Get(s.deliverer.Operate(t.Context(),
			delivery.Order{Kind: "resume", Queue: "@acme/w", Consumer: "e", Reason: "why", Op: "resume"}))
		s.deliver("@acme/w", "e", func(delivery.Batch) error { return shownError{} })
		for as, want := range map[string]string{"": "dial 10.1.2.3:443: refused: by us",
			"acme": "dial (an address): refused"} {
			s.Want("a row by "+as, s.as(as, "GET", "/consumers", "state=retrying", ""), 200,
				`"state":"retrying","cause":"failed","since":"`, `"seq":1,"lag":1,`, `"attempt":1,"nextTry":"`,
				`"error":"`+want+`","group":"dial `)
			s.Want("the group by "+as, s.as(as, "GET", "/summary", "", ""), 200, `"groups":[{"consumer":"c","state":"held","states":[{"state":"held","count":1}],"cause":"open","count":1,`, `{"consumer":"e","state":"retrying","states":[{"state":"retrying","count":1}],"cause":"failed","error":"dial `, `"error":"`+want+`","since":"`)
		}
		s.Want("summary", s.Request("GET", "/summary", "", ""), 200, `"paused":{"count":11,"oldest":"`,
			`"held":{"count":1,`, `"retrying":{"count":1,`, `"blocked":{"count":0}`, `"gap":{"count":0}`,
			`"failed":{"count":1,"oldest":"`, `"timed-out":{"count":1,`)
		s.Want("summary of a tenant", s.as("acme", "GET", "/summary", "", ""), 200,
			`"paused":{"count":4,`, `"held":{"count":1,`, `"failed":{"count":1,`, `"timed-out":{"count":0}`)
		s.Want("summary of a prefix", s.as("acme", "GET", "/summary", "prefix=y", ""), 200,
			`"paused":{"count":2,`)
	})
}

// TestABatchThatFailsIsOne: until one message fails alone, lists and groups name the batch.
func TestABatchThatFailsIsOne(t *testing.T) {
	onEach(t, func(s *server) {
		s.put("q", 4)
		check.Get(s.deliverer.Create(t.Context(), "q", "c", delivery.First))
		for i, want := range []string{`"seq":1,"to":4,`, `"seq":1,`} {
			done := s.deliverer.Deliver(t.Context(), "q", delivery.Reader{
				Name: "c", MaxMessages: 4 - 3*i, Handle: func(context.Context, delivery.Batch) error {
					return shownError{}
				},
			}, -1)
			check.OK(t, done.Err)
			s.Want("the list", s.Request("GET", "/consumers", "state=retrying", ""), 200, want+`"lag":4`)
			s.Want("the summary", s.Request("GET", "/summary", "", ""), 200,
				`"examples":[{"queue":"q",`+want+`"error":`)
			s.now = s.now.Add(time.Hour)
		}
		// Rows that are over leave no page empty that others are behind.
		s.pauses("z", "c")
		for i := range 5 {
			s.note(trouble.Row{State: trouble.Paused, Queue: fmt.Sprint("over", i), Consumer: "c"})
		}
		s.Want("a page", s.Request("GET", "/consumers", "state=paused&limit=2", ""), 200,
			`"list":[{"queue":"z",`)
	})
}

// shownError is an error of which the queue's tenant may read a part.
type shownError struct{}

func (shownError) Error() string { return "dial 10.1.2.3:443: refused: by us" }

func (shownError) Shown() string { return "dial 10.1.2.3:443: refused" }

// TestUnreadableInList: a consumer that cannot be read keeps no other out of a page, and is named.
func TestUnreadableInList(t *testing.T) {
	onEach(t, func(s *server) {
		for _, queue := range []string{"@acme/a", "@acme/b", "c"} {
			s.put(queue, 1)
			s.deliver(queue, "c", func(delivery.Batch) error { return nil })
		}
		s.unreadable("@acme/a", "bad")
		a := s.as("", "GET", "/consumers", "limit=100", "")
		s.Want("all", a, 200, `"queue":"@acme/a","consumer":"c"`, `"queue":"@acme/b","consumer":"c"`,
			`"queue":"c","consumer":"c"`,
			`"unreadable":"queue \"@acme/a\": consumer \"bad\": it cannot be read`)
		a = s.as("acme", "GET", "/consumers", "", "")
		s.Want("a tenant's", a, 200, `"queue":"a","consumer":"c"`,
			`"unreadable":"queue \"a\": consumer \"bad\"`)
	})
}

// TestLongLists: a page ends before its answer is longer than one may be, and the next goes on.
func TestLongLists(t *testing.T) {
	onEach(t, func(s *server) {
		const queues, consumers = 3, 250
		want := make([]string, queues*consumers)
		fanout.SideBySide(len(want), func(i int) {
			// 6 bytes each in JSON
			queue, name := strings.Repeat("<", 1000)+fmt.Sprint(i/consumers),
				fmt.Sprintf("c%03d", i%consumers)
			check.Get(s.deliverer.Create(t.Context(), queue, name, delivery.First))
			want[i] = queue + "|" + name
		})
		s.Want("the first page", s.as("", "GET", "/consumers", "limit=100", ""), 200, `"next":"`)
		got := strings.Split(s.listed("", "/consumers", url.Values{"limit": {"100"}}), " ")
		slices.Sort(got)
		check.That(t, slices.Equal(got, want), "%d are listed, want %d", len(got), len(want))
	})
}

// TestTokensOfLists: a token is good for the list that it came of, and for its reader.
func TestTokensOfLists(t *testing.T) {
	onEach(t, func(s *server) {
		for n := range 3 {
			s.pauses(fmt.Sprintf("@acme/%d", n), "c")
		}
		next := func(as, query string) string {
			a := s.as(as, "GET", "/consumers", query, "")
			var page struct{ Next string }
			err := json.Unmarshal([]byte(a.Body), &page)
			check.Need(t, err == nil && page.Next != "", "%s: %s", query, a.Body)
			return page.Next
		}
		token := next("acme", "state=paused&limit=1")
		s.Want("the same list", s.as("acme", "GET", "/consumers", "state=paused&after="+token, ""),
			200, `"queue":"1"`)
		for _, c := range []struct{ as, query string }{
			{"acme", "state=blocked&after=" + token},
			{"acme", "state=paused&consumer=c&after=" + token},
			{"acme", "state=paused&prefix=1&after=" + token},
			{"acme", "after=" + token},
			{"globex", "state=paused&after=" + token},
			{"", "state=paused&after=" + token},
			{"acme", "state=paused&after=" + next("", "state=paused&limit=1")},
			{"acme", "state=paused&after=x"},
			{"acme", "state=paused&after=%21"},
		} {
			s.Want(c.query, s.as(c.as, "GET", "/consumers", c.query, ""), 400, `"field":"after"`,
				`"code":"malformed"`)
		}
		// A forged one of a place that is longer than any key is refused before anything is read.
		for _, state := range []string{"blocked", ""} {
			sum := sha256.Sum256(fmt.Appendf(nil, "%q", []string{"consumers", state, "", ""}))
			for length, status := range map[int]int{1024: 200, 1025: 400, 100_000: 400} {
				in := ""
				if state != "" {
					in = state + "\n"
				}
				token := base64.RawURLEncoding.EncodeToString(append(sum[:8:8],
					in+strings.Repeat("x", length)...))
				query := url.Values{"after": {token}}
				if state != "" {
					query.Set("state", state)
				}
				a := s.Request("GET", "/consumers", query.Encode(), "")
				s.Want(fmt.Sprintf("a place of %d bytes", length), a, status)
				if status == 400 {
					s.Want("it says", a, status, `"after"`, "at most 1024")
				}
			}
		}
	})
}

func TestBadLists(t *testing.T) {
	onEach(t, func(s *server) {
		for query, field := range map[string]string{
			"state=gap": "state", "state=failed": "state", "state=no": "state", "limit=0": "limit", "limit=101": "limit", "limit=x": "limit", "consumer=a+b": "consumer",
			"prefix=%ff": "prefix", "prefix=" + strings.Repeat("p", 1025): "prefix", "other=1": `other","detail":"is not known: there are queue, consumer, after, limit, prefix and state`, "queue=q&state=blocked": `state","detail":"belongs to a list: give no queue with it`,
			"prefix=a&prefix=b": "prefix",
		} {
			s.Want(query, s.Request("GET", "/consumers", query, ""), 400, `"field":"`+field+`"`)
		}
		s.Want("summary", s.Request("GET", "/summary", "state=blocked", ""), 400, `"field":"state"`)
		s.Want("summary", s.Request("GET", "/summary", "prefix=%ff", ""), 400, `"field":"prefix"`)
	})
}

func TestListOfAllConsumers(t *testing.T) {
	onEach(t, func(s *server) {
		for _, queue := range []string{"a", "b", "@acme/x", "@acme/y"} {
			s.put(queue, 2)
			for _, consumer := range []string{"c", "d"} {
				s.Want("create", s.Request("POST", "/consumers", "",
					fmt.Sprintf(`{"queue":%q,"consumer":%q}`, queue, consumer)), 200)
			}
		}
		for _, limit := range []string{"1", "2", "100"} {
			for as, want := range map[string]int{"": 8, "acme": 4, "globex": 0} {
				got := s.listed(as, "/consumers", url.Values{"limit": {limit}})
				check.That(t, len(strings.Fields(got)) == want && (as != "acme" || !strings.Contains(got, "@")),
					"%q sees %s, want %d", as, got, want)
			}
			check.Is(t, s.listed("acme", "/consumers",
				url.Values{"limit": {limit}, "prefix": {"y"}, "consumer": {"d"}}), "y|d")
		}
		s.Want("what an operator sees", s.Request("GET", "/consumers", "prefix=a", ""), 200, `{"queue":"a","consumer":"c","state":"catching-up","seq":1,"lag":2,"delivered":0,"position":2}`)
	})
}

// TestStatesOfConsumers: each state, by what makes it so.
func TestStatesOfConsumers(t *testing.T) {
	now := time.Date(2026, 5, 6, 7, 8, 9, 0, time.UTC)
	s := &service{now: func() time.Time { return now }}
	early, late := now.Add(-time.Minute), now.Add(time.Minute)
	away := request.Health{Circuit: request.Circuit{Opened: early, ProbeAt: late}}
	is := func(state delivery.State, change func(*delivery.Consumer)) delivery.Status {
		c := delivery.Consumer{Queue: "q", Name: "c", Delivered: 4, State: state}
		if change != nil {
			change(&c)
		}
		return delivery.Status{Consumer: c, Position: 5}
	}
	failed := func(c *delivery.Consumer) {
		c.Failed, c.Error, c.Attempts, c.RetryAt = early, "no", 1, late
	}
	claim := func(to int64, until time.Time) func(*delivery.Consumer) {
		return func(c *delivery.Consumer) { c.From, c.To, c.Attempts, c.LeaseUntil = 4, to, 1, until }
	}
	caughtUp := is(delivery.Idle, nil)
	caughtUp.Position = 4
	for name, c := range map[string]struct {
		of      delivery.Status
		sink    request.Health
		missing bool
		state   view.State
		cause   string
	}{
		"nothing waits":                     {of: caughtUp, state: view.OK},
		"nothing waits, the sink is away":   {of: caughtUp, sink: away, state: view.OK},
		"at all that waits":                 {of: is(delivery.Started, claim(5, late)), state: view.OK},
		"something waits":                   {of: is(delivery.Idle, nil), state: view.CatchingUp},
		"it starts":                         {of: is(delivery.Idle, func(c *delivery.Consumer) { c.Starting = "op" }), state: view.CatchingUp, cause: view.Starting},
		"it failed":                         {of: is(delivery.Idle, failed), state: view.Retrying, cause: view.Failed},
		"tried again now":                   {of: is(delivery.Started, func(c *delivery.Consumer) { failed(c); claim(5, late)(c); c.Attempts = 2 }), state: view.Retrying, cause: view.Failed},
		"throttled":                         {of: is(delivery.Idle, func(c *delivery.Consumer) { failed(c); c.Away = 1 }), state: view.Retrying, cause: view.SinkAway},
		"its worker died":                   {of: is(delivery.Idle, claim(5, early)), state: view.Retrying, cause: view.Died},
		"its lease is over":                 {of: is(delivery.Started, claim(5, early)), state: view.Retrying, cause: view.Died},
		"too slow beside others":            {of: is(delivery.Idle, func(c *delivery.Consumer) { c.Failed, c.Away = early, 1 }), state: view.CatchingUp},
		"its replies wait":                  {of: is(delivery.Sending, claim(5, early)), state: view.Retrying, cause: view.Replies},
		"the sink is away":                  {of: is(delivery.Idle, failed), sink: away, state: view.Held, cause: view.Open},
		"the sink is back":                  {of: is(delivery.Idle, nil), sink: request.Health{Circuit: request.Circuit{Waking: true}}, state: view.Held, cause: view.Waking},
		"blocked":                           {of: is(delivery.Blocked, failed), state: view.Blocked, cause: view.Failed},
		"blocked, and the sink is away":     {of: is(delivery.Blocked, failed), sink: away, state: view.Blocked, cause: view.Failed},
		"its message is gone":               {of: is(delivery.Idle, nil), missing: true, state: view.Blocked, cause: view.Missing},
		"paused, whatever else":             {of: is(delivery.Blocked, func(c *delivery.Consumer) { failed(c); c.Paused = "why" }), state: view.Paused},
		"prepared":                          {of: is(delivery.Prepared, claim(5, late)), state: view.OK},
		"prepared, and its lease is over":   {of: is(delivery.Prepared, claim(5, early)), state: view.InDoubt, cause: view.Prepared},
		"in doubt":                          {of: is(delivery.InDoubt, claim(5, early)), state: view.InDoubt, cause: view.Prepared},
		"a claim in quarantine beside work": {of: is(delivery.Idle, func(c *delivery.Consumer) { c.Quarantine[0].Since = early }), state: view.InDoubt, cause: view.Quarantined},
	} {
		got, _ := view.In(s.aspects(c.of, known{c.sink, c.missing})...)
		check.That(t, got.State == c.state && got.Cause == c.cause,
			"%s: %s (%s), want %s (%s)", name, got.State, got.Cause, c.state, c.cause)
		if got.State == view.Retrying && c.cause == view.Failed && c.of.State == delivery.Idle &&
			(!got.NextTry.Equal(late) || !got.Since.Equal(early)) {
			t.Errorf("%s: since %s, next %s", name, got.Since, got.NextTry)
		}
	}
}

// TestAMissingMessageBlocks: in the queue's list, and in that of what is blocked, until an operator
// gets the consumer over the loss: behind the last hole, if there are several.
func TestAMissingMessageBlocks(t *testing.T) {
	onEach(t, func(s *server) {
		s.billing(3)
		s.lose("q", 1)
		s.lose("q", 2)
		s.note(trouble.Row{State: trouble.Missing, Queue: "q", Consumer: "billing", Seq: 1})
		s.Want("the consumer", s.status(), 200, `"state":"blocked","cause":"missing"`, `"seq":1`,
			`"waiting":{"seq":1,"missing":true}`)
		blocked := func() httpapitest.Answer {
			return s.Request("GET", "/consumers", "state=blocked", "")
		}
		s.Want("the list", blocked(), 200, `"state":"blocked","cause":"missing","since":"`,
			`"seq":1,"lag":3`)
		s.Want("over it", s.operate("rewind", `,"start":1`), 200, `"delivered":2`)
		s.Want("past it", s.status(), 200, `"state":"catching-up"`, `"waiting":{"seq":3,"since":`)
		s.Want("the list", blocked(), 200, `"list":[]`)
	})
}

// TestARedriveOfAHeldConsumerSaysWhenItIsTried: with the next probe, which the answer names.
func TestARedriveOfAHeldConsumerSaysWhenItIsTried(t *testing.T) {
	onEach(t, func(s *server) {
		s.put("q", 1)
		s.deliver("q", "billing", func(delivery.Batch) error { return errors.New("no") })
		s.opens("billing")
		due, _ := s.now.Add(time.Second).MarshalText()
		want := `"nextTry":"` + string(due) + `"`
		s.Want("redrive", s.operate("redrive", `,"seq":1`), 200, `"state":"held","cause":"open"`, want)
	})
}
