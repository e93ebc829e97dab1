//go:build whole

package localstack

import (
	"cmp"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/streamsort/streamsort/internal/dev/await"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dynamo"
	"github.com/streamsort/streamsort/localstack/template"
)

// heard is an announcement as it comes from the topic, or, in Detail, from the bus.
type heard struct {
	Source     string
	DetailType string `json:"detail-type"`
	Detail     *heard
	By         string `json:"-"`
	Kind       string
	Queue      string
	Consumer   string
	Claim      struct {
		Token, State string
		From, To     int64
	}
}

// TestDoubtsAreAnnounced has the sweep find a claim in doubt, and then put it into quarantine: both
// are heard of on the bus, on the topic and by the function, with what an operator must know.
func TestDoubtsAreAnnounced(t *testing.T) {
	s := run(t, Config{
		Templates: []string{"streamsort.template.json", "testdata/announcements.template.json"},
		Env: map[string]string{
			"SweepFunction.STREAMSORT_ANNOUNCE_TOPIC":    "arn:aws:sns:us-east-1:000000000000:announcements",
			"SweepFunction.STREAMSORT_ANNOUNCE_FUNCTION": template.FunctionARN("Hear"),
		},
	})
	said := make(chan heard, 10)
	t.Cleanup(s.Subscribe(func(l Line) {
		var h heard
		if l.LogicalID == "Hear" && json.Unmarshal([]byte(l.Text), &h) == nil && h.Kind != "" {
			said <- h
		}
	}))
	for _, c := range []struct{ method, path, body string }{
		{"POST", "/messages", `{"queue":"orders","seq":1,"body":1}`},
		{"POST", "/consumers", `{"queue":"orders","consumer":"ledger"}`},
		{"POST", "/claims", `{"queue":"orders","consumer":"ledger","request":"r"}`},
		{"PATCH", "/claims", `{"action":"prepare","queue":"orders","consumer":"ledger","token":"1-r"}`},
	} {
		status, answer := fetch[map[string]any](t, c.method, s.URL()+c.path, c.body)
		check.Need(t, status == 200, "%s: %d %v", c.body, status, answer)
	}
	for _, c := range []struct {
		kind, state string
		silent      time.Duration
	}{{"consumer.in-doubt", "IN_DOUBT", 10 * time.Minute}, {"consumer.quarantined", "IN_DOUBT", 2 * time.Hour}} {
		endLease(t, s, time.Now().Add(-c.silent))
		sweep(t, s)
		from := map[string]bool{}
		await.True(t, c.kind+" on the bus, on the topic and by the function", func() bool {
			all := hear(t, s)
			select {
			case h := <-said:
				h.By = "function"
				all = append(all, h)
			default:
			}
			for _, h := range all {
				by := cmp.Or(h.By, "topic")
				if h.Detail != nil {
					check.That(t, h.Source == "streamsort" && h.DetailType == c.kind, "the event is %+v", h)
					by, h = "bus", *h.Detail
				}
				if h.Kind != c.kind || h.Queue != "orders" || h.Consumer != "ledger" ||
					h.Claim.Token != "1-r" || h.Claim.From != 1 || h.Claim.To != 1 || h.Claim.State != c.state {
					t.Errorf("%s heard %+v, want %s of claim 1-r", by, h, c.kind)
				}
				from[by] = true
			}
			return len(from) == 3
		})
	}
}

// endLease has the lease of the ledger's claim be over for a while.
func endLease(t *testing.T, s *Stack, at time.Time) {
	t.Helper()
	check.Get(database(t, s).UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
		TableName:                 aws.String("streamsort-consumers"),
		Key:                       dynamo.Item{"queue": dynamo.Text("orders"), "consumer": dynamo.Text("ledger")},
		UpdateExpression:          aws.String("SET leaseUntil = :at"),
		ExpressionAttributeValues: map[string]types.AttributeValue{":at": dynamo.Number(at.UnixMilli())},
	}))
}

// hear takes what is in the queue.
func hear(t *testing.T, s *Stack) []heard {
	t.Helper()
	client := queuesAt(s.services.Endpoint)
	queue := aws.String(fmt.Sprintf("%s/000000000000/heard", s.services.Endpoint))
	out, err := client.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{QueueUrl: queue, MaxNumberOfMessages: 10})
	check.OK(t, err)
	var all []heard
	for _, m := range out.Messages {
		var h heard
		err := json.Unmarshal([]byte(*m.Body), &h)
		check.Need(t, err == nil, "%s: %v", *m.Body, err)
		all = append(all, h)
		if _, err := client.DeleteMessage(t.Context(), &sqs.DeleteMessageInput{QueueUrl: queue, ReceiptHandle: m.ReceiptHandle}); err != nil {
			t.Fatal(err)
		}
	}
	return all
}
