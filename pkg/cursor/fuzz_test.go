package cursor_test

import (
	"encoding/json"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/table"
)

// FuzzStreamRecord: whatever stands in a record, the handlers of both streams answer that it went
// well, name it as failed, or fail as a whole; and what they do with it stays within their bounds.
func FuzzStreamRecord(f *testing.F) {
	for _, seed := range []string{
		stored(1, "q", 1), moved(2, "q", 0, 1), moved(3, "q", 1, 0), cursorImage("q", 1), `{}`, `null`, `[]`, `7`, ``,
		`{"eventName":"INSERT","dynamodb":{"SequenceNumber":"1","Keys":{"queue":{"S":""},"seq":{"N":"-1"}}}}`,
		`{"eventName":"INSERT","dynamodb":{"SequenceNumber":"1","Keys":{"queue":{"S":"q"},"seq":{"N":"9223372036854775807"}}}}`,
		`{"eventName":"INSERT","dynamodb":{"SequenceNumber":"1","Keys":{"queue":{"NULL":true},"seq":{"B":"AA=="}}}}`,
		`{"eventName":"INSERT","dynamodb":{"SequenceNumber":"1","NewImage":{"queue":{"L":[{"M":{}}]}}}}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, record string) {
		if !json.Valid([]byte(record)) {
			return // Lambda hands out JSON
		}
		event := table.StreamEvent{Records: []json.RawMessage{json.RawMessage(record)}}
		s := check.Get(cursor.New(cursor.NewMemory(), nil))
		one := cursor.Message{Queue: "q", Seq: 1}
		check.OK(t, s.Put(t.Context(), one)[0].Err)
		cur, over, err := cursor.AdvanceOf(event.Records[0], cursor.Names{})
		check.That(t, err != nil || !cur.Exists() || over.To == cur.Position, "%v of a cursor at %d",
			over, cur.Position)
		var advances []cursor.Advance
		response, err := cursor.OnMessages(s, cursor.Names{},
			&cursor.OnMessagesOptions{Advanced: func(a cursor.Advance) {
				advances = append(advances, a)
			}})(t.Context(), event)
		if n := len(response.BatchItemFailures); err == nil && n > 1 || len(advances) > 1 {
			t.Errorf("%d failures, %d advances of one record", n, len(advances))
		}
	})
}
