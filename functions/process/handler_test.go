package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/fanout"
	"github.com/streamsort/streamsort/internal/request"
	"github.com/streamsort/streamsort/internal/runtime"
	"github.com/streamsort/streamsort/internal/sink/kind"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/delivery"
	"github.com/streamsort/streamsort/pkg/xorack"
)

// record is a record of the cursors' stream as Lambda passes it on: the cursor moved from its start
// to a position.
func record(sequence int, queue string, position int64) string {
	image := func(position int64) string {
		return fmt.Sprintf(`{"queue":{"S":%q},"v":{"N":"1"},"change":{"S":"advance"},"first":{"N":"1"},"position":{"N":"%d"},"parked":{"N":"1"},
			"gapSince":{"N":"1767225600000"},"policy":{"S":"wait"},"gapAfter":{"N":"300000"},"maxAhead":{"N":"100000"},"mode":{"S":"sync"}}`, queue, position)
	}
	return fmt.Sprintf(`{"eventName":"MODIFY","dynamodb":{"SequenceNumber":"%d","OldImage":%s,"NewImage":%s}}`, sequence, image(0), image(position))
}

func event(t *testing.T, records ...string) call {
	t.Helper()
	var e call
	check.OK(t, json.Unmarshal([]byte(`{"Records":[`+strings.Join(records, ",")+`]}`), &e))
	return e
}

// taker is where a function is invoked over HTTP. It takes what it is given, but for queues whose
// name says otherwise.
type taker struct {
	mu    sync.Mutex
	taken []string
	edges []xorack.Edge
}

func newTaker(t *testing.T) *taker {
	t.Helper()
	var to taker
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var document struct {
			Queue    string
			From, To json.Number
			Messages []struct{ Edge xorack.Edge }
		}
		err := json.NewDecoder(r.Body).Decode(&document)
		check.That(t, err == nil, "%v", err)
		to.mu.Lock()
		defer to.mu.Unlock()
		for _, m := range document.Messages {
			if !m.Edge.IsZero() {
				to.edges = append(to.edges, m.Edge)
			}
		}
		to.taken = append(to.taken, fmt.Sprintf("%s %s-%s", document.Queue, document.From, document.To))
		if document.Queue == "poison" {
			w.Header().Set("X-Amz-Function-Error", "Unhandled")
			_, _ = io.WriteString(w, `{"errorType":"Bad","errorMessage":"no luck"}`)
		}
	}))
	t.Cleanup(server.Close)
	t.Setenv("AWS_ENDPOINT_URL", server.URL)
	return &to
}

// all is what was taken, in the order of the names: queues are delivered side by side.
func (to *taker) all() string {
	return strings.Join(slices.Sorted(slices.Values(to.taken)), ", ")
}

// bench is the function on stores in memory.
type bench struct {
	*testing.T
	sorter *cursor.Sorter
	handle func(context.Context, call) (events.DynamoDBEventResponse, error)
	out    bytes.Buffer
	store  *delivery.Store
	acker  *xorack.Acker

	deliverer *delivery.Deliverer
}

func newBench(t *testing.T, consumers string) *bench {
	t.Helper()
	return benchOf(t, nil, check.Get(readersFrom(write(t, consumers), nil))...)
}

func benchOf(t *testing.T, bound *share, readers ...delivery.Reader) *bench {
	t.Helper()
	b := &bench{T: t, store: delivery.NewMemory()}
	b.sorter = check.Get(cursor.New(cursor.NewMemory(), nil))
	seen := &observer{}
	b.acker = check.Get(xorack.New(xorack.NewMemory(), nil))
	b.deliverer = check.Get(delivery.New(b.store, b.sorter,
		&delivery.Options{Observe: seen.delivery, Acker: b.acker}))
	b.handle = runtime.Around(&b.out, runtime.Headroom,
		check.Get(handler(b.deliverer, cursor.Names{}, seen, readers, bound)))
	return b
}

func write(t *testing.T, text string) string {
	t.Helper()
	folder := t.TempDir()
	check.OK(t, os.WriteFile(filepath.Join(folder, "consumers.json"), []byte(text), 0o600))
	return folder
}

