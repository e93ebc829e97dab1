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
	"github.com/streamsort/streamsort/pkg/cursor"
)

// packing is a bench whose queues have packed runs, and are kept for 8 hours.
func packing(t *testing.T) (*bench, cursor.Options) {
	t.Helper()
	settings := cursor.DefaultSettings()
	settings.Packs = cursor.PacksOn
	options := cursor.Options{Defaults: &settings, Retention: 8 * time.Hour}
	return newBench(t, func(o *cursor.Options) { o.Defaults, o.Retention = options.Defaults, options.Retention }), options
}

// group puts the messages of a range by a process, and returns their outcomes.
func (b *bench) group(s *cursor.Sorter, payload string, first, last int64) string {
	b.t.Helper()
	var messages []cursor.Message
	for seq := first; seq <= last; seq++ {
		messages = append(messages, cursor.Message{Queue: "q", Seq: seq, Body: fmt.Appendf(nil, "%d%s", seq, payload)})
	}
	results, err := s.PutGroup(b.t.Context(), messages)
	if err != nil {
		b.t.Fatal(err)
	}
	var outcomes []string
	for _, r := range results {
		if r.Err != nil {
			b.t.Fatal(r.Err)
		}
		outcomes = append(outcomes, string(r.Outcome))
	}
	return strings.Join(slices.Compact(outcomes), " ")
}

// bodies are what a process reads behind a seq.
func (b *bench) bodies(s *cursor.Sorter, after, upTo int64) string {
	b.t.Helper()
	var bodies []string
	for m, err := range s.Read(b.t.Context(), "q", after, upTo) {
		if err != nil {
			bodies = append(bodies, err.Error())
			break
		}
		if len(m.Packed) > 0 || m.Queue != "q" {
			b.t.Errorf("seq %d is read as an item", m.Seq)
		}
		bodies = append(bodies, string(m.Body))
	}
	return strings.Join(bodies, " ")
}

// items are the seqs under which something is stored.
func (b *bench) items() string {
	seqs, _, err := b.memory.Seqs(b.t.Context(), cursor.Query{Queue: "q", Last: cursor.MaxSeq, Strong: true})
	if err != nil {
		b.t.Fatal(err)
	}
	return fmt.Sprint(seqs)
}

func TestABatchInOrderIsOneItem(t *testing.T) {
	b, _ := packing(t)
	b.want("in order", b.group(b.sorter, "", 1, 250), "advanced")
	b.want("items", b.items(), "[1 101 201]")
	b.want("again", b.group(b.sorter, "", 99, 102), "duplicate")
	b.want("others", b.group(b.sorter, "x", 100, 101), "conflict")
	b.want("beyond", b.group(b.sorter, "", 252, 253), "parked")
	b.want("the gap", b.group(b.sorter, "", 251, 251), "advanced")
	b.want("behind", b.group(b.sorter, "", 253, 255), "duplicate advanced")
	b.want("items", b.items(), "[1 101 201 251 252 253 254]")
}

func TestReadsBeginWithinAPackedRun(t *testing.T) {
	b, options := packing(t)
	b.group(b.sorter, "", 1, 4)
	b.group(b.sorter, "", 5, 5)
	b.group(b.sorter, "", 6, 8)
	for name, s := range map[string]*cursor.Sorter{"warm": b.sorter, "cold": b.process(options)} {
		for after := range int64(8) {
			for upTo := after; upTo <= 8; upTo++ {
				var want []string
				for seq := after + 1; seq <= upTo; seq++ {
					want = append(want, fmt.Sprint(seq))
				}
				b.want(name, b.bodies(s, after, upTo), strings.Join(want, " "))
			}
		}
		batch, err := s.ReadBatch(t.Context(), "q", 1, 8, cursor.Bound{Bytes: 2})
		if err != nil || batch.From != 1 || batch.To != 3 {
			t.Errorf("%+v, %v; want a batch that ends within the run", batch, err)
		}
	}
}

