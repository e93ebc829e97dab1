package cursor_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/sortkey"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/table"
)

func event(t *testing.T, records ...string) table.StreamEvent {
	t.Helper()
	e := table.StreamEvent{}
	for _, r := range records {
		e.Records = append(e.Records, json.RawMessage(r))
	}
	return e
}

// stored is a record of the messages' stream.
func stored(sequence int, queue string, seq int64) string {
	return fmt.Sprintf(`{"eventName":"INSERT","dynamodb":{"SequenceNumber":"%d","Keys":{"queue":{"S":%q},"seq":{"N":"%d"}}}}`,
		sequence, queue, seq)
}

func cursorImage(queue string, position int64) string {
	return fmt.Sprintf(`{"queue":{"S":%q},"v":{"N":"1"},"first":{"N":"1"},"position":{"N":"%d"},"parked":{"N":"0"},`+
		`"gapSince":{"N":"0"},"change":{"S":"advance"},"policy":{"S":"wait"},"gapAfter":{"N":"1000"},"maxAhead":{"N":"9"},"mode":{"S":"sync"}}`,
		queue, position)
}

// moved is a record of the cursors' stream.
func moved(sequence int, queue string, from, to int64) string {
	return fmt.Sprintf(`{"eventName":"MODIFY","dynamodb":{"SequenceNumber":"%d","Keys":{"queue":{"S":%q}},"OldImage":%s,"NewImage":%s}}`,
		sequence, queue, cursorImage(queue, from), cursorImage(queue, to))
}

func TestOnMessagesHealsEachQueueOnce(t *testing.T) {
	b := newBench(t, withSettings(func(s *cursor.Settings) { s.Mode = cursor.ModeAsync }))
	b.puts(1, 3)
	b.put(cursor.Message{Queue: "other", Seq: 1})
	var advances []string
	handle := cursor.OnMessages(b.sorter, cursor.Names{},
		&cursor.OnMessagesOptions{Advanced: func(a cursor.Advance) {
			advances = append(advances, fmt.Sprintf("%s %v", a.Cursor.Queue, a.Moves))
		}})
	response, err := handle(t.Context(), event(t,
		stored(1, "q", 2), stored(2, "other", 1), stored(3, "q", 1), stored(4, "q", 3),
		`{"eventName":"REMOVE","dynamodb":{"SequenceNumber":"5","Keys":{"queue":{"S":"q"},"seq":{"N":"9"}}}}`))
	check.Need(t, err == nil && len(response.BatchItemFailures) == 0, "%v, %v", response, err)
	same(t, "advances", advances, []string{"q [{0 3}]", "other [{0 1}]"})
}

func TestOnMessagesFailsWhatItCannotRead(t *testing.T) {
	for name, record := range map[string]string{
		"no keys":         `{"eventName":"INSERT","dynamodb":{"SequenceNumber":"2"}}`,
		"keys of a type":  `{"eventName":"INSERT","dynamodb":{"SequenceNumber":"2","Keys":7}}`,
		"seq of a type":   `{"eventName":"INSERT","dynamodb":{"SequenceNumber":"2","Keys":{"queue":{"S":"q"},"seq":{"S":"1"}}}}`,
		"seq too large":   `{"eventName":"INSERT","dynamodb":{"SequenceNumber":"2","Keys":{"queue":{"S":"q"},"seq":{"N":"9223372036854775808"}}}}`,
		"queue of a type": `{"eventName":"INSERT","dynamodb":{"SequenceNumber":"2","Keys":{"queue":{"N":"1"},"seq":{"N":"1"}}}}`,
	} {
		b := newBench(t, withSettings(func(s *cursor.Settings) { s.Mode = cursor.ModeAsync }))
		b.put(body(1))
		var failures []error
		handle := cursor.OnMessages(b.sorter, cursor.Names{},
			&cursor.OnMessagesOptions{Failed: func(err error) {
				failures = append(failures, err)
			}})
		other := strings.Replace(record, `"2"`, `"4"`, 1)
		response, err := handle(t.Context(),
			event(t, stored(1, "q", 1), record, stored(3, "q", 1), other))
		check.That(t, err == nil && len(response.BatchItemFailures) == 1 &&
			response.BatchItemFailures[0].ItemIdentifier == "2" && len(failures) == 2,
			"%s: %v, %v, failures %v; want what is from record 2 on to come again", name,
			response, err, failures)
		if cur, err := b.sorter.Status(t.Context(), "q"); err != nil || cur.Position != 1 {
			t.Errorf("%s: the good record was not handled: %+v, %v", name, cur, err)
		}
		response, err = handle(t.Context(), event(t, `{"eventName":"INSERT","dynamodb":{}}`))
		check.That(t, err != nil, "a record without a sequence number: %v, want an error", response)
	}
}

