package main

import (
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/dev/ddbtest"
	"github.com/streamsort/streamsort/internal/record"
	"github.com/streamsort/streamsort/pkg/handoff"
)

// TestATrackedClaimNamesItsChain: to see what a consumer waits for, a caller asks
// for that chain.
func TestATrackedClaimNamesItsChain(t *testing.T) {
	s := newServer(t, ddbtest.Memory)
	s.create(`{"queue":"q","consumer":"billing","start":"first"}`)
	s.put("q", 2)
	seen, err := s.consumers.Consumer(t.Context(), "q", "billing")
	if err != nil {
		t.Fatal(err)
	}
	c, _, err := s.consumers.Claim(t.Context(), seen, record.Claim{Req: "r", To: 2, Now: s.now, LeaseUntil: s.now.Add(time.Minute), Tracked: true})
	if err != nil || handoff.ChainOf(c) == "" {
		t.Fatalf("%+v, %v", c, err)
	}
	s.Want("its chain", s.status(), 200, `"state":"STARTED"`, `"chain":"`+handoff.ChainOf(c)+`"`)
	// Its lease is no promise: the operator learns what the claim waits for.
	s.now = s.now.Add(time.Hour)
	s.Want("remove", s.operate("remove", ""), 409, `"detail":"the claim ends when its chain \"`+handoff.ChainOf(c)+`\" does`)
	for _, op := range []string{"prepare", "commit", "abort", "extend"} {
		s.Want(op, s.Request("PATCH", "/claims", "", `{"action":"`+op+`","queue":"q","consumer":"billing","token":"`+c.Token.String()+`"}`), 200, `"answer":"FOREIGN"`)
	}
	s.Want("still out", s.status(), 200, `"state":"STARTED"`, `"chain":"`+handoff.ChainOf(c)+`"`)
}
