package producer_test

import (
	"context"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/pkg/producer"
)

// last accepts requests of one message, and has the last one.
type last struct{ body string }

func (l *last) Put(_ context.Context, body []byte) (producer.Answer, error) {
	l.body = string(body)
	return accept(make([]message, 1))
}

// TestDocument: each message goes as docs/openapi.yaml has it, with all that it was given.
func TestDocument(t *testing.T) {
	const trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	for want, m := range map[string]producer.Message{
		`{"queue":"q","seq":7,"body":{"a": 1}}`:           {Queue: "q", Seq: new(int64(7)), Body: []byte(`{"a": 1}`)},
		`{"queue":"q","seq":9007199254740992,"body":1}`:   {Queue: "q", Seq: new(int64(1 << 53)), Body: []byte(`1`)},
		`{"queue":"q","seq":"9007199254740993","body":1}`: {Queue: "q", Seq: new(int64(1<<53 + 1)), Body: []byte(`1`)},
		`{"queue":"q","seq":7,"kind":"arrival","body":1}`: {Queue: "q", Seq: new(int64(7)), Kind: "arrival", Body: []byte(`1`)},
		`{"queue":"q","key":["a",1],"keyType":"text,number","prev":"p","id":"i","body":1}`: {
			Queue: "q", Key: []byte(`["a",1]`), KeyType: "text,number", Prev: "p", ID: "i", Body: []byte(`1`),
		},
		`{"queue":"q","id":"i","contentType":"text/plain","traceparent":"` + trace + `","tracestate":"v=1","attributes":{"k":"\"\u0001"},"bodyBase64":"MQ=="}`: {
			Queue: "q", ID: "i", ContentType: "text/plain", Traceparent: trace, Tracestate: "v=1", Attributes: map[string]string{"k": "\"\x01"}, Body: []byte(`1`),
		},
	} {
		a := &last{}
		outcomes(t, send(t, newProducer(t, a, nil), m))
		if want = `{"messages":[` + want + `]}`; a.body != want {
			t.Errorf("%s, want %s", a.body, want)
		}
	}
}

// TestMadeIDs: a message in arrival order without an id gets one, which no other has, of this producer
// or another.
func TestMadeIDs(t *testing.T) {
	ids := map[string]bool{}
	for range 2 {
		a := &api{}
		p := newProducer(t, a, nil)
		outcomes(t, send(t, p, producer.Message{Queue: "q", Body: []byte(`1`)}, producer.Message{Queue: "q", Body: []byte(`1`)}))
		for _, m := range a.requests[0] {
			ids[m.ID] = m.ID != ""
		}
	}
	check.That(t, len(ids) == 4 && !ids[""], "the ids of 4 messages: %v", ids)
}
