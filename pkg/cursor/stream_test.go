package cursor_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/check"
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
	handle := cursor.OnMessages(b.sorter, cursor.Names{}, &cursor.OnMessagesOptions{Advanced: func(a cursor.Advance) {
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
		handle := cursor.OnMessages(b.sorter, cursor.Names{}, &cursor.OnMessagesOptions{Failed: func(err error) { failures = append(failures, err) }})
		response, err := handle(t.Context(), event(t, stored(1, "q", 1), record, stored(3, "q", 1)))
		check.That(t, err == nil && len(response.BatchItemFailures) == 1 &&
			response.BatchItemFailures[0].ItemIdentifier == "2" && len(failures) == 1,
			"%s: %v, %v, failures %v; want record 2 to fail", name, response, err, failures)
		if cur, err := b.sorter.Status(t.Context(), "q"); err != nil || cur.Position != 1 {
			t.Errorf("%s: the good record was not handled: %+v, %v", name, cur, err)
		}
		response, err = handle(t.Context(), event(t, `{"eventName":"INSERT","dynamodb":{}}`))
		check.That(t, err != nil, "a record without a sequence number: %v, want an error", response)
	}
}

func TestStatelessConsumerHandsOnInOrder(t *testing.T) {
	b := newBench(t, nil)
	const count = 500 + 10
	b.puts(1, count)
	b.put(body(count + 3))
	b.now = b.now.Add(time.Hour)
	check.Get2(b.sorter.Steps().SkipGap(t.Context(), "q", "why", time.Hour, 10))
	var got []string
	next := int64(1)
	handle := cursor.StatelessConsumer(b.sorter, cursor.Names{}, func(_ context.Context, batch cursor.Batch) error {
		got = append(got, fmt.Sprintf("%s %d→%d %d skipped %v", batch.Queue, batch.From, batch.To, len(batch.Messages), batch.Skipped))
		for _, m := range batch.Messages {
			check.That(t, m.Seq == next && string(m.Body) == fmt.Sprintf("body %d", next),
				"message %d %q, want %d", m.Seq, m.Body, next)
			next = m.Seq + 1
			if next == count+1 {
				next = count + 3
			}
		}
		return nil
	}, nil)
	created := fmt.Sprintf(`{"eventName":"INSERT","dynamodb":{"SequenceNumber":"1","NewImage":%s}}`, cursorImage("q", 0))
	response, err := handle(t.Context(), event(t,
		created, moved(2, "q", 0, 2), moved(3, "q", 2, 2), moved(4, "q", 2, count), moved(5, "q", count, count+3),
		`{"eventName":"REMOVE","dynamodb":{"SequenceNumber":"6"}}`))
	check.Need(t, err == nil && len(response.BatchItemFailures) == 0, "%v, %v", response, err)
	want := []string{
		"q 0→2 2 skipped []", "q 2→502 500 skipped []", "q 502→510 8 skipped []", "q 510→513 1 skipped [511 512]",
	}
	same(t, "batches", got, want)
}

// TestStatelessConsumerPassesOverAnErasedQueue: its records hold up no other queue.
func TestStatelessConsumerPassesOverAnErasedQueue(t *testing.T) {
	b := newBench(t, nil)
	b.put(body(1))
	b.put(in("other", body(1)))
	check.Get(b.sorter.Steps().EraseMore(t.Context(), b.erase("q"), nil))
	var got []string
	handle := cursor.StatelessConsumer(b.sorter, cursor.Names{}, func(_ context.Context, batch cursor.Batch) error {
		got = append(got, fmt.Sprintf("%s %d", batch.Queue, batch.To))
		return nil
	}, nil)
	response, err := handle(t.Context(), event(t, moved(1, "q", 0, 1), moved(2, "other", 0, 1)))
	want := []string{"other 1"}
	check.That(t, err == nil && len(response.BatchItemFailures) == 0 && slices.Equal(got, want),
		"%v, %v, %v; want %v", response, err, got, want)
}

func TestStatelessConsumerStopsAtWhatFails(t *testing.T) {
	b := newBench(t, nil)
	b.puts(1, 3)
	broken := errors.New("broken")
	for name, c := range map[string]struct {
		second string
		err    error
	}{
		"handler":       {moved(2, "q", 1, 2), broken},
		"not stored":    {moved(2, "q", 1, 9), nil},
		"no images":     {`{"eventName":"MODIFY","dynamodb":{"SequenceNumber":"2","Keys":{"queue":{"S":"q"}}}}`, nil},
		"no old image":  {fmt.Sprintf(`{"eventName":"MODIFY","dynamodb":{"SequenceNumber":"2","NewImage":%s}}`, cursorImage("q", 2)), nil},
		"wrong type":    {`{"eventName":"INSERT","dynamodb":{"SequenceNumber":"2","NewImage":{"queue":{"S":"q"},"v":{"S":"1"}}}}`, nil},
		"newer layout":  {`{"eventName":"INSERT","dynamodb":{"SequenceNumber":"2","NewImage":{"queue":{"S":"q"},"v":{"N":"3"}}}}`, nil},
		"images of one": {`{"eventName":"MODIFY","dynamodb":{"SequenceNumber":"2","NewImage":[],"OldImage":{}}}`, nil},
	} {
		var failures []error
		handed := 0
		handle := cursor.StatelessConsumer(b.sorter, cursor.Names{}, func(_ context.Context, batch cursor.Batch) error {
			handed++
			if batch.From == 1 {
				return c.err
			}
			return nil
		}, &cursor.StatelessOptions{Failed: func(err error) { failures = append(failures, err) }})
		response, err := handle(t.Context(), event(t, moved(1, "q", 0, 1), c.second, moved(3, "q", 2, 3)))
		check.That(t, err == nil && len(response.BatchItemFailures) == 1 &&
			response.BatchItemFailures[0].ItemIdentifier == "2" && len(failures) == 1,
			"%s: %v, %v, failures %v; want record 2 to fail", name, response, err, failures)
		if tried := handed - 1; tried > 1 || tried == 1 && c.err == nil {
			t.Errorf("%s: %d advances were delivered, want none behind record 2", name, handed)
		}
		check.That(t, c.err == nil || errors.Is(failures[0], broken),
			"%s: failure %v, want the handler's", name, failures[0])
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
			response, err := cursor.OnMessages(b.process(cursor.Options{}), cursor.Names{}, &cursor.OnMessagesOptions{Failed: func(error) { failed++ }})(t.Context(), event(t, record))
			check.That(t, err == nil && failed == 1 &&
				(len(response.BatchItemFailures) == 1) == c.again,
				"%+v, %v, %d failures; want it again: %v", response, err, failed, c.again)
			b.engine = b.tables
			if !c.again {
				if _, err := b.process(cursor.Options{}).Steps().Heal(t.Context(), "q"); err != nil || b.status().Position != 1 {
					t.Errorf("%+v, %v; want it healed without its record", b.status(), err)
				}
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
