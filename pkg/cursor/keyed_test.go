package cursor_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/queuelog"
	"github.com/streamsort/streamsort/internal/sortkey"
	"github.com/streamsort/streamsort/pkg/cursor"
)

// keyedOf is a message of a keyed queue of texts.
func keyedOf(key, id string) cursor.Message {
	return cursor.Message{
		KeyParts: []any{key}, KeyType: "text",
		Queue: "q", ID: id, Body: []byte(key + id),
	}
}

// putKeyed puts messages, and returns the answers as texts.
func (b *bench) putKeyed(messages ...cursor.Message) string {
	b.t.Helper()
	var all []string
	for _, r := range b.sorter.Put(b.t.Context(), messages...) {
		check.OK(b.t, r.Err)
		answer := string(r.Outcome)
		if r.Seq != cursor.NoSeq {
			answer += fmt.Sprint(" ", r.Seq)
		}
		if r.Late {
			answer += " late"
		}
		if !r.SettlesAt.IsZero() {
			answer += r.SettlesAt.Format(" 05")
		}
		all = append(all, answer)
	}
	return strings.Join(all, ", ")
}

// settle settles the queue by another process, up to a sort key.
func (b *bench) settle(upTo sortkey.SortKey) string {
	b.t.Helper()
	did := check.Get(b.process(cursor.Options{}).Settle(b.t.Context(), "q", upTo))
	answer := fmt.Sprintf("%d placed", did.Placed)
	for n, what := range map[*int]string{&did.Stale: "stale", &did.Waiting.Count: "waiting"} {
		if *n > 0 {
			answer += fmt.Sprintf(", %d %s", *n, what)
		}
	}
	return answer
}

// settleLater settles all of it a minute later.
func (b *bench) settleLater() string {
	b.t.Helper()
	b.later(time.Minute)
	return b.settle(sortkey.EverySortKey)
}

// keyedLog reads the whole queue: bodies, ! for late ones, ? for unlinked, - for those dropped.
func (b *bench) keyedLog() string {
	b.t.Helper()
	var all []string
	for m, err := range b.process(cursor.Options{}).Read(b.t.Context(), "q", 0, b.status().Position) {
		check.OK(b.t, err)
		entry := string(m.Body)
		switch {
		case m.Tombstone != "" && m.Late && m.Key != "":
			entry = "-"
		case m.Tombstone != "":
			entry = "|"
		case m.Late:
			entry += "!"
		}
		if m.Unlinked {
			entry += "?"
		}
		all = append(all, entry)
	}
	return strings.Join(all, " ")
}

func (b *bench) later(d time.Duration) { b.now = b.now.Add(d) }

// TestMessagesComeOutByTheirKeys once their window is over, and what is late behind them.
func TestMessagesComeOutByTheirKeys(t *testing.T) {
	b := newBench(t, nil)
	b.want("put", b.putKeyed(keyedOf("c", "1"), keyedOf("a", "1"), keyedOf("b", "1")),
		"waiting 14, waiting 14, waiting 14")
	b.want("at once", b.settle(sortkey.EverySortKey), "0 placed, 3 waiting")
	b.later(3 * time.Second)
	b.want("a later one", b.putKeyed(keyedOf("b", "2"), keyedOf("d", "1")), "waiting 17, waiting 17")
	b.later(2 * time.Second)
	b.want("when the first are due", b.settle(sortkey.EverySortKey), "4 placed, 1 waiting")
	b.want("log", b.keyedLog(), "a1 b1 b2 c1")
	b.want("late, repeated, and again", b.putKeyed(keyedOf("a", "2"), keyedOf("a", "1"),
		keyedOf("d", "1"), keyedOf("c", "2")), "advanced 5 late, duplicate 1, duplicate 17, waiting 19")
	b.want("the late one again", b.putKeyed(keyedOf("a", "2")), "duplicate 5 late")
	b.want("the rest", b.settleLater(), "2 placed")
	b.want("log", b.keyedLog(), "a1 b1 b2 c1 a2! c2 d1")
	other := keyedOf("a", "1")
	other.Body = []byte("other")
	b.want("another under key and id", b.putKeyed(other), "conflict")
	b.want("the same id under another key", b.putKeyed(keyedOf("e", "1")), "waiting 19")
}

