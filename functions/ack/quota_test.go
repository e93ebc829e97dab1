package main

import (
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/httpapi/httpapitest"
	"github.com/streamsort/streamsort/internal/quota"
	"github.com/streamsort/streamsort/internal/runtime"
	"github.com/streamsort/streamsort/pkg/xorack"
	"github.com/streamsort/streamsort/pkg/xorack/stamps"
)

// A request that creates more chains than the tenant has left does nothing at all;
// what is done to chains that are there counts for nothing.
func TestQuotas(t *testing.T) {
	s := newServer(t)
	clock := func() time.Time { return s.now }
	acker := check.Get(xorack.New(s.store, &xorack.Options{Now: clock}))
	quotas := quota.NewKeeper(quota.NewStore(ddb.NewMemory(quota.Names{}.Tables()...), quota.Names{}),
		[]quota.Quota{{Name: "acme", Limits: quota.Amounts{quota.NewChains: 3}}}, clock)
	s.Client = httpapitest.New(t, runtime.Around(&s.logs, headroom, (&service{
		acker: acker, stamper: stamps.New(acker), now: clock, tenantClaim: "org", quotas: quotas,
	}).handler()))
	ack := func(of, body string) httpapitest.Answer { return s.RequestAs("org", of, "POST", "/acks", "", body) }
	create := func(tag string) string { return `{"operation":"create","tag":"` + tag + `"}` }
	s.Want("two", ack("acme", `{"operations":[`+create("a")+`,`+create("b")+`]}`), 200)
	s.Want("two where one is left", ack("acme", `{"operations":[{"operation":"get","tag":"a"},`+create("c")+`,`+create("d")+`]}`), 200)
	more := ack("acme", `{"operations":[`+create("e")+`,`+create("f")+`]}`)
	s.Want("two more", more, 429, `"code":"quota"`, `"quota":"newChains"`, `"limit":3`, `"per":"minute"`)
	check.That(t, more.Headers["retry-after"] != "", "no Retry-After: %v", more.Headers)
	if tags := tagsIn(s.table); len(tags) != 4 {
		t.Errorf("there are %v", tags)
	}
	s.Want("a look at one", ack("acme", `{"operation":"get","tag":"c"}`), 200)
	for _, tag := range []string{"a", "b", "c", "d"} {
		s.Want("globex", ack("globex", create(tag)), 200)
	}
	s.now = s.now.Add(time.Minute)
	s.Want("a minute later", ack("acme", create("e")), 200)
}
