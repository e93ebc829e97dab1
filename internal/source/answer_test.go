package source_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/source"
	"github.com/streamsort/streamsort/internal/source/sourcetest"
)

// What is answered when some of an event's records failed: those at the places where the text has
// an x.
func TestAnswer(t *testing.T) {
	shapes := map[string]sourcetest.Shape{}
	for _, s := range sourcetest.Shapes() {
		shapes[s.Name] = s
	}
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
		shape := shapes[test.shape]
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
	shapes := map[string]sourcetest.Shape{}
	for _, s := range sourcetest.Shapes() {
		shapes[s.Name] = s
	}
	s3 := shapes["s3"]
	body, err := json.Marshal(string(s3.Event([]json.RawMessage{s3.Record(0, 1), s3.Record(0, 2)})))
	check.OK(t, err)
	e, err := read(t, s3.Source).Split(json.RawMessage(`{"Records":[{"messageId":"m","body":` + string(body) + `,"eventSource":"aws:sqs"}]}`))
	check.Need(t, err == nil && len(e.Records) == 2, "%v, %+v", err, e)
	if answer, err := e.Answer([]bool{true, true}); string(answer) != `{"batchItemFailures":[{"itemIdentifier":"m"}]}` || err != nil {
		t.Errorf("%s, %v", answer, err)
	}
	// One without a name cannot be named: all come again.
	e = check.Get(read(t, s3.Source).Split(json.RawMessage(`{"Records":[{"body":` + string(body) + `,"eventSource":"aws:sqs"}]}`)))
	answer, err := e.Answer([]bool{false, true})
	check.That(t, err != nil && strings.Contains(err.Error(), "no name"), "%s, %v", answer, err)
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
		written := `{"name":"a","kind":"` + kind + `","prefix":"a/","queue":"@` + want.queue + `","id":"@` + want.id + `","body":"@` + want.body + `"`
		if want.key != "" {
			written += `,"key":"@` + want.key + `","keyType":"` + string(s.KeyType) + `"`
		}
		if same := read(t, written+"}"); !reflect.DeepEqual(s, same) || s.Numbered() || s.Keyed() != (want.key != "") || s.Partial {
			t.Errorf("%s: %+v", kind, s)
		}
		check.That(t, slices.Contains(source.Kinds(), kind) &&
			slices.Contains(source.FieldsOf(kind), "record"),
			"%s is no kind, or has no record", kind)
		s = read(t, `{"name":"a","kind":"`+kind+`","order":"arrival"}`)
		check.That(t, !s.Keyed() && !s.Numbered(), "%s in arrival order: %+v", kind, s)
	}
	check.That(t, len(source.Kinds()) == 8 && source.FieldsOf("x") == nil,
		"%v %v", source.Kinds(), source.FieldsOf("x"))
}

