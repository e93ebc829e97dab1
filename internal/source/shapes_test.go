package source_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
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

func shapeOf(name string) sourcetest.Shape {
	all := sourcetest.Shapes
	return all[slices.IndexFunc(all, func(s sourcetest.Shape) bool { return s.Name == name })]
}

func read(t testing.TB, text string) *source.Source {
	t.Helper()
	return check.Get(source.Read([]byte(text)))
}

// made is the message of the only record of an event.
func made(t *testing.T, s *source.Source, event json.RawMessage) cursor.Message {
	t.Helper()
	e, err := s.Split(event)
	check.Need(t, err == nil && len(e.Records) == 1, "%s\n%+v, %v", event, e, err)
	m, err := one(s, &e.Records[0])
	check.Need(t, e.Records[0].Err == nil && err == nil, "%s\n%v, %v", event, e.Records[0].Err, err)
	return m
}

// Each kind's records go to their queues, in the order in which they were made, each under an id of
// its own; and a record makes the same message each time, in whatever event it comes.
func TestShapes(t *testing.T) {
	for _, shape := range sourcetest.Shapes {
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
	for _, shape := range sourcetest.Shapes {
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
	event := func(name string, into any) {
		t.Helper()
		shape := shapeOf(name)
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
	want("arrival", kinesis.Records[0].Kinesis.ApproximateArrivalTimestamp.UTC().
		Format("15:04:05.000"), "09:00:00.684")
	var s3 events.S3Event
	event("s3", &s3)
	want("key", s3.Records[0].S3.Object.URLDecodedKey, "in/acct-002/Grüße + 100%.json")
	var changes events.DynamoDBEvent
	event("dynamodb", &changes)
	want("key", changes.Records[0].Change.Keys["account"].String(), "acct-002")
	want("created", fmt.Sprint(changes.Records[0].Change.ApproximateCreationDateTime.Unix()),
		fmt.Sprint(sourcetest.Time(5).Unix()))
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
		m := made(t, read(t, `{"name":"src","kind":"`+kind+`"}`),
			json.RawMessage(strings.ReplaceAll(record, "VALUE", of)))
		return string(check.Get(m.KeyType.Key(m.KeyParts...)))
	}
	const (
		kinesis  = `{"Records":[{"eventSource":"aws:kinesis","eventID":"s:VALUE","kinesis":{"partitionKey":"p","sequenceNumber":"VALUE","data":"e30="}}]}`
		dynamodb = `{"Records":[{"eventSource":"aws:dynamodb","eventID":"VALUE","eventSourceARN":"arn:aws:dynamodb:r:1:table/t/stream/l","dynamodb":{"SequenceNumber":"VALUE","Keys":{"k":{"S":"v"}}}}]}`
		s3       = `{"Records":[{"eventSource":"aws:s3","eventName":"ObjectCreated:Put","s3":{"bucket":{"name":"b"},"object":{"key":"k","sequencer":"VALUE"}}}]}`
	)
	for range 500 {
		for kind, record := range map[string]string{"kinesis": kinesis, "dynamodb": dynamodb} {
			most := map[string]int{"kinesis": 56, "dynamodb": 40}[kind]
			a, b := strings.TrimLeft(digits(most, "0123456789"), "0")+"1",
				strings.TrimLeft(digits(most, "019"), "0")+"1"
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
	for _, shape := range sourcetest.Shapes {
		if shape.Most == 1 || shape.Name == "kafka" || shape.Name == "sqs" || shape.Name == "sqsFifo" {
			continue
		}
		s := read(t, shape.Source)
		other := shapeOf("sqs")
		event := shape.Event([]json.RawMessage{shape.Record(1, 1), other.Record(1, 2)})
		if shape.Name == "kinesis" || shape.Name == "dynamodb" {
			// AWS never mixes sources in an event.
			check.Says(t, check.Err(s.Split(event)), "several sources", shape.Name)
			event = other.Event([]json.RawMessage{other.Record(1, 2)})
		}
		e := check.Get(s.Split(event))
		bad := len(e.Records) - 1
		check.Says(t, e.Records[bad].Err, "carries nothing of ", shape.Name)
		check.That(t, bad <= 0 || e.Records[0].Err == nil,
			"%s: the one beside it: %v", shape.Name, e.Records[0].Err)
	}
}

// S3 tests whether it may send when a notification is set up: by itself, and by what carries it.
func TestTestEventsAreNoRecords(t *testing.T) {
	const test = `{"Service":"Amazon S3","Event":"s3:TestEvent","Time":"2026-03-01T09:00:00.000Z","Bucket":"inbox","RequestId":"5582815E1AEA5ADF","HostId":"8cLeGAmw098X5cv4Zkwcmo8vvZa3eH3eKxsPzbB9wrR"}`
	quoted := check.Get(json.Marshal(test))
	s := read(t, `{"name":"src","kind":"s3"}`)
	for _, event := range []string{test,
		`{"Records":[{"eventSource":"aws:sqs","messageId":"1","body":` + string(quoted) + `}]}`} {
		e, err := s.Split(json.RawMessage(event))
		check.That(t, err == nil && len(e.Records) == 0, "%s: %v, %+v", event, err, e)
	}
}

func TestSplitRefuses(t *testing.T) {
	s := read(t, `{"name":"src","kind":"kinesis"}`)
	for _, event := range []string{``, `7`, `{}`, `[]`, `{"Records":7}`, `{"Records":[7]}`,
		`{"records":[]}`, `{"records":{"a-0":7}}`} {
		e, err := s.Split(json.RawMessage(event))
		check.That(t, err != nil, "%s: %+v", event, e)
	}
}

// A source chooses by itself what a message is made of.
func TestMappings(t *testing.T) {
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
		shape := shapeOf(test.shape)
		m := made(t, s, shape.Event([]json.RawMessage{shape.Record(2, 5)}))
		seq, prev := "", ""
		if s.Numbered() {
			seq = fmt.Sprint(m.Seq)
		}
		if m.Prev != "" {
			prev = "prev=" + m.Prev + " "
		}
		got := fmt.Sprintf("%s/%s %v %s %s %s%s %v", m.Queue, seq, m.KeyParts, m.KeyType, m.ID, prev,
			m.Body, m.Attributes)
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

// What is answered when some of an event's records failed: those at the places where the text has
// an x.
func TestAnswer(t *testing.T) {
	number := sourcetest.SequenceNumber(3 * 1000)
	for _, test := range []struct {
		shape, source, failed, want string
		queues                      []int // of each record; the n-th record has n = its place + 1
	}{
		{"sqs", "", "....", `{"batchItemFailures":[]}`, []int{0, 0, 0, 0}},
		{"sqs", "", ".x.x", `{"batchItemFailures":[{"itemIdentifier":"017b1f3c-0a5d-4c2e-9000-000000000002"},{"itemIdentifier":"017b1f3c-0a5d-4c2e-9000-000000000004"}]}`, []int{0, 0, 0, 0}},
		// Those behind it in its group, and no others.
		{"sqsFifo", "", ".x..", `{"batchItemFailures":[{"itemIdentifier":"027b1f3c-0a5d-4c2e-9001-000000000002"},{"itemIdentifier":"027b1f3c-0a5d-4c2e-9001-000000000004"}]}`, []int{1, 1, 2, 1}},
		{"s3 by sqs", "", "x..", `{"batchItemFailures":[{"itemIdentifier":"097b1f3c-0a5d-4c2e-9000-000000000001"}]}`, []int{0, 0, 0}},
		// The first alone: all behind it comes again.
		{"kinesis", "", "..xx", `{"batchItemFailures":[{"itemIdentifier":"` + number + `"}]}`, []int{0, 0, 0, 0}},
		{"dynamodb", "", "..xx", `{"batchItemFailures":[{"itemIdentifier":"4421584500000000000003000"}]}`, []int{0, 0, 0, 0}},
		{"kinesis", "", "....", `{"batchItemFailures":[]}`, []int{0, 0, 0, 0}},
		// The first of each partition.
		{"kafka", `{"name":"src","kind":"kafka","partial":true}`, ".xx.x", `{"batchItemFailures":[{"itemIdentifier":{"partition":"trades-0","offset":6}},{"itemIdentifier":{"partition":"trades-1","offset":15}}]}`, []int{0, 0, 0, 1, 1}},
		{"kafka", "", ".x", "1 of 2 records have to be repeated, and so all are", []int{0, 0}},
		{"kafka", "", "..", `{"batchItemFailures":[]}`, []int{0, 0}},
		{"sns", "", "x", "1 of 1 records have to be repeated, and so all are", []int{0}},
		{"eventbridge", "", "x", "1 of 1 records have to be repeated, and so all are", []int{0}},
		{"s3", "", "x", "1 of 1 records have to be repeated, and so all are", []int{0}},
		{"s3", "", ".", `{"batchItemFailures":[]}`, []int{0}},
	} {
		shape := shapeOf(test.shape)
		text := test.source
		if text == "" {
			text = shape.Source
		}
		var records []json.RawMessage
		failed := make([]bool, len(test.failed))
		for i := range failed {
			records = append(records, shape.Record(test.queues[i], i+1))
			failed[i] = test.failed[i] == 'x'
		}
		e := check.Get(read(t, text).Split(shape.Event(records)))
		answer, err := e.Answer(failed)
		got := string(answer)
		if err != nil {
			got = err.Error()
		}
		check.Is(t, got, test.want, test.shape, test.failed)
	}
}

// An SQS message that carries several records is repeated as one.
func TestAnswerForSeveralInOne(t *testing.T) {
	s3 := shapeOf("s3")
	body := check.Get(
		json.Marshal(string(s3.Event([]json.RawMessage{s3.Record(0, 1), s3.Record(0, 2)}))))
	e := check.Get(read(t, s3.Source).
		Split(json.RawMessage(`{"Records":[{"messageId":"m","body":` + string(body) +
			`,"eventSource":"aws:sqs"}]}`)))
	check.Need(t, len(e.Records) == 2, "%+v", e)
	check.Is(t, string(check.Get(e.Answer([]bool{true, true}))),
		`{"batchItemFailures":[{"itemIdentifier":"m"}]}`)
	// One without a name cannot be named: all come again.
	e = check.Get(read(t, s3.Source).
		Split(json.RawMessage(`{"Records":[{"body":` + string(body) + `,"eventSource":"aws:sqs"}]}`)))
	check.Says(t, check.Err(e.Answer([]bool{false, true})), "no name")
}

func TestReadDefaults(t *testing.T) {
	for kind, want := range map[string]struct {
		queue, key, id, body string
	}{
		"sqs": {"queueName", "", "messageId", "body"}, "sqsFifo": {"groupId", "sequenceNumber", "messageId", "body"},
		"sns": {"topic", "timestamp", "messageId", "message"}, "eventbridge": {"source", "time", "id", "detail"},
		"kinesis": {"partitionKey", "sequenceNumber", "eventId", "data"}, "s3": {"object", "sequencer", "eventId", "record"},
		"dynamodb": {"item", "sequenceNumber", "eventId", "record"}, "kafka": {"partition", "offset", "id", "value"},
	} {
		s := read(t, `{"name":"a","kind":"`+kind+`"}`)
		written := `{"name":"a","kind":"` + kind + `","prefix":"a/","queue":"@` + want.queue +
			`","id":"@` + want.id + `","body":"@` + want.body + `"`
		if want.key != "" {
			written += `,"key":"@` + want.key + `","keyType":"` + string(s.KeyType) + `"`
		}
		check.That(t, reflect.DeepEqual(s, read(t, written+"}")) && !s.Numbered() &&
			s.Keyed() == (want.key != "") && !s.Partial, "%s: %+v", kind, s)
		check.That(t, slices.Contains(source.Kinds(), kind) &&
			slices.Contains(source.FieldsOf(kind), "record"),
			"%s is no kind, or has no record", kind)
		s = read(t, `{"name":"a","kind":"`+kind+`","order":"arrival"}`)
		check.That(t, !s.Keyed() && !s.Numbered(), "%s in arrival order: %+v", kind, s)
	}
	check.That(t, len(source.Kinds()) == 8 && source.FieldsOf("x") == nil,
		"%v %v", source.Kinds(), source.FieldsOf("x"))
}

func TestReadErrors(t *testing.T) {
	of := func(members string) string { return `{"name":"a","kind":"kinesis",` + members + `}` }
	for text, want := range map[string]string{
		`7`:                                                 "must be a JSON object",
		`{"name":"a"}`:                                      `kind "" is not known: there are sqs, sqsFifo, sns, eventbridge, kinesis, s3, dynamodb, kafka`,
		`{"name":"a","kind":"mq"}`:                          `kind "mq" is not known`,
		`{"kind":"sqs"}`:                                    "name is missing",
		`{"name":"a/b","kind":"s3"}`:                        "name must be 1 to 64",
		of(`"colour":1`):                                    "colour is not known: there are name, kind, order, partial,",
		of(`"queue":{"path":"a","default":"b"}`):            "queue must be a string, such as the path order.id | 'other', @header(X-Id) or 'fixed': it is an object",
		of(`"prefix":"@acme"`):                              "prefix begins with '@', and with no whole tenant",
		of(`"queue":"@sequencer"`):                          "queue has @sequencer, which is not known: there are @arrivedAt, @data,",
		of(`"queue":"@header(X)"`):                          "queue has @header, which is not known",
		of(`"seq":"n","key":"k","keyType":"number"`):        "key must not be given beside seq",
		of(`"prev":"p","order":"arrival"`):                  "prev must not be given without a key",
		of(`"queue":"'` + strings.Repeat("d", 3072) + `'"`): "at most 3072 are taken",
		of(`"order":"time"`):                                `order must be "arrival": it is "time"`,
		of(`"order":"arrival","key":"k","keyType":"text"`):  "order is given beside key",
		of(`"partial":true`):                                "partial is for kafka",
		`{"name":"a","kind":"kafka","partial":1}`:           "partial must be true or false: it is 1",
		`{"name":"a","kind":"sqs","body":"@record"}`:        "body has @record, which is not for a message: it may differ",
	} {
		check.Says(t, check.Err(source.Read([]byte(text))), want, fmt.Sprintf("%.120s", text))
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"name":"a","kind":"kafka","queue":"a.b","prefix":"@acme/","key":"@offset","keyType":"number","partial":true}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := source.Read(text)
		check.That(t, err != nil || s.Name != "" && s.Kind != "" && (!s.Numbered() || !s.Keyed()),
			"%q makes %+v", text, s)
	})
}

func sqsEvent(bodies ...string) json.RawMessage {
	var records []string
	for i, body := range bodies {
		quoted, _ := json.Marshal(body)
		records = append(records, fmt.Sprintf(`{"messageId":"m-%d","body":%s,"eventSource":"aws:sqs","eventSourceARN":"arn:aws:sqs:r:1:q"}`, i+1, quoted))
	}
	return json.RawMessage(`{"Records":[` + strings.Join(records, ",") + `]}`)
}

// Each error names the field of the message, and is the same each time.
func TestPoison(t *testing.T) {
	const numbered = `{"name":"src","kind":"sqs","queue":"q","seq":"n"}`
	const keyed = `{"name":"src","kind":"sqs","queue":"q","key":"k","keyType":"number","body":"b"}`
	for _, test := range []struct{ source, body, want string }{
		{numbered, `no JSON`, "queue cannot be found: the event is not JSON"},
		{numbered, `{"n":1}`, "queue is missing at q: the event has no q"},
		{numbered, `{"q":"` + strings.Repeat("q", 1021) + `","n":1}`, "has 1025 bytes"},
		{numbered, `{"q":"a","n":1,"x":"` + strings.Repeat("x", 350<<10) + `"}`, "body has 358422 bytes: at most 358400"},
		{keyed, `{"q":"a","k":"x","b":1}`, "key must be a number"},
		{keyed, `{"q":"a","k":1}`, "body is missing at b: the event has no b"},
		{`{"name":"src","kind":"sqs","queue":"q","prefix":""}`, `{"q":"@acme/a"}`, "queue begins with '@'"},
		{`{"name":"src","kind":"sqs","id":"i"}`, `{"i":"` + strings.Repeat("i", 1025) + `"}`, "id has 1025 bytes"},
		{`{"name":"src","kind":"sqs","attributes":{"a":"i"}}`, `{"i":"` + strings.Repeat("i", 17<<10) + `"}`, "attributes have 17409 bytes"},
		{`{"name":"src","kind":"sqsFifo"}`, `{}`, "queue is missing at @groupId: there is no @groupId"},
	} {
		s := read(t, test.source)
		for range 2 {
			e := check.Get(s.Split(sqsEvent(test.body)))
			check.Says(t, check.Err(one(s, &e.Records[0])), test.want, test.source)
		}
	}
}

// A body that is not JSON is one all the same, where nothing has to be found in it.
func TestBodiesThatAreNoJSON(t *testing.T) {
	s := read(t, `{"name":"src","kind":"kinesis"}`)
	for body, want := range map[string]string{`{"a": 1}`: "",
		"plain text": "text/plain; charset=utf-8", "\xff\x00": "application/octet-stream",
		"": "text/plain; charset=utf-8"} {
		m := made(t, s, json.RawMessage(`{"Records":[{"eventSource":"aws:kinesis","eventID":"s:1","kinesis":{"partitionKey":"p","sequenceNumber":"1","data":"`+base64.StdEncoding.EncodeToString([]byte(body))+`"}}]}`))
		check.That(t, string(m.Body) == body && m.ContentType == want,
			"%q: %q, %q", body, m.Body, m.ContentType)
	}
}

// Another implementation of SQS writes sequence numbers with zeros before.
func TestSequenceNumbersMayBeginWithZeros(t *testing.T) {
	for given, want := range map[string]string{"00000000000000000017": "17", "0": "0",
		"18849496460467696128": "18849496460467696128"} {
		m := made(t, read(t, `{"name":"src","kind":"sqsFifo"}`), json.RawMessage(`{"Records":[{"messageId":"m","body":"{}","eventSource":"aws:sqs","eventSourceARN":"arn:aws:sqs:r:1:q.fifo","attributes":{"MessageGroupId":"g","SequenceNumber":"`+given+`"}}]}`))
		check.That(t, fmt.Sprint(m.KeyParts) == "["+want+"]", "%s: key %v", given, m.KeyParts)
	}
}

// A record whose value Kafka does not have deletes its key; one that several were put into is not
// ours.
func TestSpecialRecords(t *testing.T) {
	m := made(t, read(t, `{"name":"src","kind":"kafka"}`), json.RawMessage(`{"eventSource":"SelfManagedKafka","bootstrapServers":"b:9092","records":{"t-0":[{"topic":"t","partition":0,"offset":9,"timestamp":5,"key":"gA==","headers":[]}]}}`))
	check.That(t, string(m.Body) == "null" && m.ID == "t-0@9@5" && m.Queue == "src/t-0", "%+v", m)
	aggregate := base64.StdEncoding.EncodeToString([]byte{0xF3, 0x89, 0x9A, 0xC2, 1, 2, 3})
	e, err := read(t, `{"name":"src","kind":"kinesis"}`).Split(json.RawMessage(`{"Records":[{"eventSource":"aws:kinesis","kinesis":{"partitionKey":"a","sequenceNumber":"7","data":"` + aggregate + `"}}]}`))
	check.That(t, err == nil && e.Records[0].Err != nil &&
		strings.Contains(e.Records[0].Err.Error(), "aggregation"),
		"%v, %+v", err, e)
}

// FuzzSplit: nothing that others write makes a panic, or a message that is not whole.
func FuzzSplit(f *testing.F) {
	var sources []*source.Source
	for _, shape := range sourcetest.Shapes {
		sources = append(sources, read(f, shape.Source))
		f.Add([]byte(shape.Event([]json.RawMessage{shape.Record(1, 2)})))
	}
	f.Add([]byte(`{"Records":[{"eventSource":"aws:sqs","body":"{\"Records\":[{\"Records\":[{\"Records\":[{}]}]}]}"}]}`))
	f.Fuzz(func(t *testing.T, event []byte) {
		for _, s := range sources {
			e, err := s.Split(event)
			if err != nil {
				continue
			}
			for i := range e.Records {
				if r := &e.Records[i]; r.Err == nil {
					m, err := one(s, r)
					check.That(t, err != nil || strings.HasPrefix(m.Queue, "src/") && (m.ID != "" || s.Numbered()),
						"%s: queue %q, id %q", event, m.Queue, m.ID)
				}
			}
			_, err = e.Answer(make([]bool, len(e.Records)))
			check.That(t, err == nil, "%s: nothing failed, and %v", event, err)
		}
	})
}
