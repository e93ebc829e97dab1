package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/httpapi/httpapitest"
)

const ce, batch = "application/cloudevents+json",
	"application/cloudevents-batch+json; charset=utf-8"

const structured = `{"specversion":"1.0","id":"1","source":"https://example.com/shop","subject":"o-7","type":"t","n":5,"data":{"total": 12}%s}`

// events makes a put with a content type.
func (s *server) events(contentType, query, format string, more ...any) httpapitest.Answer {
	return s.with(map[string]string{"Content-Type": contentType}, query, fmt.Sprintf(format, more...))
}

func of(queue string) string {
	return "queue=" + strings.NewReplacer("|", "%7C", "/", "%2F", ":", "%3A").Replace(queue)
}

// TestCloudEvents: in each mode, to the queue of source and subject, and by sequence, time, or as
// they come.
func TestCloudEvents(t *testing.T) {
	s := newServer(t, nil)
	const queue = "https://example.com/shop|o-7"
	s.Want("structured", s.events(ce, "", structured, ""), 200,
		`"outcome":"advanced","queue":"`+queue+`","seq":1`)
	s.Want("again", s.events(ce, "", structured, ""), 200, `"outcome":"duplicate"`)
	s.Want("another under its id", s.events(ce, "", structured, `,"more":true`), 409)
	s.Want("read", s.Request("GET", "/messages", of(queue), ""), 200,
		`"seq":1,"id":"1","bodyBase64":"eyJ0b3RhbCI6IDEyfQ==","contentType":"application/json"`, `"ce-source":"https://example.com/shop"`, `"ce-n":"5"`, `"cloudevents-kinds":"n=integer"`)

	other := strings.Replace(structured, `"o-7"`, `"o-8"`, 1)
	s.Want("by sequence",
		s.events(batch, "", `[%s,%s]`, fmt.Sprintf(other, `,"sequence":"01","sequencetype":"Integer"`),
			fmt.Sprintf(strings.Replace(other, `"id":"1"`, `"id":"2"`, 1),
				`,"sequence":"2","sequencetype":"Integer"`)),
		200, `"outcome":"advanced","queue":"https://example.com/shop|o-8","seq":1`, `"seq":2`)
	timed := strings.Replace(structured, `"o-7"`, `"o-9"`, 1)
	s.Want("by time", s.events(ce, "", timed, `,"time":"2018-04-05T17:31:00Z"`), 202,
		`"outcome":"waiting"`)
	s.Want("by a text", s.events(ce, "", strings.Replace(structured, `"o-7"`, `"o-10"`, 1),
		`,"sequence":"a"`), 202, `"outcome":"waiting"`)
	s.Want("an empty batch", s.events(batch, "", `[]`), 200, `{"status":200,"results":[]}`)

	binary := map[string]string{"ce-specversion": "1.0", "ce-id": "9", "ce-source": "/b",
		"ce-type": "t", "ce-traceparent": parentA, "traceparent": parentB, "content-type": "text/plain"}
	s.Want("binary", s.with(binary, "", "\xff\x00 no JSON"), 200, `"queue":"/b","seq":1`)
	a := s.Request("GET", "/messages", of("/b"), "")
	s.Want("binary", a, 200, `"contentType":"text/plain"`, `"traceparent":"`+parentA+`"`)
	check.That(t, !strings.Contains(a.Body, "ce-traceparent"),
		"the trace is among the attributes: %s", a.Body)

	s.Want("placed by the query", s.events(ce, "queue=type&seq=data.total", structured, ""), 202,
		`"queue":"t","seq":12`)
	s.Want("its own queue", s.events(ce, "queue=subject", structured, ""), 200, `"queue":"o-7"`)
	s.Want("known by source and id", s.Request("GET", "/messages", of("o-7"), ""), 200,
		`"id":"https://example.com/shop|1"`)
	s.Want("its own id", s.events(ce, "key=id&keyType=text&queue=data.total&id=type", structured, ""),
		202, `"queue":"12"`)
	// What the queue is decides what a sequence is; without a queue it is a text, unless its type
	// says otherwise. No source is taken with one event and refused with the next.
	event := func(subject, id, more string) string {
		return fmt.Sprintf(`{"specversion":"1.0","id":%q,"source":"/s","subject":%q,"type":"t",%s}`,
			id, subject, more)
	}
	for i, sequence := range []string{"8", "9", "a", "0b", "2026-05-06/1"} {
		s.Want(sequence, s.events(ce, "", "%s", event("hex", fmt.Sprint(i), `"sequence":"`+sequence+`"`)),
			202, `"outcome":"waiting"`)
	}
	s.Want("one whose type comes later",
		s.events(ce, "", "%s", event("hex", "x", `"sequence":"7","sequencetype":"Integer"`)),
		202, "waiting")
	s.Want("in one call",
		s.events(batch, "", "[%s,%s]", event("mixed", "1", `"sequence":"1","sequencetype":"Integer"`),
			event("mixed", "2", `"sequence":"2"`)),
		200, `"seq":1`, `"seq":2`)
	s.Want("a queue that is numbered", s.events(ce, "", "%s", event("mixed", "3", `"sequence":"03"`)),
		200, `"seq":3`)
	s.Want("no number", s.events(ce, "", "%s", event("mixed", "4", `"sequence":"4f"`)), 400,
		`"field":"sequence"`, "the queue is numbered")
	s.Want("none", s.events(ce, "", "%s", event("mixed", "4", `"time":"2018-04-05T17:31:00Z"`)), 400,
		`"field":"sequence"`, "is missing")
	s.Want("a leap second",
		s.events(ce, "", "%s", event("timed", "1", `"time":"2016-12-31T23:59:60Z"`)), 202, "waiting")
	s.Want("a leap second that does not exist",
		s.events(ce, "", "%s", event("timed", "2", `"time":"2016-12-31T23:58:60Z"`)), 400,
		`"field":"time"`)
	s.Want("a sequence in a queue of times",
		s.events(ce, "", "%s", event("timed", "3", `"sequence":"x"`)), 400, `"field":"sequence"`)
	s.Want("a queue of log positions",
		s.Request("PUT", "/queues", "", `{"queue":"/s|log","kind":"keyed","keyType":"lsn"}`), 200)
	s.Want("a log position", s.events(ce, "", "%s", event("log", "1", `"sequence":"0/A0000010"`)),
		202, "waiting")
	s.Want("another text", s.events(ce, "", "%s", event("log", "2", `"sequence":"10"`)), 400,
		`"field":"sequence"`, "the type number takes it")
}

