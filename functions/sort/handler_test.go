package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/bubble"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/emf"
	"github.com/streamsort/streamsort/internal/runtime"
	"github.com/streamsort/streamsort/internal/runtime/runtimetest"
	"github.com/streamsort/streamsort/internal/sortkey"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/table"
	"github.com/streamsort/streamsort/pkg/timer"
)

// record is a record of the messages' stream as Lambda passes it on.
func record(sequence int, queue string, seq int64) string {
	return fmt.Sprintf(`{
		"eventID": "c4ca4238a0b923820dcc509a6f75849b", "eventName": "INSERT", "eventVersion": "1.1",
		"eventSource": "aws:dynamodb", "awsRegion": "us-east-1",
		"dynamodb": {
			"ApproximateCreationDateTime": 1767225600,
			"Keys": {"queue": {"S": %q}, "seq": {"N": "%d"}},
			"SequenceNumber": "%d", "SizeBytes": 26, "StreamViewType": "KEYS_ONLY"
		},
		"eventSourceARN": "arn:aws:dynamodb:us-east-1:123456789012:table/messages/stream/2026-01-01T00:00:00.000"
	}`, queue, seq, sequence)
}

func event(t *testing.T, records ...string) table.StreamEvent {
	t.Helper()
	var e table.StreamEvent
	check.OK(t, json.Unmarshal([]byte(`{"Records":[`+strings.Join(records, ",")+`]}`), &e))
	return e
}

// handlerOf is a handler without a timer.
func handlerOf(sorter *cursor.Sorter, out io.Writer) func(context.Context,
	table.StreamEvent) (events.DynamoDBEventResponse, error) {
	return runtime.Around(out, headroom, (&sorting{sorter: sorter}).handle)
}

func newSorter(t *testing.T) *cursor.Sorter {
	t.Helper()
	defaults := cursor.DefaultSettings()
	defaults.Mode = cursor.ModeAsync
	return check.Get(cursor.New(cursor.NewMemory(), &cursor.Options{Defaults: &defaults}))
}

func TestHandlerSorts(t *testing.T) {
	sorter := newSorter(t)
	for _, seq := range []int64{3, 1, 2} {
		check.OK(t, sorter.Put(t.Context(), cursor.Message{Queue: "q", Seq: seq})[0].Err)
	}
	var out bytes.Buffer
	response := check.Get(handlerOf(sorter, &out)(t.Context(),
		event(t, record(1, "q", 3), record(2, "q", 1), record(3, "q", 2))))
	check.Is(t, len(response.BatchItemFailures), 0)
	check.Is(t, check.Get(sorter.Status(t.Context(), "q")).Position, 3)
	check.Has(t, out.String(), `"Advances":1`)
	check.Has(t, out.String(), `"StreamRecords":3`)
}

// One record of either stream that cannot be read.
func TestHandlerFailsOneRecord(t *testing.T) {
	waits := arrival(1, "q", sortkey.Era("").SortKey("\x01k", ""))
	bad := strings.Replace(arrival(2, "q", sortkey.Era("").SortKey("\x01k", "")), `"B"`, `"N"`, 1)
	noQueue := `{"eventName":"INSERT","dynamodb":{"SequenceNumber":"2","Keys":{"seq":{"N":"1"}}}}`
	for _, records := range [][]string{{record(1, "q", 1), noQueue}, {waits, bad}} {
		var out bytes.Buffer
		response := check.Get(handlerOf(newSorter(t), &out)(t.Context(), event(t, records...)))
		failed := response.BatchItemFailures
		check.That(t, len(failed) == 1 && failed[0].ItemIdentifier == "2",
			"%+v failed, want record 2", failed)
		check.Has(t, out.String(), `"Errors":1`)
	}
}

// A queue that there is no time for comes again, and is no error: it is answered for before Lambda
// ends the function. The others are done.
func TestHandlerAnswersBeforeItsTimeIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tables := runtimetest.Tables()
		sorter := runtimetest.Sorter(
			ddb.Func(func(ctx context.Context, r ddb.Request) (ddb.Answer, error) {
				if get, ok := r.(ddb.Get); ok && get.Key.Get("queue").Str() == "slow" {
					<-ctx.Done()
					return ddb.Answer{}, ctx.Err()
				}
				return tables.Do(ctx, r)
			}), nil)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		var out bytes.Buffer
		response, err := handlerOf(sorter, &out)(ctx,
			event(t, record(1, "q", 1), record(2, "slow", 1), record(3, "q", 2)))
		check.That(t, err == nil && len(response.BatchItemFailures) == 1 &&
			response.BatchItemFailures[0].ItemIdentifier == "2" && ctx.Err() == nil,
			"%+v, %v, %v; want that record 2 comes again, in time", response, err, ctx.Err())
		check.Has(t, out.String(), `"Unfinished":1`)
		check.That(t, !strings.Contains(out.String(), `"Errors"`), "metrics: %s", &out)
	})
}

