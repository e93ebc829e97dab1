package cursor_test

import (
	"context"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/ddbtest"
	"github.com/streamsort/streamsort/internal/fanout"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/invalid"
)

// bench is a Sorter on tables in memory with a clock that is set by hand.
type bench struct {
	t      *testing.T
	tables *ddb.Memory
	// memory is the Store on the tables, engine what a process sees of them.
	memory *cursor.Store
	engine ddb.Engine
	sorter *cursor.Sorter
	now    time.Time
	// defaults are those of a process that goes on.
	defaults *cursor.Settings
}

func newBench(t *testing.T, change func(*cursor.Options)) *bench {
	t.Helper()
	b := &bench{t: t, tables: ddb.NewMemory(tablesOf(cursor.Names{})...),
		now: time.Date(2026, 5, 6, 7, 8, 9, 0, time.UTC)}
	b.memory, b.engine = storeOn(t, b.tables, cursor.Names{}), b.tables
	options := cursor.Options{Now: func() time.Time { return b.now }}
	if change != nil {
		change(&options)
	}
	b.sorter = b.process(options)
	return b
}

// process is another process on the same tables.
func (b *bench) process(options cursor.Options) *cursor.Sorter {
	b.t.Helper()
	if options.Now == nil {
		options.Now = func() time.Time { return b.now }
	}
	if options.ForEach == nil {
		options.ForEach = fanout.OneByOne
	}
	return check.Get(cursor.New(storeOn(b.t, b.engine, cursor.Names{}), &options))
}

// queues are those that anything is stored of.
func (b *bench) queues() map[string]bool {
	queues := map[string]bool{}
	for _, def := range tablesOf(cursor.Names{}) {
		for _, it := range b.tables.Items(def.Name) {
			queues[it.Get("queue").Str()] = true
		}
	}
	return queues
}

func withSettings(change func(*cursor.Settings)) func(*cursor.Options) {
	return func(o *cursor.Options) {
		s := cursor.DefaultSettings()
		change(&s)
		o.Defaults = &s
	}
}

func body(seq int64) cursor.Message {
	return cursor.Message{Queue: "q", Seq: seq, Body: fmt.Appendf(nil, "body %d", seq)}
}

// put puts one message and returns "outcome old→new".
func (b *bench) put(m cursor.Message) string {
	b.t.Helper()
	r := b.sorter.Put(b.t.Context(), m)[0]
	check.OK(b.t, r.Err)
	return fmt.Sprintf("%s %d→%d", r.Outcome, r.Old, r.New)
}

// puts puts the messages from one seq to another.
func (b *bench) puts(first, last int64) {
	b.t.Helper()
	for seq := first; seq <= last; seq++ {
		b.put(body(seq))
	}
}

// in is a message in another queue.
func in(queue string, m cursor.Message) cursor.Message {
	m.Queue = queue
	return m
}

func (b *bench) want(what, got, want string) {
	b.t.Helper()
	check.That(b.t, got == want, "%s: %s, want %s", what, got, want)
}

func TestSorterTellsEachOutcome(t *testing.T) {
	b := newBench(t, withSettings(func(s *cursor.Settings) { s.MaxAhead = 3 }))
	b.want("next", b.put(body(1)), "advanced 0→1")
	b.want("beyond a gap", b.put(body(3)), "parked 1→1")
	b.want("farther beyond", b.put(body(4)), "parked 1→1")
	b.want("too far beyond", b.put(body(5)), "full 1→1")
	b.want("again, parked", b.put(body(4)), "duplicate 1→1")
	other := body(4)
	other.Body = []byte("another")
	b.want("another one, parked", b.put(other), "conflict 1→1")
	b.want("fills the gap", b.put(body(2)), "advanced 1→4")
	b.want("again, passed", b.put(body(2)), "duplicate 4→4")
	other.Seq = 2
	b.want("another one, passed", b.put(other), "conflict 4→4")
	b.want("before the first", b.put(body(0)), "stale 4→4")
	b.want("now it fits", b.put(body(5)), "advanced 4→5")
	n := b.memory.Expire(b.now.Add(365 * 24 * time.Hour))
	check.Need(t, n == 5, "%d messages expired, want 5", n)
	b.want("passed and deleted", b.put(body(2)), "stale 5→5")
}

