package sink

import (
	"crypto/md5"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/go-cmp/cmp"

	"github.com/streamsort/streamsort/internal/cloudevents"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/sink/kind"
	"github.com/streamsort/streamsort/internal/sink/sinktest"
	"github.com/streamsort/streamsort/pkg/delivery"
)

// wire answers as SQS, SNS or EventBridge, and refuses what a test says. The requests are kept by
// the seqs of their entries.
type wire struct {
	t        *testing.T
	kind     string
	refuse   func(request int, seq string) bool
	requests [][]string
}

func (w *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	request := len(w.requests)
	w.requests = append(w.requests, nil)
	return serves(w.t, r, w.kind, func(e entry) bool {
		seq := e.MessageAttributes["seq"].StringValue
		if w.kind == "eventbridge" {
			check.That(w.t, e.EventBusName == busARN && e.Source == "streamsort" &&
				e.DetailType == "message",
				"entry %+v", e)
			seq = string(sinktest.Decode[struct{ Seq json.RawMessage }](w.t, []byte(e.Detail)).Seq)
		} else {
			check.That(w.t, e.MessageGroupID == "q" &&
				strings.HasSuffix(e.MessageDeduplicationID, "."+seq+".0"),
				"entry %+v", e)
		}
		w.requests[request] = append(w.requests[request], seq)
		return w.refuse == nil || !w.refuse(request, seq)
	})
}

// entry is one of a request, as SQS, SNS or EventBridge gets it.
type entry struct {
	ID, MessageBody, MessageGroupID, MessageDeduplicationID string
	EventBusName, Source, DetailType, Detail, TraceHeader   string
	MessageAttributes, MessageSystemAttributes              map[string]attribute
}

type attribute struct {
	StringValue string
	BinaryValue []byte
}

// entriesOf are the entries of a request.
func entriesOf(t *testing.T, kind string, raw []byte) (all []entry) {
	t.Helper()
	if kind != "sns" {
		return sinktest.Decode[struct{ Entries []entry }](t, raw).Entries
	}
	form := check.Get(url.ParseQuery(string(raw)))
	for n := 1; ; n++ {
		member := func(name string) string {
			return form.Get(fmt.Sprintf("PublishBatchRequestEntries.member.%d.%s", n, name))
		}
		if member("Id") == "" {
			return all
		}
		e := entry{
			ID: member("Id"), MessageGroupID: member("MessageGroupId"),
			MessageDeduplicationID: member("MessageDeduplicationId"),
			MessageAttributes:      map[string]attribute{},
		}
		for a := 1; ; a++ {
			at := fmt.Sprintf("MessageAttributes.entry.%d.", a)
			if member(at+"Name") == "" {
				break
			}
			value := attribute{member(at + "Value.StringValue"), []byte(member(at + "Value.BinaryValue"))}
			e.MessageAttributes[member(at+"Name")] = value
		}
		all = append(all, e)
	}
}

// serves answers a request as the service does that takes such entries.
func serves(t *testing.T, r *http.Request, kind string,
	takes func(entry) bool) (*http.Response, error) {
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	var taken, refused []string
	for _, e := range entriesOf(t, kind, raw) {
		switch took := takes(e); {
		case kind == "eventbridge" && took:
			taken = append(taken, `{"EventId":"e"}`)
		case kind == "eventbridge":
			taken = append(taken, `{"ErrorCode":"InternalFailure","ErrorMessage":"later"}`)
			refused = append(refused, "")
		case kind == "sns" && took:
			taken = append(taken, "<member><Id>"+e.ID+"</Id><MessageId>m</MessageId></member>")
		case kind == "sns":
			refused = append(refused, "<member><Id>"+e.ID+"</Id><Code>InternalError</Code><Message>later</Message><SenderFault>false</SenderFault></member>")
		case took:
			sum := md5.Sum([]byte(e.MessageBody))
			taken = append(taken,
				fmt.Sprintf(`{"Id":%q,"MessageId":"m","MD5OfMessageBody":"%x"}`, e.ID, sum))
		default:
			refused = append(refused,
				fmt.Sprintf(`{"Id":%q,"Code":"InternalError","Message":"later","SenderFault":false}`, e.ID))
		}
	}
	answer := `{"Successful":[` + strings.Join(taken, ",") + `],"Failed":[` +
		strings.Join(refused, ",") + `]}`
	switch kind {
	case "sns":
		answer = `<PublishBatchResponse xmlns="http://sns.amazonaws.com/doc/2010-03-31/"><PublishBatchResult><Successful>` +
			strings.Join(taken, "") + `</Successful><Failed>` + strings.Join(refused, "") +
			`</Failed></PublishBatchResult><ResponseMetadata><RequestId>r</RequestId></ResponseMetadata></PublishBatchResponse>`
	case "eventbridge":
		answer = fmt.Sprintf(`{"FailedEntryCount":%d,"Entries":[%s]}`, len(refused),
			strings.Join(taken, ","))
	}
	return answered(r, kind, answer), nil
}

