package source_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/source"
	"github.com/streamsort/streamsort/internal/source/sourcetest"
	"github.com/streamsort/streamsort/pkg/cursor"
)

func one(s *source.Source, r *source.Record) (cursor.Message, error) {
	all, err := s.Messages(r, time.Time{})
	if err != nil || len(all) != 1 {
		return cursor.Message{}, err
	}
	return all[0], nil
}

func read(t testing.TB, text string) *source.Source {
	t.Helper()
	s := check.Get(source.Read([]byte(text)))
	return s
}

// made is the message of the only record of an event.
func made(t *testing.T, s *source.Source, event json.RawMessage) cursor.Message {
	t.Helper()
	e, err := s.Split(event)
	check.Need(t, err == nil && len(e.Records) == 1, "%s\n%+v, %v", event, e, err)
	m, err := one(s, &e.Records[0])
	check.Need(t, e.Records[0].Err == nil && err == nil,
		"%s\n%v, %v", event, e.Records[0].Err, err)
	return m
}

// Each kind's records go to their queues, in the order in which they were made, each under an id of
// its own; and a record makes the same message each time, in whatever event it comes.
func TestShapes(t *testing.T) {
	for _, shape := range sourcetest.Shapes() {
		t.Run(shape.Name, func(t *testing.T) {
			s := read(t, shape.Source)
			const many = 600
			ids := map[string]bool{}
			var last string
			var lastSeq int64
			for n := 1; n <= many; n++ {
				m := made(t, s, shape.Event([]json.RawMessage{shape.Record(7, n)}))
				if got, err := shape.N(m.Body); got != n || err != nil || m.Queue != shape.Queue(7) {
					t.Fatalf("message %d: queue %q, n %d, %v: %s", n, m.Queue, got, err, m.Body)
				}
				check.Need(t, m.ContentType == "" && s.Numbered() == (m.ID == "") && (m.ID == "" || !ids[m.ID]),
					"message %d: %+v", n, m)
				ids[m.ID] = true
				if shape.Settles {
					key, err := m.KeyType.Key(m.KeyParts...)
					check.Need(t, err == nil && string(key) > last,
						"message %d: key %s, %v: not behind %q", n, key.JSON(), err, last)
					last = string(key)
				} else if m.Seq != lastSeq+1 {
					t.Fatalf("message %d has seq %d", n, m.Seq)
				}
				lastSeq = m.Seq
			}
		})
	}
}

// A record in the company of others, of other queues and of its own twice, is what it is alone.
func TestRecordsAreTheSameInAnyCompany(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 5))
	for _, shape := range sourcetest.Shapes() {
		if shape.Most == 1 {
			continue
		}
		t.Run(shape.Name, func(t *testing.T) {
			s := read(t, shape.Source)
			alone := map[string]cursor.Message{}
			var records []json.RawMessage
			for queue := range 4 {
				for n := 1; n <= 9; n++ {
					raw := shape.Record(queue, n)
					alone[string(raw)] = made(t, s, shape.Event([]json.RawMessage{raw}))
					records = append(records, raw, raw)
				}
			}
			random.Shuffle(len(records), func(i, j int) { records[i], records[j] = records[j], records[i] })
			e, err := s.Split(shape.Event(records))
			check.Need(t, err == nil && len(e.Records) == len(records),
				"%d records, %v; want %d", len(e.Records), err, len(records))
			seen := map[string]int{}
			for i := range e.Records {
				m := check.Get(one(s, &e.Records[i]))
				seen[fmt.Sprint(m)]++
			}
			for raw, m := range alone {
				check.That(t, seen[fmt.Sprint(m)] == 2, "%s came out %d times", raw, seen[fmt.Sprint(m)])
			}
		})
	}
}

