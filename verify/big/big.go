// Package big does what is rare and large at its full size, on tables in memory with
// DynamoDB's pages and units, or on a server, by invocations that are killed when they
// have made as many requests, or read as many bytes, as a Lambda function has time for.
// Each case prints how many invocations, requests and units it took, and fails where one
// took more than its bound, was never done, or kept others waiting.
//
//	make verify S=big                     all, at full size
//	make verify S=big PART=100            all, at a hundredth of it
//	make verify S=big/parked              one
//	make verify S=big PART=10 SERVER=1    on DynamoDB Local instead of in memory
//
// A case has a file of its own and a line in [Cases].
package big

import (
	"context"

	"github.com/streamsort/streamsort/internal/dev/localdb"
	"github.com/streamsort/streamsort/internal/dynamo"
	"github.com/streamsort/streamsort/pkg/table"
)

// Case is something large.
type Case struct {
	Name, Shows string
	// run does it on a fresh world, at a part of its full size, and says what was not as it
	// must be.
	run func(w *world) error
}

// Cases are all of them.
var Cases = []Case{
	{"parked", "a gap with 100,000 messages of 30 KB parked behind it is filled", parked},
	{"skipped", "a gap of 100,000 messages is skipped", skipped},
	{"rewound", "a consumer is rewound over 1,000,000 messages", rewound},
	{"behind", "a consumer is a week behind beside 1,000 healthy queues", behind},
	{"repeat", "an arrival comes again after 200,000 others", lateRepeat},
	{"queues", "100,000 queues and a sweep", manyQueues},
	{"keyed", "1,000,000 messages are sorted by a time, twice", manyKeyed},
	{"listed", "100,000 queues are listed by their state, while rows come and go", manyListed},
	{"loaded", "the same load on 10, 1,000 and 100,000 queues", manyLoaded},
	{"stored", "the same load behind 10,000, 100,000 and 1,000,000 stored messages", storedLoaded},
}

// withoutStreams are the tables without their streams, which no case reads: each request to
// DynamoDB Local takes longer the more records the stream of its table has.
func withoutStreams(tables []table.Definition) []table.Definition {
	for i := range tables {
		tables[i].Stream = ""
	}
	return tables
}

// Run runs a case at a part of its full size: 100 is a hundredth. It returns what it took, line
// by line. The kind of server is empty for tables in memory.
func (c Case) Run(ctx context.Context, part int64, kind localdb.Kind) (lines []string, err error) {
	w := &world{part: part, inMemory: kind == ""}
	if w.inMemory {
		err = w.renew()
	} else {
		var server *localdb.Server
		if server, err = localdb.Start(ctx, kind, ""); err != nil {
			return nil, err
		}
		defer server.Close()
		err = w.on(ctx, server.Endpoint)
	}
	if err == nil {
		err = c.run(w)
	}
	return w.lines, err
}

// on has the world's tables on a server.
func (w *world) on(ctx context.Context, endpoint string) error {
	client, err := dynamo.New(&dynamo.Options{Endpoint: endpoint})
	if err != nil {
		return err
	}
	if err := table.Create(ctx, client, withoutStreams(definitions())...); err != nil {
		return err
	}
	engine := dynamo.NewEngine(client)
	engine.Units = true
	w.tables = engine
	return w.open()
}
