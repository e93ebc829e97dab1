package main

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/calllog"
	"github.com/streamsort/streamsort/internal/dev/check"
)

// logged has what the function logs written beside its metrics.
func (s *server) logged(t *testing.T) {
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewJSONHandler(&s.logs, nil)))
	t.Cleanup(func() { slog.SetDefault(before) })
}

// TestAGoodCallIsOneLine: its metrics, which are all that is paid for.
func TestAGoodCallIsOneLine(t *testing.T) {
	s := newServer(t, nil)
	s.logged(t)
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
	s.logged(t)
	s.post("", `{"messages":[{"queue":"q","seq":1,"body":"canary"},{"queue":"other","seq":1,"body":1},{"queue":"q","seq":3,"body":1}]}`)
	s.logsHave(`"msg":"put","queue":"q","seq":1,"outcome":"advanced","failed":false`,
		`"queue":"q","seq":3,"outcome":"parked"`)
	text := s.logs.String()
	check.That(t, strings.Count(text, `"msg":"put"`) == 2 && !strings.Contains(text, "canary"),
		"too much is logged:\n%s", text)
}