// What AWS's own types for Go read in the events that tests are made with.
func TestShapesAreAWS(t *testing.T) {
	shapes := map[string]sourcetest.Shape{}
	for _, s := range sourcetest.Shapes() {
		shapes[s.Name] = s
	}
	event := func(name string, into any) {
		t.Helper()
		shape := shapes[name]
		decoder := json.NewDecoder(bytes.NewReader(shape.Event([]json.RawMessage{shape.Record(2, 5)})))
		decoder.DisallowUnknownFields()
		err := decoder.Decode(into)
		check.Need(t, err == nil, "%s: %v", name, err)
	}
	want := func(what, got, want string) {
		t.Helper()
		check.That(t, got == want, "%s: %q, want %q", what, got, want)
	}
	var sqs events.SQSEvent
	event("sqsFifo", &sqs)
	want("group", sqs.Records[0].Attributes["MessageGroupId"], "acct-002")
	want("trace", *sqs.Records[0].MessageAttributes["trace"].StringValue, sqs.Records[0].MessageId)
	var sns events.SNSEvent
	event("sns", &sns)
	want("message", sns.Records[0].SNS.Message[:11], `{"account":`)
	var bus events.EventBridgeEvent
	event("eventbridge", &bus)
	want("detail type", bus.DetailType, "Order Changed")
	event("s3 by eventbridge", &bus)
	want("source", bus.Source, "aws.s3")
	var kinesis events.KinesisEvent
	event("kinesis", &kinesis)
	want("digits", fmt.Sprint(len(kinesis.Records[0].Kinesis.SequenceNumber)), "56")
	want("arrival", kinesis.Records[0].Kinesis.ApproximateArrivalTimestamp.UTC().Format("15:04:05.000"), "09:00:00.684")
	var s3 events.S3Event
	event("s3", &s3)
	want("key", s3.Records[0].S3.Object.URLDecodedKey, "in/acct-002/Grüße + 100%.json")
	var changes events.DynamoDBEvent
	event("dynamodb", &changes)
	want("key", changes.Records[0].Change.Keys["account"].String(), "acct-002")
	want("created", fmt.Sprint(changes.Records[0].Change.ApproximateCreationDateTime.Unix()), fmt.Sprint(sourcetest.Time(5).Unix()))
	var kafka events.KafkaEvent
	event("kafka", &kafka)
	want("time", kafka.Records["trades-2"][0].Timestamp.UTC().Format("15:04:05.000"), "09:00:00.685")
}

// Numbers of any length sort as texts of a fixed one, to the last digit; and sequencers of any
// length as AWS has them compared: the shorter one padded with zeros at its right.
func TestOrderOfNumbersAndSequencers(t *testing.T) {
	random := rand.New(rand.NewPCG(11, 13))
	digits := func(most int, from string) string {
		text := make([]byte, 1+random.IntN(most))
		for i := range text {
			text[i] = from[random.IntN(len(from))]
		}
		return string(text)
	}
	keyOf := func(kind, record, of string) string {
		m := made(t, read(t, `{"name":"src","kind":"`+kind+`"}`), json.RawMessage(strings.ReplaceAll(record, "VALUE", of)))
		key := check.Get(m.KeyType.Key(m.KeyParts...))
		return string(key)
	}
	const (
		kinesis  = `{"Records":[{"eventSource":"aws:kinesis","eventID":"s:VALUE","kinesis":{"partitionKey":"p","sequenceNumber":"VALUE","data":"e30="}}]}`
		dynamodb = `{"Records":[{"eventSource":"aws:dynamodb","eventID":"VALUE","eventSourceARN":"arn:aws:dynamodb:r:1:table/t/stream/l","dynamodb":{"SequenceNumber":"VALUE","Keys":{"k":{"S":"v"}}}}]}`
		s3       = `{"Records":[{"eventSource":"aws:s3","eventName":"ObjectCreated:Put","s3":{"bucket":{"name":"b"},"object":{"key":"k","sequencer":"VALUE"}}}]}`
	)
	for range 500 {
		for kind, record := range map[string]string{"kinesis": kinesis, "dynamodb": dynamodb} {
			most := map[string]int{"kinesis": 56, "dynamodb": 40}[kind]
			a, b := strings.TrimLeft(digits(most, "0123456789"), "0")+"1", strings.TrimLeft(digits(most, "019"), "0")+"1"
			a, b = a[:min(len(a), most)], b[:min(len(b), most)]
			want := len(a) < len(b) || len(a) == len(b) && a < b
			got := keyOf(kind, record, a) < keyOf(kind, record, b)
			check.Need(t, got == want, "%s: %s before %s: %v", kind, a, b, got)
		}
		a, b := digits(16, "0123456789ABCDEF"), digits(16, "01F")
		long := max(len(a), len(b))
		padA, padB := a+strings.Repeat("0", long-len(a)), b+strings.Repeat("0", long-len(b))
		got := keyOf("s3", s3, a) < keyOf("s3", s3, b)
		check.Need(t, padA == padB || got == (padA < padB), "s3: %s before %s: %v", a, b, got)
	}
}

