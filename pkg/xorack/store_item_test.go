package xorack_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/pkg/table"
	"github.com/streamsort/streamsort/pkg/xorack"
)

// outcome is the answer to a write.
type outcome struct {
	xorack.Chain
	changed bool
	err     error
}

func got(c xorack.Chain, changed bool, err error) outcome { return outcome{c, changed, err} }

// writes are all writes, each with what makes an item that it changes.
func writes(t *testing.T) map[string]struct{ before, write func(*xorack.Store) outcome } {
	ctx := t.Context()
	over := at.Add(time.Hour)
	orphan := func(s *xorack.Store) outcome { return got(s.Apply(ctx, work("t", -100, 1))) }
	created := func(s *xorack.Store) outcome { return got(s.Create(ctx, newChain("t"))) }
	failed := func(s *xorack.Store) outcome { created(s); return got(s.Fail(ctx, failure("t", 1))) }
	stamped := func(s *xorack.Store) outcome { return outcome{err: s.Put(ctx, newStamped("t", "mark01aa"))} }
	deleted := func(s *xorack.Store) outcome {
		c := newStamped("t", "mark01aa")
		c.Recorded, c.LastOp, c.Due = xorack.Deleted, op(7), time.Time{}
		return outcome{err: s.Put(ctx, c)}
	}
	idle := overdue("t", at)
	idle.Seen = at
	next := newChain("t")
	next.Incarnation = stranger
	return map[string]struct{ before, write func(*xorack.Store) outcome }{
		"create":  {orphan, created},
		"replace": {orphan, func(s *xorack.Store) outcome { return got(s.Replace(ctx, next, xorack.Chain{Incarnation: inc})) }},
		"replace what was deleted": {deleted, func(s *xorack.Store) outcome {
			return got(s.Replace(ctx, next, xorack.Chain{Recorded: xorack.Deleted, LastOp: op(7)}))
		}},
		"apply":       {created, orphan},
		"fail":        {created, func(s *xorack.Store) outcome { return got(s.Fail(ctx, failure("t", 1))) }},
		"extend":      {created, func(s *xorack.Store) outcome { return got(s.Extend(ctx, "t", inc, over.Add(time.Hour))) }},
		"time out":    {created, func(s *xorack.Store) outcome { return got(s.TimeOut(ctx, overdue("t", over))) }},
		"no progress": {created, func(s *xorack.Store) outcome { return got(s.TimeOut(ctx, idle)) }},
		"postpone":    {created, func(s *xorack.Store) outcome { return got(s.Postpone(ctx, "t", inc, newChain("t").Due, over)) }},
		"put off":     {created, func(s *xorack.Store) outcome { return got(s.PutOff(ctx, "t", newChain("t").Due, over)) }},
		"delete":      {created, func(s *xorack.Store) outcome { return got(s.Delete(ctx, "t", op(1), at)) }},
		"seal":        {failed, func(s *xorack.Store) outcome { return got(s.Seal(ctx, "t", inc, at, over)) }},
		"settle":      {stamped, func(s *xorack.Store) outcome { return got(s.Settle(ctx, newStamped("t", "mark01aa"), at)) }},
	}
}

// TestNewerLayoutIsNotWritten: an item that a later version wrote stays as it is
// under each write, which would change it if it were of this layout.
func TestNewerLayoutIsNotWritten(t *testing.T) {
	for name, c := range writes(t) {
		t.Run(name, func(t *testing.T) {
			_, s := inMemory(t)
			check.OK(t, c.before(s).err)
			a := c.write(s)
			check.Need(t, a.changed && a.err == nil, "of this layout: changed %v, %v", a.changed, a.err)
			memory, s := inMemory(t)
			check.OK(t, c.before(s).err)
			newer := layout(t, memory, 2)
			if a := c.write(s); a.changed || !errors.Is(a.err, table.ErrNewerLayout) {
				t.Errorf("changed %v, %v", a.changed, a.err)
			}
			is := chainItems(memory)["t"]
			check.That(t, is.Equal(newer), "it was %v, and is %v", newer, is)
			check.Fails(t, check.Err(s.Chain(t.Context(), "t")), table.ErrNewerLayout)
		})
	}
}

// TestOlderLayoutStays: a change of an item does not convert it to this layout.
func TestOlderLayoutStays(t *testing.T) {
	for name, c := range writes(t) {
		memory, s := inMemory(t)
		check.OK(t, c.before(s).err)
		layout(t, memory, 0)
		check.OK(t, c.write(s).err)
		v, _ := chainItems(memory)["t"].Get("v").Int64()
		check.That(t, v == 0 || strings.HasPrefix(name, "replace"), "after %s: layout %d", name, v)
	}
}

// layout gives the chain's item another layout, and returns it.
func layout(t *testing.T, memory *ddb.Memory, v int64) ddb.Item {
	t.Helper()
	it := chainItems(memory)["t"].Merge(ddb.Fields{"v": ddb.Int(v)}.Item())
	_, err := memory.Do(t.Context(), ddb.Put{Op: ddb.Op{Table: &xorack.Names{}.Tables()[0]}, Item: it})
	check.OK(t, err)
	return it
}

// TestUnreadableStamps: an item whose stamps cannot be put together is refused, and
// breaks nothing down.
func TestUnreadableStamps(t *testing.T) {
	for length, member := range map[int64]string{-3: "abc", -6: "", 4: "abcdef"} {
		memory, s := inMemory(t)
		check.OK(t, s.Put(t.Context(), newStamped("t", "mark01aa")))
		it := chainItems(memory)["t"].Merge(ddb.Fields{"stampLen": ddb.Int(length), "stamps": ddb.Blobs([]byte(member))}.Item())
		check.Get(memory.Do(t.Context(), ddb.Put{Op: ddb.Op{Table: &xorack.Names{}.Tables()[0]}, Item: it}))
		if c, err := s.Chain(t.Context(), "t"); err == nil || !strings.Contains(err.Error(), `attribute "stamp`) {
			t.Errorf("%d: %+v, %v, which come to %v", length, c, err, c.XOR())
		}
	}
}

// TestNothingLeftOfTheIndex: the record of an ended chain keeps no attribute of
// the index that it has left.
func TestNothingLeftOfTheIndex(t *testing.T) {
	memory, s := inMemory(t)
	c := writes(t)["seal"]
	check.OK(t, c.before(s).err)
	check.OK(t, c.write(s).err)
	it := chainItems(memory)["t"]
	check.That(t, it.Exists() && !it.Has("due") && !it.Has("dueShard"), "%v", it)
}
