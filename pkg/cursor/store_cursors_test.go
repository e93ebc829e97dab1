package cursor_test

import (
	"fmt"
	"maps"
	"reflect"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/ddbtest"
	"github.com/streamsort/streamsort/internal/queuelog"
	"github.com/streamsort/streamsort/internal/sortkey"
	"github.com/streamsort/streamsort/internal/tally"
	"github.com/streamsort/streamsort/internal/trouble"
	"github.com/streamsort/streamsort/pkg/cursor"
)

func TestStoreCursor(t *testing.T) {
	onCursor(t, func(t *testing.T, s *cursor.Store, q string, want cursor.Cursor) {
		for _, strong := range []bool{true, false} {
			read := func() cursor.Cursor { return check.Get(s.Inside().Cursor(t.Context(), q, strong)) }
			if strong {
				same(t, "strong read", read(), want)
			}
			ddbtest.Settles(t, fmt.Sprintf("read, strong %v", strong), read, want)
		}
		other := want
		other.Position, other.Settings.MaxAhead = 9, 5
		same(t, "created again", check.Get(s.Inside().CreateCursor(t.Context(), other)), want)

		noted := newCursor(q + " noted")
		noted.Announced, noted.Settings.First, noted.Position, noted.MaxParked, noted.Floor = 0, 0, -1,
			-1, -1
		create(t, s, noted)
		same(t, "with everything at its lowest", standing(t, s, q+" noted"), noted)
	})
}

func TestStoreMove(t *testing.T) {
	onCursor(t, func(t *testing.T, s *cursor.Store, q string, want cursor.Cursor) {
		later := at.Add(time.Millisecond)
		want.Position, want.MovedAt = 3, later

		gives(t, "moved", want, true)(
			s.Inside().Move(t.Context(), q, cursor.Range{From: 0, To: 3}, 0, later))

		gives(t, "repeated", want, false)(
			s.Inside().Move(t.Context(), q, cursor.Range{From: 0, To: 3}, 0, later.Add(time.Second)))

		gives(t, "from a place ahead", want, false)(
			s.Inside().Move(t.Context(), q, cursor.Range{From: 4, To: 5}, 4, later))
	})
}

// TestStoreMoveKnowsOfTheGap: no move fills a gap that its caller does not know of.
func TestStoreMoveKnowsOfTheGap(t *testing.T) {
	onCursor(t, func(t *testing.T, s *cursor.Store, q string, _ cursor.Cursor) {
		want := check.Get(s.Inside().OpenGap(t.Context(), q, 5, at))
		for what, to := range map[string]int64{"up to what is parked": 5, "beyond it": 6} {
			gives(t, what, want, false)(
				s.Inside().Move(t.Context(), q, cursor.Range{From: 0, To: to}, 4, at))
		}
		got, moved := check.Get2(s.Inside().Move(t.Context(), q, cursor.Range{From: 0, To: 4}, 0, at))
		want.Position = 4
		same(t, "the gap stays", moved, true)
		same(t, "cursor", got, want)
	})
}

func TestStoreMoveAndPark(t *testing.T) {
	onCursor(t, func(t *testing.T, s *cursor.Store, q string, want cursor.Cursor) {
		later := at.Add(time.Millisecond)
		want.Position, want.MaxParked, want.MovedAt = 3, 4, later

		gives(t, "moved", want, true)(
			s.Inside().MoveAndPark(t.Context(), q, cursor.Range{From: 0, To: 3}, 4, later))

		for what, from := range map[string]int64{"repeated": 0, "from a place ahead": 4} {
			gives(t, what, want, false)(
				s.Inside().MoveAndPark(t.Context(), q, cursor.Range{From: from, To: 5}, 6,
					later.Add(time.Second)))
		}

		want, _ = check.Get2(s.Inside().MoveAndPark(t.Context(), q,
			cursor.Range{From: 3, To: 4}, 9, later))
		for _, to := range []int64{8, 7} {
			gives(t, "what is parked is as far", want, false)(
				s.Inside().MoveAndPark(t.Context(), q, cursor.Range{From: 4, To: to}, to+1, later))
		}
	})
}