// arrival is a record of the arrivals' stream: of a message that waits in a keyed queue.
func arrival(sequence int, queue string, key sortkey.SortKey) string {
	return fmt.Sprintf(`{
		"eventName": "INSERT",
		"dynamodb": {"Keys": {"queue": {"S": %q}, "sortKey": {"B": %q}}, "SequenceNumber": "%d", "StreamViewType": "KEYS_ONLY"},
		"eventSourceARN": "arn:aws:dynamodb:us-east-1:123456789012:table/streamsort-arrivals/stream/2026-01-01T00:00:00.000"
	}`, queue, base64.StdEncoding.EncodeToString([]byte(key)), sequence)
}

// sqs notes the wake-ups that are sent to it.
type sqs struct{ bodies []string }

func (s *sqs) answer(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Entries []struct{ MessageBody string }
	}
	_ = json.NewDecoder(r.Body).Decode(&in)
	for _, e := range in.Entries {
		s.bodies = append(s.bodies, e.MessageBody)
	}
	_, _ = io.WriteString(w, `{"Successful":[{"Id":"0"},{"Id":"1"}]}`)
}

// TestHandlerSettles: a keyed queue without a settle window at once; for one with a window the
// timer is set. Queues in arrival order are passed over.
func TestHandlerSettles(t *testing.T) {
	var sent sqs
	bubble.Answered(t, bubble.By(sent.answer), func(t *testing.T) { settles(t, &sent) })
}

func settles(t *testing.T, sent *sqs) {
	t.Helper()
	t.Setenv("AWS_ENDPOINT_URL_SQS", "http://127.0.0.1:1")
	wake := check.Get(timer.New("https://queue"))
	sorter := newSorter(t)
	kind, drop, keyType, none, window := cursor.KindKeyed, cursor.LateDrop, sortkey.KeyType("number"),
		time.Duration(0), 10*time.Second
	for queue, settle := range map[string]*time.Duration{"now": &none, "later": &window} {
		check.Get(sorter.Configure(t.Context(), queue,
			cursor.Change{Kind: &kind, KeyType: &keyType, Late: &drop, Settle: settle}))
	}
	check.OK(t,
		sorter.Put(t.Context(), cursor.Message{Queue: "arrivals", Seq: cursor.NoSeq, ID: "1"})[0].Err)
	var records []string
	put := func(queue string, key int, prev string) {
		t.Helper()
		m := cursor.Message{KeyParts: []any{key}, Prev: prev, Queue: queue, ID: fmt.Sprint(key)}
		check.OK(t, sorter.Put(t.Context(), m)[0].Err)
		stored := sortkey.Era("").SortKey(check.Get(keyType.Key(key)), m.ID)
		records = append(records, arrival(len(records)+1, queue, stored))
	}
	put("now", 2, "")
	put("later", 7, "")
	put("later", 9, "")
	put("now", 3, "1")
	put("later", 8, "")
	records = append(records, arrival(6, "arrivals", "\x01234567890"),
		arrival(7, "gone", sortkey.Era("").SortKey("\x01k", "")))
	var out bytes.Buffer
	handle := runtime.Around(&out, headroom, (&sorting{sorter: sorter, timer: wake}).handle,
		func(ctx context.Context, _ *emf.Metrics) {
			wake.Flush(ctx)
		})
	response := check.Get(handle(t.Context(), event(t, records...)))
	check.Is(t, len(response.BatchItemFailures), 0)
	check.Is(t, check.Get(sorter.Status(t.Context(), "now")).Position, 2)
	text := out.String()
	check.That(t, strings.Contains(text, `"Settled":2`) && strings.Contains(text, `"Unlinked":1`) &&
		!strings.Contains(text, "Errors"), "metrics: %s", text)
	check.Need(t, len(sent.bodies) == 1, "wake-ups %v, want one for the batch", sent.bodies)
	w := check.Get(timer.Parse(sent.bodies[0]))
	check.That(t, w.Kind == timer.Settle && w.Queue == "later" &&
		sortkey.SortKey(w.UpTo).Key().String() == "9" && w.Due.Equal(time.Now().Add(window)), "%+v", w)
}

func TestStart(t *testing.T) {
	runtimetest.Starts(t, newHandler, "MESSAGES", "CURSORS", "TROUBLE")
}
