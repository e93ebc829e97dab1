package cursor_test

import (
	"errors"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/sortkey"
	"github.com/streamsort/streamsort/pkg/cursor"
)

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
			var wrong *cursor.InvalidError
			r := put(m)
			check.Need(t, errors.As(r.Err, &wrong) && wrong.Field == "key", "%s: %+v", what, r)
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
	var wrong *cursor.InvalidError
	check.That(t, errors.As(err, &wrong) && wrong.Problem[:22] == "part 2 of 2 is 2099-01", "%v", err)
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
