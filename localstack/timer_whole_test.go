//go:build whole

package localstack

import (
	"context"
	"fmt"
	"strings"
	"sync"
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

// given is when a consumer was given its batches, by queue and attempt.
type given struct {
	mu sync.Mutex
	at map[string]time.Time
}

func (g *given) line(l Line) {
	var queue string
	var seq, attempt, ms int64
	if n, _ := fmt.Sscanf(l.Text, "given %s %d %d %d", &queue, &seq, &attempt, &ms); n != 4 {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if key := fmt.Sprintf("%s %d", queue, attempt); g.at[key].IsZero() {
		g.at[key] = time.UnixMilli(ms)
	}
}

func (g *given) when(queue string, attempt int) time.Time {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.at[fmt.Sprintf("%s %d", queue, attempt)]
}

// TestWhatIsDueHappensWhenItIsDue, and not before: retries, skips, takeovers of what a dead process
// claimed, and chains' deadlines, by the timer alone: no sweep runs.
func TestWhatIsDueHappensWhenItIsDue(t *testing.T) {
	const n = 4
	s := run(t, Config{
		Templates: []string{"testdata/streamsort.quiet.patch.json", "testdata/moody.template.json"},
		Env:       map[string]string{"STREAMSORT_EVENT_BUS": ""},
	})
	g := given{at: map[string]time.Time{}}
	defer s.Subscribe(g.line)()
	call := caller(t, s)
	opened, deadlines := make([]time.Time, n), make([]time.Time, n)
	for i := range n {
		call("POST", "/messages", fmt.Sprintf(`{"queue":"retry/%d","seq":1,"body":1}`, i))
		call("PUT", "/queues", fmt.Sprintf(`{"queue":"skip/%d","policy":"skip","gapAfter":"5s"}`, i))
		opened[i] = time.Now() // at the earliest
		call("POST", "/messages", fmt.Sprintf(`{"queue":"skip/%d","seq":2,"body":1}`, i))
		call("POST", "/acks",
			fmt.Sprintf(`{"operation":"create","tag":"chain%d","deadline":"%ds"}`, i, 3+i%5))
		deadlines[i] = at(t,
			call("GET", fmt.Sprint("/chains?tag=chain", i), "")["chain"].(map[string]any), "deadline")
	}
	// Before a process dies: what it logged last is lost with it.
	await.True(t, "retries and skips", func() bool {
		for i := range n {
			if g.when(fmt.Sprint("retry/", i), 3).IsZero() || g.when(fmt.Sprint("skip/", i), 1).IsZero() {
				return false
			}
		}
		return true
	})
	leases := make([]time.Time, n)
	for i := range n {
		// One after the other: a process that dies has the rest of its batch begun anew, by one
		// that does not know what was sent.
		call("POST", "/messages", fmt.Sprintf(`{"queue":"die/%d","seq":1,"body":1}`, i))
		await.True(t, "a claim", func() bool {
			consumers, _ := call("GET", fmt.Sprintf("/consumers?queue=die/%d", i), "")["consumers"].([]any)
			if len(consumers) == 0 || consumers[0].(map[string]any)["claim"] == nil {
				return false
			}
			leases[i] = at(t, consumers[0].(map[string]any)["claim"].(map[string]any), "leaseUntil")
			return true
		})
	}
	await.True(t, "the takeovers", func() bool {
		for i := range n {
			if g.when(fmt.Sprint("die/", i), 2).IsZero() {
				return false
			}
		}
		return true
	})
	for i := range n {
		retry, die, skip := fmt.Sprint("retry/", i), fmt.Sprint("die/", i), fmt.Sprint("skip/", i)
		late := map[string]time.Duration{
			retry: g.when(retry, 3).Sub(g.when(retry, 2).Add(10 * time.Second)),
			die:   g.when(die, 2).Sub(leases[i]),
			skip:  g.when(skip, 1).Sub(opened[i].Add(5 * time.Second)),
		}
		var chain map[string]any
		await.True(t, "the end of a chain", func() bool {
			chain = call("GET", fmt.Sprint("/chains?tag=chain", i), "")["chain"].(map[string]any)
			return chain["endedAt"] != nil
		})
		late["chain"] = at(t, chain, "endedAt").Sub(deadlines[i])
		for what, by := range late {
			check.That(t, by >= -100*time.Millisecond, "%s was done %v after it was due", what, by)
		}
	}
}

// at is a time of a document.
func at(t *testing.T, document map[string]any, name string) time.Time {
	t.Helper()
	text, _ := document[name].(string)
	when, err := time.Parse(time.RFC3339Nano, text)
	check.Need(t, err == nil, "%s of %v: %v", name, document, err)
	return when
}

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