func TestSorterTellsMessagesApart(t *testing.T) {
	base := cursor.Message{
		Queue: "q", Seq: 1, ID: "i", ContentType: "t", Body: []byte("b"),
		Attributes: map[string]string{"x": "yz"},
	}
	for name, change := range map[string]func(*cursor.Message){
		"id":          func(m *cursor.Message) { m.ID = "" },
		"type":        func(m *cursor.Message) { m.ContentType = "" },
		"body":        func(m *cursor.Message) { m.Body = nil },
		"attribute":   func(m *cursor.Message) { m.Attributes = map[string]string{"xy": "z"} },
		"attributes":  func(m *cursor.Message) { m.Attributes = nil },
		"id and type": func(m *cursor.Message) { m.ID, m.ContentType = "it", "" },
	} {
		b := newBench(t, nil)
		b.put(base)
		same := base
		b.want(name+": the same", b.put(same), "duplicate 1→1")
		other := base
		change(&other)
		b.want(name+": another", b.put(other), "conflict 1→1")
	}
	b := newBench(t, nil)
	b.put(cursor.Message{Queue: "q", Seq: 1, Body: []byte("{}")})
	named := cursor.Message{Queue: "q", Seq: 1, Body: []byte("{}"),
		ContentType: cursor.DefaultContentType}
	b.want("the default content type by its name", b.put(named), "duplicate 1→1")
}

func TestSorterRefusesWhatIsOutOfBounds(t *testing.T) {
	long := strings.Repeat("x", 1025)
	for _, c := range []struct {
		field  string
		change func(*cursor.Message)
	}{
		{"queue", func(m *cursor.Message) { m.Queue = "" }},
		{"queue", func(m *cursor.Message) { m.Queue = long }},
		{"queue", func(m *cursor.Message) { m.Queue = "\xff" }},
		{"seq", func(m *cursor.Message) { m.Seq = -2 }},
		{"id", func(m *cursor.Message) { m.Seq = cursor.NoSeq }},
		{"id", func(m *cursor.Message) { m.ID = long }},
		{"id", func(m *cursor.Message) { m.ID = "\xff" }},
		{"body", func(m *cursor.Message) { m.Body = make([]byte, cursor.MaxBody+1) }},
		{"contentType", func(m *cursor.Message) { m.ContentType = long }},
		{"attributes", func(m *cursor.Message) { m.Attributes = map[string]string{"": "x"} }},
		{"attributes", func(m *cursor.Message) { m.Attributes = map[string]string{"x": "\xff"} }},
		{"attributes", func(m *cursor.Message) { m.Attributes = map[string]string{"x": strings.Repeat("x", 16*1024)} }},
	} {
		b := newBench(t, nil)
		bad := body(2)
		c.change(&bad)
		refuses(t, "put", b.sorter.Put(t.Context(), bad)[0].Err, "messages[0]."+c.field)
		err := b.sorter.Put(t.Context(), body(1), bad)[0].Err
		check.Is(t, check.As[*cursor.InvalidError](t, err).Path(), "messages[1]."+c.field, err)
		check.Is(t, len(b.queues()), 0, "something was stored", c.field)
	}
	b := newBench(t, nil)
	other := body(1)
	other.Body = []byte("another")
	twice := check.As[*cursor.InvalidError](t,
		b.sorter.Put(t.Context(), body(1), body(2), other)[0].Err)
	check.That(t, twice.Path() == "messages[2].seq" && twice.Twin != nil && twice.Twin.Index == 0,
		"two messages under one seq: %v", twice)
	check.Is(t, len(b.queues()), 0, "something was stored")
}

// TestSameMessageTwiceInACall: the later one is the duplicate, whichever is written first.
func TestSameMessageTwiceInACall(t *testing.T) {
	b := newBench(t, func(o *cursor.Options) {
		o.ForEach = func(n int, do func(int)) {
			for i := range n {
				do(n - 1 - i)
			}
		}
	})
	var got []cursor.Outcome
	for _, r := range b.sorter.Put(t.Context(), body(1), body(1), body(1)) {
		got = append(got, r.Outcome)
	}
	check.Is(t, fmt.Sprint(got), "[advanced duplicate duplicate]")
}

func TestParseSeq(t *testing.T) {
	for text, want := range map[string]int64{"0": 0, "7": 7, "9223372036854775807": math.MaxInt64} {
		got, err := cursor.ParseSeq(text)
		check.That(t, err == nil && got == want, "%q: %d, %v", text, got, err)
	}
	for text, code := range map[string]invalid.Code{"": invalid.Missing, "-1": invalid.OutOfRange,
		"+1": invalid.Malformed, "1.0": invalid.Malformed, "1e3": invalid.Malformed,
		"01": invalid.Malformed, "00": invalid.Malformed, "-0": invalid.Malformed,
		" 1": invalid.Malformed, "1 ": invalid.Malformed, "0x1": invalid.Malformed,
		"1_0": invalid.Malformed, "٣": invalid.Malformed, "NaN": invalid.Malformed,
		"9223372036854775808": invalid.OutOfRange, "-9223372036854775809": invalid.OutOfRange} {
		wrong := check.As[*cursor.InvalidError](t, check.Err(cursor.ParseSeq(text)))
		check.Is(t, wrong.Code, code, text)
		check.Is(t, wrong.Error(), fmt.Sprintf(
			"seq is %q: it must be an integer from 0 to 9223372036854775807, in plain digits", text))
	}
}