func (b *bench) put(queue string, body string, seqs ...int64) {
	b.Helper()
	for _, seq := range seqs {
		check.OK(b,
			b.sorter.Put(b.Context(), cursor.Message{Queue: queue, Seq: seq, Body: []byte(body)})[0].Err)
	}
}

func (b *bench) run(records ...string) events.DynamoDBEventResponse {
	b.Helper()
	return check.Get(b.handle(b.Context(), event(b.T, records...)))
}

func (b *bench) has(metrics ...string) {
	b.Helper()
	for _, metric := range metrics {
		check.Has(b, b.out.String(), metric)
	}
	b.out.Reset()
}

const toFunction = `{"consumers":[{"name":"billing","sink":{"kind":"lambda","arn":"arn:aws:lambda:us-east-1:123456789012:function:f"}}]}`

var eagerAndSlow = strings.Replace(toFunction, `[{`, `[{"name":"slow","sink":{"kind":"lambda",`+
	`"arn":"arn:aws:lambda:us-east-1:123456789012:function:f"}},{"eager":true,`, 1)

func TestHandlerDelivers(t *testing.T) {
	to := newTaker(t)
	b := newBench(t, toFunction)
	b.put("a", "1", 2, 1, 3)
	b.put("b", "1", 1)
	check.Is(t, len(b.run(record(1, "a", 3), record(2, "b", 1)).BatchItemFailures), 0)
	check.Is(t, to.all(), "a 0-3, b 0-1")
	b.has(`"Batches":2`, `"Delivered":4`, `"ColdStart":1`)
	// The stream's repeat finds nothing to do.
	b.run(record(1, "a", 3))
	check.Is(t, len(to.taken), 2, to.taken)
	// A queue that fails comes again, and holds up no other.
	to.taken = nil
	b.put("poison", "1", 1)
	b.put("c", "1", 1)
	response := b.run(record(1, "poison", 1), record(2, "c", 1))
	check.Is(t, fmt.Sprint(response.BatchItemFailures), "[{1}]")
	check.Is(t, to.all(), "c 0-1, poison 0-1")
	b.has(`"DeliveriesFailed":1`, `"Delivered":1`)
	// A message that no queue takes is blocked at once, behind those before it.
	b = newBench(t, `{"consumers":[{"name":"billing","sink":{"kind":"sqs","arn":"arn:aws:sqs:us-east-1:123456789012:q.fifo","maxBytes":1024}}]}`)
	b.put("a", strings.Repeat("x", 2000), 1)
	check.Is(t, len(b.run(record(1, "a", 1)).BatchItemFailures), 0)
	c, err := b.store.Requests(request.Inside{}).Consumer(t.Context(), "a", "billing")
	check.That(t, err == nil && c.State == delivery.Blocked &&
		strings.Contains(c.Error, "takes at most 1024"), "%+v, %v", c, err)
	b.has(`"DeliveriesBlocked":1`)
}

// TestHandlerDeliversAtOnce: what was moved goes to eager consumers, as it is called, however
// often, and an entry with a consumer to that one; to others with the stream's record.
func TestHandlerDeliversAtOnce(t *testing.T) {
	to := newTaker(t)
	b := newBench(t, eagerAndSlow)
	b.put("a", "1", 1, 2)
	b.put("b", "1", 1)
	b.put("c", "1", 1)
	var event call
	check.OK(t, json.Unmarshal([]byte(`{"deliver":[{"queue":"a","position":2},
		{"queue":"c","consumer":"slow"},{"queue":"b","position":1},{"queue":"a","position":1},{"queue":"none"}]}`), &event))
	for range 2 {
		check.Get(b.handle(t.Context(), event))
		check.Is(t, to.all(), "a 0-2, b 0-1, c 0-1")
	}
	b.run(record(1, "a", 2))
	check.Is(t, to.all(), "a 0-2, a 0-2, b 0-1, c 0-1")
}

var tracked = strings.Replace(toFunction, `"name"`, `"track": "10m", "name"`, 1)

// withEndpoints is a consumer whose endpoints are its queues' own.
const withEndpoints = `{"consumers":[{"name":"hooks","sink":{"kind":"http","endpoints":true}}]}`

// trackedToo has a consumer that is tracked beside one with endpoints.
var trackedToo = strings.Replace(tracked, `[`,
	`[{"name":"hooks","sink":{"kind":"http","endpoints":true}},`, 1)

