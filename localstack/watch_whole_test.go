//go:build whole

package localstack

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/await"
	"github.com/streamsort/streamsort/internal/dev/check"
)

// answering is a function that needs nothing but Go, and answers what package said has.
const answering = `package main

import (
	"bytes"
	"io"
	"net/http"
	"os"

	"example.com/watched/said"
)

func main() {
	api := "http://" + os.Getenv("AWS_LAMBDA_RUNTIME_API") + "/2018-06-01/runtime/invocation/"
	for {
		r, err := http.Get(api + "next")
		if err != nil {
			return
		}
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = http.Post(api+r.Header.Get("Lambda-Runtime-Aws-Request-Id")+"/response", "application/json", bytes.NewBufferString(said.Text))
	}
}
`

// TestWatch: a function is built and restarted when a package that it imports changes; one that
// does not compile goes on as it was, and says why; others are left alone.
func TestWatch(t *testing.T) {
	ownCache(t)
	root := t.TempDir()
	write(t, root, map[string]string{
		"go.mod": "module example.com/watched\n\ngo 1.26\n", "one/main.go": answering,
		"said/said.go":  "package said\n\nconst Text = `\"one\"`\n",
		"two/main.go":   strings.ReplaceAll(strings.ReplaceAll(answering, "said.Text", "`\"two\"`"), "\t\"example.com/watched/said\"\n", ""),
		"template.json": `{"Resources": {` + watchedFunction("One", "one") + `, ` + watchedFunction("Two", "two") + `}}`,
	})
	failed := make(chan string, 9)
	s := run(t, Config{Templates: []string{filepath.Join(root, "template.json")}, Watch: true,
		Failed: func(_, text string) {
			failed <- text
		}})
	answer := func(function string) string {
		response := check.Get(s.Invoke(t.Context(), function, nil))
		return string(response.Payload)
	}
	one, two := answer("One"), answer("Two")
	check.Need(t, one == `"one"` && two == `"two"`, "%v %v", one, two)
	started := func(id string) int {
		for _, f := range s.Functions() {
			if f.LogicalID == id {
				return f.Stats.Started
			}
		}
		return 0
	}
	// A file is replaced at once: half of one would not compile. Nothing is invoked until the new
	// program is ready: an invocation before would start one more.
	replace := func(text string) { write(t, root, map[string]string{"said/said.go": text}) }
	replace("package said\n\nconst Text = `\"three\"`\n")
	await.True(t, "the new program", func() bool { return started("One") == 2 })
	replace("package said\n\nconst Text = nothing\n")
	text := <-failed
	check.That(t, strings.Contains(text, "said.go:3") && strings.Contains(text, "undefined: nothing"),
		"what does not compile says %q", text)
	check.Is(t, answer("One"), `"three"`)
	number, other := started("One"), started("Two")
	check.That(t, number == 2 && other == 1, "started %d and %d times", number, other)
}

func watchedFunction(id, source string) string {
	return `"` + id + `": {"Type": "AWS::Lambda::Function", "Metadata": {"streamsort:source": "` +
		source + `"}, "Properties": {"Runtime": "provided.al2023", "Timeout": 60}}`
}

// readOnly is a stack whose template is read, and nothing started.
func readOnly(t *testing.T, log slog.Handler, template string) *Stack {
	t.Helper()
	s := &Stack{
		config:        Config{Templates: []string{template}, Logger: slog.New(log)},
		functionNames: newNames(), scheduleNames: newNames(),
	}
	check.OK(t, s.read(t.Context()))
	t.Cleanup(s.doors.close)
	return s
}

// TestNotWatched: a function that runs from a copy of its source is named; one that runs where it
// is written is not.
func TestNotWatched(t *testing.T) {
	root := t.TempDir()
	function := func(id, metadata string) string {
		return `"` + id + `": {"Type": "AWS::Lambda::Function", "Metadata": {` + metadata + `}, ` +
			`"Properties": {"Runtime": "python3.13", "Handler": "handler.f"}}`
	}
	whole := filepath.Join(root, "src")
	write(t, root, map[string]string{
		"src/handler.py": "1", "cdk.out/asset.1/handler.py": "1",
		"cdk.out/app.template.json": `{"Resources": {` +
			function("Copy", `"aws:asset:path": "asset.1"`) + `,` +
			function("Whole", `"aws:asset:path": "`+whole+`"`) + `,` +
			function("Named", `"aws:asset:path": "asset.1", "streamsort:source": "src"`) + `}}`,
	})
	var said bytes.Buffer
	s := readOnly(t, slog.NewTextHandler(&said, nil),
		filepath.Join(root, "cdk.out", "app.template.json"))
	all, err := s.watchedSources(t.Context(), nil)
	check.Need(t, err == nil && len(all) == 3, "%v, %v", all, err)
	log := said.String()
	check.That(t, strings.Count(log, "not watched") == 1 &&
		strings.Contains(log, "function=app-Copy"), "%v", log)
}

// TestWatchInterpreted: a change in the folder of a function in Python or Node is seen, and what
// its packages' folders have in them is not.
func TestWatchInterpreted(t *testing.T) {
	root := t.TempDir()
	write(t, root, map[string]string{
		"f/handler.mjs": "1", "f/lib/a.mjs": "1", "f/node_modules/x/index.js": "1",
		"template.json": `{"Resources": {"F": {"Type": "AWS::Lambda::Function", "Metadata": {"streamsort:source": "f"}, "Properties": {"Runtime": "nodejs22.x", "Handler": "handler.f"}}}}`,
	})
	s := readOnly(t, slog.DiscardHandler, filepath.Join(root, "template.json"))
	programs := check.Get(plan(s.templates, s.config))
	all, err := s.watchedSources(t.Context(), programs)
	check.Need(t, err == nil && len(all) == 1, "%v, %v", all, err)
	changed := func(path string) bool {
		before := fingerprint(all[0].folders)
		check.OK(t, os.WriteFile(filepath.Join(root, path), []byte("22"), 0o600))
		return fingerprint(all[0].folders) != before
	}
	if !changed("f/handler.mjs") || !changed("f/lib/a.mjs") || changed("f/node_modules/x/index.js") {
		t.Errorf("folders %v", all[0].folders)
	}
}