// answered is the response of a kind's service.
func answered(r *http.Request, kind, answer string) *http.Response {
	header := http.Header{"Content-Type": {"application/x-amz-json-1.1"}}
	if kind == "sns" {
		header.Set("Content-Type", "text/xml")
	}
	return &http.Response{
		StatusCode: http.StatusOK, Header: header, Request: r,
		Body: io.NopCloser(strings.NewReader(answer)), ContentLength: int64(len(answer)),
	}
}

// set is a configuration.
type set struct {
	Kind       string `json:"kind,omitempty"`
	ARN        string `json:"arn,omitempty"`
	MaxBytes   int    `json:"maxBytes,omitempty"`
	MaxEntries int    `json:"maxEntries,omitempty"`
	Format     string `json:"format,omitempty"`
}

// config is the configuration as it is read.
func (s set) config(t *testing.T) (c Config) {
	t.Helper()
	check.OK(t, json.Unmarshal(check.Get(json.Marshal(s)), &c))
	return c
}

// open opens the sink, whose requests the transport answers.
func (s set) open(t *testing.T, transport http.RoundTripper) kind.Sink {
	t.Helper()
	sinktest.Environment(t, "http://nowhere")
	return check.Get(New(s.config(t), kind.Options{Transport: transport}))
}

var wires = []set{{Kind: "sqs", ARN: queueARN}, {Kind: "sns", ARN: topicARN},
	{Kind: "eventbridge", ARN: busARN}}

// TestPartialFailures: the second entry of the first request is refused. SQS and SNS let nothing
// else overtake it, EventBridge has no order to keep.
func TestPartialFailures(t *testing.T) {
	for _, config := range wires {
		t.Run(config.Kind, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				config.MaxEntries = 3
				w := &wire{t: t, kind: config.Kind, refuse: func(request int, seq string) bool {
					return request == 0 && seq == "2"
				}}
				s := config.open(t, w)
				check.OK(t, s.Send(t.Context(), sinktest.Batch("q", sinktest.Bodies(5)...)))
				want := [][]string{{"1", "2", "3"}, {"2"}, {"4"}, {"5"}}
				if config.Kind == "eventbridge" {
					want = [][]string{{"1", "2", "3"}, {"2", "4", "5"}}
				}
				check.Is(t, cmp.Diff(want, w.requests), "")
			})
		})
	}
}

// TestRequests: 25 messages are three requests, large ones more, one too large none, and with one
// entry each as many as there are messages.
func TestRequests(t *testing.T) {
	large := strings.Repeat("x", 300*1024)
	for _, c := range []struct {
		name   string
		set    set
		bodies []string
		want   map[string]int
	}{
		{"many", set{}, sinktest.Bodies(25), map[string]int{"sqs": 3, "sns": 3, "eventbridge": 3}},
		{"none", set{}, nil, map[string]int{}},
		{"one by one", set{MaxEntries: 1}, sinktest.Bodies(5), map[string]int{"sqs": 5, "sns": 5, "eventbridge": 5}},
		// A body in base64 is a third longer, in EventBridge's detail.
		{"large", set{}, []string{"1", large, large, large, large}, map[string]int{"sqs": 2, "eventbridge": 2}},
		{"large, and room for them", set{MaxBytes: 400 << 10}, []string{"1", large[:200<<10], large[:200<<10]}, map[string]int{"sqs": 2, "sns": 2, "eventbridge": 2}},
	} {
		for _, config := range wires {
			t.Run(c.name+"/"+config.Kind, func(t *testing.T) {
				config.MaxEntries, config.MaxBytes = c.set.MaxEntries, c.set.MaxBytes
				w := &wire{t: t, kind: config.Kind}
				err := config.open(t, w).Send(t.Context(), sinktest.Batch("q", c.bodies...))
				check.Is(t, config.Kind == "sns" && c.name == "large", (err != nil), err)
				check.That(t, len(w.requests) == c.want[config.Kind],
					"%d requests, want %d: %v", len(w.requests), c.want[config.Kind], w.requests)
			})
		}
	}
}

