package cost

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/ddbtest"
	"github.com/streamsort/streamsort/internal/dev/meter"
	"github.com/streamsort/streamsort/internal/dynamo"
	"github.com/streamsort/streamsort/internal/queuelog"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/delivery"
	"github.com/streamsort/streamsort/pkg/table"
)

// queue is the one that messages of 100 bytes take SingleBytes in.
const queue = "octo-org/octo-repo"

// TestDeliver measures what a batch takes to be delivered, by AWS's rules.
func TestDeliver(t *testing.T) {
	ddbtest.EachServer(t, func(t *testing.T, kind ddbtest.Kind) {
		deliver(t, kind, false, SingleBytes)
		deliver(t, kind, true, ItemBytes(100)/100)
	})
}

// moved is a record of a move from nothing that ended where a cursor is.
func moved(c cursor.Cursor) json.RawMessage {
	kind, begin := `"v":{"N":"1"}`, `"v":{"N":"1"}`
	if c.Settings.Kind == cursor.KindArrival {
		const log = `"v":{"N":"2"},"tailFrom":{"N":"0"},"printsFrom":{"N":"0"},"prints":{"S":""},"tail":{"L":[%s]}`
		var tail []string
		for e := range c.Tail.All() {
			place := binary.BigEndian.AppendUint32([]byte(e.Key), uint32(e.Count)<<23|e.Seen)
			tail = append(tail, fmt.Sprintf(`{"B":%q}`, base64.StdEncoding.EncodeToString(place)))
		}
		kind, begin = fmt.Sprintf(log, strings.Join(tail, ",")), fmt.Sprintf(log, "")
	}
	image := func(kind string, position int64) string {
		return fmt.Sprintf(`{"queue":{"S":%q},%s,"first":{"N":"1"},"position":{"N":"%d"},"parked":{"N":"%d"},"gapSince":{"N":"0"},`+
			`"change":{"S":"advance"},"policy":{"S":"wait"},"gapAfter":{"N":"300000"},"maxAhead":{"N":"100000"},"mode":{"S":"sync"}}`,
			c.Queue, kind, position, c.MaxParked)
	}
	return fmt.Appendf(nil, `{"eventName":"MODIFY","dynamodb":{"SequenceNumber":"1","OldImage":%s,"NewImage":%s}}`, image(begin, 0), image(kind, c.Position))
}

// deliver has batches delivered, each by the record of its move. That begins before where the consumer was left,
// so it is not known.
func deliver(t *testing.T, kind ddbtest.Kind, together bool, bytes float64) {
	metered := meter.New(dynamo.Transport())
	client, err := dynamo.New(&dynamo.Options{Endpoint: ddbtest.Endpoint(t, kind), Transport: metered})
	if err != nil {
		t.Fatal(err)
	}
	suffix := ddbtest.Suffix()
	queues := cursor.Names{Messages: "messages" + suffix, Cursors: "cursors" + suffix, Sweeps: "sweeps" + suffix, Arrivals: "arrivals" + suffix}
	consumers := delivery.Names{Consumers: "consumers" + suffix, Audit: "operations" + suffix}
	if err := table.Create(t.Context(), client, append(append(queues.Tables(), queues.ArrivalsTable()), consumers.Tables()...)...); err != nil {
		t.Fatal(err)
	}
	store, err := cursor.NewDynamo(client, queues)
	if err != nil {
		t.Fatal(err)
	}
	sorter, err := cursor.New(store, nil)
	if err != nil {
		t.Fatal(err)
	}
	batches, handed := 0, 0
	reader := delivery.Reader{Name: "billing", Handle: func(_ context.Context, b delivery.Batch) error {
		batches, handed = batches+1, handed+len(b.Messages)
		return nil
	}}
	process, err := cursor.New(store, nil)
	if err != nil {
		t.Fatal(err)
	}
	deliverer, err := delivery.New(delivery.NewDynamo(client, consumers), process, nil)
	if err != nil {
		t.Fatal(err)
	}
	handle, err := delivery.OnStream(deliverer, queues, reader)
	if err != nil {
		t.Fatal(err)
	}
	position := int64(0)
	for _, size := range []int{1, 1, 10, 100} { // the first makes the consumer
		var messages []cursor.Message
		for i := range size {
			seq := position + int64(i) + 1
			messages = append(messages, cursor.Message{Queue: queue, Seq: seq, Body: fmt.Appendf(nil, "%-100d", seq)})
			if together {
				messages[i].Kind = cursor.KindArrival
			}
		}
		if err := sorter.Put(t.Context(), messages...)[0].Err; err != nil {
			t.Fatal(err)
		}
		at, err := sorter.Status(t.Context(), queue)
		if err != nil {
			t.Fatal(err)
		}
		before := metered.Counts()
		batches, handed = 0, 0
		answer, err := handle(t.Context(), table.StreamEvent{Records: []json.RawMessage{moved(at)}})
		if err != nil || len(answer.BatchItemFailures) > 0 || handed != size || batches != 1 {
			t.Fatalf("%+v, %v: %d messages in %d batches", answer, err, handed, batches)
		}
		total := metered.Counts().Sub(before).Total()
		want := Deliver.plus(Units{Reads: math.Ceil(float64(size)*bytes/page) / 2})
		// A query looks one message ahead, and may begin a page for it.
		if position > 0 && (total.Writes != want.Writes || total.Reads < want.Reads-0.5 || total.Reads > want.Reads) {
			t.Errorf("a batch of %d: %v write and %v read units, want %v", size, total.Writes, total.Reads, want)
		}
		position += int64(size)
	}
}

