package sink

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/cloudevents/sdk-go/v2/event"

	"github.com/streamsort/streamsort/internal/cloudevents"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/sink/sinktest"
	"github.com/streamsort/streamsort/pkg/delivery"
)

// eventBatch has an event, another with an integer that EventBridge does not take, and a message that came as none.
func eventBatch(t *testing.T) delivery.Batch {
	t.Helper()
	b := sinktest.Tracked(sinktest.Batch("@acme/orders", "{}", "{}", "\x00"), "tag")
	for i, raw := range []string{
		`{"specversion":"1.0","id":"1","source":"/s","type":"t","n":5,"data":{"total": 12},"traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}`,
		`{"specversion":"1.0","id":"2","source":"/s","type":"t","streamsortseq":5,"data":99999999999999999999}`,
	} {
		e := check.Get(cloudevents.ReadJSON(json.RawMessage(raw)))
		m := check.Get(e.Message())
		m.Queue, m.Seq, m.EnqueuedAt = b.Queue, b.Messages[i].Seq, b.Messages[i].EnqueuedAt
		b.Messages[i] = m
	}
	return b
}

// TestCloudEventsOut: CloudEvents' own SDK reads what SQS and EventBridge get.
func TestCloudEventsOut(t *testing.T) {
	for _, config := range []set{{Kind: "sqs", ARN: queueARN}, {Kind: "eventbridge", ARN: busARN}} {
		config.Format = "cloudevents"
		var got []event.Event
		var raws []string
		take := func(raw string) {
			var e event.Event
			if err := json.Unmarshal([]byte(raw), &e); err != nil {
				t.Fatalf("%s: %v", raw, err)
			}
			if err := e.Validate(); err != nil {
				t.Errorf("%s: %v", raw, err)
			}
			got, raws = append(got, e), append(raws, raw)
		}
		s := config.open(t, sinktest.Transport(func(r *http.Request) (*http.Response, error) {
			raw, err := io.ReadAll(r.Body)
			if err != nil {
				return nil, err
			}
			in := sinktest.Decode[struct {
				Entries []struct {
					MessageBody, Detail, DetailType, TraceHeader string
					MessageAttributes, MessageSystemAttributes   map[string]struct{ StringValue string }
				}
			}](t, raw)
			for i, e := range in.Entries {
				take(e.MessageBody + e.Detail)
				if config.Kind == "sqs" && (e.MessageAttributes["contentType"].StringValue != cloudevents.MediaType || e.MessageAttributes["seq"].StringValue == "") ||
					config.Kind == "eventbridge" && e.DetailType != "cloudevent" {
					t.Errorf("%s: %+v", config.Kind, e)
				}
				const trace = "Root=1-0af76519-16cd43dd8448eb211c80319c;Parent=b7ad6b7169203331;Sampled=1"
				if i == 0 && e.TraceHeader+e.MessageSystemAttributes["AWSTraceHeader"].StringValue != trace {
					t.Errorf("%s: %+v", config.Kind, e)
				}
			}
			if config.Kind == "sqs" {
				return answered(r, "sqs", `{"Successful":[{"Id":"0"},{"Id":"1"},{"Id":"2"}]}`), nil
			}
			return answered(r, "eventbridge", `{"Entries":[{"EventId":"a"},{"EventId":"b"},{"EventId":"c"}]}`), nil
		}))
		b := eventBatch(t)
		check.OK(t, s.Send(t.Context(), b))
		check.Need(t, len(got) == 3, "%s: %d events", config.Kind, len(got))
		e := got[0]
		if e.ID() != "1" || e.Source() != "/s" || e.Type() != "t" || string(e.Data()) != `{"total": 12}` || e.Extensions()["n"] != int32(5) ||
			e.Extensions()["traceparent"] == nil || e.Extensions()["streamsortqueue"] != "@acme/orders" || e.Extensions()["streamsortconsumer"] != "c" ||
			e.Extensions()["streamsortseq"] != "1" || e.Extensions()["streamsorttoken"] != "7-req" || e.Extensions()["streamsortedge"] != b.Edges[0].String() {
			t.Errorf("%s: %s", config.Kind, raws[0])
		}
		if e := got[1]; string(e.Data()) != "99999999999999999999" || e.DataBase64 != (config.Kind == "eventbridge") || e.Extensions()["streamsortseq"] != "2" {
			t.Errorf("%s: %s", config.Kind, raws[1])
		}
		if e := got[2]; e.ID() != "3" || e.Source() != "@acme%2Forders" || string(e.Data()) != "\x00" {
			t.Errorf("%s: %s", config.Kind, raws[2])
		}
	}
}

// TestFormats: what has the format, and that there is no other.
func TestFormats(t *testing.T) {
	for config, want := range map[set]string{
		{Kind: "sns", ARN: topicARN, Format: "cloudevents"}:       "format is set: sns has one format",
		{Kind: "lambda", ARN: functionARN, Format: "cloudevents"}: "format is set: lambda has one format",
		{Kind: "sqs", ARN: queueARN, Format: "xml"}:               `format must be cloudevents: it is "xml"`,
	} {
		raw := check.Get(json.Marshal(config))
		var c Config
		if err := json.Unmarshal(raw, &c); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%+v: %v", config, err)
		}
	}
}
