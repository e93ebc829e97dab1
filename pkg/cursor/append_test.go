package cursor_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/queuelog"
	"github.com/streamsort/streamsort/pkg/cursor"
)

// request is what one put brings to a queue in arrival order, under an id: one message, or several
// together.
type request struct {
	Queue, ID string
	Messages  []cursor.Message
}

func (r request) put() []cursor.Message {
	messages := slices.Clone(r.Messages)
	for i := range messages {
		if m := &messages[i]; len(messages) == 1 {
			m.Queue, m.Seq, m.ID = r.Queue, m.Seq+cursor.NoSeq, r.ID
		} else {
			m.Queue, m.Seq, m.PutID = r.Queue, m.Seq+cursor.NoSeq, r.ID
		}
	}
	return messages
}

// appended is the answer for a request.
type appended struct {
	Outcome     cursor.Outcome
	Seqs, Moved cursor.Range
	Err         error
}

// appendGroup puts requests in one call.
func appendGroup(ctx context.Context, s *cursor.Sorter, requests []request) ([]appended, error) {
	var messages []cursor.Message
	for _, r := range requests {
		messages = append(messages, r.put()...)
	}
	results, answers := s.Put(ctx, messages...), make([]appended, len(requests))
	for i, r := range requests {
		for n, got := range results[:len(r.Messages)] {
			if n == 0 {
				answers[i] = appended{Outcome: got.Outcome, Seqs: cursor.Range{From: got.Seq - 1}, Err: got.Err}
			}
			answers[i].Seqs.To = got.Seq
			for _, moved := range got.Moves {
				answers[i].Moved = moved
			}
		}
		results = results[len(r.Messages):]
	}
	var err error
	if wrong := cursor.Validate(messages); wrong != nil {
		err = answers[0].Err
	}
	return answers, err
}

func appendTo(ctx context.Context, s *cursor.Sorter, r request) (appended, error) {
	answers, _ := appendGroup(ctx, s, []request{r})
	return answers[0], answers[0].Err
}

// arrival is one message under an id.
func arrival(id string) request {
	return request{Queue: "q", ID: id, Messages: []cursor.Message{{Body: []byte("body of " + id)}}}
}

// several are n messages under an id.
func several(id string, n int) request {
	a := request{Queue: "q", ID: id}
	for i := range n {
		a.Messages = append(a.Messages, cursor.Message{Body: fmt.Appendf(nil, "body %d of %s", i, id)})
	}
	return a
}

// answer writes an answer as "outcome seqs".
func answer(r appended) string {
	if r.Outcome != cursor.Advanced && r.Outcome != cursor.Duplicate {
		return string(r.Outcome)
	}
	return fmt.Sprintf("%s %d-%d", r.Outcome, r.Seqs.From+1, r.Seqs.To)
}

// append appends in a process that knows nothing yet.
func (b *bench) append(a request) string {
	b.t.Helper()
	return answer(check.Get(appendTo(b.t.Context(), b.process(cursor.Options{}), a)))
}

// fill appends messages of their own, so many.
func (b *bench) fill(prefix string, n int) {
	b.t.Helper()
	for i := range n {
		check.Get(appendTo(b.t.Context(), b.sorter, arrival(fmt.Sprint(prefix, i))))
	}
}

// read reads a range as "seq id body".
func (b *bench) read(after, upTo int64) []string {
	b.t.Helper()
	var all []string
	for m, err := range b.process(cursor.Options{}).Read(b.t.Context(), "q", after, upTo) {
		if err != nil {
			return append(all, err.Error())
		}
		all = append(all, fmt.Sprintf("%d %s %s", m.Seq, m.ID, m.Body))
	}
	return all
}

func TestAppendTellsEachOutcome(t *testing.T) {
	b := newBench(t, nil)
	b.want("first", b.append(arrival("a")), "advanced 1-1")
	b.want("next", b.append(several("b", 3)), "advanced 2-4")
	b.want("repeat", b.append(arrival("a")), "duplicate 1-1")
	b.want("repeat of several", b.append(several("b", 3)), "duplicate 2-4")
	other := arrival("a")
	other.Messages[0].Body = []byte("other")
	b.want("other bytes", b.append(other), "conflict")
	b.want("fewer", b.append(several("b", 2)), "conflict")
	b.want("another", b.append(arrival("c")), "advanced 5-5")
	want := []string{"1 a body of a", "2  body 0 of b", "3  body 1 of b", "4  body 2 of b",
		"5 c body of c"}
	same(t, "got", b.read(0, 5), want)
	same(t, "a part of several", b.read(2, 4), want[2:4])
}

