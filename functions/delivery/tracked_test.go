package main

import (
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/ddbtest"
	"github.com/streamsort/streamsort/internal/request"
	"github.com/streamsort/streamsort/pkg/delivery"
)

// TestAWorkerEndsADeferredClaim over HTTP, by the token that travelled with its messages; the status
// shows what the claim waits for.
func TestAWorkerEndsADeferredClaim(t *testing.T) {
	s := newServer(t, ddbtest.Memory)
	s.create(`{"queue":"q","consumer":"billing","start":"first"}`)
	s.put("q", 2)
	asks := func(c delivery.Consumer, members string) string {
		return `{"queue":"q","consumer":"billing","token":"` + c.Token.String() + `",` + members + `}`
	}
	claim := func(req string, to int64) delivery.Consumer {
		t.Helper()
		seen := check.Get(s.consumers.Requests(request.Inside{}).Consumer(t.Context(), "q", "billing"))
		c, _ := check.Get2(s.consumers.Requests(request.Inside{}).Claim(t.Context(), seen, request.Claim{Req: req, To: to, Now: s.now, LeaseUntil: s.now.Add(time.Minute)}))
		s.Want("before it is deferred", s.Request("PATCH", "/claims", "", asks(c, `"action":"commit"`)), 200, `"outcome":"BUSY","reason":"STARTED"`)
		c, _ = check.Get2(s.consumers.Requests(request.Inside{}).Defer(t.Context(), c, s.now.Add(time.Hour)))
		return c
	}
	c := claim("r1", 1)
	s.Want("what it waits for", s.status(), 200, `"claim":{"state":"STARTED"`, `"deferred":true,"chain":"`+delivery.ChainOf(c)+`"`)
	s.Want("remove", s.operate("remove", ""), 409, `"detail":"the claim ends at `)
	for _, wrong := range []string{"1", "r1", "0-r1", "1-", ""} {
		s.Want("the token "+wrong, s.Request("PATCH", "/claims", "", `{"action":"commit","queue":"q","consumer":"billing","token":"`+wrong+`"}`), 400, `"field":"token"`)
	}
	for body, want := range map[string]string{
		asks(c, `"action":"prepare"`):                                            `"outcome":"DEFERRED"`,
		asks(c, `"action":"extend","leaseSeconds":7200`):                         `"outcome":"OK"`,
		`{"action":"commit","queue":"q","consumer":"billing","token":"1-other"}`: `"outcome":"LOST","reason":"FOREIGN"`,
		`{"action":"commit","queue":"q","consumer":"billing","token":"7-r1"}`:    `"outcome":"LOST","reason":"FOREIGN"`,
	} {
		s.Want(body, s.Request("PATCH", "/claims", "", body), 200, want)
	}
	s.Want("with replies", s.Request("PATCH", "/claims", "", asks(c, `"action":"commit","replies":[{"queue":"r","body":1}]`)), 400, `"field":"replies"`)
	s.Want("commit", s.Request("PATCH", "/claims", "", asks(c, `"action":"commit"`)), 200, `"outcome":"OK"`)
	s.Want("its response was lost", s.Request("PATCH", "/claims", "", asks(c, `"action":"commit"`)), 200, `"outcome":"OK"`)
	s.Want("too late", s.Request("PATCH", "/claims", "", asks(c, `"action":"abort"`)), 200, `"outcome":"COMMITTED"`)
	c = claim("r2", 2)
	s.Want("fail", s.Request("PATCH", "/claims", "", asks(c, `"action":"abort","reason":"no card"`)), 200, `"outcome":"OK"`)
	s.Want("why", s.status(), 200, `"state":"retrying","cause":"failed"`, `"error":"no card"`)
	if cur, err := s.sorter.Status(t.Context(), "q"); err != nil || !cur.Notified.Equal(s.now) {
		t.Errorf("nobody was woken up: %+v, %v", cur, err)
	}
}