func TestAdvanceOf(t *testing.T) {
	created := fmt.Sprintf(`{"eventName":"INSERT","dynamodb":{"SequenceNumber":"1","NewImage":%s}}`,
		cursorImage("q", 0))
	for record, want := range map[string]cursor.Range{
		created: {From: 0, To: 0}, moved(2, "q", 0, 2): {From: 0, To: 2}, moved(3, "q", 2, 2): {From: 2, To: 2},
	} {
		cur, over, err := cursor.AdvanceOf(json.RawMessage(record), cursor.Names{})
		check.That(t, err == nil && cur.Queue == "q" && over == want, "%s: %+v, %v, %v; want %v", record,
			cur, over, err, want)
	}
	removed := `{"eventName":"REMOVE","dynamodb":{"SequenceNumber":"6"}}`
	cur, _, err := cursor.AdvanceOf(json.RawMessage(removed), cursor.Names{})
	check.That(t, err == nil && !cur.Exists(), "a deletion: %+v, %v", cur, err)
	for name, record := range map[string]string{
		"no images":     `{"eventName":"MODIFY","dynamodb":{"SequenceNumber":"2","Keys":{"queue":{"S":"q"}}}}`,
		"no old image":  fmt.Sprintf(`{"eventName":"MODIFY","dynamodb":{"SequenceNumber":"2","NewImage":%s}}`, cursorImage("q", 2)),
		"wrong type":    `{"eventName":"INSERT","dynamodb":{"SequenceNumber":"2","NewImage":{"queue":{"S":"q"},"v":{"S":"1"}}}}`,
		"newer layout":  `{"eventName":"INSERT","dynamodb":{"SequenceNumber":"2","NewImage":{"queue":{"S":"q"},"v":{"N":"3"}}}}`,
		"images of one": `{"eventName":"MODIFY","dynamodb":{"SequenceNumber":"2","NewImage":[],"OldImage":{}}}`,
	} {
		_, _, err := cursor.AdvanceOf(json.RawMessage(record), cursor.Names{})
		check.That(t, err != nil, "%s: no error", name)
	}
}

// TestOnMessagesLeavesToTheSweep what goes on failing, where that is on record.
func TestOnMessagesLeavesToTheSweep(t *testing.T) {
	for name, c := range map[string]struct {
		age   time.Duration
		queue string
		fails []string
		again bool
	}{
		"young":                  {30 * time.Second, "q", []string{"query messages"}, true},
		"old":                    {31 * time.Second, "q", []string{"query messages"}, false},
		"old, and not on record": {31 * time.Second, "q", []string{"query messages", "leave to sweep"}, true},
		"old, and never made":    {31 * time.Second, "none", []string{"get cursor"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, withSettings(func(s *cursor.Settings) { s.Mode = cursor.ModeAsync }))
			b.put(body(1))
			b.now = b.now.Truncate(time.Second)
			made := b.now.Add(-c.age).Unix()
			b.engine = ddb.Func(func(ctx context.Context, r ddb.Request) (ddb.Answer, error) {
				if slices.Contains(c.fails, r.Name()) {
					return ddb.Answer{}, cursor.ErrThrottled
				}
				return b.tables.Do(ctx, r)
			})
			record := fmt.Sprintf(`{"eventName":"INSERT","dynamodb":{"SequenceNumber":"7","ApproximateCreationDateTime":%d,"Keys":{"queue":{"S":%q},"seq":{"N":"1"}}}}`, made, c.queue)
			failed := 0
			response, err := cursor.OnMessages(b.process(cursor.Options{}), cursor.Names{},
				&cursor.OnMessagesOptions{Failed: func(error) {
					failed++
				}})(t.Context(), event(t, record))
			check.That(t, err == nil && failed == 1 &&
				(len(response.BatchItemFailures) == 1) == c.again,
				"%+v, %v, %d failures; want it again: %v", response, err, failed, c.again)
			b.engine = b.tables
			if !c.again {
				_, err := b.process(cursor.Options{}).Steps().Heal(t.Context(), "q")
				check.That(t, err == nil && b.status().Position == 1,
					"%+v, %v; want it healed without its record", b.status(), err)
			}
		})
	}
}