// TestRepeatsAreKnownForAsLongAsTheyAreKept: wherever the first one's place has gone to.
func TestRepeatsAreKnownForAsLongAsTheyAreKept(t *testing.T) {
	b := newBench(t, nil)
	for n := range 120 {
		b.want("first", b.append(several(fmt.Sprint("id", n), 1+n%2)),
			fmt.Sprintf("advanced %d-%d", n+n/2+1, n+n/2+1+n%2))
		b.want("repeat of the first", b.append(several("id0", 1)), "duplicate 1-1")
		b.want("repeat of one half as old", b.append(several(fmt.Sprint("id", n/2), 1+n/2%2)),
			fmt.Sprintf("duplicate %d-%d", n/2+n/4+1, n/2+n/4+1+n/2%2))
	}
	b.now = b.now.Add(14*24*time.Hour - time.Second)
	b.want("in the last second", b.append(several("id0", 1)), "duplicate 1-1")
	b.now = b.now.Add(time.Second)
	b.want("afterwards", b.append(several("id0", 1)), "advanced 181-181")
	b.want("and again", b.append(several("id0", 1)), "duplicate 181-181")
}

func TestAppendGroup(t *testing.T) {
	b := newBench(t, nil)
	b.want("before", b.append(arrival("known")), "advanced 1-1")
	var group []request
	var want []string
	for i := range 60 {
		group = append(group, arrival(fmt.Sprint(i)))
		want = append(want, fmt.Sprintf("advanced %d-%d", i+2, i+2))
	}
	other := arrival("elsewhere")
	other.Queue = "p"
	group = append(group, arrival("7"), other, arrival("known"))
	want = append(want, "duplicate 9-9", "advanced 1-1", "duplicate 1-1")
	results := check.Get(appendGroup(t.Context(), b.sorter, group))
	var got []string
	for _, r := range results {
		got = append(got, answer(r))
	}
	same(t, "got", got, want)
	if r := results[0]; r.Moved != (cursor.Range{From: 1, To: 26}) ||
		results[62].Moved != (cursor.Range{}) {
		t.Errorf("moved %v, and a repeat %v", r.Moved, results[62].Moved)
	}
}

func TestKindsAreKeptApart(t *testing.T) {
	b := newBench(t, nil)
	b.put(cursor.Message{Queue: "numbered", Seq: 1})
	b.want("append", b.append(arrival("a")), "advanced 1-1")
	numbered := arrival("a")
	numbered.Queue = "numbered"
	refuses(t, "append to a numbered queue",
		check.Err(appendTo(t.Context(), b.sorter, numbered)), "seq")
	arrivalKind, numberedKind := cursor.KindArrival, cursor.KindNumbered
	check.Fails(t, check.Err(b.sorter.Configure(t.Context(), "q", cursor.Change{Kind: &numberedKind})),
		cursor.ErrFixed, "another kind")
	check.Fails(t,
		check.Err(b.sorter.Configure(t.Context(), "numbered", cursor.Change{Kind: &arrivalKind})),
		cursor.ErrFixed, "another kind")
	check.Get(b.sorter.Configure(t.Context(), "q", cursor.Change{Kind: &arrivalKind}))
	first := int64(100)
	cur, err := b.sorter.Configure(t.Context(), "made",
		cursor.Change{Kind: &arrivalKind, First: &first})
	check.That(t, err == nil && cur.Settings.Kind == cursor.KindArrival && cur.TailFrom == 99,
		"made by a call: %+v, %v", cur, err)
	made := arrival("x")
	made.Queue = "made"
	b.want("its first", b.append(made), "advanced 100-100")
	// Healing has nothing to do.
	for _, queue := range []string{"q", "made"} {
		advance, err := b.sorter.Steps().Recheck(t.Context(), queue)
		check.That(t, err == nil && len(advance.Moves) == 0, "heal: %+v, %v", advance, err)
	}
	list, err := b.sorter.Gaps(t.Context(), "q", 5)
	check.That(t, err == nil && len(list.Gaps) == 0, "gaps: %+v, %v", list, err)
	// Defaults say nothing of the kind of a queue that a put makes.
	s := b.process(cursor.Options{Defaults: &cursor.Settings{First: 1, Policy: cursor.PolicyWait,
		GapAfter: time.Hour, MaxAhead: 5, Mode: cursor.ModeSync, Kind: cursor.KindArrival}})
	r := s.Put(t.Context(), cursor.Message{Queue: "by a put", Seq: 1})[0]
	check.That(t, r.Err == nil && r.Outcome == cursor.Advanced, "%+v, %v", r, r.Err)
}