func TestStoreOpenGap(t *testing.T) {
	onCursor(t, func(t *testing.T, s *cursor.Store, q string, want cursor.Cursor) {
		got := check.Get(s.Inside().OpenGap(t.Context(), q, 1, at.Add(time.Hour)))
		same(t, "the next seq is no gap", got, want)

		later := at.Add(time.Minute)
		want.MaxParked, want.MovedAt = 5, later
		same(t, "opened", check.Get(s.Inside().OpenGap(t.Context(), q, 5, later)), want)

		for _, seq := range []int64{5, 4, 7} {
			same(t, fmt.Sprintf("open already, seq %d", seq),
				check.Get(s.Inside().OpenGap(t.Context(), q, seq, at.Add(time.Hour))), want)
		}

		got, _ = check.Get2(s.Inside().Move(t.Context(), q, cursor.Range{From: 0, To: 5}, 5, later))
		want.Position = 5
		same(t, "closed", got, want)
		want.MaxParked, want.MovedAt = 8, at.Add(time.Hour)
		same(t, "opened again", check.Get(s.Inside().OpenGap(t.Context(), q, 8, at.Add(time.Hour))), want)
	})
}

func TestStoreLeaveToSweep(t *testing.T) {
	onCursor(t, func(t *testing.T, s *cursor.Store, q string, want cursor.Cursor) {
		same(t, "what is passed",
			check.Get(s.Inside().LeaveToSweep(t.Context(), q, 0, at.Add(time.Hour))), want)

		later := at.Add(time.Minute)
		want.MaxParked, want.MovedAt = 1, later
		same(t, "the next seq", check.Get(s.Inside().LeaveToSweep(t.Context(), q, 1, later)), want)
		same(t, "a gap is open",
			check.Get(s.Inside().LeaveToSweep(t.Context(), q, 7, at.Add(time.Hour))), want)
	})
}

func TestStoreConfigure(t *testing.T) {
	onEach(t, func(t *testing.T, s *cursor.Store, q string) {
		first, policy, gapAfter, maxAhead, mode := int64(1), cursor.PolicyAlert, 3*time.Second, int64(5),
			cursor.ModeSync
		change := cursor.Change{First: &first, Policy: &policy, GapAfter: &gapAfter,
			MaxAhead: &maxAhead, Mode: &mode}

		create(t, s, newCursor(q))
		want := newCursor(q)
		want.Settings = cursor.Settings{First: 1, Policy: policy, GapAfter: gapAfter,
			MaxAhead: maxAhead, Mode: mode}
		for _, what := range []string{"changed", "repeated"} {
			gives(t, what, want, true)(s.Inside().Configure(t.Context(), q, change))
		}
		for _, one := range []cursor.Change{{}, {First: &first}, {Mode: &mode}} {
			gives(t, "changed nothing", want, true)(s.Inside().Configure(t.Context(), q, one))
		}
		first = 2
		gives(t, "changed the first seq", want, false)(s.Inside().Configure(t.Context(), q, change))
	})
}

// TestStoreConfiguresEachSetting alone: a new one without a value here fails.
func TestStoreConfiguresEachSetting(t *testing.T) {
	others := map[string]any{
		"First": int64(2), "Policy": cursor.PolicyAlert, "GapAfter": 3 * time.Second, "MaxAhead": int64(5),
		"Mode": cursor.ModeSync, "Kind": cursor.KindArrival,
		"KeyType": sortkey.KeyType("utc"), "Settle": 3 * time.Second, "Late": cursor.LateDrop, "ClockAhead": 3 * time.Hour,
	}
	fixed := map[string]bool{"First": true, "Kind": true, "KeyType": true}
	ofKeyed := map[string]bool{"KeyType": true, "Settle": true, "Late": true, "ClockAhead": true}
	onEach(t, func(t *testing.T, s *cursor.Store, q string) {
		defaults := settings()
		sorter := check.Get(cursor.New(s,
			&cursor.Options{Defaults: &defaults, Now: func() time.Time { return at }}))
		for field := range reflect.TypeFor[cursor.Change]().Fields() {
			defaults := defaults
			if ofKeyed[field.Name] {
				defaults.Kind, defaults.KeyType, defaults.Settle, defaults.Late, defaults.ClockAhead =
					cursor.KindKeyed, "time", 0, cursor.LateDeliver, 24*time.Hour
			}
			other, known := others[field.Name]
			check.Need(t, known, "no value of the setting %s is known", field.Name)
			value := reflect.New(field.Type.Elem())
			value.Elem().Set(reflect.ValueOf(other))
			var change cursor.Change
			reflect.ValueOf(&change).Elem().FieldByIndex(field.Index).Set(value)
			changed := defaults
			reflect.ValueOf(&changed).Elem().FieldByName(field.Name).Set(value.Elem())

			want := newCursor(q + " of old settings and another " + field.Name)
			if ofKeyed[field.Name] {
				want.Settings, want.TailFrom, want.High, want.Low = defaults, want.Position, "\x00", "\x00"
			}
			create(t, s, want)
			if !fixed[field.Name] {
				want.Settings = changed
			}
			got, made := check.Get2(s.Inside().Configure(t.Context(), want.Queue, change))
			same(t, "another "+field.Name, made, !fixed[field.Name])
			same(t, "another "+field.Name+", cursor", got, want)
			same(t, "another "+field.Name+", read", standing(t, s, want.Queue), want)

			if ofKeyed[field.Name] {
				of := cursor.KindKeyed
				change.Kind = &of
				if change.KeyType == nil {
					change.KeyType = &defaults.KeyType
				}
			}
			got = check.Get(sorter.Configure(t.Context(), q+" made with another "+field.Name, change))
			same(t, "made with another "+field.Name, got.Settings, changed)
			same(t, "made with another "+field.Name+", read", standing(t, s, got.Queue).Settings, changed)
		}
	})
}

