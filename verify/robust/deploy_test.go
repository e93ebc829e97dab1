package main

import (
	"encoding/json"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/traffic"
)

// A body comes out of its other form byte for byte, and the rest stays.
func TestInBase64(t *testing.T) {
	for _, body := range []string{`{"a": 1,"b":"<é>"}`, `null`, `"x"`, `1e3`} {
		a := check.Get(traffic.NewMessage([]byte(`{"queue":"q","seq":7,"id":"i","body":` + body + `}`)))
		check.OK(t, inBase64(&a))
		var m struct {
			Queue, ID  string
			Seq        int64
			Body       json.RawMessage
			BodyBase64 []byte
		}
		check.OK(t, json.Unmarshal(a.Document, &m))
		if string(m.BodyBase64) != body || m.Body != nil || m.Queue != "q" || m.ID != "i" || m.Seq != 7 {
			t.Errorf("%s became %s", body, a.Document)
		}
	}
}
