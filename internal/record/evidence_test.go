package record_test

import (
	"errors"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/ddbtest"
	"github.com/streamsort/streamsort/internal/record"
)

// learnt checks what Learn answered, and that it is what stands there.
func (b *bench) learnt(what string, want record.Evidence, wantMade bool) func(record.Evidence, bool, error) record.Evidence {
	return func(got record.Evidence, made bool, err error) record.Evidence {
		b.Helper()
		b.check(err)
		same(b.T, what+": made", made, wantMade)
		same(b.T, what, got, want)
		for _, strong := range []bool{true, false} {
			there, err := b.Evidence(b.Context(), want.Consumer, strong)
			b.check(err)
			same(b.T, what+", as it stands there", there, want)
		}
		return got
	}
}

// TestStoreEvidence: a change is made once, however often its request is repeated, and only
// on what was seen.
func TestStoreEvidence(t *testing.T) {
	each(t, func(b *bench) {
		name := b.queue
		none, err := b.Evidence(b.Context(), name, true)
		b.check(err)
		same(b.T, "nothing learnt", none, record.Evidence{Consumer: name})

		at := time.UnixMilli(1_000).UTC()
		first := record.Evidence{Consumer: name, Rev: 1, By: "a", Failing: []string{"q"}, FailingSince: at}
		b.learnt("learnt", first, true)(b.Learn(b.Context(), none, record.Evidence{Consumer: name, By: "a", Failing: []string{"q"}, FailingSince: at}))
		b.learnt("again", first, true)(b.Learn(b.Context(), none, first))
		other := first
		other.By, other.Failing = "b", []string{"r"}
		b.learnt("by another, who saw nothing", first, false)(b.Learn(b.Context(), none, other))

		second := record.Evidence{Consumer: name, Rev: 2, By: "b", Taken: 1, TakenAt: at}
		b.learnt("taken", second, true)(b.Learn(b.Context(), first, record.Evidence{Consumer: name, By: "b", Taken: 1, TakenAt: at}))
		b.learnt("again, after another did it", second, false)(b.Learn(b.Context(), none, first))
		late := second
		late.By = "c"
		b.learnt("by another, who saw what is past", second, false)(b.Learn(b.Context(), first, late))
	})
}

// TestStoreEvidenceIsNoConsumer: a queue may have the name of the partition.
func TestStoreEvidenceIsNoConsumer(t *testing.T) {
	each(t, func(b *bench) {
		_, _, err := b.Learn(b.Context(), record.Evidence{Consumer: b.queue}, record.Evidence{Consumer: b.queue, By: "a"})
		b.check(err)
		queue := "consumer " + b.queue
		if page, _, err := b.Consumers(b.Context(), queue, ""); err != nil || len(page) > 0 {
			b.Errorf("%d consumers, %v; want none", len(page), err)
		}
		c := b.fresh("-")
		c.Queue = queue
		b.create(c)
		for _, after := range []string{"", "--"} {
			page, _, err := b.Consumers(b.Context(), queue, after)
			b.check(err)
			if after == "" {
				same(b.T, "the queue's consumers", page, []record.Consumer{c})
			} else if len(page) > 0 {
				b.Errorf("%v come after the only one", page)
			}
		}
	})
}

// TestStoreEvidenceItem pins what stands in the table, which other versions read, and what is
// not read.
func TestStoreEvidenceItem(t *testing.T) {
	each(t, func(b *bench) {
		_, _, err := b.Learn(b.Context(), record.Evidence{Consumer: b.queue}, record.Evidence{
			Consumer: b.queue, By: "a", Taken: 3, Failing: []string{"q", "r"}, FailingSince: time.UnixMilli(2_000), TakenAt: time.UnixMilli(1_000),
		})
		b.check(err)
		key := ddb.Fields{"queue": ddb.Text("consumer " + b.queue), "consumer": ddb.Text(" evidence")}.Item()
		a, err := b.faults.Do(b.Context(), ddb.Get{Op: ddb.Op{Table: &shared.tables[0]}, Key: key, Strong: true})
		b.check(err)
		same(b.T, "item", a.Item.String(), `{by:a consumer: evidence failing:[q r] failingSince:2000 queue:consumer `+b.queue+` rev:1 taken:3 takenAt:1000 v:1}`)
		for name, wrong := range map[string]ddb.Action{
			"a newer layout": ddb.Path("v").Set(ddb.Int(3)), "no time": ddb.Path("opened").Set(ddb.Text("now")), "no number": ddb.Path("rev").Remove(), "no queues": ddb.Path("failing").Set(ddb.ListOf(ddb.Int(1))),
		} {
			broken := ddb.Update{Op: ddb.Op{Table: &shared.tables[0]}, Key: key, Do: []ddb.Action{
				ddb.Path("v").Set(ddb.Int(1)), ddb.Path("opened").Remove(), ddb.Path("rev").Set(ddb.Int(1)), ddb.Path("failing").Set(ddb.ListOf()),
			}}
			_, err := b.faults.Do(b.Context(), broken)
			b.check(err)
			broken.Do = []ddb.Action{wrong}
			_, err = b.faults.Do(b.Context(), broken)
			b.check(err)
			if got, err := b.Evidence(b.Context(), b.queue, true); err == nil {
				b.Errorf("%s: %+v was read", name, got)
			}
		}
	})
}

// TestStoreCircuit pins what stands in the table of a circuit, which older versions pass over
// with the whole item.
func TestStoreCircuit(t *testing.T) {
	each(t, func(b *bench) {
		at := time.UnixMilli(1_000).UTC()
		for i, c := range []struct {
			circuit record.Circuit
			text    string
		}{
			{record.Circuit{Opened: at, ProbeAt: at.Add(time.Second), Probes: 7, Announced: true}, `announced:true by:a consumer: evidence failing:[] opened:1000 probeAt:2000 probes:7 queue:consumer ` + b.queue + ` rev:1 taken:0 v:2 waking:false`},
			{record.Circuit{Closed: at, Waking: true}, `announced:false by:a closed:1000 consumer: evidence failing:[] probes:0 queue:consumer ` + b.queue + ` rev:2 taken:0 v:2 waking:true`},
		} {
			seen, err := b.Evidence(b.Context(), b.queue, true)
			b.check(err)
			want := record.Evidence{Consumer: b.queue, Rev: int64(i) + 1, By: "a", Circuit: c.circuit}
			b.learnt("circuit", want, true)(b.Learn(b.Context(), seen, want))
			a, err := b.faults.Do(b.Context(), ddb.Get{
				Op: ddb.Op{Table: &shared.tables[0]}, Key: ddb.Fields{"queue": ddb.Text("consumer " + b.queue), "consumer": ddb.Text(" evidence")}.Item(), Strong: true,
			})
			b.check(err)
			same(b.T, "item", a.Item.String(), "{"+c.text+"}")
		}
	})
}

// TestStoreEvidenceLostResponse: the SDK's repeat finds what the first copy wrote.
func TestStoreEvidenceLostResponse(t *testing.T) {
	each(t, func(b *bench) {
		e := record.Evidence{Consumer: b.queue, By: "a", Taken: 1}
		b.faults.Fail(1, ddbtest.Lost)
		_, _, err := b.Learn(b.Context(), record.Evidence{Consumer: b.queue}, e)
		if err != nil && !errors.Is(err, ddb.ErrUnavailable) {
			b.Fatal(err)
		}
		e.Rev = 1
		b.learnt("the repeat", e, true)(b.Learn(b.Context(), record.Evidence{Consumer: b.queue}, e))
	})
}