// A tracked batch is not committed when its sink has it, but when its work is done.
func TestHandlerTracks(t *testing.T) {
	to := newTaker(t)
	b := newBench(t, tracked)
	b.put("a", "1", 2, 1)
	check.Is(t, len(b.run(record(1, "a", 2)).BatchItemFailures), 0)
	b.has(`"BatchesDeferred":1`)
	check.Need(t, len(to.edges) == 2, "edges %v", to.edges)
	for i, want := range []delivery.State{delivery.Started, delivery.Idle} {
		result, err := b.acker.Done(t.Context(), to.edges[i])
		if err == nil && result.Outcome == xorack.Ended {
			err = b.deliverer.Ender(nil)(t.Context(), result.Chain)
		}
		check.OK(t, err)
		c := check.Get(b.store.Requests(request.Inside{}).Consumer(t.Context(), "a", "billing"))
		check.Is(t, c.State, want, i+1, c)
	}
}

func tables(t *testing.T) {
	for _, table := range []string{"MESSAGES", "CURSORS", "TROUBLE", "CONSUMERS", "AUDIT"} {
		t.Setenv("STREAMSORT_"+table+"_TABLE", "some")
	}
}

// starts starts the function, which must fail by what is wanted, or not at all.
func starts(t *testing.T, want string) {
	t.Helper()
	_, err := runtime.New(io.Discard, newHandler)
	check.That(t, (err == nil) == (want == "") && strings.Contains(fmt.Sprint(err), want),
		"error %v, want %q", err, want)
}

// TestStart names what is missing: process names the function that calls slow endpoints, where it
// has any, and that one its tenants' share. The text in the environment stands in the file's place,
// and an error says so.
func TestStart(t *testing.T) {
	newTaker(t)
	const slow = "arn:aws:lambda:us-east-1:123456789012:function:slow:live"
	for _, c := range []struct{ variable, value, consumers, want string }{
		{"STREAMSORT_MESSAGES_TABLE", "", toFunction, "STREAMSORT_MESSAGES_TABLE is not set"},
		{"STREAMSORT_CONSUMERS_TABLE", "", toFunction, "STREAMSORT_CONSUMERS_TABLE is not set"},
		{"", "", `{}`, "consumers.json: consumers has 0"},
		{"", "", `{"consumers":[{"name":"books"}]}`, "consumers.json: no consumer has a sink"},
		{"LAMBDA_TASK_ROOT", "", toFunction, "consumers.json: no such file"},
		{"", "", toFunction, ""},
		{"STREAMSORT_CHAINS_TABLE", "", tracked, "STREAMSORT_CHAINS_TABLE is not set"},
		{"STREAMSORT_CHAINS_TABLE", "", toFunction, ""},
		{"", "", tracked, ""},
		{"STREAMSORT_SLOW_FUNCTION", "", withEndpoints, "STREAMSORT_SLOW_FUNCTION is not set"},
		{"STREAMSORT_SLOW_FUNCTION", slow, withEndpoints, ""},
		{"STREAMSORT_SLOW_SHARE", "1", withEndpoints, ""},
		{"STREAMSORT_SLOW_SHARE", "100", withEndpoints, ""},
		{"STREAMSORT_SLOW_SHARE", "0", withEndpoints, `STREAMSORT_SLOW_SHARE must be an integer from 1 to 100: it is "0"`},
		{"STREAMSORT_SLOW_SHARE", "101", withEndpoints, `it is "101"`},
		{"STREAMSORT_SLOW_SHARE", "many", withEndpoints, `it is "many"`},
		{"STREAMSORT_CONSUMERS", toFunction, "", ""},
		{"STREAMSORT_CONSUMERS", `{"consumers":[{"name":"books"}]}`, "", "STREAMSORT_CONSUMERS: no consumer has a sink"},
		{"STREAMSORT_CONSUMERS", `{"consumers":[{"name":"a b"}]}`, "", "STREAMSORT_CONSUMERS: consumers[0].name "},
	} {
		t.Run(c.variable+" "+c.want, func(t *testing.T) {
			tables(t)
			t.Setenv("STREAMSORT_CHAINS_TABLE", "some")
			folder := t.TempDir()
			if c.consumers != "" {
				folder = write(t, c.consumers)
			}
			t.Setenv("LAMBDA_TASK_ROOT", folder)
			if c.variable != "" {
				t.Setenv(c.variable, c.value)
			}
			starts(t, c.want)
		})
	}
	// The function of the slow ones has nothing to do with the chains.
	tables(t)
	t.Setenv("LAMBDA_TASK_ROOT", write(t, trackedToo))
	t.Setenv("STREAMSORT_SLOW_SHARE", "1")
	starts(t, "")
}

