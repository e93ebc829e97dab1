//go:build whole

package localstack

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/streamsort/streamsort/internal/dev/await"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/request"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/delivery"
	"github.com/streamsort/streamsort/pkg/xorack"
)

// tracker is a consumer of a test's own, whose batches are tracked: it does all but what the
// functions do when a chain has ended.
type tracker struct {
	t     *testing.T
	queue string
	store *delivery.Store
	acker *xorack.Acker
	d     *delivery.Deliverer
}

func newTracker(t *testing.T, client *dynamodb.Client, queue string) *tracker {
	t.Helper()
	k := &tracker{t: t, queue: queue, store: delivery.NewDynamo(client, delivery.Names{})}
	k.acker = check.Get(xorack.New(xorack.NewDynamo(client, xorack.Names{}), nil))
	sorter := check.Get(cursor.New(check.Get(cursor.NewDynamo(client, cursor.Names{})), nil))
	k.d = check.Get(delivery.New(k.store, sorter, &delivery.Options{Acker: k.acker}))
	return k
}

// takes is the next message's edge, as soon as it is delivered. Its work may take so long.
func (k *tracker) takes(track time.Duration) (edge xorack.Edge) {
	k.t.Helper()
	await.True(k.t, "the next message", func() bool {
		done := k.d.Deliver(k.t.Context(), k.queue, delivery.Reader{
			Name: "tracker", Track: track, MaxMessages: 1,
			Handle: func(_ context.Context, b delivery.Batch) error { edge = b.Edges[0]; return nil },
		}, -1)
		check.Need(k.t, done.Err == nil, "%v", done.Err)
		return done.Outcome == delivery.Deferred
	})
	return edge
}

// comes waits until the claim that is in flight has ended, and checks how.
func (k *tracker) comes(delivered int64, failure string, meanwhile func()) {
	k.t.Helper()
	var c delivery.Consumer
	await.True(k.t, "the end of the claim", func() bool {
		meanwhile()
		c = check.Get(k.store.Requests(request.Inside{}).Consumer(k.t.Context(), k.queue, "tracker"))
		return c.State == delivery.Idle
	})
	check.That(k.t, c.Delivered == delivered && strings.HasPrefix(c.Error, failure) && !c.Deferred,
		"%+v; want %d delivered, and the failure %q", c, delivered, failure)
}

// trackedDelivery delivers messages whose work is done, fails, and takes too long: ack handles the
// first two ends, the sweep the third.
func trackedDelivery(t *testing.T, client *dynamodb.Client, put func(queue string, seq int),
	sweep func()) {
	t.Helper()
	k := newTracker(t, client, "tracked")
	for seq := 1; seq <= 3; seq++ {
		put(k.queue, seq)
	}
	check.Get(k.acker.Done(t.Context(), k.takes(time.Hour)))
	k.comes(1, "", func() {})
	check.Get(k.acker.Fail(t.Context(), k.takes(time.Hour), "no"))
	k.comes(1, "FAILED: no", func() {})
	k.takes(time.Second)
	k.comes(1, "TIMED_OUT: ", sweep) // the first to see it says so: the chain's sweep, or a delivery
}
