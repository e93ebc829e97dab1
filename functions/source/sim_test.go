package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/announce"
	"github.com/streamsort/streamsort/internal/awscall"
	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/emf"
	"github.com/streamsort/streamsort/internal/fanout"
	"github.com/streamsort/streamsort/internal/intake"
	"github.com/streamsort/streamsort/internal/queuelog"
	"github.com/streamsort/streamsort/internal/quota"
	"github.com/streamsort/streamsort/internal/runtime"
	"github.com/streamsort/streamsort/internal/runtime/runtimetest"
	"github.com/streamsort/streamsort/internal/source"
	"github.com/streamsort/streamsort/internal/source/sourcetest"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/verify/sim"
	"github.com/streamsort/streamsort/verify/sim/simdb"
	"github.com/streamsort/streamsort/verify/sim/simtest"
)

// shard is a run of a numbered source of a tenant with a quota: a stream that brings its records
// again until the function has all of them, beside other messages of the tenant.
type shard struct {
	run    *sim.Run
	of     *source.Source
	tables *ddb.Memory
	now    time.Time
	// records are the bodies of the stream's records, of which those from `left` on are to come.
	records []string
	left    int
	tries   int
	// aside and announced count what was set aside, and announced, of each record.
	aside, announced map[string]int
	// passed are the seqs of the others' messages that passed.
	passed int64
}

const (
	// shardLimit is what the tenant may put in a window of ten seconds.
	shardLimit = 10
	// shardQueue is the source's queue, besideQueue the others'.
	shardQueue, besideQueue = "@acme/p", "@acme/others"
	// maxTries is how often the records come until they have all passed, whatever happens.
	maxTries = 5
)

// shardOf is a run of these bodies, beside so many other messages.
func shardOf(name string, faults, others int, bodies ...string) sim.Scenario {
	return sim.Scenario{Name: name, Faults: faults, New: func(run *sim.Run) sim.Model {
		of, err := source.Read([]byte(`{"name":"src","kind":"kinesis","queue":"@partitionKey","prefix":"@acme/","seq":"n"}`))
		if err != nil {
			panic(err) // a scenario with a malformed source
		}
		m := &shard{
			run: run, of: of, now: sourcetest.Time(0), records: bodies, aside: map[string]int{},
			announced: map[string]int{}, tables: runtimetest.Tables(),
		}
		run.Daemon("stream", m.deliver)
		if others > 0 {
			run.Go("others", func(p *sim.Proc) { m.putOthers(p, others) })
		}
		return m
	}}
}

// deliver calls the function with what is left of the records, each time in another window, until
// nothing is.
func (m *shard) deliver(p *sim.Proc) {
	s := m.process(p)
	for ; m.left < len(m.records); m.tries++ {
		if m.tries == maxTries {
			m.run.Violation("%d of %d records are left after %d tries", len(m.records)-m.left,
				len(m.records), m.tries)
			return
		}
		answer, err := runtime.Around(io.Discard, headroom, s.handle)(context.Background(), m.event())
		if p.Dead() || p.Choose(sim.Labelf("ten seconds pass"), nil, "") < 0 {
			return
		}
		m.now = m.now.Add(10 * time.Second)
		var failed struct {
			BatchItemFailures []struct{ ItemIdentifier string }
		}
		if err == nil {
			err = json.Unmarshal(answer, &failed)
		}
		if err != nil {
			m.run.Violation("%s, %v", answer, err)
			return
		}
		if len(failed.BatchItemFailures) == 0 {
			m.left = len(m.records)
			continue
		}
		var n int
		_, err = fmt.Sscan(failed.BatchItemFailures[0].ItemIdentifier, &n)
		if err != nil {
			m.run.Violation("%s", answer)
			return
		}
		m.left = n - 1
	}
}

// event is what is left of the records, each as it came before.
func (m *shard) event() json.RawMessage {
	var all struct{ Records []json.RawMessage }
	if err := json.Unmarshal(kinesisEvent(m.records...), &all); err != nil {
		panic(err) // unreachable: it is JSON
	}
	all.Records = all.Records[m.left:]
	left, _ := json.Marshal(all)
	return left
}

// putOthers puts messages of the tenant, one by one, in a process of its own.
func (m *shard) putOthers(p *sim.Proc, n int) {
	s := m.process(p)
	for i := range n {
		if p.Choose(sim.Labelf("another message"), nil, "") < 0 {
			return
		}
		put := &intake.Put{Tenant: "acme", Quotas: s.quotas, Single: true}
		put.Take(cursor.Message{Queue: besideQueue, Seq: int64(i) + 1})
		metrics := emf.New(io.Discard, emf.Names{}).Begin()
		if _, err := put.Store(context.Background(), s.sorter, metrics); err == nil {
			m.passed++
		}
	}
}