// Each error names the member and what it must be.
func TestReadErrors(t *testing.T) {
	of := func(members string) string { return `{"name":"a","kind":"kinesis",` + members + `}` }
	for text, want := range map[string]string{
		`7`:                                      "must be a JSON object",
		`{"name":"a"}`:                           `kind "" is not known: there are sqs, sqsFifo, sns, eventbridge, kinesis, s3, dynamodb, kafka`,
		`{"name":"a","kind":"mq"}`:               `kind "mq" is not known`,
		`{"name":"a","kind":7}`:                  "kind must be a string: it is 7",
		`{"kind":"sqs"}`:                         "name is missing",
		`{"name":"a/b","kind":"s3"}`:             "name must be 1 to 64",
		of(`"colour":1`):                         "colour is not known: there are name, kind, order, partial,",
		of(`"name":"b"`):                         `has the member "name" twice`,
		of(`"queue":7`):                          "queue must be a string, such as the path",
		of(`"queue":{"path":"a","default":"b"}`): "queue must be a string, such as the path order.id | 'other', @header(X-Id) or 'fixed': it is an object",
		of(`"queue":"''"`):                       "queue has a literal '' without a text",
		of(`"queue":"'q'","prefix":"x"`):         "prefix is given beside a fixed queue",
		of(`"queue":"'` + strings.Repeat("q", 990) + `'","prefix":"x"`): "prefix is given beside a fixed queue",
		of(`"prefix":"@acme"`):                              "prefix begins with '@', and with no whole tenant",
		of(`"prefix":7`):                                    "prefix must be a string",
		of(`"queue":"q | '@acme/rest'","prefix":""`):        "queue has a default that begins with '@'",
		of(`"prefix":"` + strings.Repeat("p", 1024) + `"`):  "queue has more than 1024 bytes",
		of(`"queue":"@sequencer"`):                          "queue has @sequencer, which is not known: there are @arrivedAt, @data,",
		of(`"queue":"@header(X)"`):                          "queue has @header, which is not known",
		of(`"seq":"n","key":"k","keyType":"number"`):        "key must not be given beside seq",
		of(`"key":"k"`):                                     "keyType is missing beside key",
		of(`"keyType":"text"`):                              "keyType must not be given without a key",
		of(`"key":"a,b","keyType":"text"`):                  "key has 2 paths, and keyType has 1 parts",
		of(`"key":"a,","keyType":"text,text"`):              "key has an empty name",
		of(`"key":"a","keyType":"date"`):                    `keyType has the part "date"`,
		of(`"key":[{"path":"a"}],"keyType":"text"`):         "key must be a string, such as the path",
		of(`"prev":"p","order":"arrival"`):                  "prev must not be given without a key",
		of(`"order":"time"`):                                `order must be "arrival": it is "time"`,
		of(`"order":"arrival","key":"k","keyType":"text"`):  "order is given beside key",
		of(`"partial":true`):                                "partial is for kafka",
		`{"name":"a","kind":"kafka","partial":1}`:           "partial must be true or false: it is 1",
		`{"name":"a","kind":"sqs","body":"@record"}`:        "body has @record, which is not for a message: it may differ",
		of(`"attributes":7`):                                "attributes must be a JSON object",
		of(`"attributes":{"":"a"}`):                         "attributes has a name, or a path, that is empty",
		of(`"attributes":{"a":{"path":"b"}}`):               "attributes.a must be a string, such as the path",
		of(`"attributes":{"a":"x","a":"y"}`):                `has the member "a" twice`,
		of(`"body":"a..b"`):                                 "body has an empty name",
		of(`"queue":"'` + strings.Repeat("d", 3072) + `'"`): "at most 3072 are taken",
	} {
		if _, err := source.Read([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.120s\nerror %v\nwant  %s", text, err, want)
		}
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
		{numbered, `{"q":null,"n":1}`, "queue is missing"},
		{numbered, `{"q":"","n":1}`, "queue is missing at q: q is empty"},
		{numbered, `{"q":[],"n":1}`, "queue must be a string or an integer"},
		{numbered, `{"q":"a","q":"b","n":1}`, `has the member "q" twice`},
		{numbered, `{"q":"` + strings.Repeat("q", 1021) + `","n":1}`, "has 1025 bytes"},
		{numbered, `{"q":"a","n":-1}`, "seq"},
		{numbered, `{"q":"a","n":1.5}`, "seq"},
		{numbered, `{"q":"a"}`, "seq is missing"},
		{numbered, `{"q":"a","n":1,"x":"` + strings.Repeat("x", 350<<10) + `"}`, "body has 358422 bytes: at most 358400"},
		{keyed, `{"q":"a","k":"x","b":1}`, "key must be a number"},
		{keyed, `{"q":"a","k":[1,2],"b":1}`, "key has 2 parts: the queue's keys have 1, number"},
		{keyed, `{"q":"a","b":1}`, "key is missing"},
		{keyed, `{"q":"a","k":1}`, "body is missing at b: the event has no b"},
		{`{"name":"src","kind":"sqs","queue":"q","prefix":""}`, `{"q":"@acme/a"}`, "queue begins with '@'"},
		{`{"name":"src","kind":"sqs","id":"i"}`, `{}`, "id is missing"},
		{`{"name":"src","kind":"sqs","id":"i"}`, `{"i":"` + strings.Repeat("i", 1025) + `"}`, "id has 1025 bytes"},
		{`{"name":"src","kind":"sqs","attributes":{"a":"i"}}`, `{"i":{}}`, "attributes must be a string or an integer"},
		{`{"name":"src","kind":"sqs","attributes":{"a":"i"}}`, `{"i":"` + strings.Repeat("i", 17<<10) + `"}`, "attributes have 17409 bytes"},
		{`{"name":"src","kind":"sqsFifo"}`, `{}`, "queue is missing at @groupId: there is no @groupId"},
	} {
		s := read(t, test.source)
		for range 2 {
			e := check.Get(s.Split(sqsEvent(test.body)))
			if _, err := one(s, &e.Records[0]); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%s\n%.80s: error %v, want %s", test.source, test.body, err, test.want)
			}
		}
	}
}

// A body that is not JSON is one all the same, where nothing has to be found in it.
func TestBodiesThatAreNoJSON(t *testing.T) {
	s := read(t, `{"name":"src","kind":"kinesis"}`)
	for body, want := range map[string]string{`{"a": 1}`: "", "plain text": "text/plain; charset=utf-8", "\xff\x00": "application/octet-stream", "": "text/plain; charset=utf-8"} {
		m := made(t, s, json.RawMessage(`{"Records":[{"eventSource":"aws:kinesis","eventID":"s:1","kinesis":{"partitionKey":"p","sequenceNumber":"1","data":"`+base64.StdEncoding.EncodeToString([]byte(body))+`"}}]}`))
		check.That(t, string(m.Body) == body && m.ContentType == want,
			"%q: %q, %q", body, m.Body, m.ContentType)
	}
}

// Another implementation of SQS writes sequence numbers with zeros before.
func TestSequenceNumbersMayBeginWithZeros(t *testing.T) {
	for given, want := range map[string]string{"00000000000000000017": "17", "0": "0", "18849496460467696128": "18849496460467696128"} {
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
	check.That(t, err == nil && e.Records[0].Err != nil && strings.Contains(e.Records[0].Err.Error(), "aggregation"),
		"%v, %+v", err, e)
}

// FuzzSplit: nothing that others write makes a panic, or a message that is not whole.
func FuzzSplit(f *testing.F) {
	var sources []*source.Source
	for _, shape := range sourcetest.Shapes() {
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
			failed := make([]bool, len(e.Records))
			_, err = e.Answer(failed)
			check.That(t, err == nil, "%s: nothing failed, and %v", event, err)
		}
	})
}
