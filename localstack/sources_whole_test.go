//go:build whole

package localstack

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/await"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dynamo"
	"github.com/streamsort/streamsort/internal/source/sourcetest"
	"github.com/streamsort/streamsort/pkg/cursor"
)

// Each shape has queues of its own, of which each gets so many records.
const sourceQueues, sourceRecords = 3, 20

// sourceOf is the source whose function takes a shape's events.
var sourceOf = map[string]string{
	"sqs": "Payments", "sqsFifo": "Ledger", "sns": "Changes", "sns by sqs": "Changes", "eventbridge": "Orders", "eventbridge by sqs": "Orders",
	"kinesis": "Clicks", "s3": "Inbox", "s3 by sqs": "Inbox", "s3 by sns and sqs": "Inbox", "s3 by eventbridge": "Inbox", "dynamodb": "Accounts", "kafka": "Trades",
}

// ownQueue is the queue of the stack's own by which a shape comes.
var ownQueue = map[string]string{"sqs": "Payments", "s3 by sqs": "Notified",
	"s3 by sns and sqs": "Notified"}

// TestSources has the records of each shape come through the deployed functions of the sources that
// the CDK's app adds, shuffled, and one in ten of them again: by the queues that the stack runs,
// where it does, else by calls of the functions. None is lost, and none is out of order.
func TestSources(t *testing.T) {
	s := run(t, Config{Templates: []string{"testdata/sources.patch.json"},
		Env: map[string]string{"STREAMSORT_SETTLE": "1h"}})
	random := rand.New(rand.NewPCG(7, 8))
	shapes := sourcetest.Shapes
	for i, shape := range shapes {
		var records []json.RawMessage
		for queue := range sourceQueues {
			for n := 1; n <= sourceRecords; n++ {
				raw := shape.Record(i*sourceQueues+queue, n)
				if records = append(records, raw); random.IntN(10) == 0 {
					records = append(records, raw)
				}
			}
		}
		random.Shuffle(len(records), func(i, j int) { records[i], records[j] = records[j], records[i] })
		for len(records) > 0 {
			size := min(len(records), 1+random.IntN(shape.Most))
			if queue := ownQueue[shape.Name]; queue != "" {
				sendBodies(t, s, queue, records[:size])
			} else {
				bring(t, s, sourceOf[shape.Name], shape.Event(records[:size]))
			}
			records = records[size:]
		}
	}
	for i, shape := range shapes {
		for queue := range sourceQueues {
			settleAll(t, s, shape.Queue(i*sourceQueues+queue), sourceRecords)
			bodies := awaitBodies(t, s, shape.Queue(i*sourceQueues+queue), sourceRecords)
			for at, body := range bodies {
				if n, err := shape.N(body); n != at+1 || err != nil {
					t.Errorf("%s: message %d of queue %s is %d, %v", shape.Name, at+1,
						shape.Queue(i*sourceQueues+queue), n, err)
				}
			}
		}
	}
	// A table of a user's own: its changes come by its stream, and the stack's mapping.
	client := database(t, s)
	for n := range sourceRecords {
		check.Get(client.PutItem(t.Context(),
			&dynamodb.PutItemInput{TableName: aws.String("accounts"), Item: dynamo.ToSDK(ddb.Fields{
				"id": ddb.Text("anna/1"), "n": ddb.Int(int64(n + 1)),
			}.Item())}))
	}
	settleAll(t, s, "src/accounts/anna%2F1", sourceRecords)
	for at, body := range awaitBodies(t, s, "src/accounts/anna%2F1", sourceRecords) {
		image := fmt.Sprintf(`"NewImage":{"id":{"S":"anna/1"},"n":{"N":"%d"}}`, at+1)
		check.Has(t, string(body), image)
	}
	// A record that makes no message is in the failure queue, with the record, and holds up no other.
	sendBodies(t, s, "Payments", []json.RawMessage{
		json.RawMessage(`{"body":"no JSON"}`), json.RawMessage(`{"body":"{\"account\":\"good\",\"n\":1}"}`),
	})
	awaitBodies(t, s, "src/good", 1)
	await.True(t, "the record in the failure queue", func() bool {
		for _, f := range s.Failures() {
			if strings.Contains(f.Queue, "SourcePaymentsFailures") && strings.Contains(string(f.Message), `"kind":"record.set-aside","source":"src","sourceKind":"sqs","reason":"malformed","field":"queue"`) &&
				strings.Contains(string(f.Message), `"body":"no JSON"`) {
				return true
			}
		}
		return false
	})
}