// What a source's kind is not is a record that cannot be read; the one beside it can.
func TestRecordsThatCannotBeRead(t *testing.T) {
	for _, shape := range sourcetest.Shapes() {
		if shape.Most == 1 || shape.Name == "kafka" || shape.Name == "sqs" || shape.Name == "sqsFifo" {
			continue
		}
		s := read(t, shape.Source)
		var other sourcetest.Shape
		for _, o := range sourcetest.Shapes() {
			if o.Name == "sqs" {
				other = o
			}
		}
		event := shape.Event([]json.RawMessage{shape.Record(1, 1), other.Record(1, 2)})
		if shape.Name == "kinesis" || shape.Name == "dynamodb" {
			// AWS never mixes sources in an event.
			if _, err := s.Split(event); err == nil || !strings.Contains(err.Error(), "several sources") {
				t.Errorf("%s: error %v", shape.Name, err)
			}
			event = other.Event([]json.RawMessage{other.Record(1, 2)})
		}
		e, err := s.Split(event)
		if err != nil {
			t.Errorf("%s: %v", shape.Name, err)
			continue
		}
		bad := len(e.Records) - 1
		if got := e.Records[bad].Err; got == nil || !strings.Contains(got.Error(), "carries nothing of ") {
			t.Errorf("%s: error %v", shape.Name, got)
		}
		check.That(t, bad <= 0 || e.Records[0].Err == nil,
			"%s: the one beside it: %v", shape.Name, e.Records[0].Err)
	}
}

// S3 tests whether it may send when a notification is set up: by itself, and by what carries it.
func TestTestEventsAreNoRecords(t *testing.T) {
	const test = `{"Service":"Amazon S3","Event":"s3:TestEvent","Time":"2026-03-01T09:00:00.000Z","Bucket":"inbox","RequestId":"5582815E1AEA5ADF","HostId":"8cLeGAmw098X5cv4Zkwcmo8vvZa3eH3eKxsPzbB9wrR"}`
	quoted := check.Get(json.Marshal(test))
	s := read(t, `{"name":"src","kind":"s3"}`)
	for _, event := range []string{test, `{"Records":[{"eventSource":"aws:sqs","messageId":"1","body":` + string(quoted) + `}]}`} {
		e, err := s.Split(json.RawMessage(event))
		check.That(t, err == nil && len(e.Records) == 0, "%s: %v, %+v", event, err, e)
	}
}

// What is no event at all is an error.
func TestSplitRefuses(t *testing.T) {
	s := read(t, `{"name":"src","kind":"kinesis"}`)
	for _, event := range []string{``, `7`, `{}`, `[]`, `{"Records":7}`, `{"Records":[7]}`, `{"records":[]}`, `{"records":{"a-0":7}}`} {
		e, err := s.Split(json.RawMessage(event))
		check.That(t, err != nil, "%s: %+v", event, e)
	}
}

