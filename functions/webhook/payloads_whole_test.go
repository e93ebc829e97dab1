//go:build whole

package main

import (
	"encoding/hex"
	"fmt"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/payloads"
)

// TestGitHubsEventsAreTaken: each kind that GitHub's tools publish, signed, by the preset alone; sent again,
// it is known.
func TestGitHubsEventsAreTaken(t *testing.T) {
	s := newServer(t)
	answers := map[int]int{}
	events := payloads.GitHub(t, "../..")
	for i, e := range events {
		r := request{source: "octo", body: string(e.Body), headers: map[string]string{
			"X-Hub-Signature-256": "sha256=" + hex.EncodeToString(sign(string(e.Body))), "X-GitHub-Delivery": fmt.Sprint(i), "X-GitHub-Hook-ID": "7", "X-GitHub-Event": e.Kind,
		}}
		first, again := s.send(r), s.send(r)
		answers[first.Status]++
		check.That(t, first.Status == 202 && again.Status == 200,
			"%s of %s: %d %s; again %d %s", e.Kind, e.From, first.Status, first.Body, again.Status, again.Body)
	}
	check.That(t, answers[202] == len(events), "of %d events: %v", len(events), answers)
}