func TestStoreAnnounce(t *testing.T) {
	onCursor(t, func(t *testing.T, s *cursor.Store, q string, _ cursor.Cursor) {
		for _, step := range []struct {
			was, seq int64
			want     bool
			after    int64
		}{
			{3, 4, false, -1},
			{-1, 7, true, 7},
			{-1, 7, true, 7}, // a repeat
			{-1, 8, false, 7},
			{7, 9, true, 9},
			{7, -1, false, 9},
			{9, -1, true, -1},
			{9, -1, true, -1}, // a repeat
			{-1, 0, true, 0},
		} {
			got := check.Get(s.Inside().Announce(t.Context(), q, step.was, step.seq))
			same(t, fmt.Sprintf("announce %d, was %d", step.seq, step.was), got, step.want)
			same(t, "announced", standing(t, s, q).Announced, step.after)
		}
	})
}

func TestStoreScan(t *testing.T) {
	ddbtest.Each(t, func(t *testing.T, kind ddbtest.Kind) {
		s := freshStore(t, kind) // nobody else's queues
		const queues = 25
		want := map[string]bool{"erased": true, "emptied": true}
		gaps := map[string]bool{"erased": true}
		for queue := range want {
			create(t, s, newCursor(queue))
			check.Get(s.Inside().MarkErased(t.Context(), queue, "op", at))
		}
		check.Get(s.Inside().EndErase(t.Context(), "emptied", at))
		for i := range queues {
			queue := fmt.Sprintf("q%d", i)
			want[queue] = true
			if i == 2 {
				create(t, s, keyedCursor(queue)) // what waits in it leaves no mark
				gaps[queue] = true
				continue
			}
			create(t, s, newCursor(queue))
			switch i % 5 {
			case 0:
				check.Get(s.Inside().OpenGap(t.Context(), queue, 5, at))
				gaps[queue] = true
			case 1:
				check.Get(s.Inside().Announce(t.Context(), queue, -1, 1))
				gaps[queue] = true
			}
		}
		shows := func(what string, only cursor.CursorFilter, want map[string]bool) {
			t.Helper()
			ddbtest.Settles(t, what, func() map[string]bool { return scanned(t, s, queues, only) }, want)
		}
		shows("all queues", cursor.CursorFilter{}, want)
		shows("queues with work", cursor.CursorFilter{Gaps: true}, gaps)

		moved := map[string]bool{"q3": true, "q7": true}
		later := at.Add(time.Hour)
		check.Get2(s.Inside().Move(t.Context(), "q3", cursor.Range{From: 0, To: 1}, 0, later))
		check.OK(t, s.Inside().Notify(t.Context(), "q7", later.Add(time.Second)))
		shows("queues moved since", cursor.CursorFilter{MovedSince: later}, moved)
		shows("queues notified at that time",
			cursor.CursorFilter{MovedSince: later.Add(time.Second)}, map[string]bool{"q7": true})
		shows("none moved since", cursor.CursorFilter{MovedSince: later.Add(time.Minute)},
			map[string]bool{})
		either := maps.Clone(gaps)
		maps.Copy(either, moved)
		shows("queues with work, and those moved since",
			cursor.CursorFilter{Gaps: true, MovedSince: later}, either)
		delete(want, "erased")
		delete(want, "emptied")
		shows("all that are not erased", cursor.CursorFilter{MovedSince: at.Add(-time.Hour)}, want)
	})
}

