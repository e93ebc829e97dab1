package trackedsim

import (
	"fmt"
	"slices"
	"time"

	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/handoff"
	"github.com/streamsort/streamsort/pkg/xorack"
	"github.com/streamsort/streamsort/verify/sim"
)

// consumed checks what a write made of the consumer.
func (m *model) consumed() error {
	was, is := m.is, m.standing()
	if was == is {
		return nil
	}
	m.is = is
	if !is.Exists() || !was.Exists() {
		return nil
	}
	if err := m.blocks(is); err != nil {
		return err
	}
	if is.Delivered < was.Delivered || is.Token.N < was.Token.N {
		return fmt.Errorf("D6: the consumer went from %d under %v to %d under %v", was.Delivered, was.Token, is.Delivered, is.Token)
	}
	claimed := is.State == handoff.Started && is.Token != was.Token
	if was.State == handoff.Started && (is.State != handoff.Started || claimed) {
		if err := m.claimEnded(was, is); err != nil {
			return err
		}
	}
	if claimed {
		m.awake = true
		if is.Tracked {
			tag := handoff.ChainOf(is)
			before := m.claims[tag]
			if before == nil {
				m.tags = append(m.tags, tag)
			}
			m.claims[tag] = &claim{consumer: is, again: before != nil}
		}
	}
	return nil
}

// claimEnded checks the end of a claim: D1 and D2.
func (m *model) claimEnded(was, is handoff.Consumer) error {
	m.awake = false
	outcome := is.Outcomes[was.Token.N%int64(len(is.Outcomes))]
	if outcome.N != was.Token.N || outcome.Outcome == "" {
		return fmt.Errorf("the claim of %v ended, and nobody knows how", was.Token)
	}
	if !was.Tracked {
		return fmt.Errorf("D2: the claim of %v was not tracked", was.Token)
	}
	tag := handoff.ChainOf(was)
	c := m.claims[tag]
	c.outcome = outcome.Outcome
	switch chain := m.chain(tag); {
	case outcome.Outcome == handoff.Committed && chain.End() != xorack.Done:
		return fmt.Errorf("D2: the claim of %v is committed, and its chain is %q", was.Token, chain.End())
	case outcome.Outcome == handoff.Committed:
		return m.treeDone(c)
	case outcome.Outcome != handoff.Aborted:
		return fmt.Errorf("D2: the claim of %v was %s", was.Token, outcome.Outcome)
	case chain.End() != xorack.Failed && chain.End() != xorack.TimedOut:
		return fmt.Errorf("D2: the claim of %v failed, and its chain is %q", was.Token, chain.End())
	}
	return nil
}

// treeDone checks D1.
func (m *model) treeDone(c *claim) error {
	if len(c.roots) == 0 {
		return fmt.Errorf("D1: %d to %d are committed, and were not delivered", c.consumer.From, c.consumer.To)
	}
	for _, root := range c.roots {
		e := root
		for range m.depth {
			if !m.done[e] {
				return fmt.Errorf("D1: %d to %d are committed, and work of theirs was not done", c.consumer.From, c.consumer.To)
			}
			e = e.Child(0)
		}
	}
	return nil
}

// chained checks what a write made of a chain, and puts its record into the
// stream.
func (m *model) chained(was, is xorack.Chain) error {
	c := m.claims[is.Tag]
	if c == nil {
		return fmt.Errorf("D3: the chain %s is nobody's claim's", is.Tag)
	}
	if was.End() == xorack.Open && is.End() != xorack.Open {
		m.ends = append(m.ends, end{chain: is})
		if is.End() == xorack.TimedOut && is.IsCreated() && is.Deadline.After(m.now.Add(m.apart)) {
			return fmt.Errorf("D5: the chain of %v timed out %v too early", c.consumer.Token, is.Deadline.Sub(m.now))
		}
		if is.End() == xorack.Done && c.outcome == handoff.Aborted || is.End() != xorack.Done && c.outcome == handoff.Committed {
			return fmt.Errorf("D2: the chain of %v is %s, and its claim %s", c.consumer.Token, is.End(), c.outcome)
		}
	}
	if is.Sealed() && !was.Sealed() {
		return m.sealed(c)
	}
	return nil
}

// looked checks what a look at a claim's chain found: D7. A chain that is created
// after the lease lives for a moment.
func (m *model) looked(is xorack.Chain, now time.Time) error {
	c := m.claims[is.Tag]
	over := c.consumer.LeaseUntil
	if is.Created.After(over) {
		over = is.Created
	}
	if is.End() == xorack.Open && len(c.roots) == 0 && now.After(over) {
		return fmt.Errorf("D7: the batch of %v was not delivered, and its chain is waited for until %v", c.consumer.Token, is.Deadline.Sub(start))
	}
	return nil
}

// sealed checks D4.
func (m *model) sealed(c *claim) error {
	at := m.standing()
	if c.again {
		return nil // it is the first one's end that is sealed
	}
	if at.Tracked && at.Token == c.consumer.Token && at.State == handoff.Started {
		return fmt.Errorf("D4: the chain of %v is sealed, and its claim is in flight", at.Token)
	}
	if at.State == handoff.Idle && at.Token == c.consumer.Token && at.Delivered < m.cursor().Position && !m.awake {
		return fmt.Errorf("D4: the chain of %v is sealed, and nobody was notified of what lies behind %d", c.consumer.Token, at.Delivered)
	}
	return nil
}

// handed checks what is delivered: D3 and D6.
func (m *model) handed(b handoff.Batch) error {
	if len(b.Edges) != len(b.Messages) {
		return fmt.Errorf("D3: %d messages are delivered with %d edges", len(b.Messages), len(b.Edges))
	}
	tag := b.Edges[0].Tag()
	c := m.claims[tag]
	switch {
	case c != nil && c.again:
		return fmt.Errorf("D3: %d to %d come under %v, which was claimed before", b.From, b.To, b.Token)
	case c == nil || c.consumer.Token != b.Token || c.consumer.From != b.From || c.consumer.To != b.To:
		return fmt.Errorf("D6: %d to %d come under %v, which has another claim", b.From, b.To, b.Token)
	case !m.chain(tag).IsCreated():
		return fmt.Errorf("D3: %d to %d come under %v, whose chain was never created", b.From, b.To, b.Token)
	}
	c.roots = b.Edges
	for _, root := range b.Edges {
		e := root
		for range m.depth {
			if !slices.Contains(m.edges, e) {
				m.edges = append(m.edges, e)
			}
			e = e.Child(0)
		}
		m.work = append(m.work, task{edge: root, under: m.depth - 1})
	}
	return nil
}

func hashCursor(d *sim.Digest, c cursor.Cursor) {
	d.Int(c.Position)
	d.Int(c.Notified.Unix())
}

func hashChain(d *sim.Digest, c xorack.Chain) {
	d.Bool(c.Exists())
	d.Int(c.Sum.Hi)
	d.Int(int64(c.Sum.Lo))
	d.Int(int64(len(c.Ops)))
	d.Text(string(c.Recorded))
	d.Int(c.Created.Unix())
	d.Int(c.Deadline.Unix())
	d.Int(c.Due.Unix())
	d.Int(c.ExpiresOn.Unix())
}