func TestSorterGaps(t *testing.T) {
	b := newBench(t, nil)
	check.Fails(t, check.Err(b.sorter.Gaps(t.Context(), "q", 1)), cursor.ErrNoQueue, "no queue")
	b.put(body(1))
	since := b.now
	b.put(body(4))
	b.now = b.now.Add(time.Minute)
	b.put(body(5))
	b.put(body(9))
	list, err := b.sorter.Gaps(t.Context(), "q", 10)
	check.OK(t, err)
	want := []cursor.Gap{
		{Missing: cursor.Range{From: 1, To: 3}, Since: since},
		{Missing: cursor.Range{From: 5, To: 8}, Since: since.Add(time.Minute)},
	}
	diff := cmp.Diff(want, list.Gaps)
	check.That(t, diff == "" && !list.More, "more %v; gaps (-want +got):\n%s", list.More, diff)
	list, err = b.sorter.Gaps(t.Context(), "q", 1)
	check.That(t, err == nil && len(list.Gaps) == 1 && list.More, "the first gap: %+v, %v", list, err)
}

func TestSorterConfigure(t *testing.T) {
	b := newBench(t, nil)
	first, mode := int64(5), cursor.ModeAsync
	cur, err := b.sorter.Configure(t.Context(), "q", cursor.Change{First: &first})
	check.Need(t, err == nil && cur.Position == 4 && cur.Settings.First == 5 &&
		cur.Settings.MaxAhead == 100_000, "made: %+v, %v", cur, err)
	b.want("the first", b.put(body(5)), "advanced 4→5")
	cur, err = b.sorter.Configure(t.Context(), "q", cursor.Change{Mode: &mode, First: &first})
	check.Need(t, err == nil && cur.Settings.Mode == mode && cur.Position == 5, "changed: %+v, %v",
		cur, err)
	b.want("in the new mode", b.put(body(6)), "stored 5→5")
	before := b.status()
	for _, other := range []int64{1, 7} {
		_, err := b.sorter.Configure(t.Context(), "q", cursor.Change{First: &other})
		check.Fails(t, err, cursor.ErrFixed, "another first seq", other)
	}
	check.Is(t, b.status(), before)
	bad := cursor.Mode("neither")
	refuses(t, "a mode that there is not",
		check.Err(b.sorter.Configure(t.Context(), "q", cursor.Change{Mode: &bad})), "mode")
}

func TestNewNamesTheOptionThatIsOutOfBounds(t *testing.T) {
	for field, options := range map[string]cursor.Options{
		"retention": {Retention: time.Hour},
		"policy":    {Defaults: &cursor.Settings{GapAfter: time.Minute, MaxAhead: 1, Mode: cursor.ModeSync}},
		"gapAfter":  {Defaults: &cursor.Settings{Policy: cursor.PolicyWait, MaxAhead: 1, Mode: cursor.ModeSync}},
		"maxAhead":  {Defaults: &cursor.Settings{Policy: cursor.PolicyWait, GapAfter: time.Minute, Mode: cursor.ModeSync}},
		"first":     {Defaults: &cursor.Settings{First: -1}},
	} {
		refuses(t, "error", check.Err(cursor.New(cursor.NewMemory(), &options)), field)
	}
}

func TestNamesValidate(t *testing.T) {
	for _, names := range []cursor.Names{
		{QueueKey: "body"}, {SeqKey: "position"}, {QueueKey: "seq"}, {SeqKey: strings.Repeat("x", 256)},
	} {
		check.That(t, names.Validate() != nil, "%+v: no error", names)
	}
	check.OK(t, (cursor.Names{QueueKey: "author", SeqKey: "number"}).Validate())
}

// hidden is an engine whose reads that are not strong hide some seqs.
func hidden(engine ddb.Engine, hide map[int64]bool) ddb.Engine {
	return ddb.Func(func(ctx context.Context, r ddb.Request) (ddb.Answer, error) {
		a, err := engine.Do(ctx, r)
		if q, ok := r.(ddb.Query); ok && !q.Strong {
			a.Items = slices.DeleteFunc(a.Items, func(it ddb.Item) bool {
				seq, _ := it.Get("seq").Int64()
				return hide[seq]
			})
		}
		return a, err
	})
}

