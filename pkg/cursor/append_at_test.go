package cursor_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/queuelog"
	"github.com/streamsort/streamsort/pkg/cursor"
)

// batch is the messages of some seqs of a queue in arrival order; the payload distinguishes two
// under one seq.
func batch(payload string, seqs ...int64) []cursor.Message {
	messages := make([]cursor.Message, len(seqs))
	for i, seq := range seqs {
		messages[i] = cursor.Message{Queue: "q", Seq: seq,
			Body: fmt.Appendf(nil, "body %d%s", seq, payload), Kind: cursor.KindArrival}
	}
	return messages
}

func seqs(first, last int64) []int64 {
	var all []int64
	for seq := first; seq <= last; seq++ {
		all = append(all, seq)
	}
	return all
}

// putAt puts messages by a process, and returns what became of them, in runs: "advanced 1-3, ahead
// 5 at 3".
func (b *bench) putAt(s *cursor.Sorter, messages []cursor.Message) string {
	b.t.Helper()
	results := s.Put(b.t.Context(), messages...)
	var said []string
	for i := 0; i < len(results); {
		n := i + 1
		for n < len(results) && results[n].Outcome == results[i].Outcome &&
			results[n].Seq == results[n-1].Seq+1 {
			n++
		}
		text := fmt.Sprintf("%s %d", results[i].Outcome, results[i].Seq)
		if results[i].Err != nil {
			text = results[i].Err.Error()
		}
		if n > i+1 {
			text += fmt.Sprintf("-%d", results[n-1].Seq)
		}
		if results[i].Outcome == cursor.Ahead {
			text += fmt.Sprintf(" at %d", results[i].New)
		}
		said, i = append(said, text), n
	}
	return strings.Join(said, ", ")
}

func TestAppendAtASeq(t *testing.T) {
	b := newBench(t, nil)
	warm, cold := b.sorter, func() *cursor.Sorter { return b.process(cursor.Options{}) }
	b.want("the first, which makes the queue", b.putAt(warm, batch("", 1, 2, 3)), "advanced 1-3")
	b.want("the next", b.putAt(warm, batch("", 4)), "advanced 4")
	for _, s := range []*cursor.Sorter{warm, cold()} {
		b.want("again", b.putAt(s, batch("", 1, 2, 3)), "duplicate 1-3")
		b.want("again, cut in another way", b.putAt(s, batch("", 2, 3, 4)), "duplicate 2-4")
		b.want("others", b.putAt(s, append(batch("", 1), batch("x", 2, 3)...)),
			"duplicate 1, conflict 2-3")
		b.want("beyond", b.putAt(s, batch("", 6, 7)), "ahead 6-7 at 4")
		b.want("before the first", b.putAt(s, batch("", 0)), "stale 0")
	}
	b.want("again and more", b.putAt(cold(), batch("", 3, 4, 5, 6)), "duplicate 3-4, advanced 5-6")
	b.want("others and more", b.putAt(cold(), batch("x", 6, 7)), "conflict 6, advanced 7")
	b.want("with a hole", b.putAt(cold(), batch("", 8, 9, 11)), "advanced 8-9, ahead 11 at 9")
	b.want("in another order, and twice", b.putAt(cold(), batch("", 11, 10, 11)),
		"advanced 11, advanced 10, duplicate 11")
	b.want("plain", b.append(arrival("a")), "advanced 12-12")
	b.want("the seq that a plain one has", b.putAt(warm, batch("", 12, 13)),
		"conflict 12, advanced 13")
	plain := cursor.Message{Queue: "q", Seq: 12, ID: "a", Body: []byte("body of a")}
	b.want("what the plain one is", b.putAt(warm, []cursor.Message{plain}), "duplicate 12")
	named := batch("", 14)
	named[0].ID = "n"
	b.want("with an id", b.putAt(warm, named), "advanced 14")
	b.want("without it", b.putAt(warm, batch("", 14)), "conflict 14")
	b.want("the id alone", b.append(arrival("n")), "advanced 15-15")
	same := []cursor.Message{{Queue: "q", Seq: 16, Body: []byte("same")},
		{Queue: "q", Seq: 17, Body: []byte("same")}}
	for i, m := range same {
		b.want("the same content", b.putAt(warm, same[i:i+1]), fmt.Sprintf("advanced %d", m.Seq))
	}
	got := b.read(0, 17)
	want := "14 n body 14"
	check.That(t, len(got) == 17 && got[0] == "1  body 1" && got[6] == "7  body 7x" &&
		got[13] == want, "%q", got)
	b.want("whole", b.verified(0, all), "0 to 17: 17")
}

