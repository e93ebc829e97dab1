package localstack

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/streamsort/streamsort/internal/consumers"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/egress"
	"github.com/streamsort/streamsort/localstack/template"
)

// write writes files, by their paths, into a folder.
func write(t *testing.T, folder string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(folder, name)
		check.OK(t, os.MkdirAll(filepath.Dir(path), 0o755))
		// At once, for who watches the folder.
		check.OK(t, os.WriteFile(path+".new", []byte(text), 0o700))
		check.OK(t, os.Rename(path+".new", path))
	}
}

// project is a folder with a file of each language, which the test runs in; the PATH has the
// interpreters named alone.
func project(t *testing.T, interpreters ...string) {
	t.Helper()
	root, bin := t.TempDir(), t.TempDir()
	write(t, root, map[string]string{"app.py": "", "app.mjs": "", "app.rb": "",
		"books/go.mod": "module books\n", "books/main/main.go": "", "books/none/x.txt": "",
		"none/main.go": ""})
	for _, name := range interpreters {
		write(t, bin, map[string]string{name: ""})
	}
	t.Setenv("PATH", bin)
	t.Chdir(root)
}

// TestParseConsumer: what may be named, and what is said of what may not.
func TestParseConsumer(t *testing.T) {
	project(t, "python3")
	for text, want := range map[string]Consumer{
		"a=app.py":                  {Name: "a", folder: ".", runtime: "python3.13", handler: "app.handler"},
		"a=./app.py:book":           {Name: "a", folder: ".", runtime: "python3.13", handler: "app.book"},
		"a-1=books/main":            {Name: "a-1", folder: "books/main", runtime: "provided.al2023"},
		"a=http://localhost:8080/x": {Name: "a", url: "http://localhost:8080/x"},
	} {
		if want.folder != "" {
			want.folder, _ = filepath.Abs(want.folder)
		}
		check.Is(t, check.Get(ParseConsumer(text)), want, text)
	}
	for text, want := range map[string]string{
		"app.py":              "must be NAME=PATH[:HANDLER] or NAME=URL",
		"a=":                  "must be NAME=PATH[:HANDLER] or NAME=URL",
		"a b=app.py":          `the name "a b" must be 1 to 64 letters`,
		"=app.py":             `the name "" must be 1 to 64 letters`,
		"a=nope.py":           "a: there is no /",
		"a=app.rb":            "app.rb is of no language that is run here: its name must end in .py",
		"a=books/main:handle": "has no handler to name: leave :handle out",
		"a=books/none":        "books/none is no package of a Go module",
		"a=none":              "none is no package of a Go module: it needs a main.go, and a go.mod",
		"a=ftp://x/y":         "must be like http://localhost:8080/orders",
		"a=http:///y":         "must be like http://localhost:8080/orders",
		"a=app.mjs":           "a: node is not on the PATH, and a function in its language needs it: install Node 20",
	} {
		check.Says(t, check.Err(ParseConsumer(text)), want, text)
	}
}

// TestConsumersOfTheStack: the functions read what the consumers are written as, what the user says
// of a variable counts, and each function has its code.
func TestConsumersOfTheStack(t *testing.T) {
	project(t, "python3")
	var all []Consumer
	for _, text := range []string{"a=app.py", "b=http://localhost:8080/x", "c=books/main",
		"d=https://example.com/y"} {
		c := check.Get(ParseConsumer(text))
		all = append(all, c)
	}
	all[0].Prefix = "shop/"
	env, err := consumersEnv(map[string]string{"a.DEBUG": "1",
		"ProcessFunction.STREAMSORT_HTTP_ALLOW": "10.0.0.0/8"}, all)
	check.That(t, err == nil && env["a.DEBUG"] == "1" &&
		env["ProcessFunction.STREAMSORT_HTTP_ALLOW"] == "10.0.0.0/8", "variables %q, %v", env, err)
	read, err := consumers.Read([]byte(env["ProcessFunction."+consumers.TextVariable]), nil)
	check.Need(t, err == nil && len(read) == len(all), "process reads %v, %v", read, err)
	var names []string
	for _, c := range read {
		names = append(names, c.Reader.Name+"="+c.Reader.Prefix)
	}
	if want := []string{"a=shop/", "b=", "c=", "d="}; !slices.Equal(names, want) {
		t.Errorf("consumers %q, want %q", names, want)
	}
	env, _ = consumersEnv(nil, all)
	check.Is(t, len(check.Get(egress.ParseAllow(env["ProcessFunction."+egress.AllowVariable]))), 2)
	loaded, err := consumersTemplate(all)
	check.OK(t, err)
	loaded.Template, err = loaded.doc.Read(template.Options{})
	check.Need(t, err == nil, "%v", err)
	for i, want := range []string{"a python3.13 app.handler", "c provided.al2023 bootstrap"} {
		f := loaded.Functions[i]
		check.That(t, f.Name+" "+f.Runtime+" "+f.Handler == want && filepath.IsAbs(f.Source),
			"function %+v, want %s", f, want)
	}
	check.Says(t, check.Err(consumersEnv(nil, append(all, all[0]))), "two consumers have the name a")
	loaded, err = consumersTemplate(all[1:2])
	check.That(t, loaded == nil && err == nil, "a URL alone: %v, %v", loaded, err)
}

