package dedup_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/bubble"
	"github.com/streamsort/streamsort/internal/dev/ddbtest"
	"github.com/streamsort/streamsort/pkg/dedup"
)

const (
	shortLease  = 60 * time.Millisecond
	shortMargin = time.Millisecond
)

// step is an operation on one id.
type step struct {
	kind  string // start, complete, fail
	fence int64  // of the attempt that completes or fails
	value string
	at    time.Time
}

// answer is what an operation was answered.
type answer struct {
	// result is new, duplicate, busy, ok, lost or unknown.
	result string
	fence  int64
	lease  time.Time
	value  string
}

// register is what there is to be known of an id: who has it until when, and
// how it ended. It is the model.
type register struct {
	exists bool
	// fence is -1 where a claim whose answer is unknown made the row.
	fence int64
	lease time.Time
	done  bool
	value string
}

// leaseRegister is the model of one id. A call whose answer is unknown may have
// taken effect or not.
var leaseRegister = porcupine.NondeterministicModel{
	Init: func() []any { return []any{register{}} },
	Step: func(state, input, output any) []any {
		var next []any
		for _, r := range state.(register).step(input.(step), output.(answer)) {
			next = append(next, r)
		}
		return next
	},
	Equal: func(a, b any) bool { return a == b },
	Hash: func(state any) uint64 {
		r := state.(register)
		return uint64(r.fence)<<20 ^ uint64(r.lease.UnixMilli())
	},
	DescribeOperation: func(input, output any) string {
		in, out := input.(step), output.(answer)
		return fmt.Sprintf("%s %d %s: %s %d %s", in.kind, in.fence, in.value, out.result, out.fence, out.value)
	},
}

// step is the states that an operation may lead to: none where it could not have
// been answered so.
func (r register) step(in step, out answer) []register {
	switch {
	case in.kind == "start":
		return r.start(in, out)
	case out.result == "lost" && r.fence != in.fence:
		return []register{r}
	case out.result == "unknown" && (r.fence != in.fence || r.done):
		return []register{r}
	case out.result == "lost" || r.fence != in.fence || r.done:
		return nil
	}
	after := r
	if in.kind == "complete" {
		after.done, after.value = true, in.value
	} else {
		after.lease = time.Time{}
	}
	if out.result == "unknown" {
		return []register{r, after}
	}
	return []register{after}
}

func (r register) start(in step, out answer) []register {
	switch out.result {
	case "new":
		started := out.lease.Add(-shortLease)
		if r.exists && (r.done || r.lease.After(started.Add(-shortMargin)) || r.fence >= 0 && out.fence != r.fence+1) {
			return nil
		}
		return []register{{exists: true, fence: out.fence, lease: out.lease}}
	case "duplicate":
		if r.done && r.value == out.value {
			return []register{r}
		}
	case "busy":
		if r.exists && !r.done && r.lease.After(in.at.Add(-shortMargin)) {
			return []register{r}
		}
	case "unknown":
		if r.done {
			return []register{r}
		}
		claimed := register{exists: true, fence: -1, lease: in.at.Add(shortLease)}
		if r.exists && r.fence >= 0 {
			claimed.fence = r.fence + 1
		}
		return []register{r, claimed}
	}
	return nil
}

// TestLinearizable: histories of 8 to 32 clients of one id, on tables whose requests take a
// moment and go wrong, are those of a lease register.
func TestLinearizable(t *testing.T) {
	for n, clients := range []int{8, 12, 16, 24, 32, 8, 12, 16, 24, 32} {
		synctest.Test(t, func(t *testing.T) {
			isLinearizable(t, concurrently(t, fmt.Sprint("id-", n), clients))
		})
	}
}

// TestEveryAnswerIsLinearizable: a history that has each answer, by two clients in turn.
func TestEveryAnswerIsLinearizable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var names dedup.Names
		table := ddbtest.NewFaults(ddb.NewMemory(names.Tables()...))
		h := &recorder{began: time.Now(), inFlight: make(chan struct{}, 5)}
		a, b := newClient(t, h, table, "id"), newClient(t, h, table, "id")
		first, _ := a.start(false)
		b.start(false)
		bubble.Sleep(2 * shortLease)
		second, _ := b.start(false)
		a.end(first, "complete", "a", false)
		b.end(second, "fail", "b", false)
		table.Fail(1, ddbtest.Lost)
		a.start(false)
		bubble.Sleep(2 * shortLease)
		third, _ := b.start(false)
		b.end(third, "complete", "b", false)
		a.start(false)
		isLinearizable(t, h.history)
		var got []string
		for _, o := range h.history {
			got = append(got, o.Output.(answer).result)
		}
		want := "new busy new lost ok unknown new ok duplicate"
		if got := strings.Join(got, " "); got != want {
			t.Errorf("answered %s, want %s", got, want)
		}
	})
}

// isLinearizable checks a history.
func isLinearizable(t *testing.T, history []porcupine.Operation) {
	t.Helper()
	if porcupine.CheckOperations(leaseRegister.ToModel(), history) {
		return
	}
	t.Error("the history is not linearizable:")
	for _, o := range history {
		what := leaseRegister.DescribeOperation(o.Input, o.Output)
		t.Logf("client %d, %d to %d: %s", o.ClientId, o.Call, o.Return, what)
	}
}

