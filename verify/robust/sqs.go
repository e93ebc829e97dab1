package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/streamsort/streamsort/internal/dev/traffic"
)

// queueReader takes the messages of one SQS queue, one receive at a time, so that a group's stay in
// order. What SQS delivers again, because the answer to a receive was lost or a message not deleted
// in time, is taken once.
type queueReader struct {
	client *sqs.Client
	url    string
	take   func(types.Message) error
	taken  map[string]bool // by SQS's id

	again   atomic.Int64 // messages that SQS delivered more than once
	emptyAt atomic.Int64 // when the last receive began, in nanoseconds, if it found nothing
}

// newQueueReader reads the queue at a URL, which also tells where SQS is.
func newQueueReader(address string, take func(types.Message) error) (*queueReader, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return nil, fmt.Errorf("queue URL %q: %w", address, err)
	}
	return &queueReader{url: address, take: take, taken: map[string]bool{},
		client: sqs.New(sqs.Options{
			Region: "us-east-1",
			Credentials: credentials.NewStaticCredentialsProvider("robust", "robust",
				""),
			BaseEndpoint:                     aws.String(u.Scheme + "://" + u.Host),
			HTTPClient:                       &http.Client{Timeout: time.Minute},
			DisableMessageChecksumValidation: true, // the watchers compare the bodies
		})}, nil
}

// run reads until the context ends, or until a message or the queue fails.
func (r *queueReader) run(ctx context.Context) error {
	for {
		if err := r.once(ctx); ctx.Err() != nil {
			return nil
		} else if err != nil {
			return fmt.Errorf("read %s: %w", r.url, err)
		}
	}
}

func (r *queueReader) once(ctx context.Context) error {
	began := time.Now()
	out, err := r.client.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{
		QueueUrl: &r.url, MaxNumberOfMessages: 10, WaitTimeSeconds: 1,
		MessageAttributeNames: []string{"All"},
		MessageSystemAttributeNames: []types.MessageSystemAttributeName{
			types.MessageSystemAttributeNameAll,
		},
	})
	if err != nil {
		return err
	}
	if len(out.Messages) == 0 {
		r.emptyAt.Store(began.UnixNano())
		return nil
	}
	r.emptyAt.Store(0)
	done := make([]types.DeleteMessageBatchRequestEntry, len(out.Messages))
	for i, m := range out.Messages {
		if err := r.takeOnce(m); err != nil {
			return err
		}
		done[i] = types.DeleteMessageBatchRequestEntry{Id: aws.String(strconv.Itoa(i)),
			ReceiptHandle: m.ReceiptHandle}
	}
	// One that is not deleted is delivered again, and deleted then.
	_, err = r.client.DeleteMessageBatch(ctx,
		&sqs.DeleteMessageBatchInput{QueueUrl: &r.url, Entries: done})
	return err
}

func (r *queueReader) takeOnce(m types.Message) error {
	if m.Attributes[string(types.MessageSystemAttributeNameApproximateReceiveCount)] != "1" {
		r.again.Add(1)
	}
	id := aws.ToString(m.MessageId)
	if r.taken[id] {
		return nil
	}
	r.taken[id] = true
	return r.take(m)
}

// holds says how many messages the queue holds and has in flight.
func (r *queueReader) holds(ctx context.Context) string {
	out, err := r.client.GetQueueAttributes(ctx,
		&sqs.GetQueueAttributesInput{QueueUrl: &r.url, AttributeNames: []types.QueueAttributeName{
			types.QueueAttributeNameApproximateNumberOfMessages, types.QueueAttributeNameApproximateNumberOfMessagesNotVisible,
		}})
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%s holds %s messages, and %s in flight", r.url,
		out.Attributes[string(types.QueueAttributeNameApproximateNumberOfMessages)],
		out.Attributes[string(types.QueueAttributeNameApproximateNumberOfMessagesNotVisible)])
}

// empty reports whether nothing that was there at a time is left.
func (r *queueReader) empty(since time.Time) bool { return r.emptyAt.Load() > since.UnixNano() }

// taking has a watcher take the messages of a queue, as they are read.
func taking(
	w *traffic.Watcher, read func(types.Message) (traffic.Output, error),
) func(types.Message) error {
	return func(m types.Message) error {
		o, err := read(m)
		if err == nil {
			w.Take(o)
		}
		return err
	}
}

// outputOfFIFO reads a message of a FIFO queue by its attributes, whether a consumer or a topic put
// it there.
func outputOfFIFO(m types.Message) (o traffic.Output, err error) {
	attribute := func(name string) string {
		value := m.MessageAttributes[name]
		if value.BinaryValue != nil {
			return string(value.BinaryValue)
		}
		return aws.ToString(value.StringValue)
	}
	o.Queue = attribute("queue")
	if o.Seq, err = strconv.ParseInt(attribute("seq"), 10, 64); err != nil {
		return o, fmt.Errorf("attribute seq: %w", err)
	}
	number, _, _ := strings.Cut(attribute("token"), "-")
	if o.Token, err = strconv.ParseInt(number, 10, 64); err != nil {
		return o, fmt.Errorf("attribute token: %w", err)
	}
	sent, err := strconv.ParseInt(m.Attributes[string(types.MessageSystemAttributeNameSentTimestamp)],
		10, 64)
	if err != nil {
		return o, fmt.Errorf("attribute SentTimestamp: %w", err)
	}
	o.At = time.UnixMilli(sent)
	body := []byte(aws.ToString(m.Body))
	switch encoding := attribute("encoding"); encoding {
	case "":
	case "empty":
		body = nil
	case "base64":
		if body, err = base64.StdEncoding.DecodeString(string(body)); err != nil {
			return o, err
		}
	default:
		return o, fmt.Errorf("encoding %q is not known", encoding)
	}
	o.Sums = traffic.SumsOf(body)
	return o, nil
}

// event is an event of a bus as a queue behind it gets it.
type event struct {
	DetailType string          `json:"detail-type"`
	Detail     json.RawMessage `json:"detail"`
}

// outputOfEvent reads a message by the event in it.
func outputOfEvent(m types.Message) (o traffic.Output, err error) {
	var e event
	if err := json.Unmarshal([]byte(aws.ToString(m.Body)), &e); err != nil {
		return o, err
	}
	var d struct {
		Queue       string
		Seq, TokenN int64
		Body        json.RawMessage
		BodyBase64  []byte
	}
	if err := json.Unmarshal(e.Detail, &d); err != nil {
		return o, err
	}
	o = traffic.Output{Place: traffic.At(d.Queue, d.Seq), Token: d.TokenN, At: time.Now()}
	if d.Body != nil {
		o.Sums, o.Rewritten = traffic.SumsOf(d.Body), true
	} else {
		o.Sums = traffic.SumsOf(d.BodyBase64)
	}
	return o, nil
}
