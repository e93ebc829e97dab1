package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/streamsort/streamsort/internal/dev/check"
)

const (
	// newcomerQueue is the queue into which the new user puts so many messages, the last one first.
	newcomerQueue, newcomerMessages = "customer/1", 20
)

// app starts the app on the local stack.
func (n *newcomer) app(ctx context.Context) {
	check.Must(n.start(ctx, n.environ, n.dir, "--template", n.template()))
}

// start starts a local stack, and waits until it runs.
func (n *newcomer) start(ctx context.Context, environ []string, folder string,
	more ...string) error {
	n.local = exec.CommandContext(ctx, filepath.Join(n.dir, "bin", "streamsort"),
		append([]string{"local", "--port", "0"}, more...)...)
	n.local.Dir, n.local.Env = folder, environ
	n.local.Cancel = func() error { return n.local.Process.Signal(os.Interrupt) }
	var errs strings.Builder
	n.local.Stderr = &errs
	out, err := n.local.StdoutPipe()
	if err != nil {
		return err
	}
	if err := n.local.Start(); err != nil {
		n.local = nil
		return err
	}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		address, after, runs := strings.Cut(lines.Text(), " runs after ")
		if runs {
			n.url = address
			go func() { _, _ = io.Copy(io.Discard, out) }() // ends with the stack
			seconds, _, _ := strings.Cut(after, ";")
			n.Print("runs after %s", seconds)
			return nil
		}
	}
	return fmt.Errorf("it does not run: %s", &errs)
}

// stop stops the local stack that runs.
func (n *newcomer) stop() {
	if n.local != nil {
		_ = n.local.Process.Signal(os.Interrupt)
		_ = n.local.Wait() // it was interrupted, and says so
		n.local = nil
	}
}

// put writes a file of messages, the last one first, and has the command line put it.
func (n *newcomer) put(ctx context.Context) {
	var lines strings.Builder
	for seq := newcomerMessages; seq > 0; seq-- {
		fmt.Fprintf(&lines, `{"queue":%q,"seq":%d,"body":{"cents":%d}}`+"\n", newcomerQueue, seq, seq)
	}
	check.Must(os.WriteFile(filepath.Join(n.dir, "orders.ndjson"), []byte(lines.String()), 0o600))
	n.streamsort(ctx, "put", "orders.ndjson", "--url", n.url)
}

// tail has the command line print the queue.
func (n *newcomer) tail(ctx context.Context) {
	said := n.streamsort(ctx, "tail", newcomerQueue, "--url", n.url, "-o", "json")
	var seqs []int
	for line := range strings.SplitSeq(said, "\n") {
		var m struct{ Seq int }
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			check.Must(fmt.Errorf("tail prints %q: %w", line, err))
		}
		seqs = append(seqs, m.Seq)
	}
	eachOnce(seqs)
}

// booked waits until the function in Go has all messages, as its log says.
func (n *newcomer) booked(ctx context.Context) {
	var seqs []int
	check.Must(n.wait(newcomerMessages, "messages are booked").Until(ctx,
		func(ctx context.Context) (int, string, error) {
			seqs = nil
			for _, line := range n.log(ctx, "books") {
				if strings.Contains(line, "booked") {
					var seq int
					_, at, _ := strings.Cut(line, "seq=")
					if _, err := fmt.Sscan(at, &seq); err != nil {
						return 0, "", fmt.Errorf("%s: %w", line, err)
					}
					seqs = append(seqs, seq)
				}
			}
			return len(seqs), "", nil
		}))
	eachOnce(seqs)
}

// log returns the lines that a function has logged.
func (n *newcomer) log(ctx context.Context, function string) []string {
	said := n.streamsort(ctx, "logs", function, "--url", n.url)
	return strings.FieldsFunc(said, func(r rune) bool { return r == '\n' })
}

// eachOnce ends the scenario where these are not all messages in their order, each once.
func eachOnce(seqs []int) {
	var want []int
	for seq := range newcomerMessages {
		want = append(want, seq+1)
	}
	if !slices.Equal(seqs, want) {
		check.Must(fmt.Errorf("seqs %v; want 1 to %d, each once", seqs, newcomerMessages))
	}
}

func lastLine(text string) string { return text[strings.LastIndexByte(text, '\n')+1:] }
