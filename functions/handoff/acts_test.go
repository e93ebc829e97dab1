package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/acts"
	"github.com/streamsort/streamsort/internal/dev/ddbtest"
	"github.com/streamsort/streamsort/internal/httpapi/httpapitest"
	"github.com/streamsort/streamsort/internal/runtime"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/handoff"
)

// TestActsOnMany: looked at, started, carried out, shown; and stopped.
func TestActsOnMany(t *testing.T) {
	s := newServer(t, ddbtest.Memory)
	for i := range 3 {
		s.put(fmt.Sprint("q", i), 1)
		s.create(fmt.Sprintf(`{"queue":"q%d","consumer":"billing"}`, i))
	}
	var woken string
	service := &service{deliverer: s.deliverer, sorter: s.sorter, now: func() time.Time { return s.now }, goOn: func(batch string, _ time.Time) { woken = batch }}
	s.Client = httpapitest.New(t, runtime.Around(io.Discard, headroom, service.api().Handle))
	look := func(selected string) string {
		a := s.Request("POST", "/acts", "", `{"action":"pause","consumer":"billing","prefix":"q","reason":"upgrade","rate":1000}`)
		s.Want("looked at", a, 200, `"state":"DRY"`, selected)
		var said struct{ Token string }
		if err := json.Unmarshal([]byte(a.Body), &said); err != nil {
			t.Fatal(err)
		}
		return said.Token
	}
	token := look(`"selected":3,"first":[{"queue":"q`)
	s.Want("started", s.Request("POST", "/acts", "", `{"token":"`+token+`"}`), 200, `"state":"RUNNING"`)
	if woken != " "+token {
		t.Errorf("%q was woken up", woken)
	}
	if _, err := acts.New(s.deliverer).Turn(t.Context(), acts.ParseID(woken)); err != nil {
		t.Fatal(err)
	}
	s.Want("shown", s.Request("GET", "/acts", "batch="+token, ""), 200, `"state":"DONE"`, `"done":3`, `"failed":0`)
	s.Want("on record", s.Request("GET", "/operations", "queue=q1", ""), 200, `"batch":"`+token+`"`, `"reason":"upgrade"`)
	s.now = s.now.Add(time.Second)
	other := look(`"selected":0`) // all of them are paused
	s.Want("stopped", s.Request("POST", "/acts", "", `{"batch":"`+other+`","stop":true}`), 200, `"state":"STOPPED"`)
	s.Want("listed", s.Request("GET", "/acts", "limit=1", ""), 200, `"batch":"`+other+`"`, `"next":"`+other+`"`)
	s.Want("the next page", s.Request("GET", "/acts", "after="+other, ""), 200, `"batch":"`+token+`"`)
	s.Want("none", s.Request("GET", "/acts", "batch=none", ""), 404, `no-batch`)
	s.Want("started, none", s.Request("POST", "/acts", "", `{"token":"none"}`), 404, `no-batch`)
}

// TestActsThatAreRefused names the field.
func TestActsThatAreRefused(t *testing.T) {
	s := newServer(t, ddbtest.Memory)
	for document, field := range map[string]string{
		`{"action":"remove","reason":"r"}`:                      "action",
		`{"action":"redrive"}`:                                  "reason",
		`{"action":"redrive","reason":"r","rate":1001}`:         "rate",
		`{"action":"redrive","reason":"r","state":"paused"}`:    "state",
		`{"action":"pause","reason":"r"}`:                       "consumer",
		`{"action":"redrive","reason":"r","since":"yesterday"}`: "since",
		`{"action":"redrive","reason":"r","start":"first"}`:     "start",
		`{"action":"redrive","reason":"r","queue":"q"}`:         "queue",
		`{"token":"x","reason":"r"}`:                            "token",
		`{"token":"x y"}`:                                       "token",
		`{"batch":"x"}`:                                         "stop",
		`{"batch":"x","stop":false}`:                            "stop",
		`{"action":"redrive","reason":"r","stop":true}`:         "stop",
	} {
		s.Want(document, s.Request("POST", "/acts", "", document), 400, `"field":"`+field+`"`)
	}
	for _, query := range []string{"batch=%20", "after=A", "limit=0", "queue=q"} {
		s.Want(query, s.Request("GET", "/acts", query, ""), 400)
	}
}