func TestAppendRefusesWhatIsOutOfBounds(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*request)
		field  string
	}{
		"no queue":      {func(a *request) { a.Queue = "" }, "queue"},
		"no id":         {func(a *request) { a.ID = "" }, "id"},
		"long id":       {func(a *request) { a.ID = strings.Repeat("x", 1025) }, "id"},
		"id, not UTF-8": {func(a *request) { a.ID = "\xff" }, "id"},
		"many messages": {func(a *request) { a.Messages = make([]cursor.Message, 501) }, "messages"},
		"large": {func(a *request) {
			a.Messages = slices.Repeat([]cursor.Message{{Body: make([]byte, 100_000)}}, 4)
		}, "messages"},
		"large message": {func(a *request) { a.Messages[0].Body = make([]byte, cursor.MaxBody+1) }, "body"},
		"a bad one":     {func(a *request) { a.Messages[0].ContentType = "\xff" }, "contentType"},
		"a key":         {func(a *request) { a.Messages[0].KeyType = "number" }, "key"},
		"a first":       {func(a *request) { a.Messages[0].First = new(int64) }, "first"},
	} {
		b := newBench(t, nil)
		a := arrival("a")
		c.change(&a)
		refuses(t, name, check.Err(appendTo(t.Context(), b.sorter, a)), c.field)
		_, err := appendGroup(t.Context(), b.sorter, []request{arrival("good"), a})
		path := check.As[*cursor.InvalidError](t, err).Path()
		check.That(t, c.field == "messages" || path == "messages[1]."+c.field, "%s: %v", name, err)
		check.Is(t, len(b.queues()), 0, "something was stored", name)
	}
	b := newBench(t, nil)
	other := arrival("a")
	other.Messages[0].Body = nil
	refuses(t, "two under one id",
		check.Err(appendGroup(t.Context(), b.sorter, []request{arrival("a"), other})), "messages[1].id")
}

func TestAppendAtTheEndOfTheRange(t *testing.T) {
	b := newBench(t, nil)
	kind, first := cursor.KindArrival, int64(cursor.MaxSeq-2)
	check.Get(b.sorter.Configure(t.Context(), "q", cursor.Change{Kind: &kind, First: &first}))
	b.want("more than there are", b.append(several("four", 4)), "full")
	results := check.Get(appendGroup(t.Context(), b.sorter,
		[]request{several("two", 2), several("another two", 2), arrival("one")}))
	b.want("fits", answer(results[0]), fmt.Sprintf("advanced %d-%d", first, first+1))
	b.want("does not", answer(results[1]), "full")
	b.want("nor what came behind", answer(results[2]), "full")
	// It was stored before; only its place is new.
	b.want("the last", b.append(arrival("one")),
		fmt.Sprintf("duplicate %d-%d", cursor.MaxSeq, cursor.MaxSeq))
	b.want("no more", b.append(arrival("none")), "full")
	b.want("a repeat", b.append(arrival("one")),
		fmt.Sprintf("duplicate %d-%d", cursor.MaxSeq, cursor.MaxSeq))
	got := b.read(first-1, cursor.MaxSeq)
	check.That(t, len(got) == 3, "%v", got)
}

// late is an engine whose weak reads of order items and arrivals show nothing.
type late struct {
	ddb.Engine
	weak, strong int
}

func (l *late) Do(ctx context.Context, r ddb.Request) (ddb.Answer, error) {
	var strong bool
	switch q := r.(type) {
	case ddb.Query:
		strong = q.Strong
	case ddb.BatchGet:
		strong = q.Strong
	default:
		return l.Engine.Do(ctx, r)
	}
	if !strong {
		l.weak++
		return ddb.Answer{}, nil
	}
	l.strong++
	return l.Engine.Do(ctx, r)
}