// A source chooses by itself what a message is made of.
func TestMappings(t *testing.T) {
	shapes := map[string]sourcetest.Shape{}
	for _, s := range sourcetest.Shapes() {
		shapes[s.Name] = s
	}
	for _, test := range []struct{ shape, source, want string }{
		{"sqs", `{"name":"src","kind":"sqs"}`, `src/payments/ []  017b1f3c-0a5d-4c2e-9002-000000000005 {"account":"acct-002","amount":"35.05","n":5,"note":"größer als 5 € \u003c\u0026\u003e"} map[]`},
		{
			"sqs", `{"name":"src","kind":"sqs","queue":"'all'","order":"arrival","body":"amount","attributes":{"trace":"@record.messageAttributes.trace.stringValue","none":"nothing"}}`,
			`all/ []  017b1f3c-0a5d-4c2e-9002-000000000005 "35.05" map[trace:017b1f3c-0a5d-4c2e-9002-000000000005]`,
		},
		{"sqsFifo", `{"name":"src","kind":"sqsFifo","id":"@deduplicationId","prev":"nothing"}`, `src/acct-002/ [18800000000000001280] number 2/5 {"account":"acct-002","amount":"35.05","n":5,"note":"größer als 5 € \u003c\u0026\u003e"} map[]`},
		{
			"sns", `{"name":"src","kind":"sns","queue":"@topic","prefix":"@acme/","attributes":{"kind":"@record.MessageAttributes.kind.Value","subject":"@subject"},"body":"n"}`,
			`@acme/changes/ [2026-03-01T09:00:00.685Z] time 037b1f3c-0a5d-4c2e-9002-000000000005 5 map[kind:change subject:a change]`,
		},
		{"eventbridge", `{"name":"src","kind":"eventbridge","seq":"n","body":"@detailType"}`, `src/com.example.orders/5 []   Order Changed map[]`},
		{
			"kinesis", `{"name":"src","kind":"kinesis","queue":"nothing | 'rest'","prefix":"","key":"@arrivedAt","keyType":"time","prev":"account","body":"n"}`,
			`rest/ [1772355600.685] time shardId-000000000006:49590338271490256608559692538361571095921575994138603904 prev=acct-002 5 map[]`,
		},
		{"s3 by eventbridge", `{"name":"src","kind":"s3","queue":"@bucket","body":"@key"}`, `src/inbox/ [0055AED6DCD9000000005] text Object Created@0055AED6DCD9000000005 in/acct-002/Grüße + 100%.json map[]`},
		{
			"dynamodb", `{"name":"src","kind":"dynamodb","queue":"dynamodb.Keys.account.S","key":"@createdAt,@sequenceNumber","keyType":"time,text","body":"dynamodb.NewImage"}`,
			`src/acct-002/ [1772355600 0000000000000004421584500000000000005002] time,text 00000000000000030000000000000005 {"account":{"S":"acct-002"},"n":{"N":"5"},"open":{"BOOL":true},"region/zone":{"N":"7"}} map[]`,
		},
		{
			"kafka", `{"name":"src","kind":"kafka","queue":"@key","key":"@timestamp","keyType":"time","body":"n","attributes":{"topic":"@topic"}}`,
			`src/acct-002/ [1772355600.685] time trades-2@15@1772355600685 5 map[topic:trades]`,
		},
	} {
		s := read(t, test.source)
		shape := shapes[test.shape]
		m := made(t, s, shape.Event([]json.RawMessage{shape.Record(2, 5)}))
		seq, prev := "", ""
		if s.Numbered() {
			seq = fmt.Sprint(m.Seq)
		}
		if m.Prev != "" {
			prev = "prev=" + m.Prev + " "
		}
		got := fmt.Sprintf("%s/%s %v %s %s %s%s %v", m.Queue, seq, m.KeyParts, m.KeyType, m.ID, prev, m.Body, m.Attributes)
		check.That(t, got == test.want, "%s\ngot  %s\nwant %s", test.source, got, test.want)
	}
}

// A record's trace context is the message's, and not among its attributes.
func TestATraceIsTheMessages(t *testing.T) {
	const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	m := made(t, read(t, `{"name":"src","kind":"sqs"}`), json.RawMessage(`{"Records":[{"eventSource":"aws:sqs","eventSourceARN":"arn:aws:sqs:r:1:q","messageId":"m","body":"{}",
		"messageAttributes":{"traceparent":{"stringValue":"`+parent+`","dataType":"String"}}}]}`))
	check.That(t, m.Trace.Parent == parent && len(m.Attributes) == 0, "%+v", m)
}

// The same key of a table is the same queue, two keys are two.
func TestItemsAreToldApart(t *testing.T) {
	s := read(t, `{"name":"src","kind":"dynamodb"}`)
	var names []string
	for _, keys := range []string{
		`{"a":{"S":"x/y"},"b":{"S":"z"}}`, `{"a":{"S":"x"},"b":{"S":"y/z"}}`, `{"a":{"S":"x%2Fy"},"b":{"S":"z"}}`, `{"b":{"S":"z"},"a":{"S":"x"}}`, `{"a":{"B":"AAE="}}`,
	} {
		m := made(t, s, json.RawMessage(`{"Records":[{"eventSource":"aws:dynamodb","eventID":"1","eventSourceARN":"arn:aws:dynamodb:r:1:table/t/stream/l","dynamodb":{"SequenceNumber":"7","Keys":`+keys+`}}]}`))
		names = append(names, m.Queue)
	}
	want := []string{"src/t/x%2Fy/z", "src/t/x/y%2Fz", "src/t/x%252Fy/z", "src/t/x/z", "src/t/AAE="}
	check.That(t, slices.Equal(names, want), "%q, want %q", names, want)
}
