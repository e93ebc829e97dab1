package main

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/httpapi/httpapitest"
)

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
