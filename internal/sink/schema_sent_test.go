package sink

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/sink/sinktest"
	"github.com/streamsort/streamsort/internal/sortkey"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/delivery"
)

// batchesOfAllKinds have all that a document may have, and nothing that it need not have.
func batchesOfAllKinds() []delivery.Batch {
	whole := sinktest.Tracked(sinktest.Batch("@acme/orders", `{"n":1}`, "\x00", "", `{ "spaced": 1 }`), "tag")
	whole.Messages[0].ID, whole.Messages[0].Attributes = "id\x01", map[string]string{"k": "v"}
	whole.Messages[3].Trace = cursor.Trace{Parent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", State: "a=1"}
	for i, raw := range []string{`7.5`, `"a"`, `[1538601234,"x.b"]`} {
		keys := []sortkey.KeyType{"number", "text", "time,rank(*.a|*)"}[i]
		key, err := keys.ParseKey([]byte(raw))
		if err != nil {
			panic(err)
		}
		whole.Messages[i].Key, whole.Messages[i].Late, whole.Messages[i].Unlinked = key, i > 0, i > 1
	}
	whole.Messages[3].Seq, whole.Token.N = 1<<62, 1<<60
	whole.From, whole.To, whole.Skipped, whole.Attempt, whole.Rewinds = -1, 1<<62, []int64{0, 7}, 2, 3
	return []delivery.Batch{sinktest.Batch("q", sinktest.Bodies(2)...), whole}
}

// sentDocuments are what the sinks send of those, by the schema that it is of.
func sentDocuments(t *testing.T) map[string][]string {
	t.Helper()
	all := map[string][]string{}
	for config, of := range map[set]struct {
		schema string
		read   func(*testing.T, []byte) (documents []string, answer string)
	}{
		{Kind: "lambda", ARN: functionARN}: {"lambda.json", func(_ *testing.T, raw []byte) ([]string, string) { return []string{string(raw)}, "" }},
		{Kind: "sqs", ARN: queueARN}:       {"sqs-sns.json", sentToSQS},
		{Kind: "sns", ARN: topicARN}:       {"sqs-sns.json", sentToSNS},
		{Kind: "eventbridge", ARN: busARN}: {"eventbridge.json", sentToEventBridge},
	} {
		s := config.open(t, sinktest.Transport(func(r *http.Request) (*http.Response, error) {
			raw, err := io.ReadAll(r.Body)
			if err != nil {
				return nil, err
			}
			documents, answer := of.read(t, raw)
			all[of.schema] = append(all[of.schema], documents...)
			return answered(r, config.Kind, answer), nil
		}))
		for _, b := range batchesOfAllKinds() {
			if err := s.Send(t.Context(), b); err != nil {
				t.Fatalf("%s: %v", config.Kind, err)
			}
		}
	}
	return all
}

func sentToSQS(t *testing.T, raw []byte) (documents []string, answer string) {
	in := sinktest.Decode[struct {
		Entries []struct {
			ID                string
			MessageAttributes map[string]struct {
				StringValue string
				BinaryValue []byte
			}
		}
	}](t, raw)
	for _, e := range in.Entries {
		values := map[string]string{}
		for name, value := range e.MessageAttributes {
			values[name] = value.StringValue + string(value.BinaryValue)
		}
		documents = append(documents, written(t, values))
		answer += fmt.Sprintf(`,{"Id":%q,"MessageId":"m"}`, e.ID)
	}
	return documents, `{"Successful":[` + answer[1:] + `]}`
}

func sentToSNS(t *testing.T, raw []byte) (documents []string, answer string) {
	form := check.Get(url.ParseQuery(string(raw)))
	for n := 1; ; n++ {
		entry := fmt.Sprintf("PublishBatchRequestEntries.member.%d.", n)
		if form.Get(entry+"Id") == "" {
			return documents, "<PublishBatchResponse><PublishBatchResult><Successful>" + answer + "</Successful></PublishBatchResult></PublishBatchResponse>"
		}
		answer += "<member><Id>" + form.Get(entry+"Id") + "</Id><MessageId>m</MessageId></member>"
		values := map[string]string{}
		for a := 1; ; a++ {
			attribute := fmt.Sprintf("%sMessageAttributes.entry.%d.", entry, a)
			name := form.Get(attribute + "Name")
			if name == "" {
				break
			}
			values[name] = form.Get(attribute+"Value.StringValue") + form.Get(attribute+"Value.BinaryValue")
		}
		documents = append(documents, written(t, values))
	}
}

func sentToEventBridge(t *testing.T, raw []byte) (documents []string, answer string) {
	in := sinktest.Decode[struct{ Entries []struct{ Detail string } }](t, raw)
	for _, e := range in.Entries {
		documents = append(documents, e.Detail)
		answer += `,{"EventId":"e"}`
	}
	return documents, `{"FailedEntryCount":0,"Entries":[` + answer[1:] + `]}`
}

func written(t *testing.T, values map[string]string) string {
	t.Helper()
	text := check.Get(json.Marshal(values))
	return string(text)
}