// TestACursorAtHandSavesALook: a reader that is shown a cursor of the queue, however old, asks for none; of
// a queue that was erased since, nothing is missing.
func TestACursorAtHandSavesALook(t *testing.T) {
	b, options := packing(t)
	b.group(b.sorter, "", 1, 4)
	at, err := b.sorter.Status(t.Context(), "q")
	check(t, err)
	b.group(b.sorter, "", 5, 8)
	engine, looks := b.engine, 0
	b.engine = ddb.Func(func(ctx context.Context, r ddb.Request) (ddb.Answer, error) {
		if r.Name() == "get cursor" {
			looks++
		}
		return engine.Do(ctx, r)
	})
	cold := b.process(options)
	read := func(what string, cur cursor.Cursor, after, upTo int64, want int) {
		t.Helper()
		looks = 0
		batch, err := cold.ReadBatchAt(t.Context(), cur, "q", after, upTo)
		if err != nil || batch.To != upTo || len(batch.Messages) != int(upTo-after) || looks != want {
			t.Errorf("%s: %+v, %v, %d looks at the cursor; want %d", what, batch, err, looks, want)
		}
	}
	read("up to its position", at, 0, 4, 0)
	read("from within", at, 2, 4, 0)
	read("beyond it", at, 2, 6, 1)
	read("what is remembered is farther", at, 4, 8, 0)
	cold = b.process(options)
	b.erase("q")
	_, err = b.memory.DeleteMessages(t.Context(), "q", []int64{1, 5})
	check(t, err)
	if batch, err := cold.ReadBatchAt(t.Context(), at, "q", 0, 4); !errors.Is(err, cursor.ErrErased) {
		t.Errorf("%+v, %v; want ErrErased", batch, err)
	}
}

// stray has a process that remembers position 0 put a message within a run.
func stray(t *testing.T) (*bench, cursor.Options) {
	b, options := packing(t)
	late := b.process(options)
	if _, err := late.Configure(t.Context(), "q", cursor.Change{}); err != nil {
		t.Fatal(err)
	}
	b.group(b.sorter, "", 1, 4)
	b.now = b.now.Add(20 * time.Minute)
	b.want("within a run", b.group(late, "x", 3, 3), "conflict")
	b.want("items", b.items(), "[1 3]")
	return b, options
}

func TestAStrayIsNobodys(t *testing.T) {
	b, options := stray(t)
	b.group(b.sorter, "", 5, 8)
	b.want("read within", b.bodies(b.sorter, 2, 8), "3 4 5 6 7 8")
	b.want("read cold", b.bodies(b.process(options), 2, 8), "3 4 5 6 7 8")
	b.want("read over it", b.bodies(b.sorter, 0, 8), "1 2 3 4 5 6 7 8")
	b.want("the stray again", b.group(b.sorter, "x", 3, 3), "conflict")
	b.want("the message again", b.group(b.sorter, "", 3, 3), "duplicate")
	if _, err := b.sorter.Skip(t.Context(), "q", 2, "why"); err != nil {
		t.Fatal(err)
	}
	b.want("items", b.items(), "[1 3 5]")
}

func TestPackedRunsOutliveStrays(t *testing.T) {
	b, _ := stray(t)
	expired := b.now.Add(7*time.Hour + 40*time.Minute)
	if gone := b.memory.Expire(expired); gone != 0 {
		t.Errorf("%d are gone when a message would be", gone)
	}
	b.now = b.now.Add(5 * time.Hour)
	for _, after := range []int64{0, 2, 3} {
		kept, err := b.sorter.KeepUndelivered(t.Context(), "q", after)
		if err != nil || kept.To != 4 {
			t.Errorf("kept %+v, %v", kept, err)
		}
	}
	b.memory.Expire(b.now.Add(8 * time.Hour))
	b.want("what was kept", b.items(), "[1]")
	b.want("read", b.bodies(b.sorter, 2, 4), "3 4")
}

