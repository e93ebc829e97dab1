package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/check"
)

func TestHandleSaysWhatCameAndNotWhatWasInIt(t *testing.T) {
	var log bytes.Buffer
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewJSONHandler(&log, nil)))
	defer slog.SetDefault(before)
	var d document
	check.OK(t, json.Unmarshal([]byte(`{"queue":"q","consumer":"c","tokenN":7,"from":0,"to":"9007199254740993",
		"messages":[{"seq":1,"body":{"a": 1}},{"seq":"9007199254740993","bodyBase64":"Y2FuYXJ5"}],"skipped":[2]}`), &d))
	check.OK(t, handle(t.Context(), d))
	for _, part := range []string{
		`"queue":"q"`, `"from":0`, `"to":9007199254740993`, `"seq":1`, `"token":7`, `"skipped":[2]`,
		fmt.Sprintf("%x", sha256.Sum256([]byte(`{"a": 1}`))), fmt.Sprintf("%x", sha256.Sum256([]byte("canary"))),
	} {
		check.That(t, strings.Contains(log.String(), part), "no %s in %s", part, &log)
	}
	check.That(t, !strings.Contains(log.String(), "canary") && strings.Count(log.String(), "\n") == 1,
		"the log is %s, want one line without the payload", &log)
}
