package handoff_test

import (
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/ddbtest"
	"github.com/streamsort/streamsort/internal/dev/localdb"
	"github.com/streamsort/streamsort/pkg/handoff"
)

// at is a moment that the tables keep exactly.
var at = time.Date(2126, 3, 4, 5, 6, 7, int(8*time.Millisecond), time.UTC)

// bench is a store under test, with a queue that no other test has.
type bench struct {
	*testing.T
	*handoff.Store
	queue string
	// faults lets the store's requests go wrong.
	faults *ddbtest.Faults
}

// shared are the tables of all benches, on one engine of each kind.
var shared = struct {
	sync.Mutex
	names   handoff.Names
	engines map[localdb.Kind]ddb.Engine
}{
	names:   handoff.Names{Consumers: "consumers" + localdb.Suffix(), Acts: "acts" + localdb.Suffix()},
	engines: map[localdb.Kind]ddb.Engine{},
}

func sharedEngine(t *testing.T, kind localdb.Kind) ddb.Engine {
	t.Helper()
	shared.Lock()
	defer shared.Unlock()
	if shared.engines[kind] == nil {
		shared.engines[kind] = ddbtest.Open(t, kind, shared.names.Tables()...)
	}
	return shared.engines[kind]
}

// each runs a test on every engine.
func each(t *testing.T, test func(b *bench)) {
	t.Helper()
	ddbtest.Each(t, func(t *testing.T, kind localdb.Kind) {
		faults := ddbtest.NewFaults(sharedEngine(t, kind))
		test(&bench{T: t, Store: handoff.NewStore(faults, shared.names), queue: t.Name(), faults: faults})
	})
}

func same[T any](t *testing.T, what string, got, want T) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func (b *bench) check(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// answer checks what a write answered, and that it is what stands there.
func (b *bench) answer(what string, want handoff.Consumer, wantMade bool) func(handoff.Consumer, bool, error) handoff.Consumer {
	return func(got handoff.Consumer, made bool, err error) handoff.Consumer {
		b.Helper()
		b.check(err)
		same(b.T, what+": made", made, wantMade)
		same(b.T, what, got, want)
		same(b.T, what+", as it stands there", b.standing(want.Queue, want.Name), want)
		return got
	}
}

func (b *bench) standing(queue, name string) handoff.Consumer {
	b.Helper()
	c, err := b.Consumer(b.Context(), queue, name)
	b.check(err)
	return c
}

// fresh is a consumer that has just been made and started.
func (b *bench) fresh(name string) handoff.Consumer {
	return handoff.Consumer{Queue: b.queue, Name: name, State: handoff.Idle, Delivered: 3, From: 3, To: 3, LastOp: "op 0"}
}

// create makes a consumer.
func (b *bench) create(c handoff.Consumer) handoff.Consumer {
	b.Helper()
	return b.answer("created", c, true)(b.CreateConsumer(b.Context(), c))
}

func claim(req string, to int64) handoff.Claim {
	return handoff.Claim{Req: req, To: to, Now: at, LeaseUntil: at.Add(time.Minute)}
}

// claimed is c after a claim.
func claimed(c handoff.Consumer, claim handoff.Claim) handoff.Consumer {
	c.Token = handoff.Token{N: c.Token.N + 1, Req: claim.Req}
	c.State, c.From, c.To, c.LeaseUntil = handoff.Started, c.Delivered, claim.To, claim.LeaseUntil
	c.Attempts++
	c.RetryAt, c.Tracked = time.Time{}, claim.Tracked
	return c
}

// claim claims up to a seq.
func (b *bench) claim(c handoff.Consumer, req string, to int64) handoff.Consumer {
	b.Helper()
	return b.answer("claimed", claimed(c, claim(req, to)), true)(b.Claim(b.Context(), c, claim(req, to)))
}

// ended is c with the outcome of its claim remembered.
func ended(c handoff.Consumer, outcome handoff.TokenOutcome) handoff.Consumer {
	c.Outcomes[c.Token.N%4] = handoff.Remember(c.Token, outcome)
	return c
}

// committed is c after a commit.
func committed(c handoff.Consumer) handoff.Consumer {
	c = ended(c, handoff.Committed)
	c.State, c.Delivered, c.Attempts = handoff.Idle, c.To, 0
	c.Failed, c.Error, c.ReplyQueue, c.Tracked = time.Time{}, "", "", false
	return c
}

// failed is c after a failure.
func failed(c handoff.Consumer, f handoff.Failure) handoff.Consumer {
	c = ended(c, handoff.Aborted)
	c.SingleTo, c.Failed, c.Error, c.ReplyQueue, c.Tracked = c.To, f.Now, f.Error, f.ReplyQueue, false
	if f.Block {
		return blocked(c, f.Now)
	}
	c.State, c.RetryAt = handoff.Idle, f.RetryAt
	return c
}

func blocked(c handoff.Consumer, now time.Time) handoff.Consumer {
	c.State, c.BlockedSince, c.RetryAt = handoff.Blocked, now, time.Time{}
	c.Token.N++
	return c
}

func failure(block bool) handoff.Failure {
	return handoff.Failure{Error: "no", ReplyQueue: "x", Now: at.Add(time.Second), RetryAt: at.Add(2 * time.Second), Block: block}
}