// TestOnMessagesHandsBack the records of a queue that there was no time for, and not those of
// others.
func TestOnMessagesHandsBack(t *testing.T) {
	b := newBench(t, withSettings(func(s *cursor.Settings) { s.Mode = cursor.ModeAsync }))
	b.parked(1, 2500, 100, false)
	b.put(in("other", body(1)))
	// What is moved of the large queue is moved for good.
	for calls, failed := 0, "2"; failed != ""; calls++ {
		b.engine = &overdue{bounded{b.tables, 12}}
		response, err := cursor.OnMessages(b.process(cursor.Options{}), cursor.Names{}, nil)(t.Context(),
			event(t, stored(1, "other", 1), stored(2, "q", 2500)))
		check.Need(t, err == nil && calls <= 10, "call %d: %v, %v", calls, response, err)
		if failed = ""; len(response.BatchItemFailures) > 0 {
			failed = response.BatchItemFailures[0].ItemIdentifier
		}
		cur := b.status()
		check.That(t, (failed == "2" || cur.Position >= 2500) && failed != "1",
			"call %d: record %q has to come again, and the position is %d", calls, failed,
			cur.Position)
	}
}

// overdue is an invocation whose time is over after so many requests.
type overdue struct{ bounded }

// Do implements [ddb.Engine].
func (o *overdue) Do(ctx context.Context, r ddb.Request) (ddb.Answer, error) {
	a, err := o.bounded.Do(ctx, r)
	if err != nil {
		return a, context.DeadlineExceeded
	}
	return a, nil
}

// waits is a record of a message that waits in a keyed queue of texts.
func waits(t *testing.T, sequence int, at time.Time, queue, key string) string {
	t.Helper()
	stored := check.Get(sortkey.KeyType("text").Key(key))
	return fmt.Sprintf(`{"eventName":"INSERT","dynamodb":{"SequenceNumber":"%d","ApproximateCreationDateTime":%d,"Keys":{"queue":{"S":%q},"sortKey":{"B":%q}}}}`,
		sequence, at.Unix(), queue,
		base64.StdEncoding.EncodeToString([]byte(sortkey.Era("").SortKey(stored, "1"))))
}

// TestOnArrivalsSettlesEachQueueOnce: up to the greatest key of the batch, in one wake-up where
// there is a window. A queue that fails keeps no other back; its record comes again, for half a
// minute.
func TestOnArrivalsSettlesEachQueueOnce(t *testing.T) {
	b := newBench(t, nil)
	for queue, settle := range map[string]time.Duration{"now": 0, "bad": 0, "q": 5 * time.Second} {
		kind, keyType := cursor.KindKeyed, sortkey.KeyType("text")
		check.Get(b.sorter.Configure(t.Context(), queue,
			cursor.Change{Kind: &kind, KeyType: &keyType, Settle: &settle}))
		for _, key := range []string{"b", "a"} {
			m := keyedOf(key, "1")
			m.Queue = queue
			b.putKeyed(m)
		}
	}
	b.engine = ddb.Func(func(ctx context.Context, r ddb.Request) (ddb.Answer, error) {
		if update, ok := r.(ddb.Update); ok && update.Key.Get("queue").Str() == "bad" {
			return ddb.Answer{}, cursor.ErrThrottled
		}
		return b.tables.Do(ctx, r)
	})
	at := b.now
	run := func() (again string, wakeUps []string, placed, failed int) {
		response := check.Get(cursor.OnArrivals(b.process(cursor.Options{}), cursor.Names{},
			cursor.OnArrivalsOptions{
				WakeUp: func(queue string, upTo sortkey.SortKey, due time.Time) {
					wakeUps = append(wakeUps, fmt.Sprint(queue, " ", upTo.Key(), " ", due.Sub(b.now)))
				},
				Settled: func(done cursor.Settled) { placed += done.Placed },
				Failed:  func(error) { failed++ },
			})(t.Context(), event(t, waits(t, 1, at, "q", "b"), waits(t, 2, at, "now", "a"),
			waits(t, 3, at, "bad", "a"), waits(t, 4, at, "q", "a"), waits(t, 5, at, "now", "b"))))
		for _, f := range response.BatchItemFailures {
			again += f.ItemIdentifier
		}
		return again, wakeUps, placed, failed
	}
	again, wakeUps, placed, failed := run()
	b.want("batch", fmt.Sprintf("%s %v %d %d", again, wakeUps, placed, failed), "3 [q b 5s] 2 1")
	b.later(31 * time.Second)
	again, _, placed, failed = run()
	b.want("when it is old", fmt.Sprintf("%q %d %d", again, placed, failed), `"" 0 1`)
}

