package cursor_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/pkg/cursor"
)

func from(queue string, seq, first int64) cursor.Message {
	return cursor.Message{Queue: queue, Seq: seq, First: &first, Body: []byte(fmt.Sprint(seq))}
}

// answers are those of a group put, as texts.
func answers(t *testing.T, s *cursor.Sorter, messages ...cursor.Message) string {
	t.Helper()
	var all []string
	for _, r := range s.Put(t.Context(), messages...) {
		answer := fmt.Sprint(r.Outcome, " ", r.Seq)
		if r.NoQueue {
			answer += fmt.Sprint(" no queue, which starts at ", r.First)
		}
		if r.Err != nil {
			answer, _, _ = strings.Cut(r.Err.Error(), " (queue")
		}
		all = append(all, answer)
	}
	return strings.Join(all, ", ")
}

// TestAQueueStartsWhereItsFirstMessageSays, and a put that is refused makes none.
func TestAQueueStartsWhereItsFirstMessageSays(t *testing.T) {
	onEach(t, func(t *testing.T, s *cursor.Store, q string) {
		sorter := check.Get(cursor.New(s, nil))
		plain := func(queue string, seq int64) cursor.Message {
			return cursor.Message{Queue: queue, Seq: seq, Body: []byte(fmt.Sprint(seq))}
		}
		for i, c := range []struct {
			what  string
			put   []cursor.Message
			want  string
			first int64 // -1: there is no queue
		}{
			{"0, as a first put", []cursor.Message{plain("", 0)}, "stale 0 no queue, which starts at 1", -1},
			{"too far ahead", []cursor.Message{plain("", 200_000)}, "full 200000 no queue, which starts at 1", -1},
			{"before what it says", []cursor.Message{from("", 3, 5)}, "stale 3 no queue, which starts at 5", -1},
			{"one before its first, another with its own", []cursor.Message{from("", 3, 5), from("", 7, 7)}, "stale 3 no queue, which starts at 5, first is 7: the queue starts at seq 5, which is fixed: leave it out, or use another queue", -1},
			{"0, said so", []cursor.Message{from("", 0, 0)}, "advanced 0", 0},
			{"here", []cursor.Message{from("", 4711, cursor.FirstHere)}, "advanced 4711", 4711},
			{"the least of several", []cursor.Message{from("", 12, cursor.FirstHere), from("", 11, cursor.FirstHere)}, "advanced 12, advanced 11", 11},
			{"a part of it refused", []cursor.Message{plain("", 0), plain("", 1)}, "stale 0, advanced 1", 1},
			{"two that differ", []cursor.Message{from("", 0, 0), from("", 7, 7)}, "advanced 0, first is 7: the queue starts at seq 0, which is fixed: leave it out, or use another queue", 0},
		} {
			queue := fmt.Sprint(q, i)
			for n := range c.put {
				c.put[n].Queue = queue
			}
			same(t, c.what, answers(t, sorter, c.put...), c.want)
			cur := standing(t, s, queue)
			first := cur.Settings.First
			if !cur.Exists() {
				first = -1
			}
			same(t, c.what+", first", first, c.first)
		}
		there := fmt.Sprint(q, 5)
		same(t, "of one that is there", answers(t, sorter, from(there, 4710, cursor.FirstHere),
			from(there, 4712, cursor.FirstHere), from(there, 4713, 4711)),
			"stale 4710, advanced 4712, advanced 4713")
		same(t, "another", answers(t, sorter, from(there, 4714, 1)), "first is 1: the queue starts at seq 4711, which is fixed: leave it out, or use another queue")
	})
}

// TestARefusedPutAsksStrongly whether the queue is there: an older state shows none.
func TestARefusedPutAsksStrongly(t *testing.T) {
	b := newBench(t, nil)
	same(t, "the first", answers(t, b.sorter, from("q", 0, 0)), "advanced 0")
	b.engine = ddb.Func(func(ctx context.Context, r ddb.Request) (ddb.Answer, error) {
		if get, is := r.(ddb.Get); is && r.Name() == "get cursor" && !get.Strong {
			return ddb.Answer{}, nil
		}
		return b.tables.Do(ctx, r)
	})
	same(t, "again", answers(t, b.process(cursor.Options{}), from("q", 0, 0)), "duplicate 0")
	same(t, "without a first", answers(t, b.process(cursor.Options{}),
		cursor.Message{Queue: "q", Seq: 0, Body: []byte("0")}), "duplicate 0")
}

// TestFirstIsForNumberedQueues, and within its bounds.
func TestFirstIsForNumberedQueues(t *testing.T) {
	b := newBench(t, nil)
	first := int64(-2)
	keyed := keyedOf("a", "1")
	keyed.First = &first
	for _, m := range []cursor.Message{keyed, from("q", 1, -2)} {
		refuses(t, "put", b.sorter.Put(t.Context(), m)[0].Err, "first")
	}
}
