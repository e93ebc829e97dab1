//go:build whole

package webhook_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/payloads"
	"github.com/streamsort/streamsort/internal/httpapi"
	"github.com/streamsort/streamsort/internal/mapping"
	"github.com/streamsort/streamsort/internal/sortkey"
	"github.com/streamsort/streamsort/internal/webhook"
	"github.com/streamsort/streamsort/pkg/cursor"
)

// keyPaths are where the key of each kind of GitHub's events is, as the page has it: "| `push`,
// `create` | `repository.pushed_at` |".
func keyPaths(t *testing.T) map[string][]string {
	t.Helper()
	page := check.Get(os.ReadFile("../../docs/reference/events.md"))
	_, rest, _ := strings.Cut(string(page), "| kind of event of GitHub | key |\n|---|---|\n")
	paths := map[string][]string{}
	for line := range strings.Lines(rest) {
		cells := strings.Split(strings.TrimSpace(line), "|")
		if len(cells) != 4 {
			break
		}
		for _, kind := range quoted(cells[1]) {
			paths[kind] = quoted(cells[2])
		}
	}
	check.Need(t, len(paths) >= 10, "the page has %v", paths)
	return paths
}

// TestGitHubsEvents: each kind, of GitHub and of each version of its server, is taken; its key is
// the time that the page says, or that of its receipt, and no other.
func TestGitHubsEvents(t *testing.T) {
	s, paths := preset(t, "github"), keyPaths(t)
	events := payloads.GitHub(t, "../..")
	kinds, byPath := map[string]bool{}, map[string]bool{}
	for i, e := range events {
		name := fmt.Sprintf("%s of %s, %.60s", e.Kind, e.From, e.Body)
		m, at, key := github(t, s, e.Kind, i, e.Body)
		kinds[e.Kind] = true
		check.That(t, m.Attributes["event"] == e.Kind && m.ID == fmt.Sprintf("%d/7", i),
			"%s: %+v", name, m)
		if m.Attributes[mapping.ReceivedAttribute] != "" {
			continue
		}
		found := slices.IndexFunc(paths[e.Kind], func(path string) bool {
			return at == timeAt(t, e.Body, path)
		})
		if found < 0 {
			t.Errorf("%s: the key is %s, and the page has %v", name, key, paths[e.Kind])
			continue
		}
		byPath[e.Kind] = true
	}
	for kind := range paths {
		check.That(t, !kinds[kind] || byPath[kind],
			"no %s has the key that the page says: %v", kind, paths[kind])
	}
	check.That(t, len(kinds) >= 58 && len(events) >= 329,
		"only %d events of %d kinds", len(events), len(kinds))
	t.Logf("%d events of %d kinds, those of %d with a time of their own", len(events),
		len(kinds), len(byPath))

	queues := map[string]bool{}
	for i, body := range shared(t) {
		m, _, _ := github(t, s, "any", i, body)
		queues[m.Queue] = true
	}
	t.Log(slices.Sorted(maps.Keys(queues)))
}

// github is the message of an event, the time that is its key, and the whole key.
func github(t *testing.T, s webhook.Source, kind string, i int,
	body []byte) (m cursor.Message, at, key string) {
	t.Helper()
	r := &httpapi.Request{Body: body, Headers: map[string]string{
		"content-type": "application/json", "x-github-delivery": fmt.Sprint(i), "x-github-hook-id": "7", "x-github-event": kind,
	}}
	all, err := s.Messages(r, received)
	check.Need(t, err == nil, "%s: %v\n%.200s", kind, err, body)
	made, err := all[0].KeyType.Key(all[0].KeyParts...)
	check.Need(t, err == nil, "%s: %v\n%.200s", kind, err, body)
	var parts []any
	check.OK(t, json.Unmarshal(made.JSON(), &parts))
	return all[0], parts[0].(string), string(made)
}

// timeAt is the time at a path of a document, as keys have it, or empty.
func timeAt(t *testing.T, document []byte, path string) string {
	t.Helper()
	var value any
	check.OK(t, json.Unmarshal(document, &value))
	for _, name := range strings.Split(path, ".") {
		object, _ := value.(map[string]any)
		value = object[name]
	}
	if number, is := value.(float64); is {
		value = json.Number(fmt.Sprintf("%.0f", number))
	}
	key, err := sortkey.KeyType("time").Key(value)
	var at string
	if err != nil || json.Unmarshal(key.JSON(), &at) != nil {
		return ""
	}
	return at
}

// shared are the payloads beside the repository, where they are.
func shared(t *testing.T) (bodies []json.RawMessage) {
	t.Helper()
	file, err := os.Open("../../../shared/data/github-webhooks.ndjson")
	if err != nil {
		return nil
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var line struct{ Body json.RawMessage }
		check.OK(t, json.Unmarshal(lines.Bytes(), &line))
		bodies = append(bodies, line.Body)
	}
	return bodies
}