// TestMoved: each move of a queue of any kind is reported, with the position; what moves nothing is
// not.
func TestMoved(t *testing.T) {
	var moved []string
	b := newBench(t, nil)
	other := b.sorter
	sorter := b.process(cursor.Options{Moved: func(queue string, position int64) {
		moved = append(moved, fmt.Sprint(queue, " ", position))
	}})
	expect := func(what string, want ...string) {
		t.Helper()
		check.That(t, slices.Equal(moved, want), "%s moved %q, want %q", what, moved, want)
		moved = nil
	}
	put := func(messages ...cursor.Message) {
		t.Helper()
		for _, r := range sorter.Put(t.Context(), messages...) {
			check.Need(t, r.Err == nil && r.Deferred == nil, "%v", r)
		}
	}
	put(cursor.Message{Queue: "n", Seq: 2})
	expect("what is parked")
	put(cursor.Message{Queue: "n", Seq: 1})
	expect("what fills a gap", "n 2")
	put(cursor.Message{Queue: "n", Seq: 1})
	expect("a duplicate")
	put(cursor.Message{Queue: "n", Seq: 3}, cursor.Message{Queue: "a", Seq: cursor.NoSeq, ID: "1"},
		cursor.Message{Queue: "a", Seq: cursor.NoSeq, ID: "2"})
	expect("several", "n 3", "a 2")
	r := other.Put(t.Context(), cursor.Message{Queue: "n", Seq: 4})[0]
	check.Need(t, r.Outcome == cursor.Advanced, "%v", r)
	put(cursor.Message{Queue: "n", Seq: 4})
	expect("what another has moved")
	put(cursor.Message{Queue: "a", Seq: 3}, cursor.Message{Queue: "a", Seq: 4})
	expect("what is appended", "a 4")
	put(cursor.Message{Queue: "k", Seq: cursor.NoSeq, ID: "1", KeyParts: []any{1}, KeyType: "number"})
	expect("what waits")
	b.later(time.Minute)
	check.Get(sorter.Settle(t.Context(), "k", sortkey.EverySortKey))
	expect("a settle", "k 1")
	check.Get(sorter.Status(t.Context(), "k"))
	expect("a look")
}

// FuzzStreamRecord: whatever stands in a record, the handlers of both streams answer that it went
// well, name it as failed, or fail as a whole; and what they do with it stays within their bounds.
func FuzzStreamRecord(f *testing.F) {
	for _, seed := range []string{
		stored(1, "q", 1), moved(2, "q", 0, 1), moved(3, "q", 1, 0), cursorImage("q", 1), `{}`, `null`, `[]`, `7`, ``,
		`{"eventName":"INSERT","dynamodb":{"SequenceNumber":"1","Keys":{"queue":{"S":""},"seq":{"N":"-1"}}}}`,
		`{"eventName":"INSERT","dynamodb":{"SequenceNumber":"1","Keys":{"queue":{"S":"q"},"seq":{"N":"9223372036854775807"}}}}`,
		`{"eventName":"INSERT","dynamodb":{"SequenceNumber":"1","Keys":{"queue":{"NULL":true},"seq":{"B":"AA=="}}}}`,
		`{"eventName":"INSERT","dynamodb":{"SequenceNumber":"1","NewImage":{"queue":{"L":[{"M":{}}]}}}}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, record string) {
		if !json.Valid([]byte(record)) {
			return // Lambda hands out JSON
		}
		event := table.StreamEvent{Records: []json.RawMessage{json.RawMessage(record)}}
		s := check.Get(cursor.New(cursor.NewMemory(), nil))
		one := cursor.Message{Queue: "q", Seq: 1}
		check.OK(t, s.Put(t.Context(), one)[0].Err)
		cur, over, err := cursor.AdvanceOf(event.Records[0], cursor.Names{})
		check.That(t, err != nil || !cur.Exists() || over.To == cur.Position, "%v of a cursor at %d",
			over, cur.Position)
		var advances []cursor.Advance
		response, err := cursor.OnMessages(s, cursor.Names{},
			&cursor.OnMessagesOptions{Advanced: func(a cursor.Advance) {
				advances = append(advances, a)
			}})(t.Context(), event)
		if n := len(response.BatchItemFailures); err == nil && n > 1 || len(advances) > 1 {
			t.Errorf("%d failures, %d advances of one record", n, len(advances))
		}
	})
}
