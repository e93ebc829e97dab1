package archive_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/ddbtest"
	"github.com/streamsort/streamsort/internal/queuelog"
	"github.com/streamsort/streamsort/internal/sortkey"
	"github.com/streamsort/streamsort/pkg/archive"
	"github.com/streamsort/streamsort/pkg/archive/archivetest"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/table"
)

func TestTableConforms(t *testing.T) {
	ddbtest.Each(t, func(t *testing.T, kind ddbtest.Kind) {
		names := archive.Names{Archive: "archive" + ddbtest.Suffix()}
		archivetest.Run(t, archive.NewTable(ddbtest.Open(t, kind, names.Tables()...), names))
	})
}

// TestAStaleTableConforms: whatever a read shows that is not strong, all of an archive
// is seen at once.
func TestAStaleTableConforms(t *testing.T) {
	archivetest.Run(t, archive.NewTable(ddbtest.NewStale(ddb.NewMemory(archive.Names{}.Tables()...), nil), archive.Names{}))
}

// breaking is a table that fails where fail says so.
type breaking struct {
	ddb.Engine
	fail func(ddb.Request) error
}

func (b *breaking) Do(ctx context.Context, r ddb.Request) (ddb.Answer, error) {
	if b.fail != nil {
		if err := b.fail(r); err != nil {
			return ddb.Answer{}, err
		}
	}
	return b.Engine.Do(ctx, r)
}

// shelf is an Archive of queues in memory.
type shelf struct {
	*testing.T
	now    time.Time
	queues *cursor.Store
	sorter *cursor.Sorter
	table  breaking
	meter  *ddbtest.Meter
	store  *archive.Table
	a      *archive.Archive
}