// TestSweep measures what a sweep takes of queues that are quiet, by AWS's rules.
func TestSweep(t *testing.T) {
	var names cursor.Names
	tables := ddb.NewMemory(slices.Concat(names.Tables(), []table.Definition{names.ArrivalsTable()}, delivery.Names{}.Tables())...)
	metered := ddbtest.NewMeter(tables)
	store, err := cursor.NewStore(metered, names)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	clock := func() time.Time { return now }
	sorter, err := cursor.New(store, &cursor.Options{Now: clock, Retention: 14 * 24 * time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	deliverer, err := delivery.New(delivery.NewStore(metered, delivery.Names{}.Tables()), sorter, &delivery.Options{Now: clock})
	if err != nil {
		t.Fatal(err)
	}
	const queues = 20_000
	for i := range queues {
		queue := fmt.Sprintf("queue-%06d", i)
		if _, err := store.Requests(queuelog.Inside{}).CreateCursor(t.Context(), cursor.Cursor{
			Queue: queue, Settings: cursor.DefaultSettings(), Position: 123_456, MaxParked: 123_401, MovedAt: now, Announced: -1,
		}); err != nil {
			t.Fatal(err)
		}
		if _, _, err := store.Requests(queuelog.Inside{}).Move(t.Context(), queue, cursor.Range{From: 123_456, To: 123_457}, 123_456, now); err != nil {
			t.Fatal(err)
		}
	}
	sweep := func() ddb.Units {
		t.Helper()
		metered.Take()
		if _, err := deliverer.Sweep(t.Context(), delivery.SweepOptions{Sorter: cursor.SweepOptions{Every: roundEvery * time.Second}}); err != nil {
			t.Fatal(err)
		}
		return metered.Take().Units
	}
	sweep()
	for range 3 { // what is long quiet is so for two full rounds
		now = now.Add(fullEvery * time.Second)
		sweep()
	}
	now = now.Add(roundEvery * time.Second)
	near := func(what string, got, want float64) {
		t.Helper()
		if got > want*1.02+3 || got < want*0.95 {
			t.Errorf("%s: %.1f read units, want %.1f", what, got, want)
		}
	}
	near("a round", sweep().Reads-3, queues*scanUnits)
	near("a call between two", sweep().Reads, 3)
	now = now.Add(fullEvery * time.Second)
	near("the full round and another", sweep().Reads-3, queues*(3*scanUnits+fullReads))
}
