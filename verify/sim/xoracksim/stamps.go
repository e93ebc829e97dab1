package xoracksim

import (
	"context"

	"github.com/streamsort/streamsort/pkg/xorack"
	"github.com/streamsort/streamsort/pkg/xorack/stamps"
	"github.com/streamsort/streamsort/verify/sim"
)

// stamper stamps a chain of stamps with one of its work's stamps, and comes again until it has; the
// first one creates the chain.
func (m *model) stamper(tag string, at int) {
	m.busy("stamp "+tag+m.stamped[tag][at], func(p *sim.Proc) {
		until(p, 1, func() error { return m.stamp(p, tag, at) })
	})
}

// stampOnce is a stamper that does not come again, whatever becomes of it.
func (m *model) stampOnce(tag string, at int) {
	m.Run.Go("stamp once "+tag+m.stamped[tag][at], func(p *sim.Proc) { _ = m.stamp(p, tag, at) })
}

func (m *model) stamp(p *sim.Proc, tag string, at int) error {
	s := stamps.New(m.acker(p))
	stamp, options := []byte(m.stamped[tag][at]), &stamps.Options{ID: string(rune('a' + at))}
	var (
		state stamps.State
		err   error
	)
	if at == 0 {
		state, err = s.Create(context.Background(), tag, stamp, options)
	} else {
		state, err = s.Stamp(context.Background(), tag, stamp, options)
	}
	if err != nil {
		return m.failed(err)
	}
	m.stampsIn[tag]++
	if state.Outcome == xorack.Ended && m.chain(tag).Recorded != xorack.Done {
		m.Run.Violation("%s was answered ended, and is not", tag)
	}
	return nil
}