// TestLateMessagesAreDropped where the queue says so, but for those of an equal key.
func TestLateMessagesAreDropped(t *testing.T) {
	b := newBench(t, withSettings(func(s *cursor.Settings) { s.Late, s.Settle = cursor.LateDrop, 0 }))
	b.want("put", b.putKeyed(keyedOf("b", "1")), "waiting 09")
	b.want("settled at once", b.settle(sortkey.EverySortKey), "1 placed")
	b.want("late", b.putKeyed(keyedOf("a", "1"), keyedOf("a", "1")),
		"dropped 2 late, duplicate 2 late")
	var equal []string
	for i := range 20 {
		equal = append(equal, b.putKeyed(keyedOf("b", fmt.Sprint("x", i))))
	}
	all := strings.Join(equal, " ")
	check.That(t, !strings.Contains(all, "dropped") && strings.Contains(all, "late"),
		"of equal keys: %s", all)
	b.settle(sortkey.EverySortKey)
	log := b.keyedLog()
	check.That(t, strings.HasPrefix(log, "b1 - "), "log %s", log)
	check.That(t, b.status().LateSoFar >= 2, "less than two were late")
}

// TestLinkedMessages are marked where another stands before them.
func TestLinkedMessages(t *testing.T) {
	b := newBench(t, nil)
	put := func(key, id, prev string) {
		t.Helper()
		m := keyedOf(key, id)
		m.Prev = prev
		b.putKeyed(m)
	}
	put("a", "1", "0")
	put("b", "2", "1")
	put("d", "4", "3")
	b.settleLater()
	put("e", "5", "4")
	put("c", "3", "2")
	b.settleLater()
	b.want("log", b.keyedLog(), "a1? b2 d4? c3!? e5?")
	for i := range 3 * queuelog.OrderItemEntries {
		put(fmt.Sprintf("f%04d", i), fmt.Sprint(i), fmt.Sprint(i-1))
		if i%7 == 0 {
			b.settleLater()
		}
	}
	log := b.keyedLog()
	check.Is(t, strings.Count(log, "?"), 5, "one is unlinked because the tail was flushed", log)
}

// TestAClockFarAhead does not have its message wait for it.
func TestAClockFarAhead(t *testing.T) {
	b := newBench(t, nil)
	b.later(4 * time.Minute)
	b.putKeyed(keyedOf("a", "1"))
	b.later(2 * time.Hour)
	b.putKeyed(keyedOf("b", "1"))
	b.later(-2*time.Hour - 4*time.Minute)
	b.want("settle", b.settle(sortkey.EverySortKey), "2 placed")
}

// TestAMessageThatHasSeenMoreThanTheQueueHas is of a time that a restore took back. It gets no
// place, for no repeat would find that, until the queue has come so far.
func TestAMessageThatHasSeenMoreThanTheQueueHas(t *testing.T) {
	b := newBench(t, nil)
	b.putKeyed(keyedOf("a", "1"))
	b.settleLater()
	m := waitingOf(t, "q", "b", "1")
	m.Prev, m.Seen, m.EnqueuedAt, m.Digest = "", 2, b.now, []byte("0123456789abcdef")
	check.Get(b.memory.Inside().PutArrival(t.Context(), m))
	b.want("settle", b.settleLater(), "0 placed, 1 stale")
	b.putKeyed(keyedOf("c", "1"))
	b.want("another", b.settleLater(), "1 placed, 1 stale")
	b.want("when it has come so far", b.settleLater(), "1 placed")
	log := b.keyedLog()
	check.That(t, strings.HasPrefix(log, "a1 c1 ") && strings.HasSuffix(log, "!"), "log %s", log)
}

