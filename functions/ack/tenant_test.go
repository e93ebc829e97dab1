package main

import (
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/httpapi/httpapitest"
	"github.com/streamsort/streamsort/internal/quota"
	"github.com/streamsort/streamsort/internal/runtime"
	"github.com/streamsort/streamsort/internal/trouble"
	"github.com/streamsort/streamsort/pkg/xorack"
	"github.com/streamsort/streamsort/pkg/xorack/stamps"
)

// counters is the table that has what tenants took.
var counters = trouble.Definition(trouble.DefaultName)

// Whatever a tenant asks of chains, with tokens of its own and of another's, all that is stored is
// its own, and nothing of another's is shown or changed.
func FuzzTenant(f *testing.F) {
	own, others := xorack.Root("@acme/t", "", 0).String(), xorack.Root("@globex/t", "", 0).String()
	batch, ownBatch := xorack.Root("delivery/x/1-a", "", 0).String(),
		xorack.Root("@acme/delivery/x/1-a", "", 0).String()
	for _, body := range []string{
		`{"operation":"create","tag":"@globex/t","id":"i","edges":2}`, `{"operation":"get","tag":"@globex/t"}`,
		`{"operation":"create","tag":"n","parent":"` + others + `"}`, `{"operation":"create","tag":"n","parent":"` + own + `"}`,
		`{"operation":"fail","edge":"` + others + `","reason":"r"}`, `{"operation":"done","edge":"` + batch + `"}`,
		`{"operation":"fail","edge":"` + ownBatch + `","reason":"r"}`, `{"operation":"delete","tag":"delivery/x/1-a"}`,
		`{"operations":[{"operation":"fan","edge":"` + own + `","edges":200},{"operation":"add","edge":"` + others + `","batch":"b","children":1}]}`,
		`{"operation":"done","edge":"` + own + `","children":["@globex/t"]}`, `{"operation":"stamp","tag":"/@globex/t","stamp":"00ff"}`,
		`{"operation":"outstanding","tag":"t","tree":[[],{"a":2}]}`, `{"operation":"delete","tag":"t"}`,
	} {
		f.Add(body, "")
	}
	for _, query := range []string{"tag=@globex/t", "state=open&prefix=@globex",
		"state=failed&after=QGdsb2JleC90"} {
		f.Add("", query)
	}
	f.Fuzz(func(t *testing.T, body, query string) {
		table, store := inMemory(t)
		acker := check.Get(xorack.New(store, nil))
		before := map[string]xorack.Chain{}
		for _, tag := range []string{"@acme/t", "@globex/t", "delivery/x/1-a", "t"} {
			check.Get(acker.Create(t.Context(), tag, &xorack.CreateOptions{Data: "secret"}))
			before[tag] = check.Get(acker.Get(t.Context(), tag))
		}
		method, resource := "POST", "acks"
		if body == "" {
			method, resource = "GET", "chains"
		}
		event := check.Get(json.Marshal(map[string]any{
			"rawPath": "/" + resource, "rawQueryString": query, "body": body, "headers": map[string]string{"content-type": "application/json"},
			"requestContext": map[string]any{
				"http": map[string]any{"method": method}, "authorizer": map[string]any{"jwt": map[string]any{"claims": map[string]string{"org": "acme"}}},
			},
		}))
		answer, err := runtime.Around(io.Discard, headroom,
			(&service{acker: acker, stamper: stamps.New(acker), now: time.Now, tenantClaim: "org"}).
				handler())(t.Context(), event)
		var got struct{ StatusCode int }
		check.That(t, err == nil && json.Unmarshal(answer, &got) == nil && got.StatusCode >= 200 &&
			got.StatusCode < 500,
			"%s, %v", answer, err)
		for _, tag := range tagsIn(table) {
			was, known := before[tag]
			check.That(t, known || strings.HasPrefix(tag, "@acme/"), "a chain is stored under %q", tag)
			if now, err := acker.Get(t.Context(), tag); known && tag != "@acme/t" &&
				(err != nil ||
					cmp.Diff(was, now, cmp.AllowUnexported(xorack.Chain{}, xorack.Edge{}, xorack.Sum{})) != "") {
				t.Errorf("another's chain %q changed: %v", tag, err)
			}
		}
	})
}

// A request that creates more chains than the tenant has left does nothing at all; what is done to
// chains that are there counts for nothing.
func TestQuotas(t *testing.T) {
	s := newServer(t)
	clock := func() time.Time { return s.now }
	acker := check.Get(xorack.New(s.store, &xorack.Options{Now: clock}))
	quotas := quota.NewKeeper(quota.NewStore(ddb.NewMemory(counters), counters),
		[]quota.Quota{{Name: "acme", Limits: quota.Amounts{quota.NewChains: 3}}}, clock)
	s.Client = httpapitest.New(t, runtime.Around(&s.logs, headroom, (&service{
		acker: acker, stamper: stamps.New(acker), now: clock, tenantClaim: "org", quotas: quotas,
	}).handler()))
	ack := func(of, body string) httpapitest.Answer {
		return s.RequestAs("org", of, "POST", "/acks", "", body)
	}
	create := func(tag string) string { return `{"operation":"create","tag":"` + tag + `"}` }
	s.Want("two", ack("acme", `{"operations":[`+create("a")+`,`+create("b")+`]}`), 200)
	s.Want("two where one is left",
		ack("acme", `{"operations":[{"operation":"get","tag":"a"},`+create("c")+`,`+create("d")+`]}`),
		200)
	more := ack("acme", `{"operations":[`+create("e")+`,`+create("f")+`]}`)
	s.Want("two more", more, 429, `"code":"quota"`, `"quota":"newChains"`, `"limit":3`,
		`"per":"minute"`)
	check.That(t, more.Headers["retry-after"] != "", "no Retry-After: %v", more.Headers)
	check.Is(t, len(tagsIn(s.table)), 4)
	s.Want("a look at one", ack("acme", `{"operation":"get","tag":"c"}`), 200)
	for _, tag := range []string{"a", "b", "c", "d"} {
		s.Want("globex", ack("globex", create(tag)), 200)
	}
	s.now = s.now.Add(time.Minute)
	s.Want("a minute later", ack("acme", create("e")), 200)
}
