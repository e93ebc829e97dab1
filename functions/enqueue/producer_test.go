package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/httpapi/httpapitest"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/producer"
)

// serveLambda is Lambda's API with this function, by its aliases.
func serveLambda(t *testing.T, handle httpapitest.Handler) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		path, _ := url.PathUnescape(
			strings.TrimSuffix(strings.TrimPrefix(r.URL.Path, "/2015-03-31/functions/"), "/invocations"))
		_, alias, _ := strings.Cut(path, "enqueue:")
		text, wrong := base64.StdEncoding.DecodeString(r.Header.Get("X-Amz-Client-Context"))
		var beside struct{ Custom map[string]string }
		check.That(t, err == nil && wrong == nil && json.Unmarshal(text, &beside) == nil &&
			strings.HasPrefix(r.Header.Get("Authorization"), "AWS4-HMAC-SHA256"),
			"%s, %s: %v, %v", r.URL, text, err, wrong)
		answer, err := handle(invoked(context.WithoutCancel(r.Context()), alias,
			beside.Custom["operation"]), body)
		if err != nil {
			w.Header().Set("X-Amz-Function-Error", "Unhandled")
			answer, _ = json.Marshal(map[string]string{"errorMessage": err.Error(), "errorType": "Problem"})
		}
		_, _ = w.Write(answer)
	}))
	t.Cleanup(server.Close)
	t.Setenv("AWS_ENDPOINT_URL_LAMBDA", server.URL)
	t.Setenv("AWS_ACCESS_KEY_ID", "local")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "local")
	t.Setenv("AWS_REGION", "eu-central-1")
}

// TestInvoke: the producer by a direct invoke, by both aliases, of a stack with raw events and
// without. What is too far ahead waits until the missing one has come, also by the alias put, which
// does not say which it is.
func TestInvoke(t *testing.T) {
	for _, alias := range []string{"live", putAlias} {
		t.Run(alias, func(t *testing.T) {
			s := newServer(t, nil)
			serveLambda(t, s.handle)
			s.Want("bounded", s.Request("PUT", "/queues", "", `{"queue":"q","maxAhead":3}`), 200)
			transport := check.Get(
				producer.Invoke("arn:aws:lambda:eu-west-1:123456789012:function:enqueue:"+alias, ""))
			p := check.Get(producer.New(transport,
				&producer.Options{MinBackOff: time.Millisecond, MaxBackOff: 20 * time.Millisecond}))
			ctx := t.Context()
			var futures []*producer.Future
			for _, seq := range []int64{9, 8, 7, 6, 5, 4, 3, 2, 1} {
				f := check.Get(p.Send(ctx, producer.Message{Queue: "q", Seq: &seq, Body: fmt.Append(nil, seq)}))
				futures = append(futures, f)
			}
			for _, f := range futures {
				check.Get(f.Wait(ctx))
			}
			check.OK(t, p.Close(ctx))
			s.Want("all", s.get("/queues", "queue=q"), 200, `"position":9`)
		})
	}
}

// TestProducerKeepsBodies: each body is read back byte for byte, whatever it is, with all that
// stands beside it.
func TestProducerKeepsBodies(t *testing.T) {
	s := newServer(t, nil)
	serveLambda(t, s.handle)
	p := check.Get(producer.New(check.Get(producer.Invoke("enqueue:live", "")), nil))
	bodies := []string{
		`{"a":1}`, ` {"a" : 1}`, "{\"a\":\t1}\n", `"<&>\u2028"`, "\u2028", "", "nul", "null", `"` + "\xff" + `"`, strings.Repeat("[", 5000) + strings.Repeat("]", 5000), `-0.10e+3`, "\x00\x01",
	}
	const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	var futures []*producer.Future
	for i, body := range bodies {
		seq := int64(i + 1)
		f := check.Get(p.Send(t.Context(), producer.Message{
			Queue: "q\"\\\n\u2028<ü>", Seq: &seq, ID: fmt.Sprint("id\t", i), Body: []byte(body),
			Attributes:  map[string]string{"a\"": "\x01", "b": ""},
			Traceparent: traceparent, Tracestate: "vendor=1",
		}))
		futures = append(futures, f)
	}
	check.OK(t, p.Close(t.Context()))
	for i, f := range futures {
		r := check.Get(f.Wait(t.Context()))
		check.That(t, r.Outcome == cursor.Advanced && r.Seq == int64(i+1), "%q: %+v", bodies[i], r)
	}
	i := 0
	for m, err := range s.sorter(t).Read(t.Context(), "q\"\\\n\u2028<ü>", 0, int64(len(bodies))) {
		check.That(t, err == nil && string(m.Body) == bodies[i] && m.ID == fmt.Sprint("id\t", i) &&
			m.Attributes["a\""] == "\x01" && len(m.Attributes) == 2 &&
			m.Trace == (cursor.Trace{Parent: traceparent, State: "vendor=1"}),
			"%.100q came out as %+v, %v", bodies[i], m, err)
		i++
	}
	check.That(t, i == len(bodies), "%d of %d messages", i, len(bodies))
}