// TestActsOfTenants: nobody selects, sees, starts or stops another's.
func TestActsOfTenants(t *testing.T) {
	d, sorter := inMemory(t)
	for _, queue := range []string{"@acme/q", "@globex/q", "q"} {
		if _, err := sorter.Put(t.Context(), cursor.Message{Queue: queue, Seq: 1}); err != nil {
			t.Fatal(err)
		}
		if _, err := d.Create(t.Context(), queue, "billing", handoff.First); err != nil {
			t.Fatal(err)
		}
	}
	handle := runtime.Around(io.Discard, headroom, (&service{deliverer: d, sorter: sorter, now: time.Now, tenantClaim: "org"}).api().Handle)
	call := func(tenant, method, query, body string) string {
		event, err := json.Marshal(map[string]any{
			"version": "2.0", "rawPath": "/acts", "rawQueryString": query, "body": body,
			"requestContext": map[string]any{
				"http":       map[string]any{"method": method, "path": "/acts"},
				"authorizer": map[string]any{"jwt": map[string]any{"claims": map[string]any{"org": tenant, "sub": "somebody"}}},
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		answer, err := handle(t.Context(), event)
		if err != nil {
			t.Fatal(err)
		}
		return string(answer)
	}
	looked := call("acme", "POST", "", `{"action":"pause","consumer":"billing","reason":"r"}`)
	if !strings.Contains(looked, `\"selected\":1`) || !strings.Contains(looked, `\"queue\":\"q\"`) || strings.Contains(looked, "globex") || strings.Contains(looked, "@acme") {
		t.Errorf("acme selects %s", looked)
	}
	_, token, _ := strings.Cut(looked, `\"token\":\"`)
	token, _, _ = strings.Cut(token, `\"`)
	for what, answer := range map[string]string{
		"start": call("globex", "POST", "", `{"token":"`+token+`"}`),
		"stop":  call("globex", "POST", "", `{"batch":"`+token+`","stop":true}`),
		"see":   call("globex", "GET", "batch="+token, ""),
	} {
		if !strings.Contains(answer, "no-batch") {
			t.Errorf("another may %s it: %s", what, answer)
		}
	}
	if list := call("globex", "GET", "", ""); strings.Contains(list, token) {
		t.Errorf("another sees it: %s", list)
	}
	for what, answer := range map[string]string{
		"see":  call("globex", "GET", "tenant=acme&batch="+token, ""),
		"list": call("globex", "GET", "tenant=acme", ""),
		"stop": call("globex", "POST", "", `{"batch":"`+token+`","stop":true,"tenant":"acme"}`),
	} {
		if !strings.Contains(answer, `\"field\":\"tenant\"`) || !strings.Contains(answer, `"statusCode":400`) {
			t.Errorf("another may %s it by the name of its tenant: %s", what, answer)
		}
	}
	if started := call("acme", "POST", "", `{"token":"`+token+`"}`); !strings.Contains(started, `RUNNING`) {
		t.Errorf("its own cannot: %s", started)
	}
	operator := httpapitest.New(t, runtime.Around(io.Discard, headroom, (&service{deliverer: d, sorter: sorter, now: time.Now}).api().Handle))
	operator.Want("an operator's own", operator.Request("GET", "/acts", "", ""), 200, `"batches":[]`)
	operator.Want("a tenant's", operator.Request("GET", "/acts", "tenant=acme", ""), 200, `"batch":"`+token+`"`)
	operator.Want("one of a tenant", operator.Request("GET", "/acts", "tenant=acme&batch="+token, ""), 200, `"prefix":"@acme/"`)
	operator.Want("none of another", operator.Request("GET", "/acts", "tenant=globex&batch="+token, ""), 404)
	operator.Want("no tenant", operator.Request("GET", "/acts", "tenant=a/b", ""), 400, `"field":"tenant"`)
	for document, field := range map[string]string{
		`{"token":"x","tenant":"acme"}`: "token", `{"tenant":"acme"}`: "stop", `{"batch":"x","stop":true,"reason":"r"}`: "stop",
		`{"batch":"x","tenant":"acme"}`: "stop", `{"batch":"x","stop":true,"tenant":""}`: "stop",
	} {
		operator.Want(document, operator.Request("POST", "/acts", "", document), 400, `"field":"`+field+`"`)
	}
	operator.Want("stopped", operator.Request("POST", "/acts", "", `{"batch":"`+token+`","stop":true,"tenant":"acme"}`), 200, `"state":"STOP`)
}

// inMemory are a Deliverer and its Sorter in memory.
func inMemory(t *testing.T) (*handoff.Deliverer, *cursor.Sorter) {
	t.Helper()
	sorter, err := cursor.New(cursor.NewMemory(), nil)
	if err != nil {
		t.Fatal(err)
	}
	d, err := handoff.New(handoff.NewMemory(), sorter, nil)
	if err != nil {
		t.Fatal(err)
	}
	return d, sorter
}
