package sqs

import (
	"cmp"
	"container/heap"
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
)

// Config says what the queue is, and who reads it.
type Config struct {
	Name, ARN, Region string
	// Delay is that of messages that name none, Visibility how long a message is hidden that was
	// handed out, Retention how long one is kept.
	Delay, Visibility, Retention time.Duration
	// BatchSize is the most messages of a call, Concurrency the most calls at a time.
	BatchSize, Concurrency int
	// ReportBatchItemFailures: the function's answer names the failed messages.
	ReportBatchItemFailures bool
	// Invoke calls the function.
	Invoke func(ctx context.Context, payload []byte) (answer []byte, functionError string, err error)
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
	waiting byVisible
	stats   Stats
	next    int
}

// New returns a queue that nobody reads yet.
func New(config Config) *Queue {
	config.Logger = cmp.Or(config.Logger, slog.Default())
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
	m := message{id: fmt.Sprintf("%08d-%s", q.next, md5Of(body)[:8]), body: body, sent: now, visible: now.Add(delay)}
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
		heap.Push(&q.waiting, m)
	}
	q.signal()
	return m.id
}

func (q *Queue) signal() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// Run hands messages out until ctx ends, and waits for calls under way.
func (q *Queue) Run(ctx context.Context) {
	var calls sync.WaitGroup
	defer calls.Wait()
	places := make(chan struct{}, q.config.Concurrency)
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
		timer := time.NewTimer(next)
		select {
		case <-timer.C:
		case <-q.wake:
		case <-ctx.Done():
			timer.Stop()
			return nil
		}
		timer.Stop()
	}
}

// idle is how long an empty queue is waited for.
const idle = time.Minute

// take takes the messages that are visible, and says how long to wait where there are none.
func (q *Queue) take(now time.Time) (batch []message, wait time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.waiting) > 0 && len(batch) < q.config.BatchSize && !q.waiting[0].visible.After(now) {
		m := heap.Pop(&q.waiting).(message)
		if now.Sub(m.sent) > q.config.Retention {
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
	if err == nil && q.config.ReportBatchItemFailures {
		failed, err = eventsource.FailedItems(answer)
	}
	all := err != nil || functionError != ""
	if all {
		q.config.Logger.Warn("a batch of a queue's messages comes again", "queue", q.config.Name, "messages", len(batch), "error", err, "functionError", functionError)
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, m := range batch {
		if !all && !slices.Contains(failed, m.id) {
			q.stats.Deleted++
			continue
		}
		q.stats.Returned++
		m.visible = begun.Add(q.config.Visibility)
		heap.Push(&q.waiting, m)
	}
	q.signal()
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
			MessageID: m.id, ReceiptHandle: m.id, Body: m.body, MD5OfBody: md5Of(m.body), EventSource: "aws:sqs",
			EventSourceARN: q.config.ARN, AWSRegion: q.config.Region,
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

// byVisible is a heap of messages.
type byVisible []message

func (h byVisible) Len() int           { return len(h) }
func (h byVisible) Less(i, j int) bool { return h[i].visible.Before(h[j].visible) }
func (h byVisible) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *byVisible) Push(x any)        { *h = append(*h, x.(message)) }
func (h *byVisible) Pop() any {
	last := len(*h) - 1
	m := (*h)[last]
	*h = (*h)[:last]
	return m
}
