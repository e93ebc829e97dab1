package main

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/calllog"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/httpapi/httpapitest"
	"github.com/streamsort/streamsort/internal/runtime/runtimetest"
)

// TestAGoodCallIsOneLine: its metrics, which are all that is paid for.
func TestAGoodCallIsOneLine(t *testing.T) {
	s := newServer(t, nil)
	runtimetest.Logs(t, &s.logs)
	s.put(1, "1") // the first has a ColdStart more
	s.logs.Reset()
	s.put(2, "2")
	text := s.logs.String()
	check.That(t, strings.Count(text, "\n") == 1 && strings.Contains(text, `"MessagesStored":1`),
		"a good call writes\n%s", text)
	// Refusals are logged, all of them, also one among messages that are taken, and no payload.
	s.put(3, `"canary"`)
	for body, want := range map[string]string{
		`{"queue":"q","seq":3,"body":"another canary"}`:                                       `"status":409,"problem":"conflict"`,
		`{"queue":"q","seq":-1,"body":"canary"}`:                                              `"status":400,"problem":"invalid"`,
		`{"messages":[{"queue":"q","seq":4,"body":"canary"},{"queue":"q","seq":3,"body":2}]}`: `"status":200,"refused":1`,
	} {
		s.post("", body)
		s.logsHave(`"msg":"answered",` + want)
	}
	check.That(t, !strings.Contains(s.logs.String(), "canary"), "a payload is logged: %s", &s.logs)
}

// TestAWatchedQueueIsLogged: each of its messages, by seq and outcome, and no other's.
func TestAWatchedQueueIsLogged(t *testing.T) {
	s := newServer(t, func(s *service) {
		s.log = calllog.Log{Queue: "q", Until: time.Now().Add(time.Hour)}
	})
	runtimetest.Logs(t, &s.logs)
	s.post("", `{"messages":[{"queue":"q","seq":1,"body":"canary"},{"queue":"other","seq":1,"body":1},{"queue":"q","seq":3,"body":1}]}`)
	s.logsHave(`"msg":"put","queue":"q","seq":1,"outcome":"advanced","failed":false`,
		`"queue":"q","seq":3,"outcome":"parked"`)
	text := s.logs.String()
	check.That(t, strings.Count(text, `"msg":"put"`) == 2 && !strings.Contains(text, "canary"),
		"too much is logged:\n%s", text)
}

const (
	parentA = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	parentB = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00"
)

// with makes a put with further headers.
func (s *server) with(headers map[string]string, query, body string) httpapitest.Answer {
	more, _ := json.Marshal(headers)
	event := httpapitest.V2("POST", "/messages", query,
		base64.StdEncoding.EncodeToString([]byte(body)), true)
	for name := range headers {
		if strings.EqualFold(name, "content-type") {
			event = strings.Replace(event, `"content-type":"application/json",`, "", 1)
		}
	}
	event = strings.Replace(event, `"headers":{`,
		`"headers":`+strings.TrimSuffix(string(more), "}")+`,`, 1)
	return s.Raw(event)
}

// The headers' trace is that of each message which has none of its own.
func TestTraceHeaders(t *testing.T) {
	s := newServer(t, nil)
	headers := map[string]string{"Traceparent": parentA, "tracestate": "a=1",
		"X-Amzn-Trace-Id": "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8"}
	own := `"traceparent":"` + parentB + `","tracestate":"b=2"`
	s.Want("put", s.with(headers, "", `{"messages":[{"queue":"q","id":"a","body":1},{"queue":"q","id":"b","body":2,`+own+`},{"queue":"n","seq":1,"body":1},{"queue":"k","key":"k","keyType":"text","id":"i","body":1}]}`), 200)
	s.Want("another time", s.with(map[string]string{"traceparent": parentB}, "",
		`{"queue":"q","id":"a","body":1}`), 200, `"outcome":"duplicate"`)
	want := `"traceparent":"` + parentA + `","tracestate":"a=1"`
	s.Want("read", s.get("/messages", "queue=q"), 200,
		`{"seq":1,"id":"a","body":1,"contentType":"application/json",`+want, own)
	s.Want("numbered", s.get("/messages", "queue=n"), 200, want)
	s.Want("raw", s.with(headers, "queue=q&seq=n", `{"q":"raw","n":1}`), 200)
	s.Want("raw", s.get("/messages", "queue=raw"), 200, want)
	s.Want("of X-Ray", s.with(map[string]string{"x-amzn-trace-id": headers["X-Amzn-Trace-Id"]}, "",
		`{"queue":"x","seq":1,"body":1}`), 200)
	s.Want("of X-Ray", s.get("/messages", "queue=x"), 200,
		`"traceparent":"00-5759e988bd862e3fe1be46a994272793-53995c3f42cd8ad8-00"`)
	s.Want("wrong", s.with(map[string]string{"traceparent": "00-x", "tracestate": "a=1"}, "",
		`{"queue":"w","seq":1,"body":1}`), 200)
	a := s.get("/messages", "queue=w")
	check.That(t, !strings.Contains(a.Body, "trace"),
		"a header that is not right was kept: %s", a.Body)
}
