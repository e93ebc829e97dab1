package main

import (
	"strings"
	"testing"

	"github.com/streamsort/streamsort/pkg/cursor"
)

// TestWords: what is said of a caller's mistake has its code and field, says which messages of the
// call it is about, and names what the caller wrote, the bound, or what to give instead.
func TestWords(t *testing.T) {
	s := newServer(t, nil)
	s.Want("made", s.post("", `{"queue":"arrival","id":"a","body":1}`), 200)
	s.Want("made",
		s.keyed("k", `{"messages":[{"queue":"arrival","body":1},{"queue":"arrival","body":2}]}`), 200)
	s.made(`{"queue":"keyed","kind":"keyed","keyType":"number"}`)
	s.Want("made", s.post("", `{"queue":"numbered","seq":1,"body":1}`), 200)
	large := `"` + strings.Repeat("x", cursor.MaxBody) + `"`
	long, half := strings.Repeat("x", cursor.MaxID+1), `"`+strings.Repeat("x", 200_000)+`"`
	for _, c := range []struct {
		name, key, query, body string
		status                 int
		code, field            string
		names                  []string
	}{
		{"unknown", "", "", `{"queue":"q","seq":1,"body":1,"ttl":5}`, 400, "unknown", "ttl", nil},
		{"out of range", "", "", `{"queue":"q","seq":9223372036854775808,"body":1}`, 400, "out-of-range", "seq", nil},
		{"negative", "", "", `{"queue":"q","seq":-1,"body":1}`, 400, "out-of-range", "seq", []string{"from 0 to 9223372036854775807"}},
		{"negative first", "", "", `{"queue":"q","seq":1,"first":-1,"body":1}`, 400, "out-of-range", "first", []string{"9223372036854775807, in plain digits, or here"}},
		{"all refused", "", "", `{"messages":[{"queue":"keyed","seq":5,"body":1}]}`, 400, "misplaced", "messages[0].seq", []string{"keyed"}},
		{"ahead", "", "", `{"queue":"arrival","seq":5,"body":1}`, 409, "ahead", "", []string{"put seq 4 next"}},
		{"neither", "", "", `{"queue":"q","body":1}`, 400, "missing", "seq", []string{"id", "Idempotency-Key"}},
		{"no way to either", "", "queue=q", `{"q":"q"}`, 400, "missing", "seq", []string{"id", "Idempotency-Key"}},
		{"too far ahead", "", "", `{"queue":"numbered","seq":100002,"body":1}`, 429, "full", "", []string{"the position is 1, and seqs up to 100001 are accepted now, maxAhead (100000) beyond it"}},
		{"an attribute", "", "queue=q&id=i&attributes=%7B%22a%22:%22x%22%7D", `{"q":"q","i":1,"x":{}}`, 400, "malformed", "attributes.a", []string{"(x is an object)"}},
		{"no rank", "", "", `{"queue":"ranked","key":"ab","keyType":"rank(a|b)","id":"a","body":1}`, 400, "unknown", "key", []string{`it is \"ab\", and must match one of a|b; the pattern * matches every text"`}},
		{"an element", "", "queue=q&id=i", `[{"q":"q","i":1},7]`, 400, "malformed", "body[1]", []string{`"index":1`, "must be a JSON object"}},
		{"null", "", "", `{"queue":"q","seq":null,"body":1}`, 400, "malformed", "seq", []string{"9223372036854775807", "arrival order"}},
		{"no field", "", "queue=q&id=delivery.id", `[{"q":"q"}]`, 400, "missing", "messages[0].id", []string{"at delivery.id: the event has no delivery"}},
		{"long id", "", "", `{"queue":"q","id":"` + long + `","body":1}`, 400, "too-large", "id", []string{"1025", "1024"}},
		{"long id beside a seq", "", "", `{"queue":"q","seq":1,"id":"` + long + `","body":1}`, 400, "too-large", "id", []string{"1025", "1024"}},
		{"long key", long, "", `{"queue":"q","body":1}`, 400, "too-large", "Idempotency-Key", []string{"1025", "1024"}},
		{"empty key", `""`, "", `{"queue":"q","body":1}`, 400, "missing", "Idempotency-Key", []string{"1024"}},
		{"another request", "k", "", `{"queue":"arrival","body":3}`, 409, "conflict", "", []string{"Idempotency-Key"}},
		{"another message", "", "", `{"queue":"arrival","id":"a","body":3}`, 409, "conflict", "", []string{"this id"}},
		{
			"too large together", "k2", "", `{"messages":[{"queue":"p","body":1},{"queue":"big","body":` + half + `},{"queue":"big","body":` + half + `}]}`, 413,
			"too-large", "messages",
			[]string{"400016", `queue \"big\"`, "358400", "Idempotency-Key"},
		},
	} {
		a := s.keyed(c.key, c.body)
		if c.key == "" {
			a = s.post(c.query, c.body)
		}
		want := append(c.names, `"code":"`+c.code+`"`)
		if c.field != "" {
			want = append(want, `"field":"`+c.field+`"`)
		}
		s.Want(c.name, a, c.status, want...)
	}
	// Among several its place says which one it is, whatever parts the call is stored in.
	for body, want := range map[string]struct {
		status int
		says   []string
	}{
		`{"queue":"p","id":"a","body":1},{"queue":"q","seq":1,"body":` + large + `}`: {
			413, []string{`"status":413`, `"code":"too-large"`, `"field":"messages[1].body"`, `"index":1`},
		},
		`{"queue":"p","id":"a","body":1},{"queue":"q","seq":1,"body":1},{"queue":"p","id":"b","body":1},{"queue":"q","seq":1,"body":2}`: {
			400, []string{`"status":400`, `"code":"clash"`, `"field":"messages[3].seq"`, `"index":3`, `"other":1`},
		},
		`{"queue":"q","seq":1,"body":1},{"queue":"p","id":"a","body":1},{"queue":"q","seq":2,"body":1},{"queue":"p","id":"a","body":2}`: {
			400, []string{`"status":400`, `"code":"clash"`, `"field":"messages[3].id"`, `"index":3`, `"other":1`},
		},
		`{"queue":"q","seq":1,"body":1},{"queue":"keyed","seq":1,"body":1}`: {
			200, []string{`"status":400,"queue":"keyed","seq":1,`, `"code":"misplaced"`},
		},
	} {
		a := s.post("", `{"messages":[`+body+`]}`)
		s.Want(body[:60], a, want.status, want.says...)
	}
	// In a call of several each result says it.
	s.Want("another request of several",
		s.keyed("k", `{"messages":[{"queue":"arrival","body":1},{"queue":"arrival","body":3}]}`), 200,
		`"status":409,"outcome":"conflict"`, "Idempotency-Key")
}