// TestCloudEventsThatAreRefused: each with the attribute's name, and nothing is stored.
func TestCloudEventsThatAreRefused(t *testing.T) {
	s := newServer(t, nil)
	for name, c := range map[string]struct {
		answer httpapitest.Answer
		field  string
	}{
		"structured":  {s.events(ce, "", `{"specversion":"1.0","id":"1","type":"t"}`), "source"},
		"no object":   {s.events(ce, "", `1`), "event"},
		"in a batch":  {s.events(batch, "", `[%s,%s]`, fmt.Sprintf(structured, ""), fmt.Sprintf(structured, `,"time":"x"`)), "messages[1].time"},
		"no batch":    {s.events(batch, "", `{}`), "request body"},
		"trace":       {s.events(ce, "", structured, `,"traceparent":"x"`), "traceparent"},
		"sequence":    {s.events(ce, "", structured, `,"sequence":"-1","sequencetype":"Integer"`), "sequence"},
		"long":        {s.events(ce, "", structured, `,"source2":"`+strings.Repeat("x", 17<<10)+`"`), "attributes"},
		"queue":       {s.events(ce, "", strings.Replace(structured, "o-7", strings.Repeat("x", 1024), 1), ""), "source"},
		"id":          {s.events(ce, "", strings.Replace(structured, `"id":"1"`, `"id":"`+strings.Repeat("x", 1025)+`"`, 1), ""), "id"},
		"no such way": {s.events(ce, "queue=data.x", structured, ""), "queue"},
		"half a way":  {s.events(ce, "keyType=text", structured, ""), "keyType"},
		"parameter":   {s.events(ce, "x=1", structured, ""), "x"},
	} {
		s.Want(name, c.answer, 400, `"field":"`+c.field+`"`)
	}
	s.Want("another format", s.events("application/cloudevents+avro", "", "{}"), 415)
	s.Want("a version",
		s.with(map[string]string{"ce-specversion": "0.3", "ce-id": "1", "ce-source": "/b",
			"ce-type": "t"}, "", "x"), 400, `"field":"specversion"`)
	check.Is(t, s.queues(t), "")
}
