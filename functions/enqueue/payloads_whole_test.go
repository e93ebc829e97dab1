//go:build whole

package main

import (
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/payloads"
)

// TestEventFiles: each event that aws-lambda-go has a file of is a message, by HTTP and by the
// alias put, whatever it is: those of API Gateway are no requests there.
func TestEventFiles(t *testing.T) {
	s := newServer(t, nil)
	query := "id=@digest&queue=" + url.QueryEscape("source | Records[0].eventSource | Records[0].EventSource | eventSource | 'other'")
	events := payloads.Lambda(t)
	for _, e := range events {
		s.Want(e.Kind, s.post(query, string(e.Body)), 200, "advanced")
	}
	check.That(t, len(events) >= 100, "only %d files", len(events))
}

// TestThePagesExample takes each event of GitHub, under its digest: what has no repository, or no
// issue, too.
func TestThePagesExample(t *testing.T) {
	text := check.Get(os.ReadFile("../../docs/how-to/webhooks-in.md"))
	found := regexp.MustCompile(`/messages\?queue=(.*?)&key=(.*?)&keyType=time&id=id`).
		FindStringSubmatch(string(text))
	check.Need(t, found != nil, "the page has no example")
	query := url.Values{"queue": {found[1]}, "key": {found[2]}, "keyType": {"time"},
		"id": {"@digest"}}.Encode()
	s := newServer(t, nil)
	for _, e := range payloads.GitHub(t, "../..") {
		a := s.post(query, string(e.Body))
		check.That(t, a.Status == 202 || strings.Contains(a.Body, "duplicate"),
			"%s of %s: %d %s", e.Kind, e.From, a.Status, a.Body)
	}
}
