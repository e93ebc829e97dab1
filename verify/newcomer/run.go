package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/streamsort/streamsort/internal/dev/progress"
)

// patience is how long the new user waits for what has to come within seconds.
const patience = time.Minute

// messages is how many the new user puts into one queue, the last one first.
const messages = 20

const queue = "customer/1"

func wait(what string) progress.Wait {
	return progress.Wait{Total: messages, What: what, Patience: patience, Out: os.Stdout}
}

// local starts the app on the local stack.
func local(ctx context.Context, n *newcomer) (string, error) {
	return n.start(ctx, n.environ, n.dir, "--template", n.template())
}

// start starts a local stack, and waits until it runs.
func (n *newcomer) start(ctx context.Context, environ []string, folder string, more ...string) (string, error) {
	n.stack = exec.CommandContext(ctx, filepath.Join(n.dir, "bin", "streamsort"), append([]string{"local", "--port", "0"}, more...)...)
	n.stack.Dir, n.stack.Env = folder, environ
	n.stack.Cancel = func() error { return n.stack.Process.Signal(os.Interrupt) }
	var errs strings.Builder
	n.stack.Stderr = &errs
	out, err := n.stack.StdoutPipe()
	if err != nil {
		return "", err
	}
	if err := n.stack.Start(); err != nil {
		return "", err
	}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		address, after, runs := strings.Cut(lines.Text(), " runs after ")
		if runs {
			n.url = address
			go func() { _, _ = io.Copy(io.Discard, out) }() // ends with the stack
			seconds, _, _ := strings.Cut(after, ";")
			return "runs after " + seconds, nil
		}
	}
	return "", fmt.Errorf("it does not run: %s", &errs)
}

// stop stops the local stack that runs.
func (n *newcomer) stop() {
	if n.stack != nil {
		_ = n.stack.Process.Signal(os.Interrupt)
		_ = n.stack.Wait() // it was interrupted, and says so
		n.stack = nil
	}
}

// put writes a file of messages, the last one first, and has the command line put it.
func put(ctx context.Context, n *newcomer) (string, error) {
	var lines strings.Builder
	for seq := messages; seq > 0; seq-- {
		fmt.Fprintf(&lines, `{"queue":%q,"seq":%d,"body":{"cents":%d}}`+"\n", queue, seq, seq)
	}
	if err := os.WriteFile(filepath.Join(n.dir, "orders.ndjson"), []byte(lines.String()), 0o600); err != nil {
		return "", err
	}
	said, err := n.streamsort(ctx, "put", "orders.ndjson", "--url", n.url)
	return last(said), err
}

// tail has the command line print the queue.
func tail(ctx context.Context, n *newcomer) (string, error) {
	said, err := n.streamsort(ctx, "tail", queue, "--url", n.url, "-o", "json")
	if err != nil {
		return "", err
	}
	var seqs []int
	for line := range strings.SplitSeq(said, "\n") {
		var m struct{ Seq int }
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			return "", fmt.Errorf("tail prints %q: %w", line, err)
		}
		seqs = append(seqs, m.Seq)
	}
	return inOrder(seqs)
}

// booked waits until the function in Go has all messages, as its log says.
func booked(ctx context.Context, n *newcomer) (string, error) {
	var seqs []int
	err := wait("messages are booked").Until(ctx, func(ctx context.Context) (int, string, error) {
		lines, err := n.log(ctx, "books")
		seqs = nil
		for _, line := range lines {
			if strings.Contains(line, "booked") {
				var seq int
				_, at, _ := strings.Cut(line, "seq=")
				if _, err := fmt.Sscan(at, &seq); err != nil {
					return 0, "", fmt.Errorf("%s: %w", line, err)
				}
				seqs = append(seqs, seq)
			}
		}
		return len(seqs), "", err
	})
	if err != nil {
		return "", err
	}
	return inOrder(seqs)
}

// log returns the lines that a function has logged.
func (n *newcomer) log(ctx context.Context, function string) ([]string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, n.url+"/_streamsort/logs?"+url.Values{"function": {function}, "lines": {"1000"}}.Encode(), nil)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return nil, errors.New(response.Status)
	}
	var lines []string
	return lines, json.NewDecoder(response.Body).Decode(&lines)
}

// inOrder returns an error where these are not all messages in their order, each once.
func inOrder(seqs []int) (string, error) {
	var want []int
	for seq := range messages {
		want = append(want, seq+1)
	}
	if !slices.Equal(seqs, want) {
		return "", fmt.Errorf("seqs %v; want 1 to %d, each once", seqs, messages)
	}
	return fmt.Sprintf("1 to %d, each once", messages), nil
}

func last(text string) string { return text[strings.LastIndexByte(text, '\n')+1:] }
