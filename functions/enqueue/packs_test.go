package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/streamsort/streamsort/pkg/cursor"
)

// batch is a request that puts messages of a queue from a seq on.
func batch(queue string, first, last int) string {
	var all []string
	for seq := first; seq <= last; seq++ {
		all = append(all, fmt.Sprintf(`{"queue":%q,"seq":%d,"id":"m%d","body":{"n":%d}}`, queue, seq, seq, seq))
	}
	return `{"messages":[` + strings.Join(all, ",") + `]}`
}

// TestBatchesAsOneItem: what is put as a batch is read as messages, from anywhere.
func TestBatchesAsOneItem(t *testing.T) {
	s := newServer(t, nil)
	s.Want("made", s.Request("PUT", "/queues", "", `{"queue":"q","packs":"on"}`), 200, `"packs":"on"`)
	for first := 1; first < 100; first += 25 {
		s.Want("put", s.Request("POST", "/messages", "", batch("q", first, first+24)), 200, fmt.Sprintf(`"seq":%d,"old":%d,"new":%d}`, first+24, first-1, first+24))
	}
	s.Want("again", s.Request("POST", "/messages", "", batch("q", 20, 30)), 200, `"outcome":"duplicate","queue":"q","seq":30`)
	page, err := s.memory.Messages(t.Context(), cursor.Query{Queue: "q", Last: cursor.MaxSeq})
	if err != nil || len(page.Messages) != 4 {
		t.Errorf("%d items, %v; want 4", len(page.Messages), err)
	}
	for after := range 100 {
		a := s.Request("GET", "/messages", fmt.Sprintf("queue=q&after=%d&limit=30", after), "")
		var read struct {
			Messages []struct {
				Seq  int
				ID   string
				Body struct{ N int }
			}
		}
		if err := json.Unmarshal([]byte(a.Body), &read); err != nil || len(read.Messages) != min(30, 100-after) {
			t.Fatalf("%d messages behind %d, %v", len(read.Messages), after, err)
		}
		for i, m := range read.Messages {
			if m.Seq != after+i+1 || m.Body.N != m.Seq || m.ID != fmt.Sprint("m", m.Seq) {
				t.Fatalf("%+v behind %d at place %d", m, after, i)
			}
		}
	}
	s.Want("asynchronous", s.Request("PUT", "/queues", "", `{"queue":"q","mode":"async"}`), 409, "problems/packs-fixed", `"field":"mode"`)
	s.Want("both", s.Request("PUT", "/queues", "", `{"queue":"q","packs":"on","mode":"async"}`), 400, `"field":"packs"`)
	s.Want("off", s.Request("PUT", "/queues", "", `{"queue":"q","packs":"off"}`), 200, `"packs":"off"`)
	s.Want("asynchronous, and off", s.Request("PUT", "/queues", "", `{"queue":"q","mode":"async"}`), 409, "problems/packs-fixed", `"field":"mode"`)
	s.Want("a default", s.Request("PUT", "/queues", "", `{"queue":"q","packs":"auto"}`), 400, `"field":"packs"`)
	s.Want("neither", s.Request("PUT", "/queues", "", `{"queue":"q","packs":"maybe"}`), 400, `"field":"packs"`)
	s.Want("without", s.Request("PUT", "/queues", "", `{"queue":"other","packs":"off"}`), 200)
	s.Want("never", s.Request("PUT", "/queues", "", `{"queue":"other","packs":"on"}`), 409, "problems/packs-fixed", `"field":"packs"`)
	s.Want("a batch", s.Request("POST", "/messages", "", batch("made", 1, 2)), 200)
	s.Want("made by a batch", s.Request("GET", "/queues", "queue=made", ""), 200, `"packs":"on"`)
}
