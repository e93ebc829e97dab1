package main

import (
	"strings"
	"testing"

	"github.com/streamsort/streamsort/internal/edge/edgetest"
)

// Two tenants name the same queues and ids, and neither meets the other.
func TestTenants(t *testing.T) {
	s := newServer(t, func(s *service) { s.tenantClaim = "org" })
	for _, of := range []string{"acme", "globex"} {
		as := func(method, path, query, body string, status int, parts ...string) {
			t.Helper()
			a := s.RequestAs("org", of, method, path, query, body)
			s.Want(of, a, status, parts...)
			if strings.Contains(a.Body, "@") {
				t.Errorf("%s is told of whole names: %s", of, a.Body)
			}
		}
		as("POST", "/messages", "", `{"queue":"q","seq":1,"id":"i","body":"`+of+`"}`, 200, `"advanced","queue":"q"`)
		as("POST", "/messages", "", `{"messages":[{"queue":"q","seq":1,"body":"other"},{"queue":"in","id":"i","body":"`+of+`"}]}`, 200,
			`"outcome":"conflict","queue":"q"`, `"outcome":"advanced","queue":"in"`)
		as("POST", "/messages", "queueProp=q&seqProp=n", `{"q":"raw","n":1,"of":"`+of+`"}`, 200, `"queue":"raw"`)
		as("POST", "/messages", "", `{"queue":"","seq":1,"body":1}`, 400, `"field":"queue"`)
		as("POST", "/messages", "", `{"messages":[{"queue":"q","seq":2,"id":"`+strings.Repeat("i", 1024)+`","body":1}]}`, 400, `"field":"messages[0].id"`, "the tenant before it takes")
		long := strings.Replace(edgetest.V2("POST", "/messages", "", `{"messages":[{"queue":"in","body":1}]}`, false), `"headers":{`, `"headers":{"Idempotency-Key":"`+strings.Repeat("k", 1024)+`",`, 1)
		s.Want("an over-long key", s.Raw(strings.Replace(long, `"requestContext":{`, `"requestContext":{"authorizer":{"jwt":{"claims":{"org":"`+of+`"}}},`, 1)), 400,
			`"field":"Idempotency-Key"`, "the tenant before it takes")
		as("PUT", "/queues", "", `{"queue":"q","maxAhead":9}`, 200, `"queue":"q"`)
		as("GET", "/queues", "queue=q", "", 200, `"queue":"q"`, `"position":1`)
		as("GET", "/gaps", "queue=q", "", 200, `"queue":"q"`)
		as("GET", "/messages", "queue=q", "", 200, `"queue":"q"`, `"id":"i","body":"`+of+`"`)
		as("GET", "/messages", "queue=in", "", 200, `"id":"i","body":"`+of+`"`)
		m, found, err := s.memory.Message(t.Context(), "@"+of+"/q", 1)
		if err != nil || !found || m.ID != "@"+of+"/i" {
			t.Errorf("%s: stored as %+v, %v", of, m, err)
		}
	}
	if _, found, _ := s.memory.Message(t.Context(), "q", 1); found {
		t.Error("something is stored without a tenant")
	}
}
