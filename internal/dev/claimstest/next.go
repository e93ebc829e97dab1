package claimstest

import (
	"strings"
	"time"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/pkg/delivery"
)

func (b *bench) goOn(a delivery.Answer, r delivery.Request, commit, claim delivery.Outcome,
	replies ...delivery.Reply) delivery.Answer {
	b.Helper()
	done, next := check.Get2(b.Claims.CommitAndClaim(b.Context(), a.Held(), r, replies...))
	check.That(b, commit != delivery.Busy || done.Reason == "STARTED", "%+v", done)
	check.Need(b, done.Outcome == commit && next.Outcome == claim,
		"commit and claim: %s, %s; want %s, %s (%+v, %+v)", done.Outcome, next.Outcome,
		commit, claim, done, next)
	return next
}

func testCommitAndClaim(b *bench) {
	b.Put(5)
	first := b.done(b.claim("r1", 2), "prepare")
	second := b.goOn(first, request("r2", 2), delivery.OK, delivery.OK)
	b.has(second, 2, 4)
	check.That(b, second.Token == (delivery.Token{N: 2, Req: "r2"}) && second.Attempt == 1 &&
		second.Committed == 1 && !second.Until.IsZero(),
		"%+v; want a claim like any other", second)
	b.Put(1)
	again := b.goOn(first, request("r2", 9), delivery.OK, delivery.OK)
	b.has(again, 2, 4)
	b.done(first, "commit")
	b.has(b.claim("r2", 2), 2, 4)
	b.done(second, "prepare")
	b.goOn(first, request("r2", 9), delivery.OK, delivery.InDoubt)
	third := b.goOn(second, request("r3", 9), delivery.OK, delivery.OK)
	b.has(third, 4, 6)
	// One that is in doubt is as good.
	b.done(third, "prepare")
	b.Put(1)
	b.Pass(time.Minute + time.Second)
	b.has(b.goOn(third, request("r4", 9), delivery.OK, delivery.OK), 6, 7)
}

func testCommitAndNothing(b *bench) {
	b.Put(1)
	first := b.done(b.claim("r1", 2), "prepare")
	for range 2 {
		b.goOn(first, request("r2", 2), delivery.OK, "")
	}
	b.is("claim", delivery.Empty)(b.Claims.Claim(b.Context(), request("r2", 2)))
}

func testCommitFailsAndClaim(b *bench) {
	b.Put(3)
	first := b.claim("r1", 1)
	b.goOn(first, request("r2", 1), delivery.Busy, "")
	forged := first
	forged.Token.Req = "forged"
	b.goOn(forged, request("r2", 1), delivery.Lost, "")
	for field, r := range map[string]delivery.Request{
		"request":     request("r1", 1),
		"maxMessages": request("r2", 1001),
		"queue":       {Queue: "other", Consumer: "c", ID: "r2"},
		"consumer":    {Queue: "q", Consumer: "other", ID: "r2"},
	} {
		_, _, err := b.Claims.CommitAndClaim(b.Context(), first.Held(), r)
		b.refused(field, err)
	}
	b.Pass(time.Minute + time.Second)
	b.has(b.claim("r3", 1), 0, 1)
	b.goOn(first, request("r2", 1), delivery.Lost, "")
	_, _, err := b.Claims.CommitAndClaim(b.Context(), first.Held(),
		request(strings.Repeat("r", 65), 1))
	b.refused("request", err)
}
