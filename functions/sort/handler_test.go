package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/emf"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/table"
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
	if err := json.Unmarshal([]byte(`{"Records":[`+strings.Join(records, ",")+`]}`), &e); err != nil {
		t.Fatal(err)
	}
	return e
}

// nothing is what is done at the end.
func nothing(context.Context, *emf.Metrics) {}

func newSorter(t *testing.T) *cursor.Sorter {
	t.Helper()
	defaults := cursor.DefaultSettings()
	defaults.Mode = cursor.ModeAsync
	s, err := cursor.New(cursor.NewMemory(), &cursor.Options{Defaults: &defaults})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestHandlerSorts(t *testing.T) {
	sorter := newSorter(t)
	for _, seq := range []int64{3, 1, 2} {
		if _, err := sorter.Put(t.Context(), cursor.Message{Queue: "q", Seq: seq}); err != nil {
			t.Fatal(err)
		}
	}
	var out bytes.Buffer
	response, err := newHandler(sorter, cursor.Names{}, emf.New(&out, emf.Names{}), nothing)(t.Context(),
		event(t, record(1, "q", 3), record(2, "q", 1), record(3, "q", 2)))
	if err != nil || len(response.BatchItemFailures) != 0 {
		t.Fatalf("%+v, %v", response, err)
	}
	it, err := sorter.Status(t.Context(), "q")
	if err != nil || it.Position != 3 {
		t.Errorf("position %d, %v; want 3", it.Position, err)
	}
	if text := out.String(); !strings.Contains(text, `"Advances":1`) || !strings.Contains(text, `"StreamRecords":3`) {
		t.Errorf("metrics: %s", text)
	}
}

func TestHandlerFailsOneRecord(t *testing.T) {
	var out bytes.Buffer
	response, err := newHandler(newSorter(t), cursor.Names{}, emf.New(&out, emf.Names{}), nothing)(t.Context(),
		event(t, record(1, "q", 1), `{"eventName":"INSERT","dynamodb":{"SequenceNumber":"2","Keys":{"seq":{"N":"1"}}}}`))
	if err != nil || len(response.BatchItemFailures) != 1 || response.BatchItemFailures[0].ItemIdentifier != "2" {
		t.Errorf("%+v, %v; want that record 2 failed", response, err)
	}
	if !strings.Contains(out.String(), `"Errors":1`) {
		t.Errorf("metrics: %s", &out)
	}
}

// A queue that there is no time for comes again, and is no error: it is answered for
// before Lambda ends the function. The others are done.
func TestHandlerAnswersBeforeItsTimeIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tables := ddb.NewMemory(cursor.Names{}.Tables()...)
		store, err := cursor.NewStore(ddb.Func(func(ctx context.Context, r ddb.Request) (ddb.Answer, error) {
			if get, ok := r.(ddb.Get); ok && get.Key.Get("queue").Str() == "slow" {
				<-ctx.Done()
				return ddb.Answer{}, ctx.Err()
			}
			return tables.Do(ctx, r)
		}), cursor.Names{})
		if err != nil {
			t.Fatal(err)
		}
		sorter, err := cursor.New(store, nil)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		var out bytes.Buffer
		response, err := newHandler(sorter, cursor.Names{}, emf.New(&out, emf.Names{}), nothing)(ctx,
			event(t, record(1, "q", 1), record(2, "slow", 1), record(3, "q", 2)))
		if err != nil || len(response.BatchItemFailures) != 1 || response.BatchItemFailures[0].ItemIdentifier != "2" || ctx.Err() != nil {
			t.Errorf("%+v, %v, %v; want that record 2 comes again, in time", response, err, ctx.Err())
		}
		if text := out.String(); !strings.Contains(text, `"Unfinished":1`) || strings.Contains(text, `"Errors"`) {
			t.Errorf("metrics: %s", text)
		}
	})
}

func TestFromEnvironmentNamesWhatIsMissing(t *testing.T) {
	t.Setenv("STREAMSORT_MESSAGES_TABLE", "")
	if _, err := fromEnvironment(&bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), "STREAMSORT_MESSAGES_TABLE") {
		t.Errorf("error %v", err)
	}
}