// queueURL is the address of a queue of the template's, whose name ends otherwise than its logical
// id.
func queueURL(t *testing.T, s *Stack, logical string) string {
	t.Helper()
	for _, q := range s.Queues() {
		if strings.HasPrefix(q.LogicalID, logical) {
			return s.URL() + "/000000000000/" + q.Name
		}
	}
	t.Fatalf("no queue %s: %+v", logical, s.Queues())
	return ""
}

// queuesAt is a client of SQS.
func queuesAt(endpoint string) *sqs.Client {
	keys := credentials.NewStaticCredentialsProvider("test", "test", "")
	return sqs.New(sqs.Options{Region: "us-east-1", BaseEndpoint: &endpoint, Credentials: keys})
}

// sendBodies sends the bodies of records of SQS to a queue of the stack's.
func sendBodies(t *testing.T, s *Stack, logical string, records []json.RawMessage) {
	t.Helper()
	client := queuesAt(s.URL())
	var entries []sqstypes.SendMessageBatchRequestEntry
	for i, raw := range records {
		var record struct{ Body string }
		check.OK(t, json.Unmarshal(raw, &record))
		entries = append(entries, sqstypes.SendMessageBatchRequestEntry{Id: aws.String(strconv.Itoa(i)),
			MessageBody: &record.Body})
	}
	out, err := client.SendMessageBatch(t.Context(),
		&sqs.SendMessageBatchInput{QueueUrl: aws.String(queueURL(t, s, logical)), Entries: entries})
	check.Need(t, err == nil && len(out.Failed) == 0, "%+v, %v", out, err)
}

// bring calls a source's function with an event, as Lambda does again where not all was taken.
func bring(t *testing.T, s *Stack, of string, event json.RawMessage) {
	t.Helper()
	await.True(t, of+" to take an event", func() bool {
		answer, err := s.Invoke(t.Context(), "Source"+of+"Function", event)
		check.Need(t, err == nil && answer.FunctionError == "", "%s: %s %s, %v", of,
			answer.FunctionError, answer.Payload, err)
		return string(answer.Payload) == `{"batchItemFailures":[]}`
	})
}

// settleAll has a keyed queue's messages placed when all wait: a window would end before a slow
// machine has brought all.
func settleAll(t *testing.T, s *Stack, queue string, many int) {
	t.Helper()
	await.True(t, queue+" to have all that comes", func() bool {
		_, status := fetch[map[string]any](t, http.MethodGet,
			s.URL()+"/queues?queue="+url.QueryEscape(queue), "")
		if status["kind"] != "keyed" {
			return status["kind"] != nil
		}
		return status["waiting"] == float64(many)
	})
	_, later := sorterOf(t, s, &cursor.Options{Now: func() time.Time {
		return time.Now().Add(2 * time.Hour)
	}})
	if it, err := later.Status(t.Context(), queue); err == nil &&
		it.Settings.Kind == cursor.KindKeyed {
		check.Get(later.Settle(t.Context(), queue, cursor.EverySortKey))
	}
}

// awaitBodies waits until a queue has so many messages, and returns their bodies in its order.
func awaitBodies(t *testing.T, s *Stack, queue string, many int) []json.RawMessage {
	t.Helper()
	type page struct {
		Messages []struct {
			Body       json.RawMessage
			BodyBase64 []byte
			Late       bool
		}
	}
	var bodies []json.RawMessage
	await.True(t, queue, func() bool {
		status, answer := fetch[page](t, http.MethodGet,
			s.URL()+"/messages?after=0&limit=500&queue="+url.QueryEscape(queue), "")
		bodies = nil
		for _, m := range answer.Messages {
			bodies = append(bodies, append(m.Body, m.BodyBase64...))
			check.That(t, !m.Late, "queue %s: %s is late", queue, m.Body)
		}
		return status == http.StatusOK && len(bodies) >= many
	})
	check.Is(t, len(bodies), many, queue)
	return bodies
}