// scanned are the queues that a whole scan shows, in three segments and pages of two.
func scanned(t *testing.T, s *cursor.Store, queues int, only cursor.CursorFilter) map[string]bool {
	t.Helper()
	seen := map[string]bool{}
	for segment := range 3 {
		after := ""
		for pages := 0; ; pages++ {
			check.Need(t, pages <= queues, "the scan does not end")
			page := check.Get(s.Inside().Cursors(t.Context(), cursor.CursorScan{
				Segment: segment, Segments: 3, After: after, Limit: 2, Only: only,
			}))
			for _, c := range page.Cursors {
				check.That(t, !seen[c.Queue], "queue %s was seen twice", c.Queue)
				seen[c.Queue] = true
			}
			if after = page.Next; after == "" {
				break
			}
		}
	}
	return seen
}

func TestStoreSweepProgress(t *testing.T) {
	onEach(t, func(t *testing.T, s *cursor.Store, q string) {
		same(t, "never ran", check.Get(s.Inside().SweepProgress(t.Context(), q)), cursor.Progress{})
		for _, want := range []cursor.Progress{
			{Name: q, Segments: 3, Left: map[int]cursor.Place{0: {After: "queue"}, 2: {}, 1: {After: "a", Queue: "b", Kept: 7}}, Began: at, Failed: true},
			{Name: q, Segments: 1, Began: at, Since: at.Add(-time.Hour), Finished: at.Add(time.Second),
				Seen: tally.Tally{
					Sums: map[string]int64{"gaps": 7, "lagging": 1}, Peaks: map[string]int64{"gapAge": 60_000},
				}},
		} {
			check.OK(t, s.Inside().SaveSweepProgress(t.Context(), want))
			same(t, "progress", check.Get(s.Inside().SweepProgress(t.Context(), q)), want)
		}
	})
}

// A pass is beside the rows of trouble, and not in their index.
func TestSweepProgressIsNoRow(t *testing.T) {
	memory := ddb.NewMemory(cursor.Names{}.Tables()...)
	s := check.Get(cursor.NewStore(memory, cursor.Names{}))
	check.OK(t,
		s.Inside().SaveSweepProgress(t.Context(), cursor.Progress{Name: "gaps", Began: at, Since: at}))
	it := memory.Items(trouble.DefaultName)[0]
	same(t, "key", it.Get("state").Str()+","+it.Get("at").Str(), " sweep,gaps")
	same(t, "in the index", it.Has("since"), false)
}

// What delivery asks of the tables.

func TestStoreNudge(t *testing.T) {
	onCursor(t, func(t *testing.T, s *cursor.Store, q string, want cursor.Cursor) {
		for _, later := range []time.Time{at, at.Add(time.Millisecond)} {
			check.OK(t, s.Inside().Notify(t.Context(), q, later))
			want.Notified = later
			same(t, "notified", standing(t, s, q), want)
		}
	})
}

func TestStoreRaiseFloor(t *testing.T) {
	onEach(t, func(t *testing.T, s *cursor.Store, q string) {
		want := newCursor(q)
		want.Position = 5
		create(t, s, want)
		for i, step := range []struct {
			name     string
			to, want int64
			raised   bool
		}{
			{"raised", 3, 3, true},
			{"raised again", 3, 3, false},
			{"lowered", 2, 3, false},
			{"beyond the position", 6, 3, false},
			{"up to the position", 5, 5, true},
		} {
			now := at.Add(time.Duration(i) * time.Second)
			want.Floor = step.want
			if step.raised {
				want.FloorSince = now
			}
			same(t, step.name, check.Get(s.Inside().RaiseFloor(t.Context(), q, step.to, now)), want)
			same(t, step.name+", read", standing(t, s, q), want)
		}
	})
}

func TestStoreDelete(t *testing.T) {
	onEach(t, func(t *testing.T, s *cursor.Store, q string) {
		for seq := range int64(30) {
			put(t, s, wholeMessage(q, seq))
		}
		put(t, s, wholeMessage(q+" other", 3))
		seqs := []int64{99}
		for seq := range int64(24) {
			seqs = append(seqs, seq)
		}
		for range 2 {
			same(t, "left undone", check.Get(s.Inside().DeleteMessages(t.Context(), q, seqs...)), 0)
		}
		page := check.Get(s.Inside().Messages(t.Context(),
			queuelog.Query{Queue: q, First: 0, Last: cursor.MaxSeq, Strong: true}))
		for i, m := range page.Messages {
			same(t, "kept", m.Seq, int64(24+i))
		}
		same(t, "kept", len(page.Messages), 6)
		_, found, err := s.Inside().Message(t.Context(), q+" other", 3)
		check.That(t, err == nil && found, "the other queue's message: found %v, error %v", found, err)
	})
}
