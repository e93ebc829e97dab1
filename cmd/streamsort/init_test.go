package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/check"
)

// TestInit: each language's project is whole, says what to type next, and its template deploys it
// by parameters that a release's has.
func TestInit(t *testing.T) {
	page := check.Get(os.ReadFile("../../docs/how-to/without-cdk.md"))
	sums := check.Get(os.ReadFile("../../go.sum"))
	t.Chdir(t.TempDir())
	for language, want := range map[string]struct{ consumer, test, run string }{
		"python": {"consumer.py", "test_consumer.py", "local --watch --consumer orders=consumer.py\n"},
		"node":   {"consumer.mjs", "consumer.test.mjs", "local --watch --consumer orders=consumer.mjs\n"},
		"go":     {"main.go", "main_test.go", "local --watch --consumer orders=.\n"},
	} {
		out, errOut, code := prints(t, "init", language, filepath.Join("new", language))
		check.That(t, code == exitDone && strings.Contains(out, "cd new/"+language) &&
			strings.Contains(out, want.run) && strings.Contains(out, beforeRelease),
			"%s: exit code %d, %s%s", language, code, out, errOut)
		read := func(name string) string {
			return string(check.Get(os.ReadFile(filepath.Join("new", language, name))))
		}
		_, _ = read(want.consumer), read(want.test)
		readme := read("README.md")
		check.That(t, strings.Contains(readme, want.run) && strings.Contains(readme, beforeRelease) &&
			strings.Count(readme, "\n") <= 17, "%s: %s", language, readme)
		messages := strings.Split(read("messages.ndjson"), "\n")
		check.That(t, len(messages) == 3 && strings.Contains(messages[0], `"seq":2`) &&
			strings.Contains(messages[1], `"seq":1`),
			"%s: messages %q, want two, the second first", language, messages)
		var template struct {
			Resources struct {
				Streamsort struct {
					Properties struct{ Parameters map[string]any }
				}
				Orders struct {
					Properties struct{ Runtime, Handler, Code string }
				}
			}
		}
		check.OK(t, json.Unmarshal([]byte(read("template.json")), &template))
		for name := range template.Resources.Streamsort.Properties.Parameters {
			check.Has(t, string(page), "| `"+name+"` |", language, name)
		}
		p := languages[language]
		want := struct{ Runtime, Handler, Code string }{p.runtime, p.handler, p.code}
		check.Is(t, template.Resources.Orders.Properties, want, language)
		if language != "go" {
			continue
		}
		for line := range strings.Lines(read("go.sum")) {
			version := strings.TrimSuffix(strings.Fields(line)[1], "/go.mod")
			check.That(t, strings.Contains(string(sums), line) &&
				strings.Contains(read("go.mod"), version),
				"its go.mod and go.sum must have what this module's have: %s", line)
		}
	}
}

// TestInitOverwritesNothing: where one of its files is there, nothing is written.
func TestInitOverwritesNothing(t *testing.T) {
	t.Chdir(t.TempDir())
	check.OK(t, os.WriteFile("README.md", []byte("mine"), 0o600))
	_, errOut, code := prints(t, "init")
	check.Is(t, code, exitRefused)
	check.Has(t, errOut,
		"README.md is there already, and init overwrites nothing: name another folder")
	files, err := os.ReadDir(".")
	check.That(t, err == nil && len(files) == 1, "files %v, %v", files, err)
	_, errOut, code = prints(t, "init", "cobol")
	check.That(t, code == exitUsage && strings.Contains(errOut, "must be one of"), "exit code %d, %s",
		code, errOut)
}
