package main

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/ddbtest"
	"github.com/streamsort/streamsort/internal/httpapi/httpapitest"
	"github.com/streamsort/streamsort/internal/quota"
	"github.com/streamsort/streamsort/internal/runtime"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/delivery"
)

// limited has the tenant acme held to these limits.
func (s *server) limited(t *testing.T, limits quota.Amounts) {
	t.Helper()
	clock := func() time.Time { return s.now }
	quotas := quota.NewKeeper(quota.NewStore(ddb.NewMemory(quota.Names{}.Tables()...), quota.Names{}),
		[]quota.Quota{{Name: "acme", Limits: limits}}, clock)
	s.Client = httpapitest.New(t, runtime.Around(&s.logs, headroom, (&service{
		deliverer: s.deliverer, sorter: s.sorter, now: clock, tenantClaim: "org", quotas: quotas, endpoints: s.endpoints(),
	}).api().Handle))
}

// The queue that a new consumer makes is one as any other.
func TestQuotasOfNewConsumers(t *testing.T) {
	s := newServer(t, ddbtest.Memory)
	s.limited(t, quota.Amounts{quota.NewQueues: 1})
	create := func(queue, consumer string) httpapitest.Answer {
		return s.RequestAs("org", "acme", "POST", "/consumers", "", `{"queue":"`+queue+`","consumer":"`+consumer+`"}`)
	}
	s.Want("a new queue", create("a", "c"), 200, `"queue":"a"`)
	s.Want("another", create("b", "c"), 429, `"quota":"newQueues"`)
	if _, err := s.sorter.Settings(t.Context(), "@acme/b"); !errors.Is(err, cursor.ErrNoQueue) {
		t.Errorf("a queue was made: %v", err)
	}
	s.Want("again", create("a", "c"), 200, `"queue":"a"`)
	s.Want("another of a queue that is there", create("a", "d"), 200, `"consumer":"d"`)
}

// The replies of a commit are messages of the tenant's: where there is no room for
// them the claim stays as it is, and the commit goes through later.
func TestQuotasOfReplies(t *testing.T) {
	s := newServer(t, ddbtest.Memory)
	s.limited(t, quota.Amounts{quota.Messages: 1, quota.NewQueues: 1})
	s.put("@acme/orders", 1)
	check.Get(s.deliverer.Create(t.Context(), "@acme/orders", "billing", delivery.First))
	as := func(method, body string) httpapitest.Answer {
		return s.RequestAs("org", "acme", method, "/claims", "", body)
	}
	s.Want("a claim", as("POST", `{"queue":"orders","consumer":"billing","request":"r","leaseSeconds":3600}`), 200, `"token":"1-r"`)
	s.Want("prepared", as("PATCH", `{"action":"prepare","queue":"orders","consumer":"billing","token":"1-r"}`), 200, `"outcome":"OK"`)
	commit := func(queues ...string) httpapitest.Answer {
		replies := ""
		for i, queue := range queues {
			replies += fmt.Sprintf(`,{"queue":"%s","id":"%d","body":1}`, queue, i)
		}
		return as("PATCH", `{"action":"commit","queue":"orders","consumer":"billing","token":"1-r","replies":[`+replies[1:]+`]}`)
	}
	window := func() { s.now = s.now.Truncate(time.Minute).Add(time.Minute) }
	taken := func(queue string) {
		t.Helper()
		s.Want("others' share", s.RequestAs("org", "acme", "POST", "/consumers", "", `{"queue":"`+queue+`","consumer":"c"}`), 200)
	}
	window()
	taken("other")
	s.Want("to a new queue, where another was made", commit("a"), 429, `"quota":"newQueues"`)
	s.Want("eleven replies, where nine are left", commit("a", "a", "a", "a", "a", "a", "a", "a", "a", "a", "a"), 429, `"quota":"newQueues"`)
	s.Want("one more", commit("other"), 429, `"quota":"messages"`)
	if _, err := s.sorter.Settings(t.Context(), "@acme/a"); !errors.Is(err, cursor.ErrNoQueue) {
		t.Errorf("a queue was made: %v", err)
	}
	window()
	s.Want("more than a window has, to two new queues", commit("a", "a", "a", "a", "a", "a", "a", "a", "a", "a", "b"), 200, `"outcome":"OK"`)
}

// What a rewind goes back over, and a change of an endpoint, also one that is refused, count as messages, before they cost
// anything; an operator's do not.
func TestQuotasOfOperations(t *testing.T) {
	s := newServer(t, ddbtest.Memory)
	s.limited(t, quota.Amounts{quota.Messages: 2}) // 20 in a window
	s.put("@acme/q", 30)
	s.deliver("@acme/q", "billing", func(delivery.Batch) error { return nil })
	touched := 0
	s.before = func(ddb.Request) { touched++ }
	window := func() { s.now, touched = s.now.Truncate(time.Minute).Add(time.Minute), 0 }
	rewind := func(start string) httpapitest.Answer {
		return s.RequestAs("org", "acme", "POST", "/operations", "", `{"action":"rewind","queue":"q","consumer":"billing","start":`+start+`,"reason":"r"}`)
	}
	put := func(body string) httpapitest.Answer {
		return s.RequestAs("org", "acme", "PUT", "/endpoints", "", `{"consumer":"hooks",`+body+`}`)
	}
	for name, c := range map[string]struct {
		ask  func() httpapitest.Answer
		most int // in a window, and no more
	}{
		"of 10 messages": {func() httpapitest.Answer { return rewind("21") }, 2},
		"of all":         {func() httpapitest.Answer { return rewind(`"first"`) }, 1},
		"a refused PUT":  {func() httpapitest.Answer { return put(`"queue":"q","paused":"no URL yet"`) }, 2},
		"a PUT":          {func() httpapitest.Answer { return put(`"prefix":"","url":"https://example.com/"`) }, 2},
		"a DELETE": {func() httpapitest.Answer {
			return s.RequestAs("org", "acme", "DELETE", "/endpoints", "consumer=hooks&queue=none", "")
		}, 2},
	} {
		window()
		for n := range c.most {
			if a := c.ask(); a.Status == 429 {
				t.Errorf("%s, time %d: %+v", name, n+1, a)
			}
		}
		touched = 0
		if s.Want(name, c.ask(), 429, `"quota":"messages"`); touched > 0 {
			t.Errorf("%s: what is refused costs %d requests", name, touched)
		}
	}
	window()
	for range 3 {
		check.Has(t, s.Invoke(`{"action":"rewind","queue":"@acme/q","consumer":"billing","start":1,"reason":"r"}`), `"status":200`)
	}
	s.Want("one of a queue that is not there", s.RequestAs("org", "acme", "POST", "/operations", "",
		`{"action":"rewind","queue":"none","consumer":"billing","start":1,"reason":"r"}`), 404, `"code":"no-queue"`)
}
