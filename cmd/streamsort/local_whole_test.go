//go:build unix && whole

package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestLocalSaysWhereLogsAre: at the address that is printed, with a name that is printed.
func TestLocalSaysWhereLogsAre(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	t.Setenv("XDG_CONFIG_HOME", "")
	ctx, end := context.WithCancel(t.Context())
	out, in := io.Pipe()
	ended := make(chan int, 1)
	go func() {
		template := filepath.Join("..", "..", "localstack", "streamsort.template.json")
		ended <- run(ctx, []string{"local", "--template", template, "--port", "0", "--ui="}, nil, in, io.Discard)
		_ = in.Close()
	}()
	var logs, function string
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if found := regexp.MustCompile(`a function's log at (http\S+=)NAME`).FindStringSubmatch(lines.Text()); found != nil {
			logs = found[1]
		}
		if found := regexp.MustCompile(`^  function (\S+)$`).FindStringSubmatch(lines.Text()); found != nil {
			function = found[1]
		}
		if strings.Contains(lines.Text(), "no SQS") || strings.Contains(lines.Text(), "live page") {
			t.Errorf("it has queues of SQS, and no page is wanted: %s", lines.Text())
		}
		if strings.HasPrefix(lines.Text(), "  queue ") { // all of the others are said
			break
		}
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	if response, err := http.Get(logs + function); err != nil {
		t.Error(err)
	} else if _ = response.Body.Close(); response.StatusCode != http.StatusOK {
		t.Errorf("%s%s: %s", logs, function, response.Status)
	}
	if all, err := readPlaces(); err != nil || all.Contexts["local"].URL == "" || !strings.HasPrefix(logs, all.Contexts["local"].URL) || all.Contexts["local"].DynamoDB == "" {
		t.Errorf("while it runs: %+v, %v; the logs are at %s", all, err, logs)
	}
	if code := run(t.Context(), []string{"queues"}, nil, io.Discard, io.Discard); code != exitDone {
		t.Errorf("while it runs, a verb that says no place exits with %d", code)
	}
	end()
	if code := <-ended; code != 0 {
		t.Errorf("exit code %d", code)
	}
	if all, err := readPlaces(); err != nil || len(all.Contexts) != 0 {
		t.Errorf("after it: %+v, %v", all, err)
	}
}

// TestPortInUse says what to do.
func TestPortInUse(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = taken.Close() })
	_, port, err := net.SplitHostPort(taken.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	var out, errOut bytes.Buffer
	template := filepath.Join("..", "..", "localstack", "streamsort.template.json")
	code := run(t.Context(), []string{"local", "--template", template, "--port", port}, nil, &out, &errOut)
	if said := errOut.String(); code != 1 || !strings.Contains(said, port) || !strings.Contains(said, "\nstreamsort: is another stack running? End it, or take another port by --port\n") {
		t.Errorf("exit code %d, %s", code, said)
	}
}
