package eventsource

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/streamsort/streamsort/internal/dev/bubble"
	"github.com/streamsort/streamsort/localstack/template"
)

// TestMain has 1,000 random cases checked where the command line does not say how many.
func TestMain(m *testing.M) {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "rapid.checks" })
	if !given {
		if err := flag.Set("rapid.checks", "1000"); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}

// plan is one random case: a mapping, what is written, and how the function misbehaves.
type plan struct {
	mapping template.Mapping
	chaos   Chaos
	seed    uint64 // of the function's behaviour
	// writes are the keys of the changes, in order; a negative number splits the shards in two.
	writes []int
	// poison are the changes that are never accepted, by their place in writes.
	poison map[int]bool
	// flaky is how often, in percent, an invocation goes wrong for no reason, as long as there are
	// troubles left.
	flaky, troubles int
}

func drawPlan(t *rapid.T) plan {
	p := plan{
		mapping: template.Mapping{
			LogicalID: "M", Function: "f", Enabled: true, StartingPosition: "TRIM_HORIZON", OnFailure: "q",
			BatchSize:       rapid.IntRange(1, 8).Draw(t, "batch size"),
			Parallelization: rapid.IntRange(1, 4).Draw(t, "lanes"),
			Window:          time.Duration(rapid.IntRange(0, 2).Draw(t, "window")) * time.Second,
			MaxRetries:      rapid.IntRange(-1, 3).Draw(t, "retries"),
			Bisect:          rapid.Bool().Draw(t, "bisect"),
		},
		chaos: Chaos{
			Seed:      rapid.Uint64().Draw(t, "chaos"),
			Duplicate: float64(rapid.IntRange(0, 7).Draw(t, "duplicate")) / 10,
			Late:      float64(rapid.IntRange(0, 5).Draw(t, "late")) / 10,
			LateBy:    5 * time.Second,
		},
		seed:     rapid.Uint64().Draw(t, "function"),
		writes:   rapid.SliceOfN(rapid.IntRange(-1, 5), 1, 60).Draw(t, "writes"),
		poison:   map[int]bool{},
		flaky:    rapid.IntRange(0, 60).Draw(t, "flaky"),
		troubles: rapid.IntRange(0, 40).Draw(t, "troubles"),
	}
	p.mapping.ReportBatchItemFailures = rapid.Bool().Draw(t, "report")
	if p.mapping.MaxRetries >= 0 {
		for range rapid.IntRange(0, 4).Draw(t, "poisons") {
			p.poison[rapid.IntRange(0, len(p.writes)-1).Draw(t, "poison")] = true
		}
	}
	return p
}

// written is a change and what became of it.
type written struct {
	key, index int // index counts the changes of the key
	shard      string
	lane       uint64
	poison     bool
	deliveries int
	accepted   bool
	discarded  bool
}

// world is a running case and the checker of what must hold in it.
type world struct {
	plan
	stream *memoryStream
	dice   *rand.Rand

	mu      sync.Mutex
	changes map[string]*written // by sequence number
	order   []string            // the sequence numbers
	byKey   map[int][]*written
	last    map[int]int  // index of the last delivery of a key
	active  map[int]bool // keys in an invocation under way
	faults  []string
}

func (w *world) fault(format string, args ...any) {
	w.faults = append(w.faults, fmt.Sprintf(format, args...))
}

// write carries out the plan's writes, with pauses between some of them. At depth d there are 2^d
// open shards, and a key is in the one that its lowest d bits name.
func (w *world) write() {
	depth, open := 0, []string{"s"}
	for i, key := range w.writes {
		if key < 0 {
			if depth == 3 {
				continue
			}
			depth++
			var children []string
			for _, parent := range open {
				w.stream.split(parent, parent+"0", parent+"1")
				children = append(children, parent+"0", parent+"1")
			}
			open = children
			continue
		}
		shard := "s"
		for bit := range depth {
			shard += strconv.Itoa(key >> bit & 1)
		}
		w.put(shard, key, w.poison[i])
		if i%5 == 4 {
			bubble.Sleep(time.Duration(i%3) * 500 * time.Millisecond)
		}
	}
}

