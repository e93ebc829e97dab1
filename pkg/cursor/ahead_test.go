package cursor_test

import (
	"errors"
	"testing"
	"time"

	"github.com/streamsort/streamsort/pkg/cursor"
)

// timed is a message of a queue of times, from a sender that can repeat it, or cannot.
func timed(queue, id string, at, received time.Time) cursor.Keyed {
	return cursor.Keyed{
		Key: []any{at}, KeyType: "time", Received: received,
		Message: cursor.Message{Queue: queue, ID: id, Body: []byte(id)},
	}
}

// TestAClockThatIsAhead: a time far ahead is refused, and makes no queue; where the sender cannot
// repeat, it becomes the time of receipt, however often it comes.
func TestAClockThatIsAhead(t *testing.T) {
	onEach(t, func(t *testing.T, s *cursor.Store, q string) {
		now := at
		defaults := cursor.DefaultSettings()
		defaults.Settle = 0
		sorter, err := cursor.New(s, &cursor.Options{Now: func() time.Time { return now }, Defaults: &defaults})
		check(t, err)
		put := func(m cursor.Keyed) cursor.KeyedResult {
			t.Helper()
			results, err := sorter.PutKeyedGroup(t.Context(), []cursor.Keyed{m})
			check(t, err)
			return results[0]
		}
		refused := func(what string, m cursor.Keyed, problem string) {
			t.Helper()
			var wrong *cursor.InvalidError
			r := put(m)
			if !errors.As(r.Err, &wrong) || wrong.Field != "key" {
				t.Fatalf("%s: %+v", what, r)
			}
			same(t, what, wrong.Problem, problem)
		}
		year := time.Date(2199, 1, 2, 3, 4, 5, 0, time.UTC)
		const what = `is 2199-01-02T03:04:05Z, and at most 2126-03-05T05:06:07Z are taken, 24h0m0s ahead of now: set the sender's clock, or "clockAhead" with PUT /queues`
		refused("first", timed(q, "a", year, time.Time{}), what)
		same(t, "no queue", standing(t, s, q).Exists(), false)

		same(t, "at the bound", put(timed(q, "b", now.Add(24*time.Hour), time.Time{})).Outcome, cursor.Waiting)
		refused("then", timed(q, "a", year, time.Time{}), what)
		for range 2 {
			r := put(timed(q, "hook", year, now))
			same(t, "received", r.Err, nil)
			same(t, "received instead", r.ClockAhead, true)
			now = now.Add(time.Second)
		}
		_, err = sorter.Settle(t.Context(), q, cursor.EverySortKey)
		check(t, err)
		var keys []string
		for m, err := range sorter.Read(t.Context(), q, 0, standing(t, s, q).Position) {
			check(t, err)
			keys = append(keys, m.ID+" "+m.Key.String())
		}
		same(t, "log", keys, []string{"hook 2126-03-04T05:06:07Z", "b 2126-03-05T05:06:07Z"})

		ahead := 87600 * time.Hour
		cur, err := sorter.Configure(t.Context(), q, cursor.Change{ClockAhead: &ahead})
		check(t, err)
		same(t, "ahead", cur.Settings.ClockAhead, ahead)
		now = now.Add(time.Minute)
		short := time.Hour
		_, err = sorter.Configure(t.Context(), q, cursor.Change{ClockAhead: &short})
		check(t, err)
		refused("with another bound", timed(q, "c", now.Add(time.Hour+time.Second), time.Time{}),
			`is 2126-03-04T06:07:10Z, and at most 2126-03-04T06:07:09Z are taken, 1h0m0s ahead of now: set the sender's clock, or "clockAhead" with PUT /queues`)
	})
}

// TestEachTimeOfAKeyIsLookedAt, and no number.
func TestEachTimeOfAKeyIsLookedAt(t *testing.T) {
	b := newBench(t, nil)
	m := timed("q", "a", time.Time{}, time.Time{})
	m.KeyType, m.Key = "number,time", []any{4_000_000_000, "2099-01-02T03:04:05Z"}
	results, err := b.sorter.PutKeyedGroup(t.Context(), []cursor.Keyed{m})
	check(t, err)
	var wrong *cursor.InvalidError
	if !errors.As(results[0].Err, &wrong) || wrong.Problem[:22] != "part 2 of 2 is 2099-01" {
		t.Error(results[0].Err)
	}
	m.Received = b.now
	b.want("by its receipt", b.putKeyed(m), "waiting 14")
}

// TestAheadIsForTimes: a queue whose keys have none has no such bound.
func TestAheadIsForTimes(t *testing.T) {
	b := newBench(t, nil)
	b.putKeyed(keyedOf("a", "1"))
	kind, text, times := cursor.KindKeyed, cursor.KeyType("text"), cursor.KeyType("time")
	hour, tooShort := time.Hour, time.Millisecond
	for queue, change := range map[string]cursor.Change{
		"q": {ClockAhead: &hour}, "new": {Kind: &kind, KeyType: &text, ClockAhead: &hour}, "short": {Kind: &kind, KeyType: &times, ClockAhead: &tooShort},
		"numbered": {ClockAhead: &hour},
	} {
		var wrong *cursor.InvalidError
		if _, err := b.sorter.Configure(t.Context(), queue, change); !errors.As(err, &wrong) || wrong.Field != "clockAhead" {
			t.Errorf("%s: %v", queue, err)
		}
	}
	if cur := b.status(); cur.Settings.ClockAhead != 0 {
		t.Errorf("%v", cur.Settings.ClockAhead)
	}
}
