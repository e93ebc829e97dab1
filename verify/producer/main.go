// Command producer holds a producer in any language to the cases of pkg/producer/producertest:
//
//	go run ./verify/producer -- node producer.js
//
// For each case it serves an API with faults and starts the command, which gets the API's address
// in STREAMSORT_URL, and its settings in REQUEST_TIMEOUT, MIN_BACKOFF and MAX_BACKOFF, in milliseconds. On its standard
// input come the messages, one a line, as POST /messages takes them; it sends them in this order, writes
// a line for each to its standard output when all have an outcome, in the same order, and ends with 0:
//
//	{"outcome":"advanced"}
//	{"status":409}
//
// Without a command it runs this repository's own producer in such a process. -case runs the cases whose names
// contain a text, -list prints them. It ends with 1 where a case was not kept to.
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"time"

	"github.com/streamsort/streamsort/pkg/producer/producertest"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if url := os.Getenv(variableURL); url != "" && len(os.Args) == 2 && os.Args[1] == ownProducer {
		if err := own(ctx, url, os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, "producer:", err)
			os.Exit(1)
		}
		return
	}
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "producer:", err)
		os.Exit(1)
	}
}

const (
	variableURL = "STREAMSORT_URL"
	// ownProducer is the argument by which this program is a producer.
	ownProducer = "own-producer"
)

// errFailed: a case was not kept to, and the lines before say which.
var errFailed = errors.New("the producer did not keep to all cases")

func run(ctx context.Context, arguments []string, out io.Writer) error {
	flags := flag.NewFlagSet("producer", flag.ContinueOnError)
	flags.SetOutput(out)
	named := flags.String("case", "", "run the cases whose names contain this text")
	list := flags.Bool("list", false, "print the cases, and run none")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	cases, err := producertest.Cases()
	if err != nil {
		return err
	}
	command := flags.Args()
	if len(command) == 0 {
		self, err := os.Executable()
		if err != nil {
			return err
		}
		command = []string{self, ownProducer}
	}
	ran, failed := 0, 0
	for _, c := range cases {
		if !strings.Contains(c.Name, *named) {
			continue
		}
		ran++
		if *list {
			fmt.Fprintf(out, "%-30s %s\n", c.Name, c.Why)
			continue
		}
		began := time.Now()
		wrong := c.Serve(ctx, driveBy(command, producertest.RequestTimeout))
		if len(wrong) == 0 {
			fmt.Fprintf(out, "ok    %-30s %.1fs\n", c.Name, time.Since(began).Seconds())
			continue
		}
		failed++
		fmt.Fprintf(out, "FAIL  %-30s %s\n", c.Name, c.Why)
		for _, line := range wrong {
			fmt.Fprintln(out, "      ", line)
		}
	}
	switch {
	case ran == 0:
		return fmt.Errorf("case is %q; -list prints those that there are", *named)
	case failed > 0:
		return errFailed
	}
	return nil
}

// line is what a producer writes for a message.
type line struct {
	Outcome string `json:"outcome,omitempty"`
	Status  int    `json:"status,omitempty"`
}

// driveBy drives a producer that is a command.
func driveBy(command []string, requestTimeout time.Duration) producertest.Drive {
	return func(ctx context.Context, url string, messages []json.RawMessage) ([]string, error) {
		child := exec.CommandContext(ctx, command[0], command[1:]...)
		child.WaitDelay = time.Second
		child.Env = append(os.Environ(), variableURL+"="+url)
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
			var l line
			if err := json.Unmarshal(lines.Bytes(), &l); err != nil || (l.Outcome == "") == (l.Status == 0) {
				return nil, fmt.Errorf(`%s wrote %q; it must be {"outcome":"…"} or {"status":…}`, command[0], lines.Text())
			}
			if l.Outcome == "" {
				l.Outcome = strconv.Itoa(l.Status)
			}
			outcomes = append(outcomes, l.Outcome)
		}
		return outcomes, nil
	}
}

// own is pkg/producer as such a command.
func own(ctx context.Context, url string, in io.Reader, out io.Writer) error {
	var messages []json.RawMessage
	for reader := json.NewDecoder(in); ; {
		var m json.RawMessage
		err := reader.Decode(&m)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		messages = append(messages, m)
	}
	outcomes, err := producertest.Own(ctx, url, messages)
	if err != nil {
		return err
	}
	writer := json.NewEncoder(out)
	for _, o := range outcomes {
		l := line{Outcome: o}
		if status, err := strconv.Atoi(o); err == nil {
			l = line{Status: status}
		}
		if err := writer.Encode(l); err != nil {
			return err
		}
	}
	return nil
}
