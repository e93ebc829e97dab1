package xoracksim

import (
	"context"
	"time"

	"github.com/streamsort/streamsort/internal/sim"
	"github.com/streamsort/streamsort/pkg/xorack"
)

// store is the table as one process sees it.
type store struct {
	*model
	p *sim.Proc
}

var _ xorack.Store = (*store)(nil)

// answer is a chain, and whether a write changed it.
type answer struct {
	xorack.Chain
	changed bool
}

// Hash implements [sim.Hasher].
func (a answer) Hash(d *sim.Digest) {
	hashChain(d, a.Chain)
	d.Bool(a.changed)
}

// String is for traces.
func (a answer) String() string { return chainText(a.Chain) }

func hashChain(d *sim.Digest, c xorack.Chain) {
	d.Bool(c.Exists())
	if !c.Exists() {
		return
	}
	d.Text(string(c.Incarnation[:]))
	d.Int(c.Sum.Hi)
	d.Int(int64(c.Sum.Lo))
	d.Int(c.Edges)
	d.Int(int64(len(c.Ops)))
	for _, op := range c.Ops {
		d.Text(string(op[:]))
	}
	d.Int(int64(len(c.Stamps)))
	for _, stamp := range c.Stamps {
		d.Text(string(stamp))
	}
	for _, t := range []time.Time{c.Created, c.Deadline, c.Seen, c.Due, c.EndedAt, c.ExpiresOn} {
		d.Int(t.UnixMilli())
	}
	d.Text(string(c.LastOp[:]))
	d.Text(string(c.Recorded))
}

// knowsTime notes the time by which a request was made: it may wait.
func (s *store) knowsTime() { s.p.Knows().Int(s.now.Sub(start).Milliseconds()) }

// write is a request that may change the chain of a tag.
func (s *store) write(tag string, label sim.Label, request func() (xorack.Chain, bool, error)) (xorack.Chain, bool, error) {
	s.knowsTime()
	got, err := sim.Do(s.p, label, true, func() (answer, error) {
		before := s.chain(tag)
		c, changed, err := request()
		if changed {
			s.changed = true
			s.wrote(before, s.chain(tag))
		}
		return answer{c, changed}, err
	})
	return got.Chain, got.changed, err
}

func (s *store) Create(ctx context.Context, c xorack.Chain) (xorack.Chain, bool, error) {
	return s.write(c.Tag, sim.Labelf("create %s", c.Tag), func() (xorack.Chain, bool, error) { return s.memory.Create(ctx, c) })
}

func (s *store) Replace(ctx context.Context, c, seen xorack.Chain) (xorack.Chain, bool, error) {
	return s.write(c.Tag, sim.Labelf("replace %s", c.Tag), func() (xorack.Chain, bool, error) { return s.memory.Replace(ctx, c, seen) })
}

func (s *store) Apply(ctx context.Context, w xorack.Work) (xorack.Chain, bool, error) {
	return s.write(w.Tag, func() string { return "apply " + s.opsText(w.Ops) }, func() (xorack.Chain, bool, error) { return s.memory.Apply(ctx, w) })
}

func (s *store) Fail(ctx context.Context, f xorack.Failure) (xorack.Chain, bool, error) {
	return s.write(f.Tag, func() string { return "fail " + s.opsText([]xorack.Op{f.Op}) }, func() (xorack.Chain, bool, error) { return s.memory.Fail(ctx, f) })
}

func (s *store) Extend(ctx context.Context, tag string, inc xorack.Incarnation, deadline time.Time) (xorack.Chain, bool, error) {
	return s.write(tag, sim.Labelf("extend %s to %v", tag, deadline.Sub(start)), func() (xorack.Chain, bool, error) {
		return s.memory.Extend(ctx, tag, inc, deadline)
	})
}

func (s *store) TimeOut(ctx context.Context, o xorack.Overdue) (xorack.Chain, bool, error) {
	return s.write(o.Tag, sim.Labelf("time %s out", o.Tag), func() (xorack.Chain, bool, error) { return s.memory.TimeOut(ctx, o) })
}