// TestGarbage: an answer that does not name each entry is no success.
func TestGarbage(t *testing.T) {
	for _, config := range wires {
		for name, answer := range map[string]string{"empty": "", "object": "{}", "HTML": "<p>",
			"other":   `{"Entries":[{}],"Successful":[{"Id":"7"},{"Id":"x"},{}]}`,
			"changed": `{"Successful":[{"Id":"0","MD5OfMessageBody":"0"}]}`} {
			t.Run(config.Kind+"/"+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := config.open(t, sinktest.Transport(func(r *http.Request) (*http.Response, error) {
						return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Request: r,
							Body: io.NopCloser(strings.NewReader(answer))}, nil
					}))
					err := s.Send(t.Context(), sinktest.Batch("q", "1"))
					check.Need(t, err != nil, "it was taken for success")
					check.That(t, len(err.Error()) <= 1000, "a long error: %v", err)
				})
			})
		}
	}
}

// TestHangs: a request that is never answered is cut off and made again, and the context ends it
// all.
func TestHangs(t *testing.T) {
	for _, config := range wires {
		t.Run(config.Kind, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				requests := 0
				s := config.open(t, sinktest.Transport(func(r *http.Request) (*http.Response, error) {
					requests++
					<-r.Context().Done()
					return nil, r.Context().Err()
				}))
				start := time.Now()
				err := s.Send(sinktest.Within(t, 15*time.Second), sinktest.Batch("q", "1"))
				check.That(t, err != nil, "it was taken for success")
				check.Is(t, time.Since(start), 15*time.Second)
				check.That(t, requests >= 2, "%d requests, want two", requests)
			})
		})
	}
}

// eventBatch has an event, another with an integer that EventBridge does not take, and a message
// that came as none.
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
			e := sinktest.Decode[event.Event](t, []byte(raw))
			check.OK(t, e.Validate())
			got, raws = append(got, e), append(raws, raw)
		}
		s := config.open(t, sinktest.Transport(func(r *http.Request) (*http.Response, error) {
			return serves(t, r, config.Kind, func(e entry) bool {
				take(e.MessageBody + e.Detail)
				if config.Kind == "sqs" &&
					(e.MessageAttributes["contentType"].StringValue != cloudevents.MediaType ||
						e.MessageAttributes["seq"].StringValue == "") ||
					config.Kind == "eventbridge" && e.DetailType != "cloudevent" {
					t.Errorf("%s: %+v", config.Kind, e)
				}
				const trace = "Root=1-0af76519-16cd43dd8448eb211c80319c;Parent=b7ad6b7169203331;Sampled=1"
				if len(got) == 1 &&
					e.TraceHeader+e.MessageSystemAttributes["AWSTraceHeader"].StringValue != trace {
					t.Errorf("%s: %+v", config.Kind, e)
				}
				return true
			})
		}))
		b := eventBatch(t)
		check.OK(t, s.Send(t.Context(), b))
		check.Need(t, len(got) == 3, "%s: %d events", config.Kind, len(got))
		e := got[0]
		check.That(t, e.ID() == "1" && e.Source() == "/s" && e.Type() == "t" &&
			string(e.Data()) == `{"total": 12}` && e.Extensions()["n"] == int32(5) &&
			e.Extensions()["traceparent"] != nil && e.Extensions()["streamsortqueue"] == "@acme/orders" &&
			e.Extensions()["streamsortconsumer"] == "c" && e.Extensions()["streamsortseq"] == "1" &&
			e.Extensions()["streamsorttoken"] == "7-req" &&
			e.Extensions()["streamsortedge"] == b.Edges[0].String(), "%s: %s", config.Kind, raws[0])
		e = got[1]
		check.That(t, string(e.Data()) == "99999999999999999999" && e.DataBase64 ==
			(config.Kind == "eventbridge") && e.Extensions()["streamsortseq"] == "2", "%s: %s",
			config.Kind, raws[1])
		e = got[2]
		check.That(t, e.ID() == "3" && e.Source() == "@acme%2Forders" && string(e.Data()) == "\x00",
			"%s: %s", config.Kind, raws[2])
	}
}

// answering is a transport of which each request is answered so.
type answering func() (*http.Response, error)

// RoundTrip implements [http.RoundTripper].
func (a answering) RoundTrip(r *http.Request) (*http.Response, error) {
	_, _ = io.Copy(io.Discard, r.Body)
	return a()
}

func says(status int, header, body string) answering {
	return func() (*http.Response, error) {
		h := http.Header{}
		if name, value, some := strings.Cut(header, ": "); some {
			h.Set(name, value)
		}
		return &http.Response{StatusCode: status, Header: h,
			Body: io.NopCloser(strings.NewReader(body))}, nil
	}
}