// TestLogOfURL: the answer for the log of a consumer that is a URL says that it has no log, and of
// a name that nothing has those that there are, by answers that are of no other API.
func TestLogOfURL(t *testing.T) {
	hook, err := ParseConsumer("hook=http://localhost:8080/x")
	check.OK(t, err)
	s := &Stack{config: Config{Consumers: []Consumer{hook}}, functionNames: newNames()}
	for name, want := range map[string]string{
		"hook": "the consumer hook is a URL, and what answers there has its log: there are logs of ",
		"nope": `there is no function "nope": there are `,
	} {
		answer := httptest.NewRecorder()
		s.stateHandler().ServeHTTP(answer,
			httptest.NewRequest(http.MethodGet, statePath+"logs?function="+name, nil))
		var said struct{ Message, Code string }
		err := json.Unmarshal(answer.Body.Bytes(), &said)
		check.That(t, err == nil && answer.Code == http.StatusNotFound && said.Message == want &&
			said.Code != "", "%s: %d, %+v, %v; want %q", name, answer.Code, said, err, want)
	}
}

// TestNames: a function is found as an app calls it, where no other is called so.
func TestNames(t *testing.T) {
	n := newNames()
	for id, name := range map[string]string{
		"Books0A1B2C3D": "app-books", "ProcessFunction": "app-process", "Twice0A1B2C3D": "one", "Twice0A1B2C3E": "two",
	} {
		check.OK(t, n.add(id, name))
	}
	for asked, want := range map[string]string{
		"books": "app-books", "process": "app-process", "app-books": "app-books", "twice": "twice", "boo": "boo",
	} {
		check.Is(t, n.find(asked), want, asked)
	}
}

// TestOutsideTheClone: what to do is said where the functions cannot be had.
func TestOutsideTheClone(t *testing.T) {
	t.Chdir(t.TempDir())
	check.Says(t, check.Err((Config{}).ownTemplate()), "run it inside Streamsort's clone, or with the zips of a release (--zips), or run a release")
}

// TestLogsAfter: who asks for what is behind the lines that it has gets each once.
func TestLogsAfter(t *testing.T) {
	l := check.Get(newLogs("", []*loaded{{Template: &template.Template{
		Functions: []template.Function{{Name: "f"}}}}}))
	l.add("f", "one\ntwo")
	lines, count := l.tail("f", 10, 0)
	l.add("f", "three")
	more, after := l.tail("f", 10, count)
	none, _ := l.tail("f", 10, after)
	check.That(t, slices.Equal(lines, []string{"one", "two"}) &&
		slices.Equal(more, []string{"three"}) && len(none) == 0 && after == 3,
		"%q, then %q, then %q, of %d", lines, more, none, after)
	last, _ := l.tail("f", 1, 0)
	check.That(t, slices.Equal(last, []string{"three"}), "the last one is %q", last)
}

func TestScheduledEvent(t *testing.T) {
	at := time.Date(2026, 11, 21, 10, 30, 0, 0, time.UTC)
	var got map[string]any
	rule := template.Schedule{ARN: "arn:r"}
	check.OK(t, json.Unmarshal(scheduled(rule, "aws.events", template.Target{}, at).Payload, &got))
	delete(got, "id")
	want := map[string]any{
		"version": "0", "detail-type": "Scheduled Event", "source": "aws.events", "account": "000000000000",
		"time": "2026-11-21T10:30:00Z", "region": "us-east-1", "resources": []any{"arn:r"}, "detail": map[string]any{},
	}
	check.Is(t, cmp.Diff(want, got), "")
	input := `{"full":true}`
	request := scheduled(rule, "aws.events", template.Target{Input: input}, at)
	check.Is(t, string(request.Payload), input)
}

// TestFingerprint: source files count, and files that are named themselves; what a function, a log
// or the tables write beside them does not.
func TestFingerprint(t *testing.T) {
	folder := t.TempDir()
	embedded := filepath.Join(folder, "embedded.sql")
	for name, counts := range map[string]bool{
		"app.py": true, "app.mjs": true, "app.js": true, "app.cjs": true, "main.go": true, "go.mod": true, "go.sum": true, "embedded.sql": true,
		"out.txt": false, "out.json": false, "local.log": false, "tables.db": false, ".lock": false, "go": false,
	} {
		for _, text := range []string{"", "edited"} { // a new file, then an edit
			before := fingerprint([]string{folder, embedded})
			check.OK(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600))
			check.Is(t, fingerprint([]string{folder, embedded}) != before, counts, name, text)
		}
	}
}

// TestWarnOfSecrets: those of another region, or another account, are named, and no others.
func TestWarnOfSecrets(t *testing.T) {
	var said bytes.Buffer
	warnOfSecrets(slog.New(slog.NewTextHandler(&said, nil)),
		template.Function{Name: "f", Files: map[string]string{
			"webhooks.json": `{"sources":[{"secret":"arn:aws:ssm:us-east-1:000000000000:parameter/here"},{"secret":"arn:aws:ssm:eu-west-1:000000000000:parameter/there"},` +
				`{"secret":"arn:aws:secretsmanager:us-east-1:123456789012:secret:theirs"},{"queue":"arn:aws:sqs:eu-west-1:123456789012:other"}]}`,
		}})
	lines := strings.Split(strings.TrimSpace(said.String()), "\n")
	check.That(t, len(lines) == 2 &&
		strings.Contains(lines[0], "secret=arn:aws:ssm:eu-west-1:000000000000:parameter/there") &&
		strings.Contains(lines[0], "name it arn:aws:ssm:us-east-1:000000000000:…") &&
		strings.Contains(lines[1], "secret=arn:aws:secretsmanager:us-east-1:123456789012:secret:theirs"),
		"said %s", &said)
}
