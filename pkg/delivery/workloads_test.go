package delivery_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"slices"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/fanout"
	"github.com/streamsort/streamsort/internal/request"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/delivery"
)

// The workloads are hours of a clock that jumps from one thing that happens to the next: four
// processes deliver, on tables in memory, what comes in to a sink that is away in one way or
// another.

var update = flag.Bool("update", false,
	"write the table of workloads into docs/how-to/webhooks-out.md")

// moment is something that happens at a time.
type moment struct {
	at  time.Time
	run func()
}

// world is the clock. One thing runs at a time, in a goroutine of its own where it waits.
type world struct {
	now     time.Time
	ahead   []moment // sorted
	yielded chan struct{}
	random  *rand.Rand
}

// set has something happen later, behind what is set for the same time.
func (w *world) set(d time.Duration, run func()) {
	at := w.now.Add(d)
	i := sort.Search(len(w.ahead), func(i int) bool { return w.ahead[i].at.After(at) })
	w.ahead = slices.Insert(w.ahead, i, moment{at, run})
}

// after has something run later, by the next that is free.
func (w *world) after(d time.Duration, run func()) {
	w.set(d, func() {
		go func() {
			run()
			w.yielded <- struct{}{}
		}()
		<-w.yielded
	})
}

// sleep lets others run until a time has passed.
func (w *world) sleep(d time.Duration) {
	awake := make(chan struct{})
	w.set(d, func() {
		close(awake)
		<-w.yielded
	})
	w.yielded <- struct{}{}
	<-awake
}

func (w *world) until(end time.Time) {
	for len(w.ahead) > 0 && !w.ahead[0].at.After(end) {
		next := w.ahead[0]
		w.ahead = w.ahead[1:]
		w.now = next.at
		next.run()
	}
	w.now = end
}

// workload is what a sink is like, and what comes in for it.
type workload struct {
	name  string
	shown bool // in the table
	// queues is how many there are, every how far apart the messages of each, lasts how long they
	// come.
	queues int
	every  time.Duration
	lasts  time.Duration
	// away is which queues, the first ones, the sink may fail for, of percent, and refuse what it
	// then says of a batch; nil says nothing.
	away    int
	refuses func(s *stage, since time.Duration) error
	// bad is how many of the first queues have a message that no sink takes.
	bad int
	// blocked is how many good queues block.
	blocked int
}

// stage is a workload on its way.
type stage struct {
	*world
	workload
	t       *testing.T
	began   time.Time
	store   *delivery.Store
	sorters []*cursor.Sorter
	all     []*delivery.Deliverer
	reader  delivery.Reader
	put     map[string]time.Time // when each message was, by its body
	pending map[string]time.Time // what timers are on their way
	longest time.Duration        // the longest wait of a healthy queue
	back    time.Duration        // the longest wait behind the last refusal
	last    time.Time            // of a refusal that was the sink's
	calls   int
	badAt   map[string]time.Time // when the consumers of bad messages blocked
}

var errSink = errors.New("503")

// outage is a sink that is away from a minute on, for a time.
func outage(for_ time.Duration, why error) func(*stage, time.Duration) error {
	return func(_ *stage, since time.Duration) error {
		if since >= time.Minute && since < time.Minute+for_ {
			return why
		}
		return nil
	}
}

// atRandom is a sink that refuses a part of what comes for an hour.
func atRandom(percent int) func(*stage, time.Duration) error {
	return func(s *stage, since time.Duration) error {
		if since >= time.Minute && since < 61*time.Minute && s.random.IntN(100) < percent {
			return errNo
		}
		return nil
	}
}

// flapping is a sink that comes and goes for an hour.
func flapping(every time.Duration) func(*stage, time.Duration) error {
	return func(_ *stage, since time.Duration) error {
		if since >= time.Minute && since < 61*time.Minute && since/every%2 == 0 {
			return errNo
		}
		return nil
	}
}

