// Command big runs what is rare and large at its full size, on tables in memory with
// DynamoDB's pages and units, or on a server, by invocations that are killed when they
// have made as many requests, or read as many bytes, as a Lambda function has time for.
// For each case it prints how many invocations, requests and units it took, and ends with
// 1 where one took more than its bound, was never done, or kept others waiting.
//
//	go run ./verify/big                                all, at full size
//	go run ./verify/big -part 100                      all, at a hundredth of it
//	go run ./verify/big -only parked                   those whose name has the text
//	go run ./verify/big -server dynamodb-local -part 10  on a server instead of in memory
//
// A case has a file of its own and a line in [cases].
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/streamsort/streamsort/internal/dev/localdb"
	"github.com/streamsort/streamsort/internal/dynamo"
	"github.com/streamsort/streamsort/pkg/table"
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
	{"100,000 queues and a sweep", manyQueues},
	{"1,000,000 messages are sorted by a time, twice", manyKeyed},
	{"100,000 queues are listed by their state, while rows come and go", manyListed},
	{"the same load on 10, 1,000 and 100,000 queues", manyLoaded},
	{"the same load behind 10,000, 100,000 and 1,000,000 stored messages", storedLoaded},
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
	server := flags.String("server", "", "the server to run on: dynamodb-local or dynoxide; empty is in memory")
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
		w, err := runCase(c, *part, localdb.Kind(*server))
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

// withoutStreams are the tables without their streams, which no case reads: each request to
// DynamoDB Local takes longer the more records the stream of its table has.
func withoutStreams(tables []table.Definition) []table.Definition {
	for i := range tables {
		tables[i].Stream = ""
	}
	return tables
}

// runCase runs a case in a world of its own.
func runCase(c bigCase, part int64, kind localdb.Kind) (*world, error) {
	w := &world{part: part}
	if kind == "" {
		w.inMemory = true
		if err := w.renew(); err != nil {
			return w, err
		}
		return w, c.run(w)
	}
	ctx := context.Background()
	server, err := localdb.Start(ctx, kind, "")
	if err != nil {
		return w, err
	}
	defer server.Close()
	client, err := dynamo.New(&dynamo.Options{Endpoint: server.Endpoint})
	if err != nil {
		return w, err
	}
	if err := table.Create(ctx, client, withoutStreams(definitions())...); err != nil {
		return w, err
	}
	engine := dynamo.NewEngine(client)
	engine.Units = true
	w.tables = engine
	if err := w.open(); err != nil {
		return w, err
	}
	return w, c.run(w)
}