// TestAway: what a service says of itself is distinguished from what it says of a message, as it is
// written on the wire.
func TestAway(t *testing.T) {
	refused := answering(func() (*http.Response, error) {
		return nil, errors.New("connection refused")
	})
	const snsFailed = `<PublishBatchResponse><PublishBatchResult><Failed><member><Id>0</Id><Code>Throttled</Code><SenderFault>false</SenderFault></member></Failed></PublishBatchResult></PublishBatchResponse>`
	lambda, sqs, sns, bus := set{Kind: "lambda", ARN: functionARN}, wires[0], wires[1], wires[2]
	for name, c := range map[string]struct {
		sink   set
		answer answering
		away   bool
	}{
		"lambda, not reachable":      {lambda, refused, true},
		"lambda, throttled":          {lambda, says(429, "X-Amzn-Errortype: TooManyRequestsException:http://x", `{"Reason":"ReservedFunctionConcurrentInvocationLimitExceeded"}`), true},
		"lambda, a fault":            {lambda, says(500, "X-Amzn-Errortype: ServiceException", `{}`), true},
		"lambda, the function fails": {lambda, says(200, "X-Amz-Function-Error: Unhandled", `{"errorType":"TooManyRequestsException","errorMessage":"429"}`), false},
		"lambda, no such function":   {lambda, says(404, "X-Amzn-Errortype: ResourceNotFoundException", `{}`), false},
		"sqs, not reachable":         {sqs, refused, true},
		"sqs, throttled":             {sqs, says(400, "", `{"__type":"com.amazonaws.sqs#RequestThrottled"}`), true},
		"sqs, an entry by a fault":   {sqs, says(200, "", `{"Failed":[{"Id":"0","Code":"InternalError","SenderFault":false}]}`), true},
		"sqs, an entry is throttled": {sqs, says(200, "", `{"Failed":[{"Id":"0","Code":"RequestThrottled","SenderFault":true}]}`), true},
		"sqs, an entry for good":     {sqs, says(200, "", `{"Failed":[{"Id":"0","Code":"InvalidMessageContents","SenderFault":true}]}`), false},
		"sqs, no verdict":            {sqs, says(200, "", `{}`), false},
		"sqs, no such queue":         {sqs, says(400, "", `{"__type":"com.amazonaws.sqs#QueueDoesNotExist"}`), false},
		"sns, throttled":             {sns, says(400, "", `<ErrorResponse><Error><Code>Throttled</Code></Error></ErrorResponse>`), true},
		"sns, an entry is throttled": {sns, says(200, "", snsFailed), true},
		"sns, no permission":         {sns, says(403, "", `<ErrorResponse><Error><Code>AuthorizationError</Code></Error></ErrorResponse>`), false},
		"bus, throttled":             {bus, says(400, "", `{"__type":"ThrottlingException"}`), true},
		"bus, an entry is throttled": {bus, says(200, "", `{"FailedEntryCount":1,"Entries":[{"ErrorCode":"ThrottlingException"}]}`), true},
		"bus, an entry by a fault":   {bus, says(200, "", `{"FailedEntryCount":1,"Entries":[{"ErrorCode":"InternalFailure"}]}`), true},
		"bus, not available":         {bus, says(503, "", ""), true},
		"sqs, its key is throttled":  {sqs, says(400, "", `{"__type":"KmsThrottled"}`), true},
		"sns, its key is throttled":  {sns, says(400, "", `<ErrorResponse><Error><Code>KMSThrottling</Code></Error></ErrorResponse>`), true},
		"bus, an entry for good":     {bus, says(200, "", `{"FailedEntryCount":1,"Entries":[{"ErrorCode":"MalformedDetail"}]}`), false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				err := c.sink.open(t, c.answer).Send(t.Context(), sinktest.Batch("q", "1"))
				check.That(t, err != nil && kind.IsAway(err) == c.away,
					"error %v; is the sink away: %v, want %v", err, kind.IsAway(err), c.away)
			})
		})
	}
}

// TestCalled: an error says what was called, and the id under which the function's log has the
// call.
func TestCalled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		failed := answering(func() (*http.Response, error) {
			a, err := says(200, "X-Amz-Function-Error: Unhandled", `{"errorType":"E","errorMessage":"no"}`)()
			a.Header.Set("X-Amzn-Requestid", "r-1")
			return a, err
		})
		err := set{Kind: "lambda", ARN: functionARN}.open(t, failed).Send(t.Context(),
			sinktest.Batch("q", "1"))
		var called interface{ Called() (by, id string) }
		check.Need(t, errors.As(err, &called), "error %v", err)
		by, id := called.Called()
		check.Is(t, by+" "+id, functionARN+" r-1")
	})
}