// workloads are the kinds of trouble that a sink makes. What it says of a batch is unknown (such as
// 500), where it is not that it is away (503).
func workloads() []workload {
	away, no := delivery.SinkAway(errSink), errNo
	const hour, minute, second = time.Hour, time.Minute, time.Second
	return []workload{
		{name: "all of 100 queues away for 5 s (503)", shown: true, queues: 100, every: minute, lasts: 10 * minute, away: 100, refuses: outage(5*second, away)},
		{name: "all of 100 away for 5 min (503)", queues: 100, every: minute, lasts: 20 * minute, away: 100, refuses: outage(5*minute, away)},
		{name: "all of 100 away for 30 min (500)", shown: true, queues: 100, every: minute, lasts: 45 * minute, away: 100, refuses: outage(30*minute, no)},
		{name: "all of 100 away for 2 h (500)", shown: true, queues: 100, every: 4 * minute, lasts: 150 * minute, away: 100, refuses: outage(2*hour, no)},
		{name: "all of 100 away for 2 h (503)", queues: 100, every: 4 * minute, lasts: 150 * minute, away: 100, refuses: outage(2*hour, away)},
		{name: "all of 300 away for 30 min (500)", queues: 300, every: 5 * minute, lasts: 45 * minute, away: 300, refuses: outage(30*minute, no)},
		{name: "the only queue away for 30 min (500)", queues: 1, every: minute, lasts: hour, away: 1, refuses: outage(30*minute, no)},
		{name: "the only queue away for 2 h (500)", shown: true, queues: 1, every: minute, lasts: 150 * minute, away: 1, refuses: outage(2*hour, no), blocked: 1},
		{name: "both of 2 queues away for 2 h (500)", queues: 2, every: minute, lasts: 150 * minute, away: 2, refuses: outage(2*hour, no)},
		{name: "90 of 100 away for 30 min (500)", shown: true, queues: 100, every: minute, lasts: 45 * minute, away: 90, refuses: outage(30*minute, no)},
		{name: "50 of 100 away for 6 min (500)", queues: 100, every: minute, lasts: 20 * minute, away: 50, refuses: outage(6*minute, no)},
		{name: "10 of 100 away for 30 min (500)", queues: 100, every: minute, lasts: 45 * minute, away: 10, refuses: outage(30*minute, no)},
		{name: "10 of 100 away for 2 h (503)", shown: true, queues: 100, every: 4 * minute, lasts: 150 * minute, away: 10, refuses: outage(2*hour, away)},
		{name: "10 of 100 away for 2 h (500)", shown: true, queues: 100, every: 4 * minute, lasts: 150 * minute, away: 10, refuses: outage(2*hour, no), blocked: 10},
		{name: "a tenth refused at random for an hour (500)", queues: 100, every: minute, lasts: 75 * minute, away: 100, refuses: atRandom(10)},
		{name: "half refused at random for an hour (500)", shown: true, queues: 100, every: minute, lasts: 75 * minute, away: 100, refuses: atRandom(50)},
		{name: "nine of ten refused at random for an hour (500)", queues: 100, every: minute, lasts: 75 * minute, away: 100, refuses: atRandom(90)},
		{name: "flapping by 20 s for an hour (500)", queues: 100, every: minute, lasts: 75 * minute, away: 100, refuses: flapping(20 * second)},
		{name: "flapping by 2 min for an hour (500)", queues: 100, every: minute, lasts: 75 * minute, away: 100, refuses: flapping(2 * minute)},
		{name: "404 for 4 s on 40 queues", queues: 40, every: second, lasts: 5 * minute, away: 40, refuses: outage(4*second, no)},
		{name: "a bad message among 20 queues", shown: true, queues: 20, every: minute, lasts: 90 * minute, bad: 1},
		{name: "a bad message, and one of another queue in 10 min", queues: 2, every: 10 * minute, lasts: 120 * minute, bad: 1},
		{name: "3 bad messages at once, and 20 queues", queues: 23, every: minute, lasts: 90 * minute, bad: 3},
		{name: "16 bad messages at once, and 2 queues", shown: true, queues: 18, every: 30 * second, lasts: 90 * minute, bad: 16},
	}
}