func TestKeepBackOverPackedRuns(t *testing.T) {
	b, _ := stray(t)
	b.group(b.sorter, "", 5, 5)
	b.now = b.now.Add(5 * time.Hour)
	for _, to := range []struct{ after, upTo, want int64 }{{0, 5, 0}, {2, 5, 2}, {2, 3, 2}, {3, 4, 3}, {4, 5, 4}} {
		kept, err := b.sorter.KeepBack(t.Context(), "q", to.after, to.upTo)
		if err != nil || kept.More || kept.To != to.want {
			t.Errorf("%+v: %+v, %v", to, kept, err)
		}
	}
	b.memory.Expire(b.now.Add(8*time.Hour - time.Second))
	b.want("what was kept", b.bodies(b.sorter, 0, 5), "1 2 3 4 5")
	if _, err := b.memory.DeleteMessages(t.Context(), "q", []int64{1}); err != nil {
		t.Fatal(err)
	}
	if kept, err := b.sorter.KeepBack(t.Context(), "q", 0, 5); err != nil || kept.More || kept.To != 4 {
		t.Errorf("%+v, %v; want 4, behind what is gone", kept, err)
	}
}

func TestPackedRunsAreDeletedWhole(t *testing.T) {
	b, _ := stray(t)
	b.group(b.sorter, "", 5, 5)
	remove := func(upTo int64, limit, want int) {
		t.Helper()
		if n, err := b.sorter.DeleteUpTo(t.Context(), "q", upTo, limit); err != nil || n != want {
			t.Errorf("%d deleted, %v; want %d", n, err, want)
		}
	}
	remove(3, 100, 0)
	b.want("up to within", b.items(), "[1 3 5]")
	remove(5, 1, 1)
	b.want("the stray first", b.items(), "[1 5]")
	remove(5, 100, 2)
	b.want("all", b.items(), "[]")
}

// TestPackedRunsCountOnce: what is stored is counted as it costs to delete it.
func TestPackedRunsCountOnce(t *testing.T) {
	b, _ := packing(t)
	b.group(b.sorter, "", 1, 4)
	b.group(b.sorter, "", 5, 5)
	b.erase("q")
	b.holds("a run and a message", "q", 2, 0)
}

func TestPacksAreFixed(t *testing.T) {
	b, _ := packing(t)
	b.group(b.sorter, "", 1, 2)
	on, off, auto, async, keyed := cursor.PacksOn, cursor.PacksOff, cursor.PacksAuto, cursor.ModeAsync, cursor.KindKeyed
	if _, err := b.sorter.Configure(t.Context(), "q", cursor.Change{Mode: &async}); !errors.Is(err, cursor.ErrPacksSync) {
		t.Errorf("error %v, want ErrPacksSync", err)
	}
	if _, err := b.sorter.Configure(t.Context(), "asynchronous", cursor.Change{Mode: &async}); err != nil {
		t.Fatal(err)
	}
	if _, err := b.sorter.Configure(t.Context(), "asynchronous", cursor.Change{Packs: &on}); !errors.Is(err, cursor.ErrPacksFixed) {
		t.Errorf("error %v, want ErrPacksFixed", err)
	}
	for _, queue := range []string{"q", "asynchronous", "new"} {
		for _, change := range []cursor.Change{{Packs: &on, Mode: &async}, {Packs: &on, Kind: &keyed}, {Packs: &auto}} {
			var invalid *cursor.InvalidError
			if _, err := b.sorter.Configure(t.Context(), queue, change); !errors.As(err, &invalid) || invalid.Field != "packs" {
				t.Errorf("%s: %+v: error %v, want an InvalidError of packs", queue, change, err)
			}
		}
	}
	if _, err := b.sorter.Configure(t.Context(), "q", cursor.Change{Packs: &off, Mode: &async}); !errors.Is(err, cursor.ErrPacksSync) {
		t.Errorf("error %v, want ErrPacksSync", err)
	}
	cur, err := b.sorter.Status(t.Context(), "q")
	if err != nil || cur.Settings.Mode != cursor.ModeSync || cur.Settings.Packs != cursor.PacksOn {
		t.Errorf("%+v, %v", cur.Settings, err)
	}
}

