package sqs_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamsort/streamsort/internal/dev/bubble"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/localstack/eventsource"
	"github.com/streamsort/streamsort/localstack/sqs"
	"github.com/streamsort/streamsort/localstack/template"
)

// reader is a function that notes what it gets and when, such as "2s a,b".
type reader struct {
	mu     sync.Mutex
	begin  time.Time
	got    []string
	answer func(ids []string) (answer string, functionError string, err error)
}

func (r *reader) invoke(_ context.Context, payload []byte) ([]byte, string, error) {
	var event struct {
		Records []struct{ MessageID, Body, EventSource, MD5OfBody string }
	}
	if err := json.Unmarshal(payload, &event); err != nil {
		return nil, "", err
	}
	var ids, bodies []string
	for _, m := range event.Records {
		ids, bodies = append(ids, m.MessageID), append(bodies, m.Body)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	slices.Sort(bodies)
	r.got = append(r.got, fmt.Sprintf("%v %s", time.Since(r.begin), strings.Join(bodies, ",")))
	if r.answer == nil {
		return []byte(`{"batchItemFailures":null}`), "", nil
	}
	answer, functionError, err := r.answer(ids)
	return []byte(answer), functionError, err
}

// run runs a queue for a time.
func run(t *testing.T, r *reader, config sqs.Config, lasts time.Duration,
	do func(*sqs.Queue)) sqs.Stats {
	t.Helper()
	r.begin = time.Now()
	config.Invoke, config.Logger = r.invoke, slog.New(slog.NewTextHandler(io.Discard, nil))
	config.Queue.Visibility, config.Queue.Retention = 10*time.Second, time.Minute
	config.Reader = template.QueueMapping{BatchSize: 2, Concurrency: 2, ReportBatchItemFailures: true}
	q := sqs.New(config)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		q.Run(ctx)
		close(ended)
	}()
	do(q)
	bubble.Sleep(lasts)
	stats := q.Stats()
	cancel()
	<-ended
	return stats
}

func send(t *testing.T, q *sqs.Queue, entries string) {
	t.Helper()
	status, document := q.Answer("SendMessageBatch", []byte(`{"Entries":[`+entries+`]}`))
	check.Is(t, status, http.StatusOK, document)
}

func TestMessagesComeWhenTheyAreDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r reader
		stats := run(t, &r, sqs.Config{Queue: template.Queue{Delay: time.Second}}, time.Hour,
			func(q *sqs.Queue) {
				send(t, q, `{"Id":"1","MessageBody":"late","DelaySeconds":900},{"Id":"2","MessageBody":"default"},{"Id":"3","MessageBody":"now","DelaySeconds":0}`)
				status, _ := q.Answer("SendMessage", []byte(`{"MessageBody":"one","DelaySeconds":5}`))
				check.Is(t, status, http.StatusOK)
			})
		want := []string{"0s now", "1s default", "5s one"}
		check.That(t, slices.Equal(r.got, want), "got %q, want %q", r.got, want)
		check.Is(t, stats, (sqs.Stats{Sent: 4, Received: 3, Deleted: 3, Expired: 1}))
	})
}

// What failed comes again when it is visible again: what the answer names, and all of it where the
// function failed or nobody understands its answer.
func TestMessagesThatFailComeAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		r := reader{answer: func(ids []string) (string, string, error) {
			switch n++; n {
			case 1:
				return `{"batchItemFailures":[{"itemIdentifier":"` + ids[1] + `"}]}`, "", nil
			case 2:
				return `{}`, "Unhandled", nil
			case 3:
				return "", "", errors.New("throttled")
			case 4:
				return `{"batchItemFailures":[{}]}`, "", nil
			case 5:
				return `what?`, "", nil
			}
			return "", "", nil
		}}
		stats := run(t, &r, sqs.Config{}, time.Hour, func(q *sqs.Queue) {
			send(t, q, `{"Id":"1","MessageBody":"a"},{"Id":"2","MessageBody":"b"}`)
		})
		want := []string{"0s a,b", "10s b", "20s b", "30s b", "40s b", "50s b"}
		check.That(t, slices.Equal(r.got, want), "got %q, want %q", r.got, want)
		check.Is(t, stats, (sqs.Stats{Sent: 2, Received: 7, Deleted: 2, Returned: 5}))
	})
}

func TestChaos(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, c := range map[string]struct {
			chaos eventsource.Chaos
			want  sqs.Stats
		}{
			"drop":   {eventsource.Chaos{Drop: 1}, sqs.Stats{Sent: 1, Dropped: 1}},
			"double": {eventsource.Chaos{Duplicate: 1}, sqs.Stats{Sent: 1, Doubled: 1, Received: 2, Deleted: 2}},
			"late":   {eventsource.Chaos{Late: 1, LateBy: time.Second}, sqs.Stats{Sent: 1, Delayed: 1, Received: 1, Deleted: 1}},
		} {
			var r reader
			if stats := run(t, &r, sqs.Config{Chaos: c.chaos}, time.Minute, func(q *sqs.Queue) {
				send(t, q, `{"Id":"1","MessageBody":"a"}`)
			}); stats != c.want {
				t.Errorf("%s: %+v, want %+v", name, stats, c.want)
			}
		}
	})
}

func TestCallsThatAreRefused(t *testing.T) {
	q := sqs.New(sqs.Config{})
	for action, bodies := range map[string][]string{
		"SendMessage":      {``, `{}`, `{"MessageBody":"a","DelaySeconds":901}`, `{"MessageBody":"a","DelaySeconds":-1}`},
		"SendMessageBatch": {``, `{}`, `{"Entries":[` + strings.Repeat(`{},`, 10) + `{}]}`},
		"ReceiveMessage":   {`{}`},
	} {
		for _, body := range bodies {
			status, document := q.Answer(action, []byte(body))
			check.Is(t, status, http.StatusBadRequest, action, body, document)
		}
	}
	_, document := q.Answer("SendMessageBatch", []byte(`{"Entries":[{"Id":"x"}]}`))
	if text, err := json.Marshal(document); err != nil || string(text) != `{"Successful":[],"Failed":[{"Id":"x","Code":"InvalidParameterValue","SenderFault":true}]}` {
		t.Errorf("%s, %v", text, err)
	}
}