func (w *world) put(shard string, key int, poison bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	sequence := w.stream.put(shard, fmt.Sprint(key))
	records := w.stream.shard(shard).records
	event, err := eventOf(records[len(records)-1], "arn:stream")
	if err != nil {
		panic(err)
	}
	rec, err := newRecord(event, nil)
	if err != nil {
		panic(err)
	}
	c := &written{key: key, index: len(w.byKey[key]), shard: shard,
		lane: rec.lane % uint64(w.mapping.Parallelization), poison: poison}
	w.changes[sequence] = c
	w.order = append(w.order, sequence)
	w.byKey[key] = append(w.byKey[key], c)
}

// invoke is the function: it checks what it is given and answers well or badly.
func (w *world) invoke(_ context.Context, payload []byte) ([]byte, string, error) {
	var event struct{ Records []received }
	if err := json.Unmarshal(payload, &event); err != nil {
		return nil, "", err
	}
	w.mu.Lock()
	keys := map[int]bool{}
	var batch []*written
	for _, r := range event.Records {
		c := w.changes[r.Dynamodb.SequenceNumber]
		batch = append(batch, c)
		keys[c.key] = true
		c.deliveries++
		if last, ok := w.last[c.key]; c.index > 0 && (!ok || c.index > last+1) {
			w.fault("key %d: change %d is delivered after %d", c.key, c.index, last)
		}
		w.last[c.key] = c.index
	}
	if len(batch) == 0 || len(batch) > w.mapping.BatchSize {
		w.fault("an event has %d records", len(batch))
	}
	for key := range keys {
		if w.active[key] {
			w.fault("key %d is in two invocations", key)
		}
		w.active[key] = true
	}
	pause := time.Duration(w.dice.IntN(1000)) * time.Millisecond
	w.mu.Unlock()

	bubble.Sleep(pause)

	w.mu.Lock()
	defer w.mu.Unlock()
	for key := range keys {
		delete(w.active, key)
	}
	return w.answer(event.Records, batch)
}

// answer fails at the first poisoned record, and now and then for no reason.
func (w *world) answer(records []received, batch []*written) ([]byte, string, error) {
	report := w.mapping.ReportBatchItemFailures
	good := slices.IndexFunc(batch, func(c *written) bool { return c.poison })
	if good < 0 {
		good = len(batch)
	}
	if w.troubles > 0 && w.dice.IntN(100) < w.flaky {
		w.troubles--
		switch w.dice.IntN(4) {
		case 0:
			return nil, "", errors.New("throttled")
		case 1:
			return nil, "Unhandled", nil
		case 2:
			if report {
				return []byte(`{"batchItemFailures": [{"itemIdentifier": "nobody's"}]}`), "", nil
			}
		}
		good = min(good, w.dice.IntN(len(batch)))
	}
	if good == len(batch) {
		w.accept(batch)
		if report {
			return nil, "", nil
		}
		return []byte(`{"batchItemFailures": [{}]}`), "", nil // which nobody has asked for
	}
	if !report {
		return nil, "Unhandled", nil
	}
	w.accept(batch[:good])
	// In any order, and with a later one too.
	return fmt.Appendf(nil, `{"batchItemFailures": [{"itemIdentifier": %q}, {"itemIdentifier": %q}]}`,
		records[len(records)-1].Dynamodb.SequenceNumber, records[good].Dynamodb.SequenceNumber), "", nil
}

// accept marks records as done. Whatever came before them with the same key has to be done as well.
func (w *world) accept(batch []*written) {
	for _, c := range batch {
		for _, before := range w.byKey[c.key][:c.index] {
			if !before.accepted && !before.discarded {
				w.fault("key %d: change %d is accepted before %d is dealt with", c.key, c.index, before.index)
			}
		}
		c.accepted = true
	}
}

