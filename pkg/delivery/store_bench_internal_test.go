package delivery

import (
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/ddbtest"
	"github.com/streamsort/streamsort/internal/request"
	"github.com/streamsort/streamsort/pkg/table"
)

// at is a moment that the tables keep exactly.
var at = time.Date(2126, 3, 4, 5, 6, 7, int(8*time.Millisecond), time.UTC)

// bench is a store under test, with a queue that no other test has.
type bench struct {
	*testing.T
	*requests
	queue string
	// faults lets the store's requests go wrong.
	faults *ddbtest.Faults
}

// shared are the tables of all benches, on one engine of each kind.
var sharedNow = struct {
	sync.Mutex
	tables  []table.Definition
	engines map[ddbtest.Kind]ddb.Engine
}{
	tables:  definitions("consumers"+ddbtest.Suffix(), "operations"+ddbtest.Suffix()),
	engines: map[ddbtest.Kind]ddb.Engine{},
}

func sharedEngine(t *testing.T, kind ddbtest.Kind) ddb.Engine {
	t.Helper()
	sharedNow.Lock()
	defer sharedNow.Unlock()
	if sharedNow.engines[kind] == nil {
		sharedNow.engines[kind] = ddbtest.Open(t, kind, sharedNow.tables...)
	}
	return sharedNow.engines[kind]
}

// each runs a test on every engine.
func each(t *testing.T, test func(b *bench)) {
	t.Helper()
	ddbtest.Each(t, func(t *testing.T, kind ddbtest.Kind) {
		faults := ddbtest.NewFaults(sharedEngine(t, kind))
		test(&bench{T: t, requests: NewStore(faults, sharedNow.tables).Requests(request.Inside{}), queue: t.Name(), faults: faults})
	})
}

func same[T any](t *testing.T, what string, got, want T) {
	t.Helper()
	check.Is(t, cmp.Diff(want, got), "", what)
}

func (b *bench) check(err error) {
	b.Helper()
	check.OK(b.T, err)
}

// answer checks what a write answered, and that it is what stands there.
func (b *bench) answer(what string, want Consumer, wantMade bool) func(Consumer, bool, error) Consumer {
	return func(got Consumer, made bool, err error) Consumer {
		b.Helper()
		b.check(err)
		same(b.T, what+": made", made, wantMade)
		same(b.T, what, got, want)
		same(b.T, what+", as it stands there", b.standing(want.Queue, want.Name), want)
		return got
	}
}

func (b *bench) standing(queue, name string) Consumer {
	b.Helper()
	c, err := b.Consumer(b.Context(), queue, name)
	b.check(err)
	return c
}

// fresh is a consumer that has just been made and started.
func (b *bench) fresh(name string) Consumer {
	return Consumer{Queue: b.queue, Name: name, State: Idle, Delivered: 3, Progress: Progress{From: 3, To: 3}, Control: Control{LastOp: "op 0"}}
}

// create makes a consumer.
func (b *bench) create(c Consumer) Consumer {
	b.Helper()
	return b.answer("created", c, true)(b.CreateConsumer(b.Context(), c))
}

func claim(req string, to int64) request.Claim {
	return request.Claim{Req: req, To: to, Now: at, LeaseUntil: at.Add(time.Minute)}
}

// claimed is c after a claim.
func claimed(c Consumer, claim request.Claim) Consumer {
	c.Token = Token{N: c.Token.N + 1, Req: claim.Req}
	if c.TriedTo <= c.Delivered {
		c.Tried, c.TriedTo = 0, 0
	}
	if c.Attempts > 0 && c.Away == 0 {
		c.Tried, c.TriedTo = max(c.Tried+1, c.Attempts), max(c.TriedTo, c.failedTo())
	}
	c.State, c.From, c.To, c.LeaseUntil = Started, c.Delivered, claim.To, claim.LeaseUntil
	c.Attempts++
	if !c.alone() {
		c.Together++
	}
	c.RetryAt, c.Deferred = time.Time{}, false
	return c
}

// claim claims up to a seq.
func (b *bench) claim(c Consumer, req string, to int64) Consumer {
	b.Helper()
	return b.answer("claimed", claimed(c, claim(req, to)), true)(b.Claim(b.Context(), c, claim(req, to)))
}

// ended is c with the outcome of its claim remembered.
func ended(c Consumer, outcome TokenOutcome) Consumer {
	c.Outcomes[c.Token.N%4] = remember(c.Token, outcome)
	if outcome == Cancelled {
		c.Last = c.Last.With(died(c))
	}
	return c
}

// committed is c after a commit.
func committed(c Consumer) Consumer {
	c = ended(c, Committed)
	c.State, c.Delivered, c.Attempts, c.Together = Idle, c.To, 0, 0
	c.Deferred, c.Last = false, request.Attempts{}
	return takenNow(c)
}

// taken is c when nothing failed since.
func takenNow(c Consumer) Consumer {
	c.Failed, c.Error, c.Shown, c.ReplyQueue, c.Away = time.Time{}, "", 0, "", 0
	c.FailingSince, c.Proven = time.Time{}, false
	return c
}

// failed is c after a failure.
func failedNow(c Consumer, f request.Failure) Consumer {
	c = ended(c, Aborted)
	c.Failed, c.Error, c.Shown, c.ReplyQueue, c.Deferred, c.Away = f.Now, f.Error, f.Shown, f.ReplyQueue, false, f.Away
	if !f.Since.IsZero() {
		c.FailingSince = f.Since
	}
	c.Proven, c.Last = f.Proven, f.Last
	if f.Away > 0 {
		c.Attempts--
		if !f.Alone {
			c.Together--
		}
	} else {
		c.IsolateTo = c.To
	}
	if f.Block {
		return blocked(c, f.Now)
	}
	c.State, c.RetryAt = Idle, f.RetryAt
	return c
}

func blocked(c Consumer, now time.Time) Consumer {
	c.State, c.BlockedSince, c.RetryAt, c.Deferred = Blocked, now, time.Time{}, false
	c.Token.N++
	return c
}

// under is c with the token of another claim.
func under(c Consumer, token Token) Consumer {
	c.Token = token
	return c
}

func failure(block bool) request.Failure {
	return request.Failure{
		Error: "no", Shown: 1, ReplyQueue: "x", Now: at.Add(time.Second), RetryAt: at.Add(2 * time.Second), Block: block,
		Since: at, Proven: true,
		Last: request.Attempts{{N: 1, Token: "1-r", To: 1, At: at, Took: time.Second, By: "fn", CallID: "id", Answer: "no", Shown: 1}},
	}
}
