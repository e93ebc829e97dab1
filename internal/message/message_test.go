package message

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/streamsort/streamsort/internal/strictjson"
	"github.com/streamsort/streamsort/pkg/cursor"
)

// A body that readers cannot look into, or would read as another one, travels in base64, and so
// does not stop its queue.
func TestBodiesThatTravelInBase64(t *testing.T) {
	nested := func(depth int) string { return strings.Repeat("[", depth) + strings.Repeat("]", depth) }
	for body, plain := range map[string]bool{
		`{"a":1}`: true, nested(maxDepth): true, nested(maxDepth + 1): false, nested(9_999): false, nested(20_000): false,
		`"` + nested(maxDepth+1) + `\"["`: true,  // brackets in a text are no levels
		"\"\xff\"":                        false, // no UTF-8: it came in base64, and would go on as U+FFFD
	} {
		m := New(cursor.Message{Queue: "q", Seq: 1, Body: []byte(body)})
		if (m.Body != nil) != plain || (m.BodyBase64 != nil) == plain {
			t.Errorf("%.20s…: plain %v, want %v", body, m.Body != nil, plain)
		}
		document, err := strictjson.Marshal(map[string]any{"messages": []any{m}})
		if err != nil {
			t.Fatalf("%.20s…: %v", body, err)
		}
		var read struct {
			Messages []struct {
				Body       json.RawMessage
				BodyBase64 []byte
			}
		}
		if err := json.Unmarshal(document, &read); err != nil {
			t.Fatalf("%.20s…: %v", body, err)
		}
		got := string(read.Messages[0].Body) + string(read.Messages[0].BodyBase64)
		if got != body {
			t.Errorf("%.20s… came out as %.20s…", body, got)
		}
	}
}