// TestALookAtTheWhole finds what was stored below what is settled, and has no place: what a restore
// brings back, or a writer that died before it looked. docs/how-to/restore.md has it made so.
func TestALookAtTheWhole(t *testing.T) {
	b := newBench(t, nil)
	for i := range 3 {
		b.putKeyed(keyedOf(fmt.Sprint("b", i), "1"))
		b.settleLater()
		b.settle(sortkey.EverySortKey)
	}
	m := waitingOf(t, "q", "a", "1")
	m.Prev, m.Seen, m.EnqueuedAt = "", 1, b.now
	check.Get(b.memory.Inside().PutArrival(t.Context(), m))
	b.want("settle", b.settle(sortkey.EverySortKey), "0 placed")
	check.Get(b.tables.Do(t.Context(), ddb.Update{
		Op:  ddb.Op{Op: "look at the whole", Table: &cursor.Names{}.Tables()[1]},
		Key: ddb.Fields{"queue": ddb.Text("q")}.Item(),
		Do:  []ddb.Action{ddb.Path("low").Set(ddb.Blob([]byte{0}))},
	}))
	b.want("settle", b.settle(sortkey.EverySortKey), "1 placed")
	b.want("settle", b.settle(sortkey.EverySortKey), "0 placed")
	cur := b.status()
	check.That(t, cur.Position == 4 && cur.LateSoFar == 1 && cur.Low == cur.High, "%+v", cur)
}

// TestKeyedMistakes have an error that names the field, and nothing is stored.
func TestKeyedMistakes(t *testing.T) {
	b := newBench(t, nil)
	b.putKeyed(keyedOf("a", "1"))
	b.put(cursor.Message{Queue: "numbered", Seq: 1})
	change := func(do func(*cursor.Message)) cursor.Message {
		m := keyedOf("x", "new")
		do(&m)
		return m
	}
	for name, c := range map[string]struct {
		m     cursor.Message
		field string
	}{
		"no key":             {change(func(m *cursor.Message) { m.KeyParts = nil }), "key"},
		"two keys":           {change(func(m *cursor.Message) { m.KeyParts = []any{"a", "b"} }), "key"},
		"no text":            {change(func(m *cursor.Message) { m.KeyParts = []any{5} }), "key"},
		"no id":              {change(func(m *cursor.Message) { m.ID = "" }), "id"},
		"a seq":              {change(func(m *cursor.Message) { m.Seq = 1 }), "seq"},
		"prev too long":      {change(func(m *cursor.Message) { m.Prev = strings.Repeat("x", 1025) }), "prev"},
		"an invalid prev":    {change(func(m *cursor.Message) { m.Prev = "\xff" }), "prev"},
		"another type":       {change(func(m *cursor.Message) { m.KeyParts, m.KeyType = []any{1}, "number" }), "keyType"},
		"a numbered queue":   {change(func(m *cursor.Message) { m.Queue = "numbered" }), "key"},
		"new without a type": {change(func(m *cursor.Message) { m.Queue, m.KeyType = "new", "" }), "keyType"},
	} {
		refuses(t, name, b.sorter.Put(t.Context(), c.m)[0].Err, c.field)
	}
	check.That(t, check.Err(b.sorter.Settle(t.Context(), "numbered", sortkey.EverySortKey)) != nil,
		"a numbered queue is settled")
	check.Fails(t, check.Err(b.sorter.Settle(t.Context(), "none", sortkey.EverySortKey)),
		cursor.ErrNoQueue)
	one, two := keyedOf("t", "1"), keyedOf("t", "1")
	two.Body = []byte("other")
	results := b.sorter.Put(t.Context(), one, two, one)
	check.That(t, results[0].Outcome == cursor.Waiting && results[1].Err != nil &&
		results[2].Err == nil, "twins: %+v", results)
	check.That(t, check.Err(appendTo(t.Context(), b.sorter, arrival("a"))) != nil,
		"an arrival is taken by a keyed queue")
	check.That(t, b.sorter.Put(t.Context(), cursor.Message{Queue: "q", Seq: 1})[0].Err != nil,
		"a numbered message is taken by a keyed queue")
	check.Is(t, check.Get(b.sorter.Steps().Remaining(t.Context(), "q")).Arrivals, 2)
}