// TestPacksAreSwitchedOff: a queue that has packed runs gets no more, those that it has are
// read, and it can get more again.
func TestPacksAreSwitchedOff(t *testing.T) {
	b, options := packing(t)
	b.group(b.sorter, "", 1, 3)
	set := func(to cursor.Packs) {
		t.Helper()
		cur, err := b.sorter.Configure(t.Context(), "q", cursor.Change{Packs: &to})
		if err != nil || cur.Settings.Packs != to {
			t.Errorf("%+v, %v", cur.Settings, err)
		}
	}
	set(cursor.PacksOff)
	b.group(b.sorter, "", 4, 6)
	b.want("items", b.items(), "[1 4 5 6]")
	b.want("a repeat", b.group(b.sorter, "", 2, 5), "duplicate")
	b.want("another", b.group(b.sorter, "x", 2, 5), "conflict")
	async := cursor.ModeAsync
	if _, err := b.sorter.Configure(t.Context(), "q", cursor.Change{Mode: &async}); !errors.Is(err, cursor.ErrPacksSync) {
		t.Errorf("error %v, want ErrPacksSync", err)
	}
	set(cursor.PacksOn)
	b.group(b.sorter, "", 7, 9)
	b.want("items", b.items(), "[1 4 5 6 7]")
	b.want("read", b.bodies(b.process(options), 1, 9), "2 3 4 5 6 7 8 9")

	one := cursor.PacksOff
	cur, err := b.sorter.Configure(t.Context(), "without", cursor.Change{Packs: &one})
	if err != nil || cur.Settings.Packs != cursor.PacksNone {
		t.Errorf("%+v, %v", cur.Settings, err)
	}
	cur, err = b.sorter.Configure(t.Context(), "without", cursor.Change{Packs: &one})
	if err != nil || cur.Settings.Packs != cursor.PacksNone {
		t.Errorf("%+v, %v", cur.Settings, err)
	}
}