func (s *store) Abandon(ctx context.Context, o xorack.Overdue) (xorack.Chain, bool, error) {
	return s.write(o.Tag, sim.Labelf("abandon %s", o.Tag), func() (xorack.Chain, bool, error) { return s.memory.Abandon(ctx, o) })
}

func (s *store) Postpone(ctx context.Context, tag string, inc xorack.Incarnation, from, to time.Time) (xorack.Chain, bool, error) {
	return s.write(tag, sim.Labelf("postpone %s to %v", tag, to.Sub(start)), func() (xorack.Chain, bool, error) {
		return s.memory.Postpone(ctx, tag, inc, from, to)
	})
}

func (s *store) Delete(ctx context.Context, tag string, op xorack.Op, now time.Time) (xorack.Chain, bool, error) {
	return s.write(tag, sim.Labelf("delete %s", tag), func() (xorack.Chain, bool, error) { return s.memory.Delete(ctx, tag, op, now) })
}

func (s *store) Seal(ctx context.Context, tag string, inc xorack.Incarnation, ended, expires time.Time) (xorack.Chain, bool, error) {
	return s.write(tag, sim.Labelf("seal %s", tag), func() (xorack.Chain, bool, error) {
		before := s.chain(tag)
		c, sealed, err := s.memory.Seal(ctx, tag, inc, ended, expires)
		if sealed {
			s.checkSeal(before)
		}
		return c, sealed, err
	})
}

func (s *store) AddStamp(ctx context.Context, w xorack.Stamp) (xorack.Chain, bool, error) {
	return s.write(w.Tag, sim.Labelf("stamp %s with %q", w.Tag, w.Marked), func() (xorack.Chain, bool, error) { return s.memory.AddStamp(ctx, w) })
}

func (s *store) Settle(ctx context.Context, tag string, inc xorack.Incarnation, stamps int, now time.Time) (xorack.Chain, bool, error) {
	return s.write(tag, sim.Labelf("settle %s with %d stamps", tag, stamps), func() (xorack.Chain, bool, error) {
		return s.memory.Settle(ctx, tag, inc, stamps, now)
	})
}

func (s *store) DeleteStamps(ctx context.Context, tag string, op xorack.Op, now, expires time.Time) (xorack.Chain, bool, error) {
	return s.write(tag, sim.Labelf("delete stamps of %s", tag), func() (xorack.Chain, bool, error) {
		return s.memory.DeleteStamps(ctx, tag, op, now, expires)
	})
}

func (s *store) Chain(ctx context.Context, tag string) (xorack.Chain, error) {
	s.knowsTime()
	got, err := sim.Read(s.p, sim.Labelf("get %s", tag), func() (answer, error) {
		c, err := s.memory.Chain(ctx, tag)
		return answer{c, false}, err
	})
	return got.Chain, err
}

// dueAnswer is a page of chains that are due.
type dueAnswer []xorack.DueChain

// Hash implements [sim.Hasher].
func (a dueAnswer) Hash(d *sim.Digest) {
	d.Int(int64(len(a)))
	for _, one := range a {
		d.Text(one.Tag)
		d.Int(one.Due.UnixMilli())
	}
}

// Due is a read of the index: it may show nothing, or a chain that has left it.
// A part that never had a chain is not worth a point.
func (s *store) Due(ctx context.Context, q xorack.DueQuery) ([]xorack.DueChain, error) {
	stale := s.everDue(q)
	if len(stale) == 0 {
		return nil, nil
	}
	s.knowsTime()
	got, err := sim.Read(s.p, sim.Labelf("query due chains of part %d", q.Shard),
		func() (dueAnswer, error) {
			due, err := s.memory.Due(ctx, q)
			return dueAnswer(due), err
		},
		func() (dueAnswer, error) { return nil, nil },
		func() (dueAnswer, error) { return dueAnswer(stale), nil },
	)
	return got, err
}