// recorder is a history in the making.
type recorder struct {
	began time.Time
	// inFlight bounds the calls at one moment: with more, the checker takes for
	// ever.
	inFlight chan struct{}
	mu       sync.Mutex
	history  []porcupine.Operation
}

// record notes an operation. One whose answer is unknown has had its effect, if
// any, before it returned: nothing is delivered late here. Where a request
// was repeated, its first copy may have had an effect of its own before the
// second one was answered, and so may a claim have whose lease was over when its
// answer came: as an operation whose answer nobody knows.
func (h *recorder) record(in step, began time.Time, out answer, wentWrong bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	o := porcupine.Operation{
		ClientId: len(h.history), Input: in, Call: int64(began.Sub(h.began)), Output: out, Return: int64(time.Since(h.began)),
	}
	h.history = append(h.history, o)
	if (wentWrong || time.Since(began) > shortLease-5*time.Millisecond) && out.result != "unknown" {
		o.ClientId, o.Output = len(h.history), answer{result: "unknown"}
		h.history = append(h.history, o)
	}
}

// client is a process that acts on an id.
type client struct {
	*testing.T
	*recorder
	d  *dedup.Deduplicator[string, string]
	id string
}

func newClient(t *testing.T, h *recorder, table ddb.Engine, id string) client {
	t.Helper()
	store := on(t, table)
	o := options{Lease: shortLease, Margin: shortMargin, Wait: dedup.NoWait}
	return client{t, h, process(t, store, &o), id}
}

// concurrently lets clients act on one id at once.
func concurrently(t *testing.T, id string, clients int) []porcupine.Operation {
	t.Helper()
	var names dedup.Names
	tables := ddb.NewMemory(names.Tables()...)
	h := &recorder{began: time.Now(), inFlight: make(chan struct{}, 5)}
	var wait sync.WaitGroup
	for n := range clients {
		random := rand.New(rand.NewPCG(uint64(clients), uint64(n)))
		table := ddbtest.NewFaults(ddb.Func(func(ctx context.Context, r ddb.Request) (ddb.Answer, error) {
			bubble.Sleep(moment(random))
			defer func() { bubble.Sleep(moment(random)) }()
			return tables.Do(ctx, r)
		}))
		c := newClient(t, h, table, id)
		wait.Go(func() {
			for turn := range 6 {
				if !c.act(table, random, fmt.Sprintf("%d.%d", n, turn)) {
					return
				}
			}
		})
	}
	wait.Wait()
	return h.history
}

// start starts, and records how that was answered.
func (c client) start(wentWrong bool) (attempt *dedup.Attempt[string, string], duplicate bool) {
	in, began := step{kind: "start", at: time.Now().Truncate(time.Millisecond)}, time.Now()
	started, err := c.d.TryStart(c.Context(), c.id)
	attempt = started.Attempt
	out := answer{result: result(err)}
	switch {
	case err == nil && attempt == nil:
		out = answer{result: "duplicate", value: started.Duplicate.Value}
	case err == nil:
		out = answer{result: "new", fence: attempt.Run().Fence, lease: attempt.Run().LeaseUntil}
	}
	c.record(in, began, out, wentWrong)
	return attempt, out.result == "duplicate"
}

// end ends an attempt, and records how that was answered.
func (c client) end(attempt *dedup.Attempt[string, string], kind, value string, wentWrong bool) {
	in, began := step{kind: kind, fence: attempt.Run().Fence, value: value}, time.Now()
	var err error
	if kind == "complete" {
		err = attempt.Complete(c.Context(), value)
	} else {
		err = attempt.Fail(c.Context(), errDown)
	}
	c.record(in, began, answer{result: result(err)}, wentWrong)
}

// act starts once, and ends what it has started, or does not. It reports
// whether there is more to do.
func (c client) act(table *ddbtest.Faults, random *rand.Rand, value string) bool {
	goWrong := func() bool {
		fault := ddbtest.EveryFault()[random.IntN(len(ddbtest.EveryFault()))]
		wrong := random.IntN(12) == 0
		if wrong {
			table.Fail(1, fault)
		}
		return wrong && fault == ddbtest.Repeated
	}
	c.inFlight <- struct{}{}
	attempt, duplicate := c.start(goWrong())
	<-c.inFlight
	if attempt == nil {
		bubble.Sleep(shortLease / 4)
		return !duplicate
	}
	if random.IntN(2) == 0 {
		bubble.Sleep(2 * shortLease) // a zombie, if anybody else is there
	}
	c.inFlight <- struct{}{}
	defer func() { <-c.inFlight }()
	wrong := goWrong()
	switch random.IntN(4) {
	case 0:
		c.end(attempt, "complete", value, wrong)
	case 1, 2:
		c.end(attempt, "fail", value, wrong)
	default: // it is never heard of again
	}
	return true
}

// moment is how long a request is on its way, or its answer.
func moment(random *rand.Rand) time.Duration {
	return time.Duration(random.Int64N(int64(2 * time.Millisecond)))
}

func result(err error) string {
	var busy *dedup.StillRunningError
	var lost *dedup.LostError
	switch {
	case err == nil:
		return "ok"
	case errors.As(err, &busy):
		return "busy"
	case errors.As(err, &lost):
		return "lost"
	}
	return "unknown"
}