// TestTheSweepSettles what no wake-up came for, and announces what was late, once.
func TestTheSweepSettles(t *testing.T) {
	b := newBench(t, nil)
	b.putKeyed(keyedOf("b", "1"), keyedOf("c", "1"))
	var announced []cursor.Announcement
	overdue := map[string]time.Duration{}
	sweep := func() cursor.SweepReport {
		t.Helper()
		return check.Get(b.sorter.Sweep(t.Context(), cursor.SweepOptions{
			Overdue: func(queue string, age time.Duration) { overdue[queue] = age },
			Announce: func(_ context.Context, a cursor.Announcement) error {
				announced = append(announced, a)
				return nil
			},
		}))
	}
	if r := sweep(); r.Placed != 0 || r.Waiting != 2 || r.Overdue != 0 {
		t.Errorf("before the window is over: %+v", r)
	}
	b.later(7 * time.Second)
	r := sweep()
	check.That(t, r.Placed == 2 && r.Waiting == 0 && r.Overdue == 2*time.Second &&
		overdue["q"] == r.Overdue, "after it: %+v, %v", r, overdue)
	b.putKeyed(keyedOf("a", "1"), keyedOf("a", "2"))
	sweep()
	sweep()
	check.That(t, len(announced) == 1 && announced[0].Kind == cursor.MessageLate &&
		announced[0].Late == 2 && len(announced[0].LateExamples) == 2 &&
		announced[0].LateExamples[1].Seq == 4, "announced %+v", announced)
	b.want("log", b.keyedLog(), "b1 c1 a1! a2!")
	cur := b.status()
	check.That(t, cur.Low == cur.High, "the sweep of a quiet queue reads what it has placed again")
}

// timed is a message of a queue of times, from a sender that can repeat it, or cannot.
func timed(queue, id string, at, received time.Time) cursor.Message {
	return cursor.Message{
		KeyParts: []any{at}, KeyType: "time", Received: received,
		Queue: queue, ID: id, Body: []byte(id),
	}
}

// TestAClockThatIsAhead: a time far ahead is refused, and makes no queue; where the sender cannot
// repeat, it becomes the time of receipt, however often it comes.
func TestAClockThatIsAhead(t *testing.T) {
	onEach(t, func(t *testing.T, s *cursor.Store, q string) {
		now := at
		defaults := cursor.DefaultSettings()
		defaults.Settle = 0
		sorter := check.Get(cursor.New(s,
			&cursor.Options{Now: func() time.Time { return now }, Defaults: &defaults}))
		put := func(m cursor.Message) cursor.Result {
			t.Helper()
			return sorter.Put(t.Context(), m)[0]
		}
		refused := func(what string, m cursor.Message, problem string) {
			t.Helper()
			wrong := check.As[*cursor.InvalidError](t, put(m).Err)
			check.Is(t, wrong.Field, "key", what)
			same(t, what, wrong.Problem, problem)
		}
		year := time.Date(2199, 1, 2, 3, 4, 5, 0, time.UTC)
		const what = `is 2199-01-02T03:04:05Z, and at most 2126-03-05T05:06:07Z are taken, 24h0m0s ahead of now: set the sender's clock, or "clockAhead" with PUT /queues`
		refused("first", timed(q, "a", year, time.Time{}), what)
		same(t, "no queue", standing(t, s, q).Exists(), false)

		same(t, "at the bound", put(timed(q, "b", now.Add(24*time.Hour), time.Time{})).Outcome,
			cursor.Waiting)
		refused("then", timed(q, "a", year, time.Time{}), what)
		for range 2 {
			r := put(timed(q, "hook", year, now))
			same(t, "received", r.Err, nil)
			same(t, "received instead", r.ClockAhead, true)
			now = now.Add(time.Second)
		}
		check.Get(sorter.Settle(t.Context(), q, sortkey.EverySortKey))
		var keys []string
		for m, err := range sorter.Read(t.Context(), q, 0, standing(t, s, q).Position) {
			check.OK(t, err)
			keys = append(keys, m.ID+" "+m.Key.String())
		}
		same(t, "log", keys, []string{"hook 2126-03-04T05:06:07Z", "b 2126-03-05T05:06:07Z"})

		ahead := 87600 * time.Hour
		cur := check.Get(sorter.Configure(t.Context(), q, cursor.Change{ClockAhead: &ahead}))
		same(t, "ahead", cur.Settings.ClockAhead, ahead)
		now = now.Add(time.Minute)
		short := time.Hour
		check.Get(sorter.Configure(t.Context(), q, cursor.Change{ClockAhead: &short}))
		refused("with another bound", timed(q, "c", now.Add(time.Hour+time.Second), time.Time{}),
			`is 2126-03-04T06:07:10Z, and at most 2126-03-04T06:07:09Z are taken, 1h0m0s ahead of now: set the sender's clock, or "clockAhead" with PUT /queues`)
	})
}