func newShelf(t *testing.T) *shelf {
	t.Helper()
	s := &shelf{T: t, queues: cursor.NewMemory(), now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	var err error
	if s.sorter, err = cursor.New(s.queues, &cursor.Options{Now: func() time.Time { return s.now }}); err != nil {
		t.Fatal(err)
	}
	s.table.Engine = ddb.NewMemory(archive.Names{}.Tables()...)
	s.meter = ddbtest.NewMeter(&s.table)
	s.store = archive.NewTable(s.meter, archive.Names{})
	s.a = archive.New(s.store, s.sorter)
	return s
}

// message is one with all that a producer can give it.
func message(queue string, seq int64) cursor.Message {
	return cursor.Message{
		Queue: queue, Seq: seq, ID: fmt.Sprint("id ", seq), Body: []byte("{\n}\n" + fmt.Sprint(seq)), ContentType: "text/plain",
		Attributes: map[string]string{"a": "ü"},
		Trace:      cursor.Trace{Parent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", State: "a=1"},
	}
}

func (s *shelf) put(queue string, first, last int64) {
	s.Helper()
	for seq := first; seq <= last; seq++ {
		if err := s.sorter.Put(s.Context(), message(queue, seq))[0].Err; err != nil {
			s.Fatal(err)
		}
	}
}

func (s *shelf) keep(queue string, upTo int64, limit int, want archive.Kept) {
	s.Helper()
	got, err := s.a.Keep(s.Context(), queue, upTo, limit)
	if err != nil || got != want {
		s.Errorf("kept %+v, %v; want %+v", got, err, want)
	}
	if to, err := s.a.To(s.Context(), queue); err != nil || to != want.To {
		s.Errorf("archived up to %d, %v; want %d", to, err, want.To)
	}
}

func (s *shelf) delete(queue string, seqs ...int64) {
	s.Helper()
	if _, err := s.queues.Requests(queuelog.Inside{}).DeleteMessages(s.Context(), queue, seqs); err != nil {
		s.Fatal(err)
	}
}

// replayed replays a range, and compares it with what was put first.
func (s *shelf) replayed(r archive.Range, want archive.Replayed) {
	s.Helper()
	got, err := s.a.Replay(s.Context(), r, 1000)
	if err != nil || got != want {
		s.Fatalf("replayed %+v, %v; want %+v", got, err, want)
	}
}

func (s *shelf) has(queue string, seqs ...int64) {
	s.Helper()
	for _, seq := range seqs {
		for m, err := range s.sorter.Read(s.Context(), queue, seq-1, seq) {
			if err != nil {
				s.Fatal(err)
			}
			want := message(queue, seq)
			got := cursor.Message{Queue: m.Queue, Seq: m.Seq, ID: m.ID, Body: m.Body, ContentType: m.ContentType, Attributes: m.Attributes, Trace: m.Trace}
			if diff := cmp.Diff(want, got); diff != "" {
				s.Errorf("(-want +got):\n%s", diff)
			}
		}
	}
}

// TestKeepAndReplay: what was deleted comes back as it was, as often as it is
// asked for.
func TestKeepAndReplay(t *testing.T) {
	s := newShelf(t)
	s.put("q", 1, 60)
	s.put("q/mark", 1, 2) // its keys are its own
	s.keep("q", 40, 1000, archive.Kept{To: 40, Messages: 40})
	s.keep("q/mark", 2, 1000, archive.Kept{To: 2, Messages: 2})
	s.keep("q", 60, 1000, archive.Kept{To: 60, Messages: 20})
	s.delete("q", 1, 2, 3, 4, 5)
	for range 2 {
		s.replayed(archive.Range{Queue: "q", From: 2, To: 58, Into: "again"}, archive.Replayed{Last: 58, Messages: 57})
	}
	s.has("again", 2, 3, 30, 58)
	long := strings.Repeat("ü", 500)
	s.put(long, 1, 1)
	s.keep(long, 1, 1000, archive.Kept{To: 1, Messages: 1})
	s.put("..", 1, 1)
	s.keep("..", 1, 1000, archive.Kept{To: 1, Messages: 1})
	if raw, err := s.store.Get(t.Context(), "%2E./mark"); err != nil || raw == nil {
		t.Errorf("the mark of a queue named like a folder above is %s, %v", raw, err)
	}
	it, err := s.sorter.Status(t.Context(), "again")
	if err != nil || it.Position != 58 || it.Settings.First != 2 {
		t.Errorf("%+v, %v", it, err)
	}
	s.replayed(archive.Range{Queue: "q", From: 59, To: 60, Into: "again"}, archive.Replayed{Last: 60, Messages: 2})
	s.replayed(archive.Range{Queue: "q/mark", From: 1, To: 2, Into: "other"}, archive.Replayed{Last: 2, Messages: 2})
	s.has("other", 1, 2)
}

// TestSkipped: what was skipped is archived as such, and skipped again, also
// where nothing comes behind it.
func TestSkipped(t *testing.T) {
	s := newShelf(t)
	s.put("q", 1, 1)
	for _, seq := range []int64{2, 3, 5} {
		if _, err := s.sorter.Skip(t.Context(), "q", seq, "never sent"); err != nil {
			t.Fatal(err)
		}
	}
	s.put("q", 4, 4)
	s.keep("q", 5, 1000, archive.Kept{To: 5, Messages: 5})
	for range 2 {
		s.replayed(archive.Range{Queue: "q", From: 1, To: 5, Into: "again"}, archive.Replayed{Last: 5, Messages: 2, Skipped: 3})
	}
	it, err := s.sorter.Status(t.Context(), "again")
	if err != nil || it.Position != 5 {
		t.Errorf("%+v, %v; want all 5", it, err)
	}
	for m, err := range s.sorter.Read(t.Context(), "again", 4, 5) {
		if err != nil || m.Tombstone != "never sent" {
			t.Errorf("%+v, %v", m, err)
		}
	}
}

// TestArrivalOrder: such a queue is archived too, and replayed under the numbers
// that it gave.
func TestArrivalOrder(t *testing.T) {
	s := newShelf(t)
	for i := range 3 {
		m := message("q", 0)
		m.ID = fmt.Sprint("id ", i+1)
		m.Body = message("q", int64(i)+1).Body
		m.Seq = cursor.NoSeq
		if err := s.sorter.Put(t.Context(), m)[0].Err; err != nil {
			t.Fatal(err)
		}
	}
	s.keep("q", 3, 1000, archive.Kept{To: 3, Messages: 3})
	s.replayed(archive.Range{Queue: "q", From: 2, To: 3, Into: "again"}, archive.Replayed{Last: 3, Messages: 2})
	s.has("again", 2, 3)
}

// TestKeyedQueues are archived with their keys, and replayed under the numbers that they
// gave.
func TestKeyedQueues(t *testing.T) {
	s := newShelf(t)
	put := func(key string, seq int64) {
		t.Helper()
		m := message("q", seq)
		m.ID, m.Seq, m.KeyParts, m.KeyType = fmt.Sprint("id ", seq), 0, []any{key}, "text"
		if err := s.sorter.Put(t.Context(), m)[0].Err; err != nil {
			t.Fatal(err)
		}
	}
	settle := func() {
		t.Helper()
		settled := time.Duration(0)
		if _, err := s.sorter.Configure(t.Context(), "q", cursor.Change{Settle: &settled}); err != nil {
			t.Fatal(err)
		}
		if _, err := s.sorter.Settle(t.Context(), "q", sortkey.EverySortKey); err != nil {
			t.Fatal(err)
		}
	}
	put("b", 2)
	put("a", 1)
	settle()
	put("a0", 3)
	s.keep("q", 3, 1000, archive.Kept{To: 3, Messages: 3})
	for seq, want := range map[int64]string{1: `"a" false`, 3: `"a0" true`} {
		m, there, err := s.a.Message(t.Context(), "q", seq)
		if got := fmt.Sprintf("%s %v", m.Key.JSON(), m.Late); err != nil || !there || got != want {
			t.Errorf("message %d: %s, %v; want %s", seq, got, err, want)
		}
	}
	s.replayed(archive.Range{Queue: "q", From: 2, To: 3, Into: "again"}, archive.Replayed{Last: 3, Messages: 2})
	s.has("again", 2, 3)
}

// TestKeepStopsAtItsLimit, and marks what it did.
func TestKeepStopsAtItsLimit(t *testing.T) {
	s := newShelf(t)
	s.put("q", 1, 10)
	s.keep("q", 10, 4, archive.Kept{To: 4, Messages: 4})
	s.keep("q", 10, 4, archive.Kept{To: 8, Messages: 4})
	s.keep("q", 10, 4, archive.Kept{To: 10, Messages: 2})
	s.keep("q", 10, 4, archive.Kept{To: 10})
	s.keep("q", 5, 4, archive.Kept{To: 10})
}

// TestWhatIsGoneIsCounted, and stepped over; what was archived before is not
// counted, where a slower sweep set the mark back.
func TestWhatIsGoneIsCounted(t *testing.T) {
	s := newShelf(t)
	s.put("q", 1, 9)
	s.delete("q", 1, 2, 5)
	s.keep("q", 9, 1000, archive.Kept{To: 9, Messages: 6, Missing: 1}) // 1 and 2 were before it began
	s.put("q", 10, 12)
	s.delete("q", 10, 11, 12)
	s.keep("q", 12, 1000, archive.Kept{To: 12, Missing: 3})

	if err := s.store.Put(t.Context(), "q/mark", []byte(`{"v":1,"queue":"q","to":3}`)); err != nil {
		t.Fatal(err)
	}
	s.delete("q", 4, 6)
	s.keep("q", 9, 1000, archive.Kept{To: 9, Messages: 3, Missing: 1})
	if _, err := s.a.Replay(t.Context(), archive.Range{Queue: "q", From: 4, To: 4, Into: "again"}, 10); err != nil {
		t.Errorf("what was deleted after it was archived: %v", err)
	}
}

// TestRestoredTables: tables went back to before the archive's mark. What comes then,
// under the same numbers, is archived in place of what is lost, and not taken for it.
func TestRestoredTables(t *testing.T) {
	s := newShelf(t)
	s.put("q", 1, 9)
	s.keep("q", 9, 1000, archive.Kept{To: 9, Messages: 9})

	store := s.store
	s = newShelf(t)
	s.a = archive.New(store, s.sorter)
	s.put("q", 1, 4)
	s.keep("q", 2, 1000, archive.Kept{To: 4}) // also where a consumer is behind
	for seq := int64(5); seq <= 9; seq++ {
		if err := s.sorter.Put(t.Context(), cursor.Message{Queue: "q", Seq: seq, Body: []byte("other")})[0].Err; err != nil {
			t.Fatal(err)
		}
	}
	s.keep("q", 9, 1000, archive.Kept{To: 9, Messages: 5})
	for seq, want := range map[int64]string{4: string(message("q", 4).Body), 5: "other", 9: "other"} {
		if m, there, err := s.a.Message(t.Context(), "q", seq); err != nil || !there || string(m.Body) != want {
			t.Errorf("message %d is archived as %q, %v; want %q", seq, m.Body, err, want)
		}
	}
}

// TestEveryFault: a call that fails at any put leaves nothing that is marked and not
// archived, and the next call makes up for it.
func TestEveryFault(t *testing.T) {
	for nth := 1; ; nth++ {
		s := newShelf(t)
		s.put("q", 1, 3)
		puts, failed := 0, false
		s.table.fail = func(r ddb.Request) error {
			if !r.Writes() {
				return nil
			}
			if puts++; puts == nth {
				failed = true
				return errors.New("no answer")
			}
			return nil
		}
		done, err := s.a.Keep(t.Context(), "q", 3, 1000)
		if failed == (err == nil) {
			t.Fatalf("put %d: %+v, %v", nth, done, err)
		}
		to, err := s.a.To(t.Context(), "q")
		if err != nil || to > done.To || done.To > 3 {
			t.Fatalf("put %d: marked up to %d, got %+v, %v", nth, to, done, err)
		}
		for seq := max(to, 0); seq > 0; seq-- {
			if raw, err := s.store.Get(t.Context(), fmt.Sprintf("q/%019d", seq)); err != nil || raw == nil {
				t.Errorf("put %d: marked up to %d, and %d is not archived", nth, to, seq)
			}
		}
		if _, err := s.a.Keep(t.Context(), "q", 3, 1000); err != nil {
			t.Fatal(err)
		}
		s.replayed(archive.Range{Queue: "q", From: 1, To: 3, Into: "again"}, archive.Replayed{Last: 3, Messages: 3})
		if !failed {
			return
		}
	}
}

// TestDelivered: nothing expires that is not archived.
func TestDelivered(t *testing.T) {
	s := newShelf(t)
	s.put("q", 1, 9)
	answers := func(seq int64, any bool) func(context.Context, string) (int64, bool, error) {
		return s.a.Delivered(func(context.Context, string) (int64, bool, error) { return seq, any, nil })
	}
	for _, c := range []struct {
		seq, want int64
		any       bool
	}{{7, -1, true}, {0, 0, false}} {
		if seq, any, err := answers(c.seq, c.any)(t.Context(), "q"); seq != c.want || any != c.any || err != nil {
			t.Errorf("%d, %v, %v; want %d", seq, any, err, c.want)
		}
	}
	s.keep("q", 5, 1000, archive.Kept{To: 5, Messages: 5})
	for _, c := range [][2]int64{{7, 5}, {4, 4}} {
		if seq, any, err := answers(c[0], true)(t.Context(), "q"); seq != c[1] || !any || err != nil {
			t.Errorf("%d, %v, %v; want %d", seq, any, err, c[1])
		}
	}
}

// TestReplayInParts: it ends in time, before what is not there, and returns where.
func TestReplayInParts(t *testing.T) {
	s := newShelf(t)
	s.put("q", 1, 60)
	s.keep("q", 60, 1000, archive.Kept{To: 60, Messages: 60})
	r := archive.Range{Queue: "q", From: 1, To: 70, Into: "again"}
	for _, last := range []int64{30, 60} {
		got, err := s.a.Replay(t.Context(), r, 30)
		if err != nil || got != (archive.Replayed{Last: last, Messages: 30}) {
			t.Fatalf("%+v, %v", got, err)
		}
		r.From = got.Last + 1
	}
	if got, err := s.a.Replay(t.Context(), r, 30); !errors.Is(err, archive.ErrNotArchived) || !strings.Contains(err.Error(), "message 61 ") || got.Last != 60 {
		t.Errorf("%+v, %v; want that 61 is missing", got, err)
	}
}

// TestSkippedOverAMessage: where another message stands, what was skipped is not
// replayed, and it is said.
func TestSkippedOverAMessage(t *testing.T) {
	s := newShelf(t)
	s.put("q", 1, 1)
	if _, err := s.sorter.Skip(t.Context(), "q", 2, "never sent"); err != nil {
		t.Fatal(err)
	}
	s.keep("q", 2, 1000, archive.Kept{To: 2, Messages: 2})
	s.put("again", 1, 2)
	if _, err := s.a.Replay(t.Context(), archive.Range{Queue: "q", From: 1, To: 2, Into: "again"}, 10); !errors.Is(err, archive.ErrNotReplayed) {
		t.Errorf("over a message: %v", err)
	}
	s.has("again", 1, 2)
}

// TestBadReplays change nothing.
func TestBadReplays(t *testing.T) {
	s := newShelf(t)
	s.put("q", 1, 9)
	s.put("taken", 1, 1)
	if err := s.sorter.Put(t.Context(), cursor.Message{Queue: "arrived", Seq: cursor.NoSeq, ID: "a"})[0].Err; err != nil {
		t.Fatal(err)
	}
	s.keep("q", 9, 1000, archive.Kept{To: 9, Messages: 9})
	for field, ranges := range map[string][]archive.Range{
		"to":    {{Queue: "q", From: 3, To: 2, Into: "again"}, {Queue: "q", From: -1, To: 2, Into: "again"}},
		"into":  {{Queue: "q", From: 1, To: 2, Into: "q"}, {Queue: "q", From: 1, To: 2}, {Queue: "q", From: 1, To: 2, Into: "arrived"}, {Queue: "q", From: 5, To: 6, Into: "taken"}},
		"queue": {{From: 1, To: 2, Into: "again"}},
	} {
		for _, r := range ranges {
			var invalid *cursor.InvalidError
			if _, err := s.a.Replay(t.Context(), r, 10); !errors.As(err, &invalid) || invalid.Field != field {
				t.Errorf("%+v: %v; want that %s is refused", r, err, field)
			}
		}
	}
	conflict := message("taken", 2)
	conflict.Body = []byte("something else")
	if err := s.sorter.Put(t.Context(), conflict)[0].Err; err != nil {
		t.Fatal(err)
	}
	if _, err := s.a.Replay(t.Context(), archive.Range{Queue: "q", From: 2, To: 3, Into: "taken"}, 10); !errors.Is(err, archive.ErrNotReplayed) {
		t.Errorf("over another message: %v", err)
	}
	if _, err := s.a.Replay(t.Context(), archive.Range{Queue: "q", From: 10, To: 12, Into: "again"}, 10); !errors.Is(err, archive.ErrNotArchived) {
		t.Errorf("of what is not archived: %v", err)
	}
	if _, err := s.sorter.Status(t.Context(), "again"); !errors.Is(err, cursor.ErrNoQueue) {
		t.Errorf("a queue was made: %v", err)
	}
}

// TestDocuments: what cannot be read is an error that says why.
func TestDocuments(t *testing.T) {
	s := newShelf(t)
	s.put("q", 1, 1)
	s.keep("q", 1, 10, archive.Kept{To: 1, Messages: 1})
	for document, why := range map[string]string{
		`{"v":2,"queue":"q","seq":1}` + "\n":     "newer version",
		`{"v":1,"queue":"other","seq":1}` + "\n": "queue \"other\"",
		`{"v":1,"queue":"q","seq":2}` + "\n":     "message 2",
		`{"v":1,"queue":"q","seq":1}`:            "no document",
		"\n":                                     "no document",
	} {
		if err := s.store.Put(t.Context(), "q/0000000000000000001", []byte(document)); err != nil {
			t.Fatal(err)
		}
		if _, err := s.a.Replay(t.Context(), archive.Range{Queue: "q", From: 1, To: 1, Into: "again"}, 10); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: %v, want that it says %q", document, err, why)
		}
	}
	for document, newer := range map[string]bool{`{"v":2,"to":1}`: true, `x`: false} {
		if err := s.store.Put(t.Context(), "q/mark", []byte(document)); err != nil {
			t.Fatal(err)
		}
		if _, err := s.a.Keep(t.Context(), "q", 1, 10); err == nil || errors.Is(err, table.ErrNewerLayout) != newer {
			t.Errorf("%s: %v, want that it is newer: %v", document, err, newer)
		}
	}
}

// TestArchiveFigures pins what archiving costs: a put a message, a mark for each
// 100 and at the end, and a get; a unit for each KB.
func TestArchiveFigures(t *testing.T) {
	s := newShelf(t)
	s.put("q", 1, 250)
	for _, c := range []struct {
		upTo       int64
		puts, gets int
	}{{250, 250 + 3, 1}, {250, 0, 1}} {
		s.meter.Take()
		_, err := s.a.Keep(t.Context(), "q", c.upTo, 1000)
		if took := s.meter.Take(); err != nil || took.Writes != c.puts || took.Reads != c.gets || took.Units.Writes != float64(c.puts) {
			t.Errorf("%+v, %v; want %+v", took, err, c)
		}
	}
	s.meter.Take()
	s.replayed(archive.Range{Queue: "q", From: 1, To: 250, Into: "again"}, archive.Replayed{Last: 250, Messages: 250})
	if took := s.meter.Take(); took.Reads != 250 {
		t.Errorf("%+v, want one get a message", took)
	}
}

// TestErase: all that is archived of a queue goes, once nobody can be archiving it, also
// what a Keep put that died before its mark; and whichever request goes wrong.
func TestErase(t *testing.T) {
	keys := func(s *shelf) (left int) {
		for seq := int64(-1); seq <= 1700; seq++ {
			key := fmt.Sprintf("q/%019d", seq)
			if seq < 0 {
				key = "q/mark"
			}
			if document, err := s.store.Get(t.Context(), key); err != nil || document != nil {
				left++
			}
		}
		return left
	}
	archived := func() (*shelf, cursor.Cursor) {
		s := newShelf(t)
		s.put("q", 1, 1)
		s.put("other", 1, 1)
		s.keep("q", 1, 10, archive.Kept{To: 1, Messages: 1})
		s.keep("other", 1, 10, archive.Kept{To: 1, Messages: 1})
		for seq := int64(2); seq <= 1600; seq++ { // 1,500 under the mark
			if err := s.store.Put(t.Context(), fmt.Sprintf("q/%019d", seq), []byte("document")); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.store.Put(t.Context(), "q/mark", []byte(`{"v":1,"queue":"q","to":1500}`)); err != nil {
			t.Fatal(err)
		}
		c, err := s.sorter.Erase(t.Context(), "q", "op")
		if err != nil {
			t.Fatal(err)
		}
		return s, c
	}
	s, c := archived()
	if left, err := s.a.Erase(t.Context(), c); !left || err != nil || keys(s) != 1601 {
		t.Errorf("at once: left %t, %v, %d keys", left, err, keys(s))
	}
	s.now = s.now.Add(cursor.EraseGrace)
	over, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer cancel()
	if left, err := s.a.Erase(over, c); !left && err == nil || keys(s) != 1601 {
		t.Errorf("without time: left %t, %v, %d keys", left, err, keys(s))
	}
	for range 2 {
		if left, err := s.a.Erase(t.Context(), c); left || err != nil || keys(s) != 0 {
			t.Errorf("left %t, %v, %d keys", left, err, keys(s))
		}
	}
	if _, there, err := s.a.Message(t.Context(), "other", 1); !there || err != nil {
		t.Errorf("another queue's: %t, %v", there, err)
	}
	for _, fault := range ddbtest.EveryFault() {
		for _, k := range []int{1, 2, 40, 41, 42, 43, 44, 60, 66, 67, 68, 69} {
			s, c := archived()
			s.now = s.now.Add(cursor.EraseGrace)
			faults := ddbtest.NewFaults(s.table.Engine)
			s.table.Engine = faults
			faults.Fail(k, fault)
			_, _ = s.a.Erase(t.Context(), c)
			faults.Fail(0, "")
			if left, err := s.a.Erase(t.Context(), c); left || err != nil || keys(s) != 0 {
				t.Errorf("%s at request %d: left %t, %v, %d keys", fault, k, left, err, keys(s))
			}
		}
	}
}
