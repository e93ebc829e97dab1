package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/mapping"
	"github.com/streamsort/streamsort/internal/strictjson"
)

// Mappings of raw events, as the pages have them.
var (
	asDocument = regexp.MustCompile(`(?:--events '|Events=|streamsort:events=')(\{.*?\})'`)
	asQuery    = regexp.MustCompile("(?s)POST\\s+/messages\\?(.*?)`")
)

// TestMappingsOfThePages can be read, each of them.
func TestMappingsOfThePages(t *testing.T) {
	pages := check.Get(filepath.Glob("../../docs/*.md"))
	pages = append(pages, check.Get(filepath.Glob("../../docs/*/*.md"))...)
	found := 0
	for _, page := range append(pages, "../../README.md", "../../infra/cdk/README.md") {
		text := check.Get(os.ReadFile(page))
		for _, match := range asDocument.FindAllStringSubmatch(string(text), -1) {
			if found++; strings.Contains(match[1], "PATH") {
				continue
			}
			_, err := mapping.Read([]byte(match[1]), mapping.Kind{Request: true})
			check.That(t, err == nil, "%s: %s: %v", page, match[1], err)
		}
		for _, match := range asQuery.FindAllStringSubmatch(string(text), -1) {
			var texts mapping.Texts
			err := strictjson.DecodeQuery(check.Get(url.ParseQuery(match[1])), &texts)
			check.Need(t, err == nil, "%s: %s: %v", page, match[0], err)
			_, err = texts.Parse(mapping.Kind{Request: true})
			check.That(t, err == nil, "%s: %s: %v", page, match[1], err)
			found++
		}
	}
	check.That(t, found >= 4, "only %d were found", found)
}

// exchange is a request with its answer, as concepts.md shows them.
var exchange = regexp.MustCompile(`(?m)^(PUT|POST) +(/[a-z]+) +(\{.*\})$(?:\n(\d{3}) )?`)

// TestKeyedExamples are answered as the page says.
func TestKeyedExamples(t *testing.T) {
	page := check.Get(os.ReadFile("../../docs/concepts.md"))
	s := newServer(t, nil)
	// the page's day: at an earlier time its key is ahead
	s.now = time.Date(2026, 5, 6, 7, 8, 10, 0, time.UTC)
	all := exchange.FindAllStringSubmatch(string(page), -1)
	for _, e := range all {
		status := map[string]int{"202": 202, "": 200}[e[4]]
		s.Want(e[0], s.Request(e[1], e[2], "", e[3]), status)
	}
	check.That(t, len(all) == 2, "the page has %d", len(all))
}

// example is the mapping of pushes on the page.
var example = regexp.MustCompile("(?s)```json\n(\\{\"queue\": \"repository.full_name\".*?)```")

// TestPushesSortAsThePageSays: by the second, and in one second what was made first, and what was
// deleted last.
func TestPushesSortAsThePageSays(t *testing.T) {
	page := check.Get(os.ReadFile("../../docs/how-to/webhooks-in.md"))
	var members map[string]string
	check.OK(t, json.Unmarshal(example.FindSubmatch(page)[1], &members))
	query := url.Values{}
	for name, path := range members {
		query.Set(name, path)
	}
	const created, forced, deleted = `true,"deleted":false`, `false,"deleted":false`,
		`false,"deleted":true`
	var pushes []string
	for i, does := range []string{created, created, forced, deleted, created, forced, deleted} {
		pushes = append(pushes,
			fmt.Sprintf(`{"created":%s,"repository":{"full_name":"o/r","pushed_at":%d}}`,
				does, 1_767_323_045+min(i, 4)))
	}
	s := newServer(t, nil)
	for i, n := range rand.New(rand.NewPCG(1, 2)).Perm(len(pushes)) {
		delivery := map[string]string{"X-GitHub-Delivery": fmt.Sprint(i)}
		s.Want("a push", s.with(delivery, query.Encode(), pushes[n]), 202, "waiting")
	}
	s.now = s.now.Add(time.Minute)
	s.settle(t, "o/r")
	var read struct {
		Messages []struct{ Body json.RawMessage }
	}
	check.OK(t, json.Unmarshal([]byte(s.get("/messages", "queue=o/r").Body), &read))
	check.Need(t, len(read.Messages) == len(pushes), "%d of %d", len(read.Messages), len(pushes))
	for i, m := range read.Messages {
		check.Is(t, string(m.Body), pushes[i], i)
	}
}
