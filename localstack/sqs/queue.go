package sqs

import (
	"cmp"
	"context"
	"crypto/md5"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/streamsort/streamsort/localstack/eventsource"
	"github.com/streamsort/streamsort/localstack/template"
)

// Config says what the queue is, and who reads it.
type Config struct {
	Queue  template.Queue
	Reader template.QueueMapping
	Invoke eventsource.Invoke // calls the function
	// Chaos is what goes wrong on purpose. SQS itself may hand a message out twice, or late; that one
	// is lost stands for one that was never sent.
	Chaos  eventsource.Chaos
	Logger *slog.Logger
}

// Stats are counters since the start.
type Stats struct {
	// Sent is how many messages were taken, Received how often one was handed out, Deleted how many
	// are done with, Returned how often one failed, Expired how many were kept too long.
	Sent, Received, Deleted, Returned, Expired int
	// Dropped, Doubled and Delayed are what Chaos did.
	Dropped, Doubled, Delayed int
	// Waiting is how many are in the queue and not handed out.
	Waiting int
}

// message is one in the queue.
type message struct {
	id       string
	body     string
	sent     time.Time
	visible  time.Time
	received int
}

// Queue is a queue with its mapping. Its methods may be called from any goroutine.
type Queue struct {
	config Config
	chaos  *eventsource.Dice
	wake   chan struct{} // one place: something may be visible earlier than thought

	mu      sync.Mutex
	waiting []message // the next one to be visible first
	stats   Stats
	next    int
}

// New returns a queue that nobody reads yet.
func New(config Config) *Queue {
	return &Queue{config: config, chaos: config.Chaos.Dice(0x5a5), wake: make(chan struct{}, 1)}
}

// Stats are the queue's counters.
func (q *Queue) Stats() Stats {
	q.mu.Lock()
	defer q.mu.Unlock()
	stats := q.stats
	stats.Waiting = len(q.waiting)
	return stats
}

// send takes a message, and returns its id.
func (q *Queue) send(body string, delay time.Duration) string {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := time.Now()
	q.next++
	q.stats.Sent++
	m := message{id: fmt.Sprintf("%08d-%s", q.next, md5Of(body)[:8]), body: body, sent: now,
		visible: now.Add(delay)}
	copies := 1
	switch {
	case q.chaos.Lose():
		copies = 0
		q.stats.Dropped++
	case q.chaos.Forget(1) == 0:
		copies = 2
		q.stats.Doubled++
	}
	if held := q.chaos.Hold(m.visible); held != m.visible {
		q.stats.Delayed++
		m.visible = held
	}
	for range copies {
		q.add(m)
	}
	return m.id
}

// add puts a message in its place, behind those that are visible at the same time.
func (q *Queue) add(m message) {
	i, _ := slices.BinarySearchFunc(q.waiting, m.visible, func(other message, at time.Time) int {
		return cmp.Or(other.visible.Compare(at), -1)
	})
	q.waiting = slices.Insert(q.waiting, i, m)
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// Run hands messages out until ctx ends, and waits for calls under way.
func (q *Queue) Run(ctx context.Context) {
	var calls sync.WaitGroup
	defer calls.Wait()
	places := make(chan struct{}, cmp.Or(q.config.Reader.Concurrency, 5))
	for {
		select {
		case places <- struct{}{}:
		case <-ctx.Done():
			return
		}
		batch := q.receive(ctx)
		if batch == nil {
			return
		}
		calls.Go(func() {
			defer func() { <-places }()
			q.hand(ctx, batch)
		})
	}
}

// receive waits for messages, and takes a batch of them; nil where ctx ends.
func (q *Queue) receive(ctx context.Context) []message {
	for {
		batch, next := q.take(time.Now())
		if len(batch) > 0 {
			return batch
		}
		select {
		case <-time.After(next):
		case <-q.wake:
		case <-ctx.Done():
			return nil
		}
	}
}

// idle is how long an empty queue is waited for.
const idle = time.Minute

// take takes the messages that are visible, and says how long to wait where there are none.
func (q *Queue) take(now time.Time) (batch []message, wait time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.waiting) > 0 && len(batch) < q.config.Reader.BatchSize {
		m := q.waiting[0]
		if m.visible.After(now) {
			break
		}
		q.waiting = q.waiting[1:]
		if now.Sub(m.sent) > q.config.Queue.Retention {
			q.stats.Expired++
			continue
		}
		m.received++
		q.stats.Received++
		batch = append(batch, m)
	}
	if len(q.waiting) == 0 {
		return batch, idle
	}
	return batch, q.waiting[0].visible.Sub(now)
}

// hand calls the function with a batch.
func (q *Queue) hand(ctx context.Context, batch []message) {
	begun := time.Now()
	answer, functionError, err := q.config.Invoke(ctx, q.event(batch))
	var failed []string
	if err == nil && q.config.Reader.ReportBatchItemFailures {
		failed, err = eventsource.FailedItems(answer)
	}
	all := err != nil || functionError != ""
	if all {
		q.config.Logger.Warn("a batch of a queue's messages comes again", "queue", q.config.Queue.Name,
			"messages", len(batch), "error", err, "functionError", functionError)
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, m := range batch {
		if !all && !slices.Contains(failed, m.id) {
			q.stats.Deleted++
			continue
		}
		q.stats.Returned++
		m.visible = begun.Add(q.config.Queue.Visibility)
		q.add(m)
	}
}

// event is what Lambda calls a function with.
func (q *Queue) event(batch []message) []byte {
	type record struct {
		MessageID         string            `json:"messageId"`
		ReceiptHandle     string            `json:"receiptHandle"`
		Body              string            `json:"body"`
		Attributes        map[string]string `json:"attributes"`
		MessageAttributes struct{}          `json:"messageAttributes"`
		MD5OfBody         string            `json:"md5OfBody"`
		EventSource       string            `json:"eventSource"`
		EventSourceARN    string            `json:"eventSourceARN"`
		AWSRegion         string            `json:"awsRegion"`
	}
	records := make([]record, len(batch))
	for i, m := range batch {
		records[i] = record{
			MessageID: m.id, ReceiptHandle: m.id, Body: m.body, MD5OfBody: md5Of(m.body),
			EventSource:    "aws:sqs",
			EventSourceARN: template.QueueARN(q.config.Queue.Name), AWSRegion: template.Region,
			Attributes: map[string]string{
				"ApproximateReceiveCount": fmt.Sprint(m.received), "SentTimestamp": fmt.Sprint(m.sent.UnixMilli()),
			},
		}
	}
	raw, _ := json.Marshal(map[string]any{"Records": records}) // texts can be written
	return raw
}

func md5Of(text string) string {
	sum := md5.Sum([]byte(text))
	return hex.EncodeToString(sum[:])
}