// TestHandlerAnswersBeforeItsTimeIsOver: a batch ends so long before that it can be committed, and
// that a second is left then.
func TestHandlerAnswersBeforeItsTimeIsOver(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	end, _ := ctx.Deadline()
	sorter := check.Get(cursor.New(cursor.NewMemory(), nil))
	check.OK(t, sorter.Put(ctx, cursor.Message{Queue: "q", Seq: 1})[0].Err)
	seen := &observer{}
	deliverer := check.Get(delivery.New(delivery.NewMemory(), sorter,
		&delivery.Options{Observe: seen.delivery, Margin: 2 * time.Second}))
	handed := false
	handle := check.Get(handler(deliverer, cursor.Names{}, seen,
		[]delivery.Reader{{Name: "c", Handle: func(ctx context.Context, _ delivery.Batch) error {
			handed = true
			// The context's clock and the deliverer's are read one after the other.
			at, _ := ctx.Deadline()
			check.That(t, !at.IsZero() && end.Sub(at) >= runtime.Headroom+1900*time.Millisecond,
				"the batch may last until %v before the end", end.Sub(at))
			return nil
		}}}, nil))
	called := runtime.Around(io.Discard, runtime.Headroom, handle)
	answer := check.Get(called(ctx, event(t, record(1, "q", 1))))
	check.That(t, len(answer.BatchItemFailures) == 0 && handed, "%+v %+v", answer, handed)
}

type refusing struct{ err error }

// Send implements [kind.Sink].
func (r refusing) Send(context.Context, delivery.Batch) error { return r.err }

var synctestDay = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// TestHanding: a message that no sink takes blocks at once, and one for whose sink it is away is
// not counted.
func TestHanding(t *testing.T) {
	for name, c := range map[string]struct {
		err      error
		state    delivery.State
		attempts int
	}{
		"too large": {&kind.TooLargeError{Kind: "sqs", Seq: 1, Bytes: 2, Limit: 1}, delivery.Blocked, 1},
		"away":      {&smithyhttp.RequestSendError{Err: context.DeadlineExceeded}, delivery.Idle, 0},
		"redirect":  {&kind.AnswerError{Status: 302}, delivery.Idle, 1},
		"final":     {&kind.AnswerError{Status: 422}, delivery.Blocked, 1},
		"busy":      {&kind.AnswerError{Status: 429, RetryAt: synctestDay.Add(20 * time.Minute)}, delivery.Idle, 0},
		"fails":     {&kind.AnswerError{Status: 500}, delivery.Idle, 1},
		"not there": {&kind.AwayError{Err: context.DeadlineExceeded}, delivery.Idle, 0},
		"refused":   {&kind.RefusedError{Kind: "sqs", Seq: 1}, delivery.Idle, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				sorter := check.Get(cursor.New(cursor.NewMemory(), &cursor.Options{ForEach: fanout.OneByOne}))
				d := check.Get(delivery.New(delivery.NewMemory(), sorter, nil))
				check.OK(t, sorter.Put(t.Context(), cursor.Message{Queue: "q", Seq: 1})[0].Err)
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				done := d.Deliver(ctx, "q", delivery.Reader{Name: "c", Handle: handing(refusing{c.err})}, -1)
				check.That(t, done.Err == nil && done.Record.State == c.state &&
					done.Record.Attempts == c.attempts, "%s after %d attempts, %v; want %s after %d",
					done.Record.State, done.Record.Attempts, done.Err, c.state, c.attempts)
				if at := synctestDay.Add(20 * time.Minute); done.Record.RetryAt.Equal(at) != (name == "busy") {
					t.Errorf("it is tried again at %s; it asked for %s", done.Record.RetryAt, at)
				}
			})
		})
	}
}