func TestArrivalsAreReadStronglyWhereTheyAreNotShown(t *testing.T) {
	b := newBench(t, nil)
	b.fill("a", 150)
	hidden := &late{Engine: halving{b.tables}}
	b.engine = hidden
	if got := b.read(0, 150); len(got) != 150 || got[149] != "150 a149 body of a149" ||
		hidden.weak == 0 || hidden.strong == 0 {
		t.Errorf("%d messages: %v; %d weak and %d strong reads", len(got), got[len(got)-1],
			hidden.weak, hidden.strong)
	}
	for after := int64(0); after < 150; after += 7 {
		for upTo := after + 1; upTo <= 150; upTo += 11 {
			got := b.read(after, upTo)
			check.Need(t, len(got) == int(upTo-after) &&
				strings.HasPrefix(got[0], fmt.Sprint(after+1, " ")),
				"from %d to %d: %v", after, upTo, got)
		}
	}
	got := b.read(140, 160)
	check.That(t, len(got) == 11 && strings.Contains(got[10], "seq 151 is at or under the position"),
		"beyond the position: %v", got)
}

// TestUndeliveredArrivalsAreKept: those behind a consumer, and their places, as long as the sweep
// runs.
func TestUndeliveredArrivalsAreKept(t *testing.T) {
	b := newBench(t, func(o *cursor.Options) { o.Retention = 4 * time.Hour })
	options := cursor.Options{Retention: 4 * time.Hour}
	b.fill("a", 100)
	for range 30 {
		b.now = b.now.Add(time.Hour)
		check.Get(b.process(options).Steps().KeepUndelivered(t.Context(), "q", 50))
		b.memory.Expire(b.now)
	}
	got := b.read(50, 100)
	check.That(t, len(got) == 50 && got[49] == "100 a99 body of a99", "%d are left: %v", len(got), got)
	head, found, err := b.process(options).Steps().Oldest(t.Context(), "q")
	check.That(t, err == nil && found && head.Seq == 51, "the oldest is %+v, %v, %v; want 51", head,
		found, err)
	b.want("a repeat of one that was kept", b.append(arrival("a50")), "duplicate 51-51")
	b.want("a repeat of one that was not", b.append(arrival("a49")), "advanced 101-101")
	for _, c := range []struct{ after, upTo, missing int64 }{
		{0, 101, 50}, {50, 101, 50}, {51, 101, 51}, {70, 90, 70}, {20, 30, 30}, {20, 60, 50}, {100, 101, 100},
	} {
		kept, err := b.process(options).Steps().KeepBack(t.Context(), "q", c.after, c.upTo)
		check.That(t, err == nil && kept.To == c.missing && !kept.More,
			"back from %d to %d: %+v, %v; want %d", c.upTo, c.after, kept, err, c.missing)
	}
	// What KeepBack kept lasts.
	b.now = b.now.Add(3 * time.Hour)
	check.Get(b.process(options).Steps().KeepBack(t.Context(), "q", 50, 101))
	b.now = b.now.Add(3 * time.Hour)
	b.memory.Expire(b.now)
	got = b.read(50, 101)
	check.That(t, len(got) == 51, "%d are left: %v", len(got), got)
	n, err := b.process(options).Steps().DeleteUpTo(t.Context(), "q", 101, 1000)
	check.That(t, n == 0 && err == nil, "deleted %d, %v; a repeat is known by what is stored", n, err)
	b.now = b.now.Add(15 * 24 * time.Hour)
	b.memory.Expire(b.now)
	head, found, err = b.process(options).Steps().Oldest(t.Context(), "q")
	check.That(t, err == nil && !found, "the oldest is %+v, %v, %v; want none", head, found, err)
}

// noAllocations is an engine that gives no places.
func noAllocations(engine ddb.Engine) ddb.Engine {
	return ddb.Func(func(ctx context.Context, r ddb.Request) (ddb.Answer, error) {
		if r.Name() == "allocation" {
			return ddb.Answer{}, errNoAllocations
		}
		return engine.Do(ctx, r)
	})
}

var errNoAllocations = errors.New("no allocations")

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
