package main

import (
	"strings"
	"testing"

	"github.com/streamsort/streamsort/pkg/cursor"
)

// TestCodes: a program learns from a code why its request is refused, and from their places which
// messages of the call it is about, whatever parts the call is stored in.
func TestCodes(t *testing.T) {
	s := newServer(t, nil)
	s.Want("made", s.Request("POST", "/messages", "", `{"queue":"arrival","id":"a","body":1}`), 200)
	s.Want("made", s.Request("PUT", "/queues", "", `{"queue":"keyed","kind":"keyed","keyType":"number"}`), 200)
	large := `"` + strings.Repeat("x", cursor.MaxBody) + `"`
	for _, c := range []struct {
		name, body string
		status     int
		want       []string
	}{
		{"missing", `{"seq":1,"body":1}`, 400, []string{`"code":"missing"`, `"field":"queue"`}},
		{"unknown", `{"queue":"q","seq":1,"body":1,"ttl":5}`, 400, []string{`"code":"unknown"`, `"field":"ttl"`}},
		{"malformed", `{"queue":"q","seq":1.5,"body":1}`, 400, []string{`"code":"malformed"`, `"field":"seq"`}},
		{"too large an id", `{"queue":"q","seq":1,"id":"` + strings.Repeat("x", 1025) + `","body":1}`, 400, []string{`"code":"too-large"`, `"field":"id"`}},
		{"no JSON at all", `{`, 400, []string{`"code":"malformed"`, `"field":"request body"`}},
		{"no body of a message", `{"messages":[{"queue":"q","seq":1}]}`, 400, []string{`"code":"missing"`, `"field":"messages[0].body"`}},
		{"too large", `{"queue":"q","seq":1,"body":` + large + `}`, 413, []string{`"code":"too-large"`, `"field":"body"`}},
		{"out of range", `{"queue":"q","seq":9223372036854775808,"body":1}`, 400, []string{`"code":"out-of-range"`, `"field":"seq"`}},
		{"misplaced", `{"queue":"keyed","seq":1,"body":1}`, 400, []string{`"code":"misplaced"`, `"field":"seq"`}},
		{
			"behind one of the other kind", `{"messages":[{"queue":"p","id":"a","body":1},{"queue":"q","seq":1,"body":` + large + `}]}`, 413,
			[]string{`"code":"too-large"`, `"field":"messages[1].body"`, `"index":1`},
		},
		{
			"two of one seq", `{"messages":[{"queue":"p","id":"a","body":1},{"queue":"q","seq":1,"body":1},{"queue":"p","id":"b","body":1},{"queue":"q","seq":1,"body":2}]}`, 400,
			[]string{`"code":"clash"`, `"field":"messages[3].seq"`, `"index":3`, `"other":1`},
		},
		{
			"two of one id", `{"messages":[{"queue":"q","seq":1,"body":1},{"queue":"p","id":"a","body":1},{"queue":"q","seq":2,"body":1},{"queue":"p","id":"a","body":2}]}`, 400,
			[]string{`"code":"clash"`, `"field":"messages[3].id"`, `"index":3`, `"other":1`},
		},
		{
			"one of them for the other kind", `{"messages":[{"queue":"q","seq":1,"body":1},{"queue":"keyed","seq":1,"body":1}]}`, 200,
			[]string{`"status":400,"queue":"keyed","seq":1,`, `"code":"misplaced"`},
		},
		{"no problem of a field", `{"queue":"arrival","id":"a","body":2}`, 409, []string{`"code":"conflict"`}},
	} {
		s.Want(c.name, s.Request("POST", "/messages", "", c.body), c.status, c.want...)
	}
}
