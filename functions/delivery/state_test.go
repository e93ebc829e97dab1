package main

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/request"
	"github.com/streamsort/streamsort/internal/trouble"
	"github.com/streamsort/streamsort/internal/view"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/delivery"
)

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
	failed := func(c *delivery.Consumer) { c.Failed, c.Error, c.Attempts, c.RetryAt = early, "no", 1, late }
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
		got, _ := view.In(s.aspects(c.of, c.sink, c.missing)...)
		if got.State != c.state || got.Cause != c.cause {
			t.Errorf("%s: %s (%s), want %s (%s)", name, got.State, got.Cause, c.state, c.cause)
		}
		if got.State == view.Retrying && c.cause == view.Failed && c.of.State == delivery.Idle && (!got.NextTry.Equal(late) || !got.Since.Equal(early)) {
			t.Errorf("%s: since %s, next %s", name, got.Since, got.NextTry)
		}
	}
}

// TestAMissingMessageBlocks: in the queue's list, and in that of what is blocked, until the
// consumer is past it.
func TestAMissingMessageBlocks(t *testing.T) {
	onEach(t, func(s *server) {
		s.put("q", 2)
		s.create(`{"queue":"q","consumer":"billing"}`)
		s.note(trouble.Row{State: trouble.Missing, Queue: "q", Consumer: "billing", Seq: 1})
		s.Want("the consumer", s.status(), 200, `"state":"blocked","cause":"missing"`, `"seq":1`)
		s.Want("the list", s.Request("GET", "/consumers", "state=blocked", ""), 200, `"state":"blocked","cause":"missing","since":"`, `"seq":1,"lag":2`)
		s.deliver("q", "billing", func(delivery.Batch) error { return nil })
		if err := s.sorter.Put(t.Context(), cursor.Message{Queue: "q", Seq: 3, Body: []byte("1")})[0].Err; err != nil {
			t.Fatal(err)
		}
		s.Want("past it", s.status(), 200, `"state":"catching-up"`)
		s.Want("the list", s.Request("GET", "/consumers", "state=blocked", ""), 200, `"list":[]`)
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

// TestWhoIsHeldIsCountedAndListedTheSame: those that failed before their circuit breaker opened,
// too, each once, and not as retrying.
func TestWhoIsHeldIsCountedAndListedTheSame(t *testing.T) {
	onEach(t, func(s *server) {
		for i := range 3 {
			queue := fmt.Sprint("q", i)
			s.put(queue, 2)
			s.deliver(queue, "billing", func(b delivery.Batch) error {
				if b.To == 2 {
					return errors.New("no")
				}
				return nil
			})
		}
		s.opens("billing")
		for range 2 {
			held := strings.Fields(s.listed("", "/consumers", url.Values{"state": {"held"}, "limit": {"2"}}))
			slices.Sort(held)
			if want := []string{"q0|billing", "q1|billing", "q2|billing"}; !slices.Equal(held, want) {
				t.Errorf("held is %q, want %q", held, want)
			}
			if got := s.listed("", "/consumers", url.Values{"state": {"retrying"}}); got != "" {
				t.Errorf("retrying is %q, want none", got)
			}
			s.Want("summary", s.Request("GET", "/summary", "", ""), 200, `"held":{"count":3,`,
				`"retrying":{"count":0}`, `"count":3,`, `{"queue":"q0","seq":2,"error":"no"`)
			// Its next try notes it.
			s.note(trouble.Row{State: trouble.HeldBy("billing"), Queue: "q1", Consumer: "billing", Seq: 2})
		}
	})
}