// TestAheadIsForTimes: each time of a key is looked at, and no number; a queue whose keys have none
// has no such bound.
func TestAheadIsForTimes(t *testing.T) {
	b := newBench(t, nil)
	m := timed("q", "a", time.Time{}, time.Time{})
	m.KeyType, m.KeyParts = "number,time", []any{4_000_000_000, "2099-01-02T03:04:05Z"}
	err := b.sorter.Put(t.Context(), m)[0].Err
	check.Is(t, check.As[*cursor.InvalidError](t, err).Problem[:22], "part 2 of 2 is 2099-01")
	m.Received = b.now
	b.want("by its receipt", b.putKeyed(m), "waiting 14")

	b = newBench(t, nil)
	b.putKeyed(keyedOf("a", "1"))
	kind, text, times := cursor.KindKeyed, sortkey.KeyType("text"), sortkey.KeyType("time")
	hour, tooShort := time.Hour, time.Millisecond
	for queue, change := range map[string]cursor.Change{
		"q": {ClockAhead: &hour}, "new": {Kind: &kind, KeyType: &text, ClockAhead: &hour}, "short": {Kind: &kind, KeyType: &times, ClockAhead: &tooShort},
		"numbered": {ClockAhead: &hour},
	} {
		refuses(t, queue, check.Err(b.sorter.Configure(t.Context(), queue, change)), "clockAhead")
	}
	check.Is(t, b.status().Settings.ClockAhead, 0)
}

// restart begins the keys anew by another process.
func (b *bench) restart(op string) cursor.Cursor {
	b.t.Helper()
	return check.Get(b.process(cursor.Options{}).RestartKeys(b.t.Context(), "q", op))
}

// TestKeysBeginAnew: what waits is placed, the log says where the next era begins, and order holds
// within each.
func TestKeysBeginAnew(t *testing.T) {
	b := newBench(t, nil)
	b.want("put", b.putKeyed(keyedOf("c", "1"), keyedOf("b", "1")), "waiting 14, waiting 14")
	b.later(time.Second)
	b.restart("one")
	b.want("log", b.keyedLog(), "b1 c1 |")
	b.want("one that knows the queue from before", b.putKeyed(keyedOf("a", "1")), "advanced 4 late")
	b.want("of the next era", b.putKeyed(keyedOf("b", "1"), keyedOf("a", "2")),
		"waiting 15, waiting 15")
	b.later(5 * time.Second)
	b.want("settled", b.settle(sortkey.EverySortKey), "2 placed")
	b.want("log", b.keyedLog(), "b1 c1 | a1! a2 b1")
	b.want("what waits is seen", b.putKeyed(keyedOf("d", "1")), "waiting 20")
	if cur := b.status(); cur.High.Key().String() != "b" || cur.Position != 6 {
		t.Errorf("high %s, position %d", cur.High.Key(), cur.Position)
	}
	// A repeat of the order does nothing, another one begins the next era.
	b.want("position", fmt.Sprint(b.restart("one").Position), "6")
	b.want("position", fmt.Sprint(b.restart("two").Position), "8")
	b.want("log", b.keyedLog(), "b1 c1 | a1! a2 b1 d1 |")
	b.want("verified", b.verified(0, 8), "0 to 8: 6, 2 skipped")
}

// TestNothingIsDroppedByARestart: a message whose writer did not know of it is late, and stays.
func TestNothingIsDroppedByARestart(t *testing.T) {
	b := newBench(t, withSettings(func(s *cursor.Settings) { s.Late, s.Settle = cursor.LateDrop, 0 }))
	b.putKeyed(keyedOf("c", "1"))
	b.settle(sortkey.EverySortKey)
	b.restart("one")
	old := b.sorter
	b.sorter = b.process(cursor.Options{})
	b.want("of the next era", b.putKeyed(keyedOf("b", "2")), "waiting 09")
	b.settle(sortkey.EverySortKey)
	b.want("late in it", b.putKeyed(keyedOf("a", "2")), "dropped 4 late")
	b.sorter = old
	b.want("of the era before", b.putKeyed(keyedOf("a", "1")), "advanced 5 late")
	b.want("log", b.keyedLog(), "c1 | b2 - a1!")
}

