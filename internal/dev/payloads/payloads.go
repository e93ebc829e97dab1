// Package payloads has what senders send, for tests: of packages that development depends on, which
// make deps and go mod download fetch. None of it is in the repository.
package payloads

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/check"
)

// Event is one that a sender sends. Kind is GitHub's name for it, or the file's name.
type Event struct {
	Kind, From string
	Body       json.RawMessage
}

// GitHub are the examples of @octokit/webhooks-examples, of GitHub and of each version of its
// server; root is the repository's folder.
func GitHub(t testing.TB, root string) (all []Event) {
	t.Helper()
	examples := "internal/dev/payloads/node_modules/@octokit/webhooks-examples/*/index.json"
	files, err := filepath.Glob(filepath.Join(root, examples))
	if err != nil || len(files) == 0 {
		t.Fatalf("no examples: %v; make deps installs them", err)
	}
	for _, file := range files {
		text := check.Get(os.ReadFile(file))
		var kinds []struct {
			Name     string
			Examples []json.RawMessage
		}
		check.OK(t, json.Unmarshal(text, &kinds))
		for _, kind := range kinds {
			for _, body := range kind.Examples {
				all = append(all, Event{kind.Name, filepath.Base(filepath.Dir(file)), body})
			}
		}
	}
	return all
}

// Lambda are the event files of aws-lambda-go that are JSON.
func Lambda(t testing.TB) (all []Event) {
	t.Helper()
	folder := check.Get(exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}",
		"github.com/aws/aws-lambda-go").Output())
	files, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(folder)),
		"events/testdata/*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no event files: %v", err)
	}
	for _, file := range files {
		text := check.Get(os.ReadFile(file))
		if json.Valid(text) {
			all = append(all, Event{Kind: strings.TrimSuffix(filepath.Base(file), ".json"), Body: text})
		}
	}
	return all
}
