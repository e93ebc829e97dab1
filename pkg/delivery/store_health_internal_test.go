package delivery

import (
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/ddbtest"
	"github.com/streamsort/streamsort/internal/request"
)

// failing are queues that failed three seconds after the epoch.
func failing(queues ...string) (all []request.FailingQueue) {
	for _, queue := range queues {
		all = append(all, request.FailingQueue{Queue: queue, At: time.UnixMilli(3_000).UTC()})
	}
	return all
}

// item is what stands in the table of the health of the bench's name.
func (b *bench) item() ddb.Item {
	b.Helper()
	a, err := b.faults.Do(b.Context(), ddb.Get{
		Op: ddb.Op{Table: &sharedNow.tables[0]},
		Key: ddb.Fields{"queue": ddb.Text("consumer " + b.queue),
			"consumer": ddb.Text(" health")}.Item(),
		Strong: true,
	})
	b.check(err)
	return a.Item
}

// learnt checks what Learn answered, and that it is what stands there.
func (b *bench) learnt(what string, want request.Health, wantMade bool) func(request.Health, bool,
	error) request.Health {
	return func(got request.Health, made bool, err error) request.Health {
		b.Helper()
		b.check(err)
		same(b.T, what+": made", made, wantMade)
		same(b.T, what, got, want)
		for _, strong := range []bool{true, false} {
			there := check.Get(b.Health(b.Context(), want.Consumer, strong))
			same(b.T, what+", as it stands there", there, want)
		}
		return got
	}
}

// TestStoreHealth: a change is made once, however often its request is repeated, and only on what
// was seen.
func TestStoreHealth(t *testing.T) {
	each(t, func(b *bench) {
		name := b.queue
		none := check.Get(b.Health(b.Context(), name, true))
		same(b.T, "nothing learnt", none, request.Health{Consumer: name})

		at := time.UnixMilli(1_000).UTC()
		first := request.Health{Consumer: name, Rev: 1, By: "a", Failing: failing("q"), FailingSince: at}
		b.learnt("learnt", first, true)(b.Learn(b.Context(), none,
			request.Health{Consumer: name, By: "a", Failing: failing("q"), FailingSince: at}))
		b.learnt("again", first, true)(b.Learn(b.Context(), none, first))
		other := first
		other.By, other.Failing = "b", failing("r")
		b.learnt("by another, who saw nothing", first, false)(b.Learn(b.Context(), none, other))

		second := request.Health{Consumer: name, Rev: 2, By: "b", TakenAt: at}
		b.learnt("taken", second,
			true)(b.Learn(b.Context(), first, request.Health{Consumer: name, By: "b", TakenAt: at}))
		b.learnt("again, after another did it", second, false)(b.Learn(b.Context(), none, first))
		late := second
		late.By = "c"
		b.learnt("by another, who saw what is past", second, false)(b.Learn(b.Context(), first, late))
	})
}

// TestStoreHealthIsNoConsumer: a queue may have the name of the partition.
func TestStoreHealthIsNoConsumer(t *testing.T) {
	each(t, func(b *bench) {
		check.Get2(b.Learn(b.Context(), request.Health{Consumer: b.queue},
			request.Health{Consumer: b.queue, By: "a"}))
		queue := "consumer " + b.queue
		if page, _, err := b.Consumers(b.Context(), queue, ""); err != nil || len(page) > 0 {
			b.Errorf("%d consumers, %v; want none", len(page), err)
		}
		c := b.fresh("-")
		c.Queue = queue
		b.create(c)
		for _, after := range []string{"", "--"} {
			page, _ := check.Get2(b.Consumers(b.Context(), queue, after))
			if after == "" {
				same(b.T, "the queue's consumers", page, []Consumer{c})
			} else if len(page) > 0 {
				b.Errorf("%v come after the only one", page)
			}
		}
	})
}

// TestStoreHealthItem pins what stands in the table, which other versions read, and what is not
// read.
func TestStoreHealthItem(t *testing.T) {
	each(t, func(b *bench) {
		at := time.UnixMilli(1_000).UTC()
		seen := request.Health{Consumer: b.queue}
		for i, c := range []struct {
			next request.Health
			text string
		}{
			{
				request.Health{Failing: failing("q", "r"), FailingSince: at.Add(time.Second), TakenAt: at},
				`by:a consumer: health failing:[{at:3000 queue:q} {at:3000 queue:r}] failingSince:2000 queue:consumer ` + b.queue + ` rev:1 takenAt:1000 v:1`,
			},
			{
				request.Health{Circuit: request.Circuit{Opened: at, ProbeAt: at.Add(time.Second), Probes: 7, Announced: true}},
				`announced:true by:a consumer: health opened:1000 probeAt:2000 probes:7 queue:consumer ` + b.queue + ` rev:2 v:1`,
			},
			{
				request.Health{Circuit: request.Circuit{Closed: at, Waking: true}},
				`by:a closed:1000 consumer: health queue:consumer ` + b.queue + ` rev:3 v:1 waking:true`,
			},
		} {
			next := c.next
			next.Consumer, next.By, next.Rev = b.queue, "a", int64(i)+1
			seen = b.learnt("learnt", next, true)(b.Learn(b.Context(), seen, next))
			same(b.T, "item", b.item().String(), "{"+c.text+"}")
		}
		key := ddb.Fields{"queue": ddb.Text("consumer " + b.queue),
			"consumer": ddb.Text(" health")}.Item()
		for name, wrong := range map[string]ddb.Action{
			"a newer layout": ddb.Path("v").Set(ddb.Int(2)), "no time": ddb.Path("opened").Set(ddb.Text("now")), "no number": ddb.Path("rev").Remove(), "no queues": ddb.Path("failing").Set(ddb.ListOf(ddb.Int(1))),
		} {
			broken := ddb.Update{Op: ddb.Op{Table: &sharedNow.tables[0]}, Key: key, Do: []ddb.Action{
				ddb.Path("v").Set(ddb.Int(1)), ddb.Path("opened").Remove(), ddb.Path("rev").Set(ddb.Int(1)), ddb.Path("failing").Set(ddb.ListOf()),
			}}
			check.Get(b.faults.Do(b.Context(), broken))
			broken.Do = []ddb.Action{wrong}
			check.Get(b.faults.Do(b.Context(), broken))
			got, err := b.Health(b.Context(), b.queue, true)
			check.That(b.T, err != nil, "%s: %+v was read", name, got)
		}
	})
}

func FuzzConsumer(f *testing.F) {
	ddbtest.FuzzCodec(f, consumers, decodeConsumer, attrVersion, attrOutcomes, attrQuarantine)
}

func FuzzOperation(f *testing.F) { ddbtest.FuzzCodec(f, operations, decodeOperation, attrVersion) }

func FuzzHealth(f *testing.F) {
	ddbtest.FuzzCodec(f, healths, func(it ddb.Item) (request.Health, error) {
		return decodeHealth("a", it)
	}, attrVersion)
}