// TestOnlyKeyedQueuesBeginAnew and such as are there.
func TestOnlyKeyedQueuesBeginAnew(t *testing.T) {
	b := newBench(t, nil)
	_, err := b.sorter.RestartKeys(t.Context(), "q", "op")
	check.That(t, errors.Is(err, cursor.ErrNoQueue), "%v", err)
	b.put(body(1))
	refuses(t, "queue", check.Err(b.sorter.RestartKeys(t.Context(), "q", "op")), "queue")
}

// TestACounterThatBeganAgain is announced when 20 messages in a row were late, and not before.
func TestACounterThatBeganAgain(t *testing.T) {
	b := newBench(t, withSettings(func(s *cursor.Settings) { s.Settle = 0 }))
	sweep := func() string {
		t.Helper()
		var said []string
		check.Get(b.process(cursor.Options{}).Sweep(t.Context(),
			cursor.SweepOptions{Segments: 1, Announce: func(_ context.Context, a cursor.Announcement) error {
				_, at, _ := strings.Cut(a.ID, "/1/")
				said = append(said, fmt.Sprint(a.Kind, " ", a.Late, " ", at))
				return nil
			}}))
		return strings.Join(said, ", ")
	}
	late := func(from, to int) {
		t.Helper()
		for i := from; i < to; i++ {
			b.putKeyed(keyedOf(fmt.Sprintf("a%02d", i), "x"))
		}
	}
	b.putKeyed(keyedOf("k", "x"))
	b.settle(sortkey.EverySortKey)
	late(0, 19)
	b.want("19 in a row", sweep(), "message.late 19 q/19")
	b.putKeyed(keyedOf("l", "x"))
	b.settle(sortkey.EverySortKey)
	late(19, 38)
	b.want("19 behind one that is not late", sweep(), "message.late 19 q/38")
	b.want("nothing new", sweep(), "")
	late(38, 39)
	b.want("20 in a row", sweep(), "keys.behind 20 q/22, message.late 1 q/39")
	late(39, 41)
	b.want("and two more", sweep(), "keys.behind 22 q/22, message.late 2 q/41")
	b.restart("one")
	b.sorter = b.process(cursor.Options{})
	b.putKeyed(keyedOf("a00", "x"))
	b.want("anew", sweep(), "")
	if cur := b.status(); cur.LateInRow != 0 || cur.LateSoFar != 41 {
		t.Errorf("%d late in a row, %d in all", cur.LateInRow, cur.LateSoFar)
	}
}

// TestALateOneIsCountedOnce: by the writer, or by the settler that was before it.
func TestALateOneIsCountedOnce(t *testing.T) {
	for _, settlerFirst := range []bool{false, true} {
		b := newBench(t, withSettings(func(s *cursor.Settings) { s.Settle = 0 }))
		b.putKeyed(keyedOf("b", "1"))
		b.settle(sortkey.EverySortKey)
		settled := 0
		settler := b.process(cursor.Options{})
		b.engine = ddb.Func(func(ctx context.Context, r ddb.Request) (ddb.Answer, error) {
			a, err := b.tables.Do(ctx, r)
			if r.Name() == "put arrival" && settlerFirst {
				settled += check.Get(settler.Settle(ctx, "q", sortkey.EverySortKey)).Late
			}
			return a, err
		})
		b.sorter = b.process(cursor.Options{})
		results := b.sorter.Put(t.Context(), keyedOf("a", "1"), keyedOf("a", "1"))
		counted := settled
		for _, r := range results {
			check.OK(t, r.Err)
			if r.Placed {
				counted++
			}
			check.That(t, r.Late, "settler first %v: %+v", settlerFirst, r)
		}
		check.That(t, counted == 1 && settlerFirst == (settled == 1),
			"settler first %v: counted %d times, %d by it", settlerFirst, counted, settled)
	}
}