// process is the function in a process with a memory of its own.
func (m *shard) process(p *sim.Proc) *service {
	tables := simdb.Engine(p, m.tables, &simdb.Hooks{Hash: m.hash})
	ops := 0
	clock := func() time.Time {
		p.Knows().Int(m.now.Unix())
		return m.now
	}
	sorter, err := cursor.New(simdb.Queues(tables), &cursor.Options{
		ForEach: fanout.OneByOne, Now: clock,
		NewOp: func() []byte { ops++; return fmt.Appendf(nil, "%s%d", p.Name(), ops) },
	})
	if err != nil {
		panic(err) // a scenario with options out of bounds
	}
	limits := []quota.Quota{{Name: "*", Limits: quota.Amounts{quota.Messages: shardLimit / 10}}}
	return &service{
		source: m.of, sorter: sorter,
		aside:  &aside{source: m.of, queue: shardSide{m, p}, announcer: shardSide{m, p}, now: clock},
		quotas: quota.NewKeeper(quota.NewStore(tables, runtimetest.Counters), limits, clock),
	}
}

// shardSide takes what is set aside, and announced.
type shardSide struct {
	*shard
	p *sim.Proc
}

// SendBatch implements sender.
func (s shardSide) SendBatch(_ context.Context, _ string,
	entries []awscall.Entry) (awscall.Verdicts, error) {
	return sim.Do(s.p, sim.Labelf("set aside"), true, func() (verdicts awscall.Verdicts, err error) {
		for _, e := range entries {
			var d document
			if err := json.Unmarshal([]byte(e.Body), &d); err != nil {
				return verdicts, err
			}
			s.aside[d.ID]++
			verdicts.Successful = append(verdicts.Successful, awscall.Taken{ID: e.ID})
		}
		return verdicts, nil
	})
}

// Records implements announcer.
func (s shardSide) Records(_ context.Context, said announce.SetAside) error {
	_, err := sim.Do(s.p, sim.Labelf("announce"), true, func() (bool, error) {
		s.announced[said.ID]++
		return true, nil
	})
	return err
}

// hash feeds all of an answer but the names of the quotas' requests, which are others in each run.
func (m *shard) hash(d *sim.Digest, r ddb.Request, a ddb.Answer) {
	d.Bool(a.Held)
	d.Int(m.now.Unix())
	if update, ok := r.(ddb.Update); ok && (r.Name() == "take" || r.Name() == "move account") {
		d.Bool(slices.ContainsFunc(update.Do, func(set ddb.Action) bool {
			return set.Path == "op" && set.Value.Equal(a.Item.Get("op"))
		}))
	}
	for _, it := range append(slices.Clone(a.Items), a.Item) {
		hashOf(d, it)
	}
}

func hashOf(d *sim.Digest, it ddb.Item) {
	if it.Has("begins") {
		d.Digest(it.Only("begins", "messages").Digest())
		return
	}
	d.Digest(it.Digest())
}

// Check implements [sim.Model].
func (m *shard) Check() error { return nil }

// Final implements [sim.Model]: all records are stored or set aside, and nothing is announced again
// and again.
func (m *shard) Final() error {
	sorter := m.process(nil).sorter
	seqs, twins := map[string]bool{}, map[string]bool{}
	for _, body := range m.records {
		var of struct{ N int }
		if err := json.Unmarshal([]byte(body), &of); err != nil {
			return err
		}
		if n := fmt.Sprint(of.N); seqs[n] {
			twins[body] = true
		} else {
			seqs[n] = true
		}
	}
	// A move that failed is made up for by the sweep.
	healed, err := sorter.Inside(queuelog.Inside{}).Recheck(context.Background(), shardQueue)
	if at := healed.Cursor.Position; err != nil || at != int64(len(seqs)) {
		return fmt.Errorf("the queue is at %d, want %d: %w", at, len(seqs), err)
	}
	if len(m.aside) != len(twins) {
		return fmt.Errorf("set aside: %v, want %d", m.aside, len(twins))
	}
	for id, n := range m.announced {
		if n > 1 && !m.run.Failed() {
			return fmt.Errorf("%s is announced %d times", id, n)
		}
	}
	return nil
}

// Snapshot implements [sim.Model].
func (m *shard) Snapshot(d *sim.Digest) {
	d.Int(m.now.Unix())
	d.Int(int64(m.left))
	d.Int(int64(m.tries))
	d.Int(m.passed)
	for _, counts := range []map[string]int{m.aside, m.announced} {
		sum := 0
		for _, n := range counts {
			sum += n
		}
		d.Int(int64(sum))
	}
	for _, t := range (cursor.Names{}).Tables() {
		for _, it := range m.tables.Items(t.Name) {
			hashOf(d, it)
		}
	}
}

func numbered(n int) (bodies []string) {
	for i := range n {
		bodies = append(bodies, fmt.Sprintf(`{"n":%d}`, i+1))
	}
	return bodies
}

// TestEverySmallSchedule walks every schedule of a source and a quota together: whatever happens,
// the records pass after a few tries, and what makes no message is set aside.
func TestEverySmallSchedule(t *testing.T) {
	twin := `{"n":3,"other":true}`
	simtest.Small(t, sim.Suite{Name: "source", Small: []sim.Scenario{
		shardOf("two records of one seq, in a window of one", 1, 0, append(numbered(shardLimit), twin)...),
		shardOf("two records of one seq, beside others", 1, 1, append(numbered(3), twin, `{"n":4}`)...),
		shardOf("more than a window, beside others", 1, 1, numbered(2*shardLimit+5)...),
		shardOf("more than a window with two of one seq, beside others", 0, 3, append(numbered(shardLimit+5), twin)...),
	}})
}
