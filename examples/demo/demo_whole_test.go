//go:build whole

package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/check"
)

// data are real payloads, out of order, some of them twice.
const data = "../../../shared/data/github-webhooks.ndjson"

// shows runs the demo, where its input is here, and checks that it prints some texts.
func shows(t *testing.T, o options, parts ...string) {
	t.Helper()
	if _, err := os.Stat(o.input); o.input != "" && err != nil {
		t.Logf("not here: %v", err)
		return
	}
	var out bytes.Buffer
	err := run(t.Context(), o, &out)
	check.Need(t, err == nil, "%v\n%s", err, &out)
	for _, part := range parts {
		check.That(t, strings.Contains(out.String(), part), "no %q in\n%s", part, &out)
	}
}

const whole = "wrong               0: 0 violations, 0 lost"

// TestDemo: also where processes are killed, all comes out once and in order.
func TestDemo(t *testing.T) {
	for _, mode := range []string{"async", "sync"} {
		shows(t, options{mode: mode, count: 200, chaos: true}, "in   ", "out  ", whole, "unchanged",
			"your function  200 messages, ", "process        200 messages, ")
	}
	shows(t, options{mode: "sync", input: data}, "286 messages to 18 queues", "13 duplicate", whole,
		"your function  273 messages, ", "process        273 messages, ")
}

// TestDemoWithAGap: what is before the gap comes out, what is behind it waits, and the demo ends
// and says for which seq.
func TestDemoWithAGap(t *testing.T) {
	input := filepath.Join(t.TempDir(), "input.ndjson")
	var text strings.Builder
	for _, seq := range []int{4, 2, 1, 5} {
		fmt.Fprintf(&text, `{"queue":"q","seq":%d,"body":{}}`+"\n", seq)
	}
	text.WriteString(`{"queue":"whole","seq":1,"bodyBase64":"aGk="}` + "\n")
	check.OK(t, os.WriteFile(input, []byte(text.String()), 0o600))
	out := &visitor{t: t}
	var ctx context.Context
	ctx, out.leave = context.WithCancel(t.Context())
	err := run(ctx, options{input: input, mode: "sync", stay: true}, out)
	check.Need(t, err == nil && out.status == http.StatusOK, "%v %d %s", err, out.status, out)
	for _, part := range []string{
		"sending 5 messages to 2 queues", "your function  3 messages, ", "process        3 messages, ", whole,
		"queue q: seq 3 is missing; messages behind it that wait: 2", "everything before a gap came out once",
	} {
		check.That(t, strings.Contains(out.String(), part), "no %q in\n%s", part, out)
	}
}

// visitor is what a demo prints that stays: it looks at the page, and interrupts the demo.
type visitor struct {
	bytes.Buffer
	t      *testing.T
	leave  func()
	status int
}

func (v *visitor) Write(text []byte) (int, error) {
	if _, at, stays := strings.Cut(string(text), "live page at "); stays {
		address, _, _ := strings.Cut(at, ";")
		go func() {
			defer v.leave()
			if answer, err := http.Get(address); err != nil {
				v.t.Error(err)
			} else {
				v.status = answer.StatusCode
				_ = answer.Body.Close()
			}
		}()
	}
	return v.Buffer.Write(text)
}

// TestStory: a gap closes, and what is killed or fails comes again under a higher token.
func TestStory(t *testing.T) {
	var out bytes.Buffer
	err := check.Try(func() { story(t.Context(), &out) })
	check.Need(t, err == nil, "%v\n%s", err, &out)
	for _, part := range []string{"a gap: parked", "seq 2 to 3, token 2, attempt 1",
		"seq 4 to 4, token 4, attempt 2", "seq 5 to 5, token 6, attempt 2"} {
		check.That(t, strings.Contains(out.String(), part), "no %q in\n%s", part, &out)
	}
}
