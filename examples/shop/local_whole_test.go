//go:build whole

package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/jsii-runtime-go"
)

// The app's template runs on the local stack as it is, by its assets: the function and
// the queue get every message in order.
func TestShopRunsHere(t *testing.T) {
	folder := t.TempDir()
	app := awscdk.NewApp(&awscdk.AppProps{
		Context: &map[string]any{"architecture": runtime.GOARCH, "try": "true", "binaries": filepath.Join(folder, "dist")},
		Outdir:  jsii.String(filepath.Join(folder, "cdk.out")), StackTraces: jsii.Bool(false),
	})
	if _, err := addShop(app); err != nil {
		t.Fatal(err)
	}
	app.Synth(nil)
	address := runLocal(t, filepath.Join(folder, "streamsort"), filepath.Join(folder, "cdk.out", "Shop.template.json"))

	const messages = 20
	for seq := messages; seq > 0; seq-- {
		document := fmt.Sprintf(`{"queue":"shop","seq":%d,"body":{"order":%d}}`, seq, seq)
		response, err := http.Post(address+"/messages", "application/json", strings.NewReader(document))
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if response.StatusCode >= http.StatusMultipleChoices {
			t.Fatalf("message %d: %s", seq, response.Status)
		}
	}
	var outputs map[string]map[string]string
	get(t, address+"/_streamsort/outputs", &outputs)
	log := address + "/_streamsort/logs?function=" + outputs["Shop"]["BooksName"]
	// The log has all lines of a request by its answer, which comes after the position.
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	// Polls without progress end it, and not the clock: a slow machine is no failure.
	for polls, last := 0, -1; !delivered(t, address, messages) || booked(t, log) < messages; <-tick.C {
		if polls++; booked(t, log) != last {
			polls, last = 0, booked(t, log)
		}
		if polls == 1000 {
			t.Fatalf("the messages are not delivered; booked %d of %d", last, messages)
		}
	}
}

// runLocal builds the command line, runs the template by it until the test ends, and
// returns its address.
func runLocal(t *testing.T, program, template string) string {
	t.Helper()
	build := exec.Command("go", "build", "-o", program, "github.com/streamsort/streamsort/cmd/streamsort")
	build.Dir = filepath.Join("..", "..")
	if said, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	local := exec.Command(program, "local", "--template", template, "--port", "0")
	var said strings.Builder
	local.Stderr = &said
	out, err := local.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := local.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = local.Process.Signal(os.Interrupt); _ = local.Wait() })
	lines := bufio.NewScanner(out)
	lines.Scan()
	address, _, runs := strings.Cut(lines.Text(), " runs after ")
	if !runs {
		_ = local.Wait()
		t.Fatalf("%s\n%s", lines.Text(), &said)
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	return address
}

// delivered reports whether both consumers have all messages.
func delivered(t *testing.T, address string, messages int) bool {
	t.Helper()
	var page struct {
		Consumers []struct {
			Consumer string
			Position int
		}
	}
	get(t, address+"/consumers?"+url.Values{"queue": {"shop"}}.Encode(), &page)
	done := 0
	for _, c := range page.Consumers {
		if c.Position == messages {
			done++
		}
	}
	return done == 2
}

// booked is how many messages the function has logged, each in its turn and once.
func booked(t *testing.T, log string) (last int) {
	t.Helper()
	var lines []string
	get(t, log, &lines)
	for _, line := range lines {
		if !strings.Contains(line, "booked") {
			continue
		}
		if last++; !strings.Contains(line, fmt.Sprintf("seq=%d ", last)) {
			t.Fatalf("%s, where %d was due", line, last)
		}
	}
	return last
}

func get(t *testing.T, address string, into any) {
	t.Helper()
	response, err := http.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	if err := json.NewDecoder(response.Body).Decode(into); err != nil {
		t.Fatal(err)
	}
}