// TestABatchMakesAQueueWithPackedRuns where nobody says otherwise, and nothing else does.
func TestABatchMakesAQueueWithPackedRuns(t *testing.T) {
	for _, c := range []struct {
		name     string
		defaults func(*cursor.Settings)
		first    func(b *bench)
		want     cursor.Packs
	}{
		{"a batch", nil, func(b *bench) { b.group(b.sorter, "", 1, 2) }, cursor.PacksOn},
		{"a batch from another first", func(s *cursor.Settings) { s.First = 7 }, func(b *bench) { b.group(b.sorter, "", 7, 8) }, cursor.PacksOn},
		{"a message", nil, func(b *bench) { b.group(b.sorter, "", 1, 1) }, cursor.PacksNone},
		{"a batch beyond a gap", nil, func(b *bench) { b.group(b.sorter, "", 2, 3) }, cursor.PacksNone},
		{"a batch with a hole", nil, func(b *bench) { _, _ = b.sorter.PutGroup(b.t.Context(), []cursor.Message{body(1), body(3)}) }, cursor.PacksNone},
		{"a batch of one message twice", nil, func(b *bench) { _, _ = b.sorter.PutGroup(b.t.Context(), []cursor.Message{body(1), body(1)}) }, cursor.PacksNone},
		{"a batch of two queues", nil, func(b *bench) {
			_, _ = b.sorter.PutGroup(b.t.Context(), []cursor.Message{body(1), {Queue: "other", Seq: 2}})
		}, cursor.PacksNone},
		{"too large for one item", nil, func(b *bench) {
			_, _ = b.sorter.PutGroup(b.t.Context(), []cursor.Message{{Queue: "q", Seq: 1, Body: make([]byte, 20_000)}, {Queue: "q", Seq: 2, Body: make([]byte, 20_000)}})
		}, cursor.PacksNone},
		{"a setting", nil, func(b *bench) { _, _ = b.sorter.Configure(b.t.Context(), "q", cursor.Change{}) }, cursor.PacksNone},
		{"a skip", nil, func(b *bench) { _, _ = b.sorter.Skip(b.t.Context(), "q", 1, "why") }, cursor.PacksNone},
		{"a batch of an asynchronous queue", func(s *cursor.Settings) { s.Mode = cursor.ModeAsync }, func(b *bench) { b.group(b.sorter, "", 1, 2) }, cursor.PacksNone},
		{"a batch, where that is off", func(s *cursor.Settings) { s.Packs = cursor.PacksOff }, func(b *bench) { b.group(b.sorter, "", 1, 2) }, cursor.PacksNone},
		{"a message, where that is on", func(s *cursor.Settings) { s.Packs = cursor.PacksOn }, func(b *bench) { b.group(b.sorter, "", 1, 1) }, cursor.PacksOn},
	} {
		t.Run(c.name, func(t *testing.T) {
			settings := cursor.DefaultSettings()
			if c.defaults != nil {
				c.defaults(&settings)
			}
			b := newBench(t, func(o *cursor.Options) { o.Defaults = &settings })
			c.first(b)
			cur, err := b.sorter.Status(t.Context(), "q")
			if err != nil || cur.Settings.Packs != c.want {
				t.Errorf("made with packs %q, %v; want %q", cur.Settings.Packs, err, c.want)
			}
		})
	}
}

// TestALostCursorIsMadeAsItsMessagesAre: where a cursor is gone whose queue has packed runs, the
// stream's handler makes one that has them; a producer that makes one without is not believed.
func TestALostCursorIsMadeAsItsMessagesAre(t *testing.T) {
	lose := func(t *testing.T, with ...func(*cursor.Options)) *bench {
		t.Helper()
		from, _ := packing(t)
		from.group(from.sorter, "", 1, 3)
		from.group(from.sorter, "", 4, 4)
		page, err := from.memory.Messages(t.Context(), cursor.Query{Queue: "q", Last: cursor.MaxSeq, Strong: true})
		check(t, err)
		b := newBench(t, append(with, nil)[0])
		put(t, b.memory, page.Messages...)
		return b
	}
	t.Run("by the handler", func(t *testing.T) {
		b := lose(t)
		if advance, err := b.sorter.Heal(t.Context(), "q", 4); err != nil || advance.Cursor.Position != 4 {
			t.Errorf("%+v, %v", advance, err)
		}
		b.want("read", b.bodies(b.sorter, 0, 4), "1 2 3 4")
	})
	t.Run("by the handler, where new queues are asynchronous", func(t *testing.T) {
		settings := cursor.DefaultSettings()
		settings.Mode = cursor.ModeAsync
		b := lose(t, func(o *cursor.Options) { o.Defaults = &settings })
		if advance, err := b.sorter.Heal(t.Context(), "q", 4); err != nil || advance.Cursor.Position != 4 || advance.Cursor.Settings.Mode != cursor.ModeSync {
			t.Errorf("%+v, %v", advance, err)
		}
		b.want("read", b.bodies(b.sorter, 0, 4), "1 2 3 4")
	})
	t.Run("by a producer", func(t *testing.T) {
		b := lose(t)
		b.want("a message beyond", b.put(body(6)), "parked 0→0")
		if _, _, err := b.sorter.SkipGap(t.Context(), "q", "why", 0, 9); err == nil {
			t.Error("it was skipped")
		}
		if result, _ := b.sorter.Put(t.Context(), body(1)); result.Err == nil {
			t.Errorf("answered %s", result.Outcome)
		}
		b.want("items", b.items(), "[1 4 6]")
		b = lose(t)
		_, err := b.sorter.Configure(t.Context(), "q", cursor.Change{})
		check(t, err)
		if _, err := b.sorter.Recheck(t.Context(), "q"); err == nil {
			t.Error("nothing was reported")
		}
	})
}

