package cost

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/localdb"
	"github.com/streamsort/streamsort/internal/dev/meter"
	"github.com/streamsort/streamsort/internal/dynamo"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/handoff"
)

// queue is the one that messages of 100 bytes take 227 bytes in.
const queue = "octo-org/octo-repo"

// TestDeliver measures what a batch takes to be delivered, by AWS's rules.
func TestDeliver(t *testing.T) {
	metered := meter.New(dynamo.Transport())
	client, err := dynamo.New(&dynamo.Options{Endpoint: localdb.ForTest(t, localdb.Kinds()[0]), Transport: metered})
	if err != nil {
		t.Fatal(err)
	}
	suffix := localdb.Suffix()
	queues := cursor.Names{Messages: "messages" + suffix, Cursors: "cursors" + suffix, Sweeps: "sweeps" + suffix}
	consumers := handoff.Names{Consumers: "consumers" + suffix, Audit: "operations" + suffix}
	for _, definition := range append(queues.Tables(), consumers.Tables()...) {
		if err := dynamo.CreateTable(t.Context(), client, definition); err != nil {
			t.Fatal(err)
		}
	}
	store, err := cursor.NewDynamo(client, queues)
	if err != nil {
		t.Fatal(err)
	}
	sorter, err := cursor.New(store, nil)
	if err != nil {
		t.Fatal(err)
	}
	deliverer, err := handoff.New(handoff.NewDynamo(client, consumers), sorter, nil)
	if err != nil {
		t.Fatal(err)
	}
	reader := handoff.Reader{Name: "billing", Handle: func(context.Context, handoff.Batch) error { return nil }}
	position := int64(0)
	for _, size := range []int{1, 1, 10, 100} { // the first makes the consumer
		var messages []cursor.Message
		for i := range size {
			seq := position + int64(i) + 1
			messages = append(messages, cursor.Message{Queue: queue, Seq: seq, Body: fmt.Appendf(nil, "%-100d", seq)})
		}
		if _, err := sorter.PutGroup(t.Context(), messages); err != nil {
			t.Fatal(err)
		}
		before := metered.Counts()
		done := deliverer.Deliver(t.Context(), queue, reader, position+int64(size))
		if done.Err != nil || done.Messages != size || done.Batches != 1 {
			t.Fatalf("%+v", done)
		}
		total := metered.Counts().Sub(before).Total()
		want := Deliver.plus(Units{Reads: math.Ceil(float64(size)*pageBytes/page) / 2})
		// A query looks one message ahead, and may begin a page for it.
		if position > 0 && (total.Writes != want.Writes || total.Reads < want.Reads-0.5 || total.Reads > want.Reads) {
			t.Errorf("a batch of %d: %v write and %v read units, want %v", size, total.Writes, total.Reads, want)
		}
		position += int64(size)
	}
}
