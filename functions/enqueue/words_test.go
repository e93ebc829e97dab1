package main

import (
	"strconv"
	"strings"
	"testing"

	"github.com/streamsort/streamsort/pkg/cursor"
)

// TestWords: what is said of a caller's mistake names what the caller wrote, and
// what to do about it.
func TestWords(t *testing.T) {
	s := newServer(t, nil)
	s.Want("made", s.Request("POST", "/messages", "", `{"queue":"arrival","id":"a","body":1}`), 200)
	s.Want("made", s.keyed("k", `{"messages":[{"queue":"arrival","body":1},{"queue":"arrival","body":2}]}`), 200)
	long, half := strings.Repeat("x", cursor.MaxID+1), `"`+strings.Repeat("x", 200_000)+`"`
	const notByKey = "another request was stored under this Idempotency-Key, and stays"
	for _, c := range []struct {
		name, key, query, body string
		status                 int
		want                   string
	}{
		{
			"all refused", "", "", `{"messages":[{"queue":"arrival","seq":5,"body":1}]}`, 400,
			"messages[0].seq must not be given: the queue is in arrival order, and gives the seqs itself",
		},
		{"one refused", "", "", `{"queue":"arrival","seq":5,"body":1}`, 400, "seq must not be given: the queue"},
		{
			"neither", "", "", `{"queue":"q","body":1}`, 400,
			"seq is missing, and so is id: a numbered queue needs a seq; one in arrival order an id, or the header Idempotency-Key",
		},
		{
			"no way to either", "", "queueProp=q", `{"q":"q"}`, 400,
			"seqProp is missing beside queueProp, and so is idProp: numbered queues need a seqProp; those in arrival order an idProp, or the header Idempotency-Key",
		},
		{
			"null", "", "", `{"queue":"q","seq":null,"body":1}`, 400,
			"seq is not an integer from 0 to 9223372036854775807 written in plain digits (leave it out for a queue in arrival order)",
		},
		{
			"no field", "", "queueProp=q&idProp=delivery.id", `[{"q":"q"}]`, 400,
			"messages[0].id is missing: the event has no field delivery (idProp=delivery.id)",
		},
		{"no object", "", "queueProp=q&seqProp=q.n", `{"q":"q"}`, 400, "seq is missing: event.q must be a JSON object (seqProp=q.n)"},
		{"no name", "", "queueProp=q&seqProp=n", `{"q":[],"n":1}`, 400, "queue must be a string or an integer (queueProp=q)"},
		{"long id", "", "", `{"queue":"q","id":"` + long + `","body":1}`, 400, "id has 1025 bytes: it must have 1 to 1024"},
		{"long id beside a seq", "", "", `{"queue":"q","seq":1,"id":"` + long + `","body":1}`, 400, "id has 1025 bytes: at most 1024 are taken"},
		{"long key", long, "", `{"queue":"q","body":1}`, 400, "Idempotency-Key has 1025 bytes: it must have 1 to 1024"},
		{"empty key", `""`, "", `{"queue":"q","body":1}`, 400, "Idempotency-Key has 0 bytes: it must have 1 to 1024"},
		{"another request", "k", "", `{"queue":"arrival","body":3}`, 409, notByKey},
		{"another request of several", "k", "", `{"messages":[{"queue":"arrival","body":1},{"queue":"arrival","body":3}]}`, 200, notByKey},
		{"another message", "", "", `{"queue":"arrival","id":"a","body":3}`, 409, "another message is stored under this id; it stays"},
		{
			"too large together", "k2", "", `{"messages":[{"queue":"p","body":1},{"queue":"big","body":` + half + `},{"queue":"big","body":` + half + `}]}`, 413,
			`messages have 400016 bytes together for queue "big": at most 358400 are taken under one Idempotency-Key`,
		},
	} {
		a := s.keyed(c.key, c.body)
		if c.key == "" {
			a = s.Request("POST", "/messages", c.query, c.body)
		}
		s.Want(c.name, a, c.status, `"detail":`+strings.TrimSuffix(strconv.Quote(c.want), `"`))
	}
}