// TestAKindBesideASeq: it is the queue's, or the put is refused.
func TestAKindBesideASeq(t *testing.T) {
	b := newBench(t, nil)
	b.put(body(1))
	results := b.sorter.Put(t.Context(), batch("", 2)...)
	check.Fails(t, results[0].Err, cursor.ErrFixed, results)
	other := body(2)
	other.Kind = cursor.KindKeyed
	refuses(t, "error", b.sorter.Put(t.Context(), other)[0].Err, "kind")
	first, of := int64(100), cursor.KindArrival
	check.Get(b.sorter.Configure(t.Context(), "made", cursor.Change{Kind: &of, First: &first}))
	made := []cursor.Message{{Queue: "made", Seq: 100}, {Queue: "made", Seq: 101}}
	b.want("of a queue that begins at 100", b.putAt(b.sorter, made), "advanced 100-101")
}

// TestAppendAtBounds: what is more than an item has is several, one behind the other.
func TestAppendAtBounds(t *testing.T) {
	b := newBench(t, nil)
	large := func(size int, of ...int64) []cursor.Message {
		messages := batch("", of...)
		for i := range messages {
			messages[i].Body = []byte(strings.Repeat("x", size))
		}
		return messages
	}
	b.want("501", b.putAt(b.sorter, batch("", seqs(1, 501)...)), "advanced 1-501")
	b.want("three of 150 KB", b.putAt(b.sorter, large(150<<10, 502, 503, 504)), "advanced 502-504")
	b.want("the largest ones", b.putAt(b.sorter, large(cursor.MaxBody, 505, 506)), "advanced 505-506")
	var counts []int
	for e := range b.status().Tail.All() {
		counts = append(counts, e.Count)
	}
	want := []int{500, 1, 2, 1, 1, 1}
	check.That(t, slices.Equal(counts, want), "items of %v messages, want %v", counts, want)
	b.want("again", b.putAt(b.process(cursor.Options{}),
		append(batch("", seqs(400, 501)...), large(150<<10, 502, 503)...)), "duplicate 400-503")
}

// TestAppendAtBehindOrderItems: repeats are known wherever their places are, and a tail that
// another has left full is flushed.
func TestAppendAtBehindOrderItems(t *testing.T) {
	b := newBench(t, nil)
	for seq := int64(1); seq <= 200; seq += 2 {
		b.want("next", b.putAt(b.sorter, batch("", seq, seq+1)),
			fmt.Sprintf("advanced %d-%d", seq, seq+1))
	}
	b.want("all again", b.putAt(b.process(cursor.Options{}), batch("", seqs(1, 200)...)),
		"duplicate 1-200")
	cur := b.status()
	check.Get2(b.memory.Inside().Allocate(t.Context(), "q",
		entries("dead", queuelog.MaxTail-cur.Tail.Len()),
		cursor.Range{From: cur.Position, To: cur.Position}, b.now))
	b.want("into a full tail", b.putAt(b.process(cursor.Options{}), batch("", b.status().Position+1)),
		fmt.Sprintf("advanced %d", b.status().Position))
	check.That(t, b.status().Tail.Len() < queuelog.MaxTail, "the tail is full")
}
