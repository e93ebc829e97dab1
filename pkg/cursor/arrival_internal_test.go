package cursor

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dynamo"
	"github.com/streamsort/streamsort/internal/stream"
)

// imageOf is an item as a stream shows it.
func imageOf(t *testing.T, it ddb.Item) json.RawMessage {
	t.Helper()
	if !it.Exists() {
		return nil
	}
	return check.Get(attributevalue.MarshalMapJSON(dynamo.ToSDK(it)))
}

// TestARecordIsEnoughToReadArrivals with no other read of the cursor.
func TestARecordIsEnoughToReadArrivals(t *testing.T) {
	var names Names
	tables := ddb.NewMemory(append(names.Tables(), names.ArrivalsTable())...)
	process := func(engine ddb.Engine) *Sorter {
		store := check.Get(NewStore(engine, names))
		s, err := New(store, nil)
		check.OK(t, err)
		return s
	}
	var records []json.RawMessage
	tables.OnChange(func(c ddb.Change) {
		if c.Table.Name != "streamsort-cursors" {
			return
		}
		record := stream.Record{EventName: "MODIFY"}
		if !c.Before.Exists() {
			record.EventName = "INSERT"
		}
		record.Change.SequenceNumber = fmt.Sprint(len(records))
		record.Change.OldImage, record.Change.NewImage = imageOf(t, c.Before), imageOf(t, c.After)
		records = append(records, check.Get(json.Marshal(record)))
	})
	s := process(tables)
	for i := range 100 {
		var put []Message
		for n := range 1 + i%3 {
			put = append(put,
				Message{Queue: "q", Seq: NoSeq, PutID: fmt.Sprint(i), Body: fmt.Appendf(nil, "%d.%d", i, n)})
		}
		check.OK(t, s.Put(t.Context(), put...)[0].Err)
	}
	reader := process(ddb.Func(func(ctx context.Context, r ddb.Request) (ddb.Answer, error) {
		check.That(t, r.Name() != "get cursor", "a cursor was read")
		return tables.Do(ctx, r)
	}))
	var got []string
	last := int64(0)
	for _, record := range records {
		cur, moved, err := AdvanceOf(record, Names{})
		check.OK(t, err)
		batch := check.Get(inside{reader}.ReadBatchAt(t.Context(), cur, cur.Queue, moved.From, moved.To))
		check.That(t, batch.From == last && batch.To == moved.To,
			"a batch of %d to %d, and the last one ended at %d", batch.From, batch.To, last)
		last = batch.To
		for _, m := range batch.Messages {
			got = append(got, string(m.Body))
		}
	}
	check.That(t, len(got) == 199 && got[0] == "0.0" && got[2] == "1.1" && got[198] == "99.0",
		"%d messages: %v", len(got), got)
}
