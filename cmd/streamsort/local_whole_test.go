//go:build unix && whole

package main

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/await"
	"github.com/streamsort/streamsort/internal/dev/check"
)

// printed is what a verb prints, line by line.
type printed struct {
	mu    sync.Mutex
	lines []string
	first chan string // gets the first line
}

func (s *printed) read(from io.Reader) {
	for lines := bufio.NewScanner(from); lines.Scan(); {
		s.mu.Lock()
		s.lines = append(s.lines, lines.Text())
		if len(s.lines) == 1 && s.first != nil {
			s.first <- lines.Text()
		}
		s.mu.Unlock()
	}
}

// has returns the lines that begin so.
func (s *printed) has(prefix string) (found []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, line := range s.lines {
		if strings.HasPrefix(line, prefix) {
			found = append(found, line)
		}
	}
	return found
}

func (s *printed) awaits(t *testing.T, prefix string) {
	t.Helper()
	await.Until(t, prefix, func() (bool, any) { return len(s.has(prefix)) > 0, len(s.has("")) })
}

// TestLocalConsumers runs a function in Python, one in Node and a URL behind the stack: each gets
// messages in order. What the function in Python cannot be started with is shown, the others go on,
// and its next edit brings it what it missed. The stack is the context while it runs, and not
// after.
func TestLocalConsumers(t *testing.T) {
	// with another HOME, all would be compiled anew
	for _, kept := range []string{"GOCACHE", "GOMODCACHE"} {
		said := check.Get(exec.Command("go", "env", kept).Output())
		t.Setenv(kept, strings.TrimSpace(string(said)))
	}
	t.Setenv("HOME", t.TempDir())
	t.Setenv("XDG_CONFIG_HOME", "")
	folder := t.TempDir()
	for _, language := range []string{"python", "node"} {
		_, errOut, code := prints(t, "init", language, filepath.Join(folder, language))
		check.Need(t, code == exitDone, "%v", errOut)
	}
	asked := &printed{}
	server := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		asked.read(strings.NewReader(r.Header.Get("streamsort-queue") + " " +
			r.Header.Get("streamsort-seq")))
	})
	ctx, end := context.WithCancel(t.Context())
	defer end()
	out, in := io.Pipe()
	ended := make(chan int, 1)
	shown := &printed{first: make(chan string, 1)}
	go shown.read(out)
	source := filepath.Join(folder, "python", "consumer.py")
	go func() {
		ended <- run(ctx, []string{
			"local", "--watch", "--port", "0", "--ui=", "--prefix", "orders", "--consumer", "py=" + source,
			"--consumer", "js=" + filepath.Join(folder, "node", "consumer.mjs"), "--consumer", "hook=" + server,
		}, nil, in, io.Discard)
		_ = in.Close()
	}()
	url, _, _ := strings.Cut(<-shown.first, " ")
	shown.awaits(t, "  queue ")
	local, err := readPlaces()
	check.That(t, err == nil && local.Contexts["local"].URL == url &&
		local.Contexts["local"].DynamoDB != "", "while it runs: %+v, %v; it is at %s", local, err, url)
	put := func(lines string) {
		t.Helper()
		_, said, code := printsOf(t.Context(), lines, "put")
		check.Need(t, code == exitDone, "%s", said)
	}
	put(`{"queue":"orders","seq":2,"body":{"items":[{"cents":250}]}}` + "\n" +
		`{"queue":"other","seq":1,"body":{"items":[]}}` + "\n" +
		`{"queue":"orders","seq":1,"body":{"items":[{"cents": 900},{"cents":300}]}}` + "\n")
	for _, last := range []string{"py | orders 2", "js | orders 2"} {
		shown.awaits(t, last)
	}
	asked.awaits(t, "orders 2")

	text := check.Get(os.ReadFile(source))
	write := func(text string) {
		t.Helper()
		check.OK(t, os.WriteFile(source, []byte(text), 0o600))
	}
	write("def handler(batch, context):\n    return whatever(\n")
	shown.awaits(t, "py | SyntaxError: '(' was never closed")
	put(`{"queue":"orders","seq":3,"body":{"items":[]}}` + "\n")
	shown.awaits(t, "js | orders 3")
	write(strings.ReplaceAll(string(text), "cents\"", "cents, edited\""))
	shown.awaits(t, "py | orders 3: 0 cents, edited")

	for name, end := range map[string]string{"py": ", edited", "js": ""} {
		check.Is(t, strings.ReplaceAll(strings.Join(shown.has(name+" | o"), "\n"), name+" | ", ""),
			"orders 1: 1200 cents\norders 2: 250 cents\norders 3: 0 cents"+end, name)
	}
	check.Is(t, strings.Join(asked.has(""), ", "), "orders 1, orders 2, orders 3", "the URL got")
	said, _, code := prints(t, "logs", "py")
	check.That(t, code == exitDone && strings.Contains(said, "orders 1: 1200 cents\n") &&
		strings.Contains(said, `consumer.py", line 2`),
		"the log of py, exit code %d: %s", code, said)
	_, said, code = prints(t, "logs", "nope")
	check.Is(t, code, exitRefused, "the log of another")
	check.Has(t, said, `there is no function "nope": there are js, py, streamsort-AckFunction`)
	end()
	check.Is(t, <-ended, exitDone)
	all, err := readPlaces()
	check.That(t, err == nil && len(all.Contexts) == 0, "after it: %+v, %v", all, err)
}

// TestLocalHandlerMissing: a handler that is not there ends the command, which names those that
// are.
func TestLocalHandlerMissing(t *testing.T) {
	folder := t.TempDir()
	_, errOut, code := prints(t, "init", "python", folder)
	check.Need(t, code == exitDone, "%v", errOut)
	_, errOut, code = prints(t, "local", "--port", "0", "--ui=", "--consumer",
		"orders="+filepath.Join(folder, "consumer.py")+":handle")
	check.That(t, code == exitRefused && strings.Contains(errOut, "consumer orders: consumer.py has no function handle: it has handler, total, body"),
		"exit code %d, %s", code, errOut)
}

// TestPortInUse says what to do.
func TestPortInUse(t *testing.T) {
	taken := check.Get(net.Listen("tcp", "127.0.0.1:0"))
	t.Cleanup(func() { _ = taken.Close() })
	_, port := check.Get2(net.SplitHostPort(taken.Addr().String()))
	template := filepath.Join("..", "..", "localstack", "streamsort.template.json")
	_, errOut, code := prints(t, "local", "--template", template, "--port", port)
	check.Is(t, code, exitRefused)
	check.Has(t, errOut, port)
	check.Has(t, errOut, "\nstreamsort: is another stack running? End it, or take another port by --port\n")
}