func newStage(t *testing.T, w workload) *stage {
	t.Helper()
	s := &stage{
		world: &world{now: time.Date(2026, 5, 6, 7, 8, 9, 0, time.UTC), yielded: make(chan struct{}),
			random: rand.New(rand.NewPCG(1, uint64(len(w.name))))},
		workload: w, t: t, put: map[string]time.Time{}, pending: map[string]time.Time{},
		badAt: map[string]time.Time{},
	}
	s.began = s.now
	tables := ddb.NewMemory(append(cursor.Names{}.Tables(), cursor.Names{}.ArrivalsTable())...)
	s.store = delivery.NewStore(ddb.NewMemory(tableNames.Tables()...), tableNames.Tables())
	queues := ddb.Func(func(ctx context.Context, r ddb.Request) (ddb.Answer, error) {
		if update, is := r.(ddb.Update); is && r.Name() == "notify" {
			s.streams(update.Key.Get("queue").Str())
		}
		return tables.Do(ctx, r)
	})
	s.reader = delivery.Reader{Name: "c", Handle: s.take}
	for range 4 {
		store := check.Get(cursor.NewStore(queues, cursor.Names{}))
		clock := func() time.Time { return s.now }
		sorter := check.Get(cursor.New(store, &cursor.Options{ForEach: fanout.OneByOne, Now: clock}))
		requests := 0
		of := len(s.all)
		d := check.Get(delivery.New(s.store, sorter, &delivery.Options{
			ForEach: fanout.OneByOne, Now: clock,
			NewReq:      func() string { requests++; return fmt.Sprint(of, "-", requests) },
			Sleep:       func(_ context.Context, d time.Duration) error { s.sleep(d); return nil },
			WakeUp:      func(queue, _ string, due time.Time) { s.wake(queue, due) },
			WakeCircuit: func(_ string, due time.Time) { s.wake("", due) },
		}))
		s.sorters, s.all = append(s.sorters, sorter), append(s.all, d)
	}
	return s
}

func (s *stage) must(err error) {
	s.t.Helper()
	check.That(s.t, err == nil, "%v", err)
}

// one is whichever process is free.
func (s *stage) one() *delivery.Deliverer { return s.all[s.random.IntN(len(s.all))] }

// streams has a record of a queue come out of the stream.
func (s *stage) streams(queue string) {
	s.after(200*time.Millisecond, func() {
		done := s.one().Deliver(s.t.Context(), queue, s.reader, -1)
		s.must(done.Err)
		if ending(done) == endedBlocked && s.badAt[queue].IsZero() {
			s.badAt[queue] = s.now
		}
	})
}

// timer has a wake-up come out when it is due, once.
func (s *stage) timer(what string, due time.Time, run func() time.Time) {
	if on, is := s.pending[what]; is && on.After(s.now) && !on.After(due) {
		return
	}
	s.pending[what] = due
	s.after(max(due.Sub(s.now), 0)+50*time.Millisecond, func() {
		if s.pending[what].Equal(due) {
			delete(s.pending, what)
		}
		if next := run(); !next.IsZero() {
			s.timer(what, next, run)
		}
	})
}

func (s *stage) options() delivery.SweepOptions {
	return delivery.SweepOptions{Sorter: cursor.SweepOptions{Segments: 1},
		Readers: []delivery.Reader{{Name: "c"}}}
}

func (s *stage) wake(queue string, due time.Time) {
	s.timer(queue, due, func() time.Time {
		_, next, err := s.one().Wake(s.t.Context(), queue, "c", s.options())
		s.must(err)
		return next
	})
}

func nameOf(i int) string { return fmt.Sprintf("q%03d", i) }

// isBad reports whether a queue is one of those with a bad message, isHealthy whether the sink is
// always there for it.
func (w workload) isBad(queue string) bool     { return queue < nameOf(w.bad) }
func (w workload) isHealthy(queue string) bool { return queue >= nameOf(max(w.bad, w.away)) }

// take is the sink: it answers after 30 to 100 ms.
func (s *stage) take(_ context.Context, b delivery.Batch) error {
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(b.Token.String()))
	why := error(nil)
	if s.refuses != nil && b.Queue < nameOf(s.away) {
		why = s.refuses(s, s.now.Sub(s.began))
	}
	if s.isBad(b.Queue) && b.From == 0 {
		s.sleep(30 * time.Millisecond)
		return errNo
	}
	s.sleep(time.Duration(30+hash.Sum32()%70) * time.Millisecond)
	if why != nil {
		s.calls++
		s.last = s.now
		return why
	}
	for _, m := range b.Messages {
		put := s.put[fmt.Sprint(b.Queue, m.Seq)]
		if waited := s.now.Sub(put); s.isHealthy(b.Queue) {
			s.longest = max(s.longest, waited)
		} else if !s.last.IsZero() && !put.After(s.last) {
			s.back = max(s.back, s.now.Sub(s.last))
		}
	}
	return nil
}

