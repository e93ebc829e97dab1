package handoff_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/ddbtest"
	"github.com/streamsort/streamsort/internal/fanout"
	"github.com/streamsort/streamsort/internal/record"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/handoff"
	"github.com/streamsort/streamsort/pkg/table"
)

// shuffledBy are the messages of many queues, each out of order by up to so many places.
func shuffledBy(places float64, queues int, each int64) []cursor.Message {
	random := rand.New(rand.NewPCG(20, 3))
	type placed struct {
		at float64
		cursor.Message
	}
	var all []placed
	for q := range queues {
		for seq := int64(1); seq <= each; seq++ {
			all = append(all, placed{float64(seq) + random.Float64()*places, cursor.Message{
				Queue: fmt.Sprintf("octo-org/repository-%03d", q), Seq: seq, Body: fmt.Appendf(nil, "%-100d", seq),
			}})
		}
	}
	slices.SortFunc(all, func(a, b placed) int { return int(1e6*a.at) - int(1e6*b.at) })
	messages := make([]cursor.Message, len(all))
	for i, it := range all {
		messages[i] = it.Message
	}
	return messages
}

// TestSparseFigures: 20,000 messages to 200 queues, one by one and out of order by up to 8 places, for two consumers,
// at 400 a second: the stream of the messages is gathered for a second, that of the cursors for so many quarters of one.
func TestSparseFigures(t *testing.T) {
	for quarters, most := range map[int]ddb.Units{1: {Writes: 3.45, Reads: 2.65}, 4: {Writes: 3.05, Reads: 2.55}, 8: {Writes: 2.65, Reads: 2.45}} {
		t.Run(fmt.Sprint(quarters), func(t *testing.T) { sparse(t, quarters, most) })
	}
}

func sparse(t *testing.T, quarters int, most ddb.Units) {
	const period, looks = 100, 4
	consumers := handoff.Names{}.Tables()
	meter := ddbtest.NewMeter(ddb.NewMemory(append(cursor.Names{}.Tables(), consumers...)...))
	store, err := cursor.NewStore(meter, cursor.Names{})
	if err != nil {
		t.Fatal(err)
	}
	sorter, err := cursor.New(store, &cursor.Options{KeepForever: true})
	if err != nil {
		t.Fatal(err)
	}
	d, err := handoff.New(record.NewStore(meter, consumers), sorter, &handoff.Options{ForEach: fanout.OneByOne})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]int64{}
	reader := func(name string) handoff.Reader {
		return handoff.Reader{Name: name, Handle: func(_ context.Context, b handoff.Batch) error {
			for _, m := range b.Messages {
				key := name + " " + m.Queue
				if got[key]++; got[key] != m.Seq {
					return fmt.Errorf("%s: %d comes as number %d", key, m.Seq, got[key])
				}
			}
			return nil
		}}
	}
	handle, err := handoff.OnStream(d, cursor.Names{}, reader("a"), reader("b"))
	if err != nil {
		t.Fatal(err)
	}
	messages := shuffledBy(8, 200, 100)
	var records []json.RawMessage
	moves, spent := 0, map[string]ddbtest.Total{}
	part := func(name string) {
		total, before := meter.Take(), spent[name]
		before.Reads, before.Writes = before.Reads+total.Reads, before.Writes+total.Writes
		before.Units.Reads, before.Units.Writes = before.Units.Reads+total.Units.Reads, before.Units.Writes+total.Units.Writes
		spent[name] = before
	}
	came := map[string][]int64{}
	for i := range len(messages) / period {
		batch := messages[i*period : (i+1)*period]
		for _, m := range batch {
			result, err := sorter.Put(t.Context(), m)
			if err != nil {
				t.Fatal(err)
			}
			for _, move := range result.Moves {
				moves++
				records = append(records, moved(moves, m.Queue, move.From, move.To))
			}
			came[m.Queue] = append(came[m.Queue], m.Seq)
		}
		part("put")
		if i%looks == looks-1 {
			for queue, seqs := range came {
				if _, err := sorter.Heal(t.Context(), queue, seqs...); err != nil {
					t.Fatal(err)
				}
			}
			clear(came)
		}
		part("look")
		if i%quarters < quarters-1 {
			continue
		}
		answer, err := handle(t.Context(), table.StreamEvent{Records: records})
		if err != nil || len(answer.BatchItemFailures) > 0 {
			t.Fatal(answer, err)
		}
		part("deliver")
		records = nil
	}
	for key, n := range got {
		if n != 100 {
			t.Errorf("%s got %d", key, n)
		}
	}
	var all ddbtest.Total
	n := float64(len(messages))
	for _, name := range []string{"put", "look", "deliver"} {
		s := spent[name]
		t.Logf("%-8s %.2f requests, %.2f write and %.2f read units a message", name, float64(s.Reads+s.Writes)/n, s.Units.Writes/n, s.Units.Reads/n)
		all.Reads, all.Writes = all.Reads+s.Reads, all.Writes+s.Writes
		all.Units.Reads, all.Units.Writes = all.Units.Reads+s.Units.Reads, all.Units.Writes+s.Units.Writes
	}
	requests := float64(all.Reads+all.Writes) / n
	t.Logf("%-8s %.2f requests, %.2f write and %.2f read units a message; %.2f moves", "all", requests, all.Units.Writes/n, all.Units.Reads/n, float64(moves)/n)
	if len(got) != 400 || requests > 6.5 || all.Units.Writes/n > most.Writes || all.Units.Reads/n > most.Reads {
		t.Errorf("%d queues; want 6.5 requests, %v write and %v read units at most", len(got), most.Writes, most.Reads)
	}
}