// TestADeadPackedRunIsAHole: its writer died before the move, and a message is parked.
func TestADeadPackedRunIsAHole(t *testing.T) {
	b, _ := packing(t)
	b.want("a message beyond", b.put(body(5)), "parked 0→0")
	put(t, b.memory, storedPack("q", 1, 2))
	if _, err := b.invocation(20).Recheck(t.Context(), "q"); err != nil {
		t.Fatal(err)
	}
	list, err := b.sorter.Gaps(t.Context(), "q", 9)
	if err != nil || len(list.Gaps) != 1 || list.Gaps[0].Missing != (cursor.Range{From: 0, To: 4}) {
		t.Errorf("%+v, %v", list, err)
	}
	if n, _, err := b.sorter.Parked(t.Context(), list.Cursor); err != nil || n != 1 {
		t.Errorf("%d parked, %v", n, err)
	}
	skipped, advance, err := b.sorter.SkipGap(t.Context(), "q", "why", 0, 9)
	if err != nil || !slices.Equal(skipped, []cursor.Range{{From: 0, To: 4}}) || advance.Cursor.Position != 5 {
		t.Errorf("skipped %v up to %d, %v", skipped, advance.Cursor.Position, err)
	}
}

// TestAPackedRunThatWaitedLongIsKept: strays in it are stored until the position has passed.
func TestAPackedRunThatWaitedLongIsKept(t *testing.T) {
	b, _ := packing(t)
	b.want("a message", b.put(body(1)), "advanced 0→1")
	pack := storedPack("q", 2, 2)
	pack.EnqueuedAt, pack.ExpiresOn = b.now, b.now.Truncate(time.Second).Add(9*time.Hour)
	put(t, b.memory, pack)
	b.now = b.now.Add(3 * time.Hour)
	if advance, err := b.sorter.Recheck(t.Context(), "q"); err != nil || advance.Cursor.Position != 3 {
		t.Fatalf("%+v, %v", advance, err)
	}
	b.memory.Expire(b.now.Add(9*time.Hour - time.Second))
	b.want("items", b.items(), "[2]")
}

// TestAPackedRunIsNewerThanItsCursor: the cursor was restored from before a message was parked
// within a dead packed run, so the run counts, and a producer is told where that differs.
func TestAPackedRunIsNewerThanItsCursor(t *testing.T) {
	for _, of := range []struct{ parked, again string }{{"", "duplicate"}, {"x", "conflict"}} {
		b, _ := packing(t)
		run, _ := packing(t)
		single, _ := packing(t)
		for _, before := range []*bench{b, run, single} {
			before.group(before.sorter, "", 1, 1)
		}
		run.group(run.sorter, "", 2, 4)
		single.want("beyond a gap", single.group(single.sorter, of.parked, 3, 3), "parked")
		for _, from := range []*bench{run, single} {
			page, err := from.memory.Messages(t.Context(), cursor.Query{Queue: "q", First: 2, Last: cursor.MaxSeq, Strong: true})
			check(t, err)
			put(t, b.memory, page.Messages...)
		}
		b.want("items", b.items(), "[1 2 3]")
		_, err := b.sorter.Recheck(t.Context(), "q")
		check(t, err)
		b.want("moved over", b.bodies(b.sorter, 0, 4), "1 2 3 4")
		b.want("the run again", b.group(b.sorter, "", 1, 4), "duplicate")
		b.want("what was parked", b.group(b.sorter, of.parked, 3, 3), of.again)
	}
}