// run lets it all happen, and an hour more, and counts the good queues that are blocked.
func (s *stage) run() (blocked int) {
	for i := range s.queues {
		queue := nameOf(i)
		seq := int64(0)
		var comes func()
		comes = func() {
			if s.now.Sub(s.began) >= s.lasts {
				return
			}
			seq++
			s.put[fmt.Sprint(queue, seq)] = s.now
			s.must(s.sorters[0].Put(s.t.Context(), cursor.Message{Queue: queue, Seq: seq})[0].Err)
			s.streams(queue)
			s.after(s.every, comes)
		}
		first := time.Duration(i*37%s.queues) * s.every / time.Duration(s.queues) // in no order
		if i < s.bad {
			first = 0
		}
		s.after(first, comes)
	}
	var sweeps func()
	sweeps = func() {
		_, err := s.one().Sweep(s.t.Context(), s.options())
		s.must(err)
		s.after(time.Minute, sweeps)
	}
	s.after(time.Second, sweeps)
	s.until(s.began.Add(s.lasts + time.Hour))
	for i := range s.queues {
		c := check.Get(s.store.Requests(request.Inside{}).Consumer(s.t.Context(), nameOf(i), "c"))
		at := check.Get(s.sorters[0].Status(s.t.Context(), nameOf(i)))
		switch {
		case c.State == delivery.Blocked && !s.isBad(c.Queue):
			blocked++
		case c.State != delivery.Blocked && c.Delivered != at.Position:
			s.t.Errorf("%s is %s at %d of %d in the end: %+v", nameOf(i), c.State,
				c.Delivered, at.Position, c)
		}
	}
	return blocked
}

// short is a time as it stands in the table; a dash without one to speak of.
func short(d time.Duration, there bool) string {
	switch {
	case !there:
		return "-"
	case d >= 10*time.Minute:
		return fmt.Sprintf("%.0f min", d.Minutes())
	}
	return fmt.Sprintf("%.0f s", d.Seconds())
}

// row is a workload's line of the table.
func (s *stage) row(blocked int) string {
	var bad time.Duration
	for i := range s.bad {
		at := s.badAt[nameOf(i)]
		check.That(s.t, !at.IsZero(), "the bad message of %s is not blocked", nameOf(i))
		bad = max(bad, at.Sub(s.began))
	}
	return fmt.Sprintf("| %s | %d | %s | %s | %d | %s |\n", s.name, blocked,
		short(s.longest, s.away+s.bad > 0 && max(s.away, s.bad) < s.queues),
		short(s.back, s.away > 0 && blocked == 0), s.calls, short(bad, s.bad > 0))
}

// The table in the documentation stands between these.
const tablePage, tableFrom, tableTo = "../../docs/how-to/webhooks-out.md",
	"<!-- counted: workloads -->\n", "<!-- end -->"

// TestWorkloads: what each way of being away costs is as docs/how-to/webhooks-out.md has it: go
// test -run TestWorkloads -update writes it.
func TestWorkloads(t *testing.T) {
	all := workloads()
	rows := make([]string, len(all))
	for i, w := range all {
		t.Run(w.name, func(t *testing.T) {
			s := newStage(t, w)
			blocked := s.run()
			check.That(t, blocked == w.blocked, "%d good queues are blocked, want %d", blocked, w.blocked)
			rows[i] = s.row(blocked)
		})
	}
	if slices.Contains(rows, "") {
		return // -run chose some of them: there is no table
	}
	for i, w := range all {
		if !w.shown {
			rows[i] = ""
		}
	}
	table := "| the sink | good queues blocked | longest wait of a queue that it takes | the last one after it is back | calls in vain | bad messages blocked after |\n|---|---|---|---|---|---|\n" + strings.Join(rows, "")
	page := check.Get(os.ReadFile(tablePage))
	before, rest, _ := strings.Cut(string(page), tableFrom)
	is, after, found := strings.Cut(rest, tableTo)
	switch {
	case !found:
		t.Fatalf("%s has no %q", tablePage, tableFrom)
	case *update:
		check.OK(t, os.WriteFile(tablePage, []byte(before+tableFrom+table+tableTo+after), 0o600))
	case is != table:
		t.Errorf("%s (-want +got):\n%s", tablePage, cmp.Diff(is, table))
	}
}
