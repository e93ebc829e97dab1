package main

import (
	"encoding/json"
	"io"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/ddbtest"
	"github.com/streamsort/streamsort/internal/httpapi/httpapitest"
	"github.com/streamsort/streamsort/internal/runtime"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/delivery"
)

// TestBadInput: a clear error that names the field, and nothing is changed.
func TestBadInput(t *testing.T) {
	s := newServer(t, ddbtest.Memory)
	s.put("q", 3)
	s.create(`{"queue":"q","consumer":"billing"}`)
	s.block("q", "billing", 2)
	before := s.status().Body
	long := strings.Repeat("x", 1025)
	op := func(members string) string {
		return `{"action":"skip","queue":"q","consumer":"billing","reason":"r",` + members + `}`
	}
	for _, c := range []struct{ path, body, field string }{
		{"/consumers", ``, "request body"},
		{"/consumers", `[]`, "request body"},
		{"/consumers", `{"queue":"q","consumer":"a"`, "request body"},
		{"/consumers", `{"queue":"q","queue":"p","consumer":"a"}`, "request body"},
		{"/consumers", `{"consumer":"a"}`, "queue"},
		{"/consumers", `{"queue":"","consumer":"a"}`, "queue"},
		{"/consumers", `{"queue":7,"consumer":"a"}`, "queue"},
		{"/consumers", `{"queue":"\ud800","consumer":"a"}`, "queue"},
		{"/consumers", `{"queue":"` + long + `","consumer":"a"}`, "queue"},
		{"/consumers", `{"queue":"q"}`, "consumer"},
		{"/consumers", `{"queue":"q","consumer":""}`, "consumer"},
		{"/consumers", `{"queue":"q","consumer":"a b"}`, "consumer"},
		{"/consumers", `{"queue":"q","consumer":"` + long[:129] + `"}`, "consumer"},
		{"/consumers", `{"queue":"q","consumer":null}`, "consumer"},
		{"/consumers", `{"queue":"q","consumer":"a","start":""}`, "start"},
		{"/consumers", `{"queue":"q","consumer":"a","start":"FIRST"}`, "start"},
		{"/consumers", `{"queue":"q","consumer":"a","start":-1}`, "start"},
		{"/consumers", `{"queue":"q","consumer":"a","start":0}`, "start"},
		{"/consumers", `{"queue":"q","consumer":"a","start":1.5}`, "start"},
		{"/consumers", `{"queue":"q","consumer":"a","start":5}`, "start"},
		{"/consumers", `{"queue":"q","consumer":"a","start":"9223372036854775807"}`, "start"},
		{"/consumers", `{"queue":"q","consumer":"a","start":9223372036854775808}`, "start"},
		{"/consumers", `{"queue":"q","consumer":"a","start":null}`, "start"},
		{"/consumers", `{"queue":"q","consumer":"a","reason":"r"}`, "reason"},
		{"/operations", `{}`, "action"},
		{"/operations", `{"action":7}`, "action"},
		{"/operations", op(`"action":"skip"`), "request body"},
		{"/operations", `{"action":"create","queue":"q","consumer":"billing","reason":"r"}`, "action"},
		{"/operations", `{"action":"pause","queue":"q","consumer":"billing"}`, "reason"},
		{"/operations", `{"action":"pause","queue":"q","consumer":"billing","reason":""}`, "reason"},
		{"/operations", `{"action":"pause","queue":"q","consumer":"billing","reason":"` + long[:501] + `"}`, "reason"},
		{"/operations", `{"action":"pause","queue":"q","consumer":"billing","reason":[]}`, "reason"},
		{"/operations", `{"action":"pause","consumer":"billing","reason":"r"}`, "queue"},
		{"/operations", `{"action":"pause","queue":"q","reason":"r"}`, "consumer"},
		{"/operations", `{"action":"pause","queue":"q","consumer":"bill/ing","reason":"r"}`, "consumer"},
		{"/operations", `{"action":"pause","queue":"q","consumer":"billing","reason":"r","seq":2}`, "seq"},
		{"/operations", `{"action":"pause","queue":"q","consumer":"billing","reason":"r","id":""}`, "id"},
		{"/operations", `{"action":"pause","queue":"q","consumer":"billing","reason":"r","id":"` + long[:65] + `"}`, "id"},
		{"/operations", `{"action":"rewind","queue":"q","consumer":"billing","reason":"r"}`, "start"},
		{"/operations", `{"action":"rewind","queue":"q","consumer":"billing","reason":"r","start":{}}`, "start"},
		{"/operations", `{"action":"rewind","queue":"q","consumer":"billing","reason":"r","start":5}`, "start"},
		{"/operations", `{"action":"redrive","queue":"q","consumer":"billing","reason":"r"}`, "seq"},
		{"/operations", `{"action":"settle","queue":"q","consumer":"billing","reason":"r","outcome":"COMMITTED"}`, "token"},
		{"/operations", `{"action":"settle","queue":"q","consumer":"billing","reason":"r","token":"1-a"}`, "outcome"},
		{"/operations", `{"action":"settle","queue":"q","consumer":"billing","reason":"r","token":"1-a","outcome":"committed"}`, "outcome"},
		{"/operations", `{"action":"release","queue":"q","consumer":"billing","reason":"r"}`, "token"},
		{"/operations", `{"action":"release","queue":"q","consumer":"billing","reason":"r","token":"1-a","outcome":"ABORTED"}`, "outcome"},
		{"/operations", `{"action":"restart-keys","queue":"q","consumer":"billing","reason":"r"}`, "consumer"},
		{"/operations", op(`"seq":-1`), "seq"},
		{"/operations", op(`"seq":"02"`), "seq"},
		{"/operations", op(`"seq":2.0`), "seq"},
		{"/operations", op(`"seq":2,"start":2`), "start"},
		{"/operations", op(`"seq":2,"by":"me"`), "by"},
	} {
		a := s.Request("POST", c.path, "", c.body)
		s.Want(c.path+" "+c.body, a, 400, `"field":"`+c.field+`"`)
		check.Is(t, a.Headers["content-type"], "application/problem+json", c.body)
	}
	for outcome, want := range map[string]string{``: "outcome is missing", `,"outcome":"committed"`: `outcome must be COMMITTED or ABORTED: it is \"committed\"`} {
		settle := `{"action":"settle","queue":"q","consumer":"billing","reason":"r","token":"1-a"` + outcome + `}`
		s.Want(settle, s.Request("POST", "/operations", "", settle), 400, want)
	}
	for _, c := range []struct{ path, query, field string }{
		{"/consumers", "queue=", "queue"},
		{"/consumers", "queue=%FF", "queue"},
		{"/consumers", "queue=q&queue=q", "queue"},
		{"/consumers", "queue=q&consumer=a%20b", "consumer"},
		{"/consumers", "queue=q&limit=0", "limit"},
		{"/consumers", "queue=q&limit=1001", "limit"},
		{"/consumers", "queue=q&other=1", "other"},
		{"/operations", "", "queue"},
		{"/operations", "queue=" + long, "queue"},
		{"/operations", "queue=q&consumer=%00", "consumer"},
		{"/operations", "queue=q&after=%FF", "after"},
		{"/operations", "queue=q&after=" + long, "after"},
		{"/operations", "queue=q&limit=1", "limit"},
	} {
		s.Want(c.path+"?"+c.query, s.Request("GET", c.path, c.query, ""), 400, `"field":"`+c.field+`"`)
	}
	s.Want("a parameter of a post", s.Request("POST", "/operations", "dryRun=1", op(`"seq":2`)), 400, `"field":"dryRun"`, "there are none")
	s.Want("a consumer that is not there", s.Request("POST", "/operations", "", strings.Replace(op(`"seq":2`), "billing", "bill", 1)), 404, "problems/no-consumer")
	nobody := strings.Replace(op(`"seq":2`), `"queue":"q"`, `"queue":"nobody's"`, 1)
	s.Want("of a queue that is not there", s.Request("POST", "/operations", "", nobody), 404, "problems/no-queue", `"id":`)
	s.Want("the status of that", s.Request("GET", "/consumers", "queue=nobody%27s&consumer=billing", ""), 404, "problems/no-queue")
	s.Want("an after that was never a next", s.Request("GET", "/operations", "queue=q&after=%F0%9F%90%A2", ""), 200)
	wrong := strings.Replace(httpapitest.V2("POST", "/operations", "", op(`"seq":2`), false), "application/json", "text/plain", 1)
	s.Want("content type", s.Raw(wrong), 415, "problems/not-json")
	check.Is(t, s.status().Body, before)
}

