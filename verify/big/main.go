// Command big runs what is rare and large at its full size, on tables in memory with
// DynamoDB's pages and units, by invocations that are killed when they have made as many
// requests, or read as many bytes, as a Lambda function has time for. For each case it
// prints how many invocations, requests and units it took, and ends with 1 where one took
// more than its bound, was never done, or kept others waiting.
//
//	go run ./verify/big               all, at full size
//	go run ./verify/big -part 100     all, at a hundredth of it
//	go run ./verify/big -only parked  those whose name has the text
//
// A case has a file of its own and a line in [cases].
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// bigCase is something large. run does it on a fresh world, at a part of its full size,
// and says what was not as it must be.
type bigCase struct {
	name string
	run  func(w *world) error
}

// cases are all of them.
var cases = []bigCase{
	{"a gap with 100,000 messages of 30 KB parked behind it is filled", parked},
	{"a gap of 100,000 messages is skipped", skipped},
	{"a consumer is rewound over 1,000,000 messages", rewound},
	{"a consumer is a week behind beside 1,000 healthy queues", behind},
	{"an arrival comes again after 200,000 others", lateRepeat},
}

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(arguments []string, out io.Writer) error {
	flags := flag.NewFlagSet("big", flag.ContinueOnError)
	part := flags.Int64("part", 1, "at which part of the full size: 100 is a hundredth")
	only := flags.String("only", "", "only cases whose name has this text")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	if *part < 1 {
		return fmt.Errorf("-part %d: it must be 1 or more", *part)
	}
	var errs []error
	for _, c := range cases {
		if !strings.Contains(c.name, *only) {
			continue
		}
		began := time.Now()
		w, err := newWorld(*part)
		if err == nil {
			err = c.run(w)
		}
		fmt.Fprintf(out, "%s (%.1f s here)\n", c.name, time.Since(began).Seconds())
		for _, line := range w.lines {
			fmt.Fprintf(out, "  %s\n", line)
		}
		if err != nil {
			fmt.Fprintf(out, "  BROKEN: %v\n", err)
			errs = append(errs, fmt.Errorf("%s: %w", c.name, err))
		}
	}
	return errors.Join(errs...)
}