func TestReadLooksStronglyWhereARangeIsNotComplete(t *testing.T) {
	b := newBench(t, nil)
	b.puts(1, 9)
	for _, hide := range []map[int64]bool{nil, {1: true}, {5: true}, {9: true},
		{1: true, 2: true, 3: true, 9: true}} {
		b.engine = hidden(b.tables, hide)
		s := b.process(cursor.Options{})
		next := int64(3)
		for m, err := range s.Read(t.Context(), "q", 2, 8) {
			check.OK(t, err)
			check.That(t, m.Seq == next && string(m.Body) == fmt.Sprintf("body %d", next),
				"hidden %v: seq %d %q, want %d", hide, m.Seq, m.Body, next)
			next++
		}
		check.That(t, next == 9, "hidden %v: read up to %d, want 8", hide, next-1)
	}
}

// Each setting has its name, by which it is read and set.
func TestSettingsByTheirNames(t *testing.T) {
	want := cursor.Settings{
		Kind: cursor.KindKeyed, First: 7, Policy: cursor.PolicyAlert, GapAfter: 90 * time.Second,
		MaxAhead: 3, Mode: cursor.ModeAsync,
		KeyType: "time", Settle: 7 * time.Second, Late: cursor.LateDrop, ClockAhead: 9 * time.Hour,
	}
	var change cursor.Change
	names := 0
	for name, value := range want.All() {
		names++
		check.OK(t, change.Set(name, fmt.Sprint(value)))
	}
	check.Is(t, cursor.DefaultSettings().With(change), want)
	fields := reflect.TypeFor[cursor.Settings]().NumField()
	check.That(t, names == fields && reflect.TypeFor[cursor.Change]().NumField() == fields,
		"%d names of %d settings, of which %d can be changed", names, fields,
		reflect.TypeFor[cursor.Change]().NumField())
}

func TestSettingsThatCannotBeRead(t *testing.T) {
	for name, text := range map[string]string{"kind": "fifo", "first": "-1", "gapAfter": "5",
		"maxAhead": "many", "MaxAhead": "1", "": "1"} {
		var change cursor.Change
		refuses(t, name, change.Set(name, text), name)
	}
	var change cursor.Change
	check.Says(t, change.Set("maxAhead", "-1"), "must be an integer from 1 to 10000000")
	err := change.Set("other", "1")
	for name := range cursor.DefaultSettings().All() {
		check.That(t, strings.Contains(err.Error(), name), "%v: no %s", err, name)
	}
}

// TestParked: what waits beyond the gap is counted, as far as one request shows, and what was
// skipped there is not. Where there is no gap nothing is asked.
func TestParked(t *testing.T) {
	b := newBench(t, nil)
	meter := ddbtest.NewMeter(b.tables)
	b.engine = meter
	b.sorter = b.process(cursor.Options{})
	began := b.now
	parked := func(want int, wantMore bool, cost ddbtest.Total) {
		t.Helper()
		cur := check.Get(b.sorter.Status(t.Context(), "q"))
		meter.Take()
		waits := check.Get(b.sorter.Waiting(t.Context(), cur))
		check.That(t, want <= 0 || waits.Oldest.Equal(began),
			"the gap is there since %v, want %v", waits.Oldest, began)
		check.That(t, waits.Count == want && waits.More == wantMore,
			"%d parked, more %v; want %d, %v", waits.Count, waits.More, want, wantMore)
		same(t, "cost", meter.Take(), cost)
	}
	b.put(body(1))
	parked(0, false, ddbtest.Total{})
	b.put(body(3))
	b.put(body(5))
	check.Get(b.sorter.Skip(t.Context(), "q", 6, "never comes"))
	b.put(body(7))
	b.now = b.now.Add(time.Hour)
	parked(3, false, ddbtest.Total{Reads: 1, Units: ddb.Units{Reads: 0.5}})
	for seq := int64(8); seq < 1100; seq++ {
		b.put(body(seq))
	}
	parked(999, true, ddbtest.Total{Reads: 1, Units: ddb.Units{Reads: 11}})
}

// By default the messages of a group are stored side by side.
func TestAGroupIsStoredSideBySide(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// Puts wait for each other.
		var all sync.WaitGroup
		all.Add(3)
		tables := ddb.NewMemory(cursor.Names{}.Tables()...)
		store := check.Get(
			cursor.NewStore(ddb.Func(func(ctx context.Context, r ddb.Request) (ddb.Answer, error) {
				if r.Name() == "put message" {
					all.Done()
					all.Wait()
				}
				return tables.Do(ctx, r)
			}), cursor.Names{}))
		sorter := check.Get(cursor.New(store, nil))
		results := sorter.Put(t.Context(),
			[]cursor.Message{{Queue: "a", Seq: 1}, {Queue: "a", Seq: 3}, {Queue: "b", Seq: 1}}...)
		err := results[0].Err
		check.That(t, err == nil && len(results) == 3, "%v, %v", results, err)
	})
}

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
