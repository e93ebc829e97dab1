package record_test

import (
	"testing"

	"github.com/streamsort/streamsort/internal/dev/ddbtest"
	"github.com/streamsort/streamsort/internal/record"
)

// TestStoreMarking: an act is done where the consumer's act is the one that was seen, and leaves its own.
func TestStoreMarking(t *testing.T) {
	each(t, func(b *bench) {
		b.create(b.fresh("a"))
		pause := func(seen, key, reason string) (record.Consumer, bool) {
			c, done, err := b.Marking(seen, key).Pause(b.Context(), b.queue, "a", reason, at)
			b.check(err)
			return c, done
		}
		for _, step := range []struct {
			seen, key, reason string
			done              bool
			act               string
		}{
			{"other", "first", "no", false, ""},
			{"", "first", "why", true, "first"},
			{"", "late", "no", false, "first"},
			{"first", "second", "again", true, "second"},
			{"first", "third", "no", false, "second"},
		} {
			c, done := pause(step.seen, step.key, step.reason)
			same(b.T, step.key+": done", done, step.done)
			same(b.T, step.key+": act", c.Act, step.act)
			same(b.T, step.key+": paused", c.Paused == step.reason, step.done)
		}
		c, done, err := b.Pause(b.Context(), b.queue, "a", "", at)
		b.check(err)
		same(b.T, "an operator's: done", done, true)
		same(b.T, "an operator's: act", c.Act, "second")
		b.faults.Fail(1, ddbtest.Repeated)
		c, _ = pause("second", "third", "twice")
		same(b.T, "repeated: act", c.Act, "third")
	})
}

// TestStoreEndsOfActs: an act is stored once, and so is its end.
func TestStoreEndsOfActs(t *testing.T) {
	each(t, func(b *bench) {
		o := record.Operation{
			Queue: b.queue, Consumer: "a", At: at, Op: "b", Kind: "redrive", Seq: 3, Reason: "why", Batch: "b",
		}
		end := func(why string) record.Operation {
			stands, err := b.EndAct(b.Context(), b.queue, o.Key(), why)
			b.check(err)
			return stands
		}
		same(b.T, "the end of none", end(""), record.Operation{})
		for _, fault := range []ddbtest.Fault{"", ddbtest.Repeated} {
			o.Op += "+"
			if fault != "" {
				b.faults.Fail(1, fault)
			}
			stands, err := b.BeginAct(b.Context(), o)
			b.check(err)
			same(b.T, "begun", stands, o)
			later := o
			later.Seq++
			stands, err = b.BeginAct(b.Context(), later)
			b.check(err)
			same(b.T, "begun again", stands, o)
			if fault != "" {
				b.faults.Fail(1, fault)
			}
			done := o
			done.Done = true
			same(b.T, "done", end(""), done)
			same(b.T, "done, and then refused", end("no"), done)
		}
		o.Op = "refused"
		_, err := b.BeginAct(b.Context(), o)
		b.check(err)
		refused := o
		refused.Error = "no"
		same(b.T, "refused", end("no"), refused)
		same(b.T, "refused, and then done", end(""), refused)
		stands, err := b.BeginAct(b.Context(), o)
		b.check(err)
		same(b.T, "begun after its end", stands, refused)
		page, _, err := b.Audit(b.Context(), b.queue, "")
		b.check(err)
		same(b.T, "on record", len(page), 3)
	})
}
