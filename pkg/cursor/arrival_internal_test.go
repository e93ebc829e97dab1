package cursor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"

	"github.com/streamsort/streamsort/internal/dynamo"
)

// imageOf is a cursor as a stream shows it.
func imageOf(t *testing.T, c Cursor) string {
	t.Helper()
	raw, err := attributevalue.MarshalMapJSON(encodeCursor(c, Names{}.withDefaults()))
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// unread is a store on which no cursor is read.
type unread struct {
	*Memory
	t *testing.T
}

func (s unread) Cursor(context.Context, string, bool) (Cursor, error) {
	s.t.Error("a cursor was read")
	return Cursor{}, errors.New("not here")
}

// TestOnStreamHandsOnArrivals: what a record shows is enough to find them, with
// no other read of the cursor.
func TestOnStreamHandsOnArrivals(t *testing.T) {
	memory := &Memory{}
	s, err := New(memory, nil)
	if err != nil {
		t.Fatal(err)
	}
	older := Cursor{}
	var records []json.RawMessage
	for i := range 100 {
		a := Arrival{Queue: "q", ID: fmt.Sprint(i)}
		for n := range 1 + i%3 {
			a.Messages = append(a.Messages, Message{Body: fmt.Appendf(nil, "%d.%d", i, n)})
		}
		if _, err := s.Append(t.Context(), a); err != nil {
			t.Fatal(err)
		}
		newer, err := memory.Cursor(t.Context(), "q", true)
		if err != nil {
			t.Fatal(err)
		}
		record := fmt.Sprintf(`{"eventName":"INSERT","dynamodb":{"SequenceNumber":"%d","NewImage":%s}}`, i, imageOf(t, newer))
		if older.Exists() {
			record = fmt.Sprintf(`{"eventName":"MODIFY","dynamodb":{"SequenceNumber":"%d","OldImage":%s,"NewImage":%s}}`, i, imageOf(t, older), imageOf(t, newer))
		}
		records, older = append(records, json.RawMessage(record)), newer
	}
	reader, err := New(unread{memory, t}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	last := int64(0)
	response, err := OnStream(reader, Names{}, func(_ context.Context, b Batch) error {
		if b.From != last {
			t.Errorf("a batch from %d, and the last one ended at %d", b.From, last)
		}
		last = b.To
		for _, m := range b.Messages {
			got = append(got, string(m.Body))
		}
		return nil
	}, func(err error) { t.Error(err) })(t.Context(), StreamEvent{Records: records})
	if err != nil || len(response.BatchItemFailures) > 0 {
		t.Fatalf("%v, %v", response, err)
	}
	if len(got) != 199 || got[0] != "0.0" || got[2] != "1.1" || got[198] != "99.0" {
		t.Errorf("%d messages: %v", len(got), got)
	}
}

// TestOlderVersionsRefuseArrivals: whatever a queue in arrival order has is of a
// layout that they do not know.
func TestOlderVersionsRefuseArrivals(t *testing.T) {
	names := Names{}.withDefaults()
	settings := DefaultSettings()
	settings.Kind = KindArrival
	entries := NewTail(Entry{Count: 1})
	for name, it := range map[string]item{
		"cursor":     encodeCursor(newCursor("q", settings, time.Now()), names),
		"order item": encodeOrderItem(OrderItem{Queue: "q", Last: 1, Entries: entries}, names),
		"arrival":    encodeArrival(Arrival{Queue: "q", ID: "a", Messages: make([]Message, 1)}, names),
	} {
		d := dynamo.Decoder{Item: it}
		d.Layout(attrVersion, layoutOld, ErrNewerLayout)
		if !errors.Is(d.Err, ErrNewerLayout) {
			t.Errorf("%s: error %v, want ErrNewerLayout", name, d.Err)
		}
	}
}
