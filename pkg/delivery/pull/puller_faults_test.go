package pull_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/ddbtest"
	"github.com/streamsort/streamsort/internal/request"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/delivery"
)

// TestPullFaults lets each request of a claim's life go wrong in each way. The
// caller repeats the call that failed: the claim is made once, and ends once.
func TestPullFaults(t *testing.T) {
	faults := ddbtest.NewFaults(ddb.NewMemory(tables{}.definitions()...))
	store, queues := tables{}.storesOn(t, faults)
	sorter := check.Get(cursor.New(queues, nil))
	d := check.Get(delivery.New(store, sorter, nil))
	p := check.Get(delivery.NewClaims(d, nil))
	for name, c := range map[string]struct {
		end  func(context.Context, delivery.Held) (delivery.Answer, error)
		want delivery.TokenOutcome
	}{
		"commit": {func(ctx context.Context, h delivery.Held) (delivery.Answer, error) { return p.Commit(ctx, h) }, delivery.Committed},
		"settle as committed": {func(ctx context.Context, h delivery.Held) (delivery.Answer, error) {
			return p.Settle(ctx, h, delivery.Committed, "")
		}, delivery.Committed},
		"settle as aborted": {func(ctx context.Context, h delivery.Held) (delivery.Answer, error) {
			return p.Settle(ctx, h, delivery.Aborted, "why")
		}, delivery.Aborted},
	} {
		for _, fault := range ddbtest.EveryFault() {
			for nth, pending := 1, false; !pending; nth++ {
				t.Run(fmt.Sprintf("%s, request %d, %s", name, nth, fault), func(t *testing.T) {
					queue := fmt.Sprintf("%s %s %d", name, fault, nth)
					check.OK(t, sorter.Put(t.Context(), cursor.Message{Queue: queue, Seq: 1})[0].Err)
					check.Get(d.Create(t.Context(), queue, "c", delivery.First))
					faults.Fail(nth, fault)
					again := func(what string, call func() (delivery.Answer, error)) delivery.Answer {
						t.Helper()
						for range 2 {
							if a, err := call(); err == nil {
								check.Need(t, a.Outcome == delivery.OK, "%s: %+v", what, a)
								return a
							}
						}
						t.Fatalf("%s fails twice", what)
						return delivery.Answer{}
					}
					claim := again("claim", func() (delivery.Answer, error) {
						return p.Claim(t.Context(), delivery.Request{Queue: queue, Consumer: "c", ID: "r"})
					})
					check.That(t, len(claim.Messages) == 1, "claimed %+v", claim)
					again("prepare", func() (delivery.Answer, error) { return p.Prepare(t.Context(), claim.Held()) })
					again(name, func() (delivery.Answer, error) { return c.end(t.Context(), claim.Held()) })
					pending = faults.Pending()
					faults.Fail(0, "")
					is, err := store.Requests(request.Inside{}).Consumer(t.Context(), queue, "c")
					check.That(t, err == nil && is.Token.N == 1 && is.State == delivery.Idle && is.Outcomes[1].Outcome == c.want,
						"%+v, %v; want one claim, %s", is, err, c.want)
				})
				check.Need(t, nth <= 20, "no end of requests")
			}
		}
	}
}