func FuzzHandle(f *testing.F) {
	for _, seed := range []string{
		httpapitest.V2("POST", "/consumers", "", `{"queue":"q","consumer":"c","start":"latest"}`, false),
		httpapitest.V2("POST", "/operations", "", `{"action":"rewind","queue":"q","consumer":"c","reason":"r","start":1,"id":"i"}`, false),
		httpapitest.V2("GET", "/consumers", "queue=q&consumer=c&limit=5&after=b", "", false), httpapitest.V1("GET", "/operations", url.Values{"queue": {"q"}, "after": {"x"}}, ""),
		`{"action":"skip","queue":"q","consumer":"c","reason":"r","seq":"1"}`, `{"operation":"create","queue":"q","consumer":"c","start":0}`,
		`{"operation":"status","queue":"q"}`, `{"operation":"operations","queue":"q"}`, `[]`, `{"requestContext":{}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, event []byte) {
		sorter := check.Get(cursor.New(cursor.NewMemory(), nil))
		deliverer := check.Get(delivery.New(delivery.NewMemory(), sorter, nil))
		check.OK(t, sorter.Put(t.Context(), cursor.Message{Queue: "q", Seq: 1})[0].Err)
		check.Get(deliverer.Create(t.Context(), "q", "c", delivery.First))
		raw, err := runtime.Around(io.Discard, headroom, (&service{deliverer: deliverer, sorter: sorter, now: time.Now}).api().Handle)(t.Context(), event)
		check.Need(t, err == nil, "a function error: %v", err)
		var a struct{ Status, StatusCode int }
		check.OK(t, json.Unmarshal(raw, &a))
		status := max(a.Status, a.StatusCode)
		check.That(t, status >= 200 && status < 500, "status %d: %s", status, raw)
	})
}
