package repliessim

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/streamsort/streamsort/internal/queuelog"
	"github.com/streamsort/streamsort/internal/request"
	"github.com/streamsort/streamsort/pkg/delivery"
	"github.com/streamsort/streamsort/verify/sim"
	"github.com/streamsort/streamsort/verify/sim/consumers"
)

// Check implements [sim.Model].
func (m *model) Check() error {
	was, is, err := m.Look()
	if err != nil {
		return err
	}
	for _, q := range is.Quarantine {
		if q != (delivery.Quarantined{}) {
			m.aside[q.Token] = true
		}
	}
	if was.State == delivery.Sending && (is.State != delivery.Sending || is.Token != was.Token) &&
		m.Ended[was.Token] != delivery.Committed {
		return fmt.Errorf("R5: claim %v was decided, and ended otherwise", was.Token)
	}
	for _, q := range []string{target, numbers} {
		if err := m.look(q); err != nil {
			return err
		}
	}
	return m.whole()
}

// look notes the answers that became visible in a queue, and checks R1, R2, R4.
func (m *model) look(q string) error {
	cur, _ := m.Queues.Requests(queuelog.Inside{}).Cursor(context.Background(), q, true)
	if cur.Position <= m.seen[q] {
		return nil
	}
	for message, err := range m.Plain().Read(context.Background(), q, m.seen[q], cur.Position) {
		if err != nil {
			return fmt.Errorf("queue %s cannot be read: %w", q, err)
		}
		if string(message.Body) == another {
			continue
		}
		a := answer{queue: q}
		if _, err := fmt.Sscanf(string(message.Body), "%d %d-%s", &a.seq, &a.token.N,
			&a.token.Req); err != nil {
			return fmt.Errorf("queue %s has %q: %w", q, message.Body, err)
		}
		if err := m.became(a); err != nil {
			return err
		}
		m.visible = append(m.visible, a)
	}
	m.seen[q] = cur.Position
	return nil
}

// became checks an answer that has just become visible.
func (m *model) became(a answer) error {
	if !m.decided(a.token) {
		return fmt.Errorf("R1: the answer to %d of claim %v is visible in %s, and it is not to be committed", a.seq, a.token, a.queue)
	}
	for _, before := range m.visible {
		if before.queue != a.queue {
			continue
		}
		if before.seq == a.seq {
			return fmt.Errorf("R2: %d is answered twice in %s, by claims %v and %v", a.seq, a.queue,
				before.token, a.token)
		}
		if before.token.N > a.token.N && !m.aside[a.token] && !m.aside[before.token] {
			return fmt.Errorf("R4: in %s an answer of claim %v is behind one of claim %v",
				a.queue, a.token, before.token)
		}
	}
	return nil
}

// decided reports whether a claim is to be committed, or is.
func (m *model) decided(token delivery.Token) bool {
	if m.DB != nil {
		return m.DB.Committed(token)
	}
	return m.Was.State == delivery.Sending && m.Was.Token == token ||
		m.Ended[token] == delivery.Committed
}

// answered reports whether the answer to a message by a claim is visible.
func (m *model) answered(q string, seq int64, token delivery.Token) bool {
	return slices.Contains(m.visible, answer{q, seq, token})
}

// whole checks R3.
func (m *model) whole() error {
	for token, outcome := range m.Ended {
		if outcome != delivery.Committed {
			continue
		}
		for seq := m.Ranges[token][0] + 1; seq <= m.Ranges[token][1]; seq++ {
			if !m.answered(target, seq, token) {
				return fmt.Errorf("R3: claim %v is committed, and its answer to %d is not visible", token, seq)
			}
			// An answer by number waits for those before it in its queue.
			if m.byNumber && seq != m.taken && m.taken == 0 && len(m.aside) == 0 &&
				!m.answered(numbers, seq, token) {
				return fmt.Errorf("R3: claim %v is committed, and its answer to %d is not visible in %s",
					token, seq, numbers)
			}
		}
	}
	return nil
}

// Final implements [sim.Model].
func (m *model) Final() error {
	return cmp.Or(m.Finish(2*attempts, 0, func(*delivery.Deliverer) error {
		if m.DB != nil {
			return cmp.Or(m.pull(nil, 10), m.Check())
		}
		m.push(nil, 1)
		return m.Check()
	}), m.everything())
}

// everything checks L.
func (m *model) everything() error {
	if m.Was.State != delivery.Idle || m.Was.Delivered != m.Messages {
		return fmt.Errorf("in the end it is %s at %d of %d: %+v", m.Was.State, m.Was.Delivered,
			m.Messages, m.Was)
	}
	// What was aborted in quarantine was not delivered: an operator handles it.
	given := map[int64]bool{}
	for _, q := range m.Was.Quarantine {
		if q.State == delivery.InDoubt {
			return fmt.Errorf("in the end claim %v is in quarantine, and its database is there", q.Token)
		}
		for seq := q.From + 1; seq <= q.To; seq++ {
			given[seq] = true
		}
	}
	for seq := int64(1); seq <= m.Messages; seq++ {
		for _, q := range []string{target, numbers} {
			if given[seq] || q == numbers && (!m.byNumber || seq == m.taken || len(given) > 0) {
				continue
			}
			if !slices.ContainsFunc(m.visible, func(a answer) bool { return a.queue == q && a.seq == seq }) {
				return fmt.Errorf("in the end %d is not answered in %s", seq, q)
			}
		}
	}
	operations, _, err := m.Deliverer(nil).Inside(request.Inside{}).Audit(context.Background(),
		consumers.Queue, "")
	if err != nil {
		return err
	}
	if given[m.taken] {
		return nil
	}
	recorded := slices.ContainsFunc(operations, func(a delivery.Operation) bool {
		return a.Kind == "reply"
	})
	if refused := m.taken > 0; refused != recorded || refused != (m.Was.Refused.N > 0) ||
		refused != m.Ever["consumer.reply-refused"] {
		return fmt.Errorf("refused %v: on record %v, counted %+v, announced %v", refused, recorded,
			m.Was.Refused, m.Ever)
	}
	return nil
}

// Snapshot implements [sim.Model].
func (m *model) Snapshot(d *sim.Digest) {
	m.Model.Snapshot(d)
	d.Int(int64(m.Running))
	for _, a := range m.visible {
		d.Text(fmt.Sprint(a))
	}
	m.HashTables(d, "streamsort-cursors", "streamsort-messages", "streamsort-arrivals")
	d.Text(fmt.Sprint(m.aside, m.Ever)) // in the order of their keys
}