// onFailure checks that a message names records of one lane that had all their attempts.
func (w *world) onFailure(_ string, message []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var m struct {
		RequestContext struct{ Condition string }
		BatchInfo      struct {
			ShardID, StartSequenceNumber, EndSequenceNumber string
			BatchSize                                       int
		} `json:"DDBStreamBatchInfo"`
	}
	if err := json.Unmarshal(message, &m); err != nil {
		w.fault("%s: %v", message, err)
		return
	}
	if m.RequestContext.Condition != retriesExhausted {
		w.fault("condition %s", m.RequestContext.Condition)
	}
	first, last := slices.Index(w.order, m.BatchInfo.StartSequenceNumber),
		slices.Index(w.order, m.BatchInfo.EndSequenceNumber)
	lane, n := w.changes[w.order[first]].lane, 0
	for _, sequence := range w.order[first : last+1] {
		c := w.changes[sequence]
		if c.shard != m.BatchInfo.ShardID || c.lane != lane {
			continue
		}
		n++
		c.discarded = true
		if attempts := w.mapping.MaxRetries + 1; c.deliveries < attempts {
			w.fault("change %d of key %d is discarded after %d deliveries of %d", c.index, c.key,
				c.deliveries, attempts)
		}
	}
	if n != m.BatchInfo.BatchSize {
		w.fault("the message is about %d records, its range has %d of the lane", m.BatchInfo.BatchSize, n)
	}
}

// run carries the case out and returns everything that went wrong.
func (w *world) run(t *testing.T) []string {
	r, err := New(w.mapping, Config{
		Streams: w.stream, Invoke: w.invoke, OnFailure: w.onFailure, Chaos: w.chaos,
		Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return []string{err.Error()}
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	w.write()
	since := time.Now()
	for range 100_000 {
		if r.Idle(since) {
			break
		}
		bubble.Sleep(time.Second)
	}
	stop()
	if err := <-done; err != nil {
		w.fault("Run = %v", err)
	}
	stats := r.Stats()
	accepted, discarded := 0, 0
	for _, c := range w.changes {
		switch {
		case !c.accepted && !c.discarded:
			w.fault("change %d of key %d is lost", c.index, c.key)
		case c.accepted && c.poison:
			w.fault("a poisoned change was accepted")
		}
		if c.accepted {
			accepted++
		}
		if c.discarded {
			discarded++
		}
	}
	if !r.Idle(since) || stats.Waiting != 0 || stats.Read != int64(len(w.order)) ||
		stats.Delivered != int64(accepted) || stats.Failed < int64(discarded) {
		w.fault("%d written, %d accepted, %d discarded, idle %v, stats %+v", len(w.order), accepted,
			discarded, r.Idle(since), stats)
	}
	return w.faults
}

// TestOrderPerKeyAndNothingLost runs random cases through the whole runner: shards that split,
// batches, lanes, failures of all kinds, bisects, chaos. The changes of a key are delivered in
// order, where a repetition restarts from an earlier one; none is accepted before those before it
// are dealt with; two invocations never hold the same key; every change is accepted, or had all its
// attempts and is named by an on-failure message.
func TestOrderPerKeyAndNothingLost(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p := drawPlan(rt)
		var faults []string
		synctest.Test(t, func(t *testing.T) {
			w := &world{
				plan: p, stream: newMemoryStream("s"), dice: rand.New(rand.NewPCG(p.seed, 0)),
				changes: map[string]*written{},
				byKey:   map[int][]*written{}, last: map[int]int{}, active: map[int]bool{},
			}
			faults = w.run(t)
		})
		if len(faults) > 0 {
			rt.Fatalf("%d faults, the first: %s", len(faults), faults[0])
		}
	})
}
