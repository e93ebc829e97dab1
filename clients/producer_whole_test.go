//go:build whole

package clients_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/pkg/producer/producertest"
)

var other = flag.String("producer", "",
	"hold the program of this command to the cases, instead of the packages")

// TestProducers holds the packages for Python and Node, or the program of another command, to the
// cases of all producers. They are slow and mostly wait: more run at once than there are
// processors.
//
// For each case it serves an API with faults and starts the command, which gets the API's address
// in STREAMSORT_URL, and its settings in REQUEST_TIMEOUT, MIN_BACKOFF and MAX_BACKOFF, in
// milliseconds. On its standard input come the messages, one a line, as POST /messages takes them;
// it sends them in this order, writes a line for each to its standard output when all have an
// outcome, in the same order, and ends with 0:
//
//	{"outcome":"advanced"}
//	{"status":409}
func TestProducers(t *testing.T) {
	cases := check.Get(producertest.Cases())
	commands := [][]string{{"python3", "-B", "testdata/producer.py"},
		{"node", "testdata/producer.mjs"}}
	if *other != "" {
		commands = [][]string{strings.Fields(*other)}
	}
	for _, command := range commands {
		for _, c := range cases {
			// An answer that a busy machine brings late is no lost one.
			timeout := 15 * time.Second
			if slices.ContainsFunc(c.Faults, func(f producertest.Fault) bool { return f.Do == "hang" }) {
				timeout = producertest.RequestTimeout
			}
			t.Run(command[0]+"/"+c.Name, func(t *testing.T) {
				t.Parallel()
				for _, wrong := range c.Serve(t.Context(), driveBy(command, timeout)) {
					t.Errorf("%s: %s", c.Why, wrong)
				}
			})
		}
	}
}

// TestNoProducer: a command that answers something else fails.
func TestNoProducer(t *testing.T) {
	_, err := driveBy([]string{"cat"}, time.Second)(t.Context(), "",
		[]json.RawMessage{json.RawMessage(`{}`)})
	check.Says(t, err, "it must be")
}

// driveBy drives a producer that is a command.
func driveBy(command []string, requestTimeout time.Duration) producertest.Drive {
	return func(ctx context.Context, url string, messages []json.RawMessage) ([]string, error) {
		child := exec.CommandContext(ctx, command[0], command[1:]...)
		child.WaitDelay = time.Second
		child.Env = append(os.Environ(), "STREAMSORT_URL="+url)
		for name, value := range map[string]time.Duration{
			"REQUEST_TIMEOUT": requestTimeout, "MIN_BACKOFF": producertest.MinBackOff, "MAX_BACKOFF": producertest.MaxBackOff,
		} {
			child.Env = append(child.Env, name+"="+strconv.FormatInt(value.Milliseconds(), 10))
		}
		var in, out bytes.Buffer
		for _, m := range messages {
			in.Write(m)
			in.WriteByte('\n')
		}
		child.Stdin, child.Stdout, child.Stderr = &in, &out, os.Stderr
		if err := child.Run(); err != nil {
			return nil, fmt.Errorf("%s: %w", command[0], err)
		}
		var outcomes []string
		for lines := bufio.NewScanner(&out); lines.Scan(); {
			var l struct {
				Outcome string
				Status  int
			}
			if err := json.Unmarshal(lines.Bytes(), &l); err != nil || (l.Outcome == "") == (l.Status == 0) {
				return nil, fmt.Errorf(`%s wrote %q; it must be {"outcome":"…"} or {"status":…}`,
					command[0], lines.Text())
			}
			if l.Outcome == "" {
				l.Outcome = strconv.Itoa(l.Status)
			}
			outcomes = append(outcomes, l.Outcome)
		}
		return outcomes, nil
	}
}
