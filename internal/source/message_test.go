package source_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/source"
	"github.com/streamsort/streamsort/internal/source/sourcetest"
)

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

// A record whose value Kafka does not have deletes its key; one that several were put into is
// none for us.
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
