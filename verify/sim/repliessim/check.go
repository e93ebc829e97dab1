package repliessim

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/streamsort/streamsort/internal/queuelog"
	"github.com/streamsort/streamsort/internal/request"
	"github.com/streamsort/streamsort/pkg/delivery"
	"github.com/streamsort/streamsort/verify/sim"
	"github.com/streamsort/streamsort/verify/sim/consumers"
)

// Check implements [sim.Model].
func (m *model) Check() error {
	is, _ := m.tables.Consumers.Requests(request.Inside{}).Consumer(context.Background(), queue, consumer)
	if is != m.was {
		if err := m.arrow(m.was, is); err != nil {
			return fmt.Errorf("%w\nwas %+v\nis  %+v", err, m.was, is)
		}
		m.was = is
	}
	for _, q := range []string{target, numbers} {
		if err := m.look(q); err != nil {
			return err
		}
	}
	return m.whole()
}

// arrow notes how claims end, and checks R5.
func (m *model) arrow(was, is delivery.Consumer) error {
	if is.Token != was.Token && is.State == delivery.Started {
		m.ranges[is.Token.String()] = [2]int64{is.From, is.To}
	}
	for token := range m.ranges {
		for _, r := range is.Outcomes {
			if r.Outcome == "" || !strings.HasPrefix(token, fmt.Sprint(r.N, "-")) {
				continue
			}
			if before, known := m.ended[token]; known && before != r.Outcome {
				return fmt.Errorf("claim %s ended %s, and now %s", token, before, r.Outcome)
			}
			m.ended[token] = r.Outcome
		}
	}
	for _, q := range is.Quarantine {
		if q != (delivery.Quarantined{}) {
			m.aside[q.Token.String()] = true
		}
	}
	if was.State == delivery.Sending && (is.State != delivery.Sending || is.Token != was.Token) && m.ended[was.Token.String()] != delivery.Committed {
		return fmt.Errorf("R5: claim %v was decided, and ended otherwise", was.Token)
	}
	if is.Delivered < was.Delivered {
		return errors.New("delivered fell")
	}
	return nil
}

// look notes the answers that became visible in a queue, and checks R1, R2, R4.
func (m *model) look(q string) error {
	cur, _ := m.tables.Queues.Requests(queuelog.Inside{}).Cursor(context.Background(), q, true)
	if cur.Position <= m.seen[q] {
		return nil
	}
	for message, err := range m.plain().Read(context.Background(), q, m.seen[q], cur.Position) {
		if err != nil {
			return fmt.Errorf("queue %s cannot be read: %w", q, err)
		}
		if string(message.Body) == another {
			continue
		}
		var a answer
		if _, err := fmt.Sscanf(string(message.Body), "%d %s", &a.seq, &a.token); err != nil {
			return fmt.Errorf("queue %s has %q: %w", q, message.Body, err)
		}
		a.queue = q
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
		return fmt.Errorf("R1: the answer to %d of claim %s is visible in %s, and it is not to be committed", a.seq, a.token, a.queue)
	}
	for _, before := range m.visible {
		if before.queue != a.queue {
			continue
		}
		if before.seq == a.seq {
			return fmt.Errorf("R2: %d is answered twice in %s, by claims %s and %s", a.seq, a.queue, before.token, a.token)
		}
		if number(before.token) > number(a.token) && !m.aside[a.token] && !m.aside[before.token] {
			return fmt.Errorf("R4: in %s an answer of claim %s is behind one of claim %s", a.queue, a.token, before.token)
		}
	}
	return nil
}

func number(token string) (n int64) {
	_, _ = fmt.Sscanf(token, "%d-", &n) // every token has one
	return n
}

// decided reports whether a claim is to be committed, or is.
func (m *model) decided(token string) bool {
	if m.db != nil {
		return m.db.committed(token)
	}
	return m.was.State == delivery.Sending && m.was.Token.String() == token || m.ended[token] == delivery.Committed
}

// answered reports whether the answer to a message by a claim is visible.
func (m *model) answered(q string, seq int64, token string) bool {
	return slices.Contains(m.visible, answer{q, seq, token})
}

// whole checks R3.
func (m *model) whole() error {
	for token, outcome := range m.ended {
		if outcome != delivery.Committed {
			continue
		}
		for seq := m.ranges[token][0] + 1; seq <= m.ranges[token][1]; seq++ {
			if !m.answered(target, seq, token) {
				return fmt.Errorf("R3: claim %s is committed, and its answer to %d is not visible", token, seq)
			}
			// An answer by number waits for those before it in its queue.
			if m.byNumber && seq != m.taken && m.taken == 0 && len(m.aside) == 0 && !m.answered(numbers, seq, token) {
				return fmt.Errorf("R3: claim %s is committed, and its answer to %d is not visible in %s", token, seq, numbers)
			}
		}
	}
	return nil
}

// Final implements [sim.Model]. From here on nothing goes wrong, time passes, the
// sweep runs, and a consumer is back.
func (m *model) Final() error {
	d := m.deliverer(nil)
	for range 2 * attempts {
		m.now = m.now.Add(overLease)
		if err := m.sweep(d); err != nil {
			return fmt.Errorf("the last sweep: %w", err)
		}
		if m.was.State == delivery.Blocked {
			order := delivery.Order{Kind: "redrive", Queue: queue, Consumer: consumer, Seq: m.was.Delivered + 1, Reason: "the end"}
			if _, err := d.Operate(context.Background(), order); err != nil {
				return fmt.Errorf("the last operator: %w", err)
			}
		}
		if m.db == nil {
			m.push(nil, 1)
		} else if err := m.pull(nil, 10); err != nil && !errors.Is(err, errEnough) {
			return fmt.Errorf("the last consumer: %w", err)
		}
		if err := m.Check(); err != nil {
			return err
		}
		if m.run.Err() != nil {
			return m.run.Err()
		}
		m.now = m.now.Add(10 * overLease)
	}
	return m.everything(d)
}

// everything checks L.
func (m *model) everything(d *delivery.Deliverer) error {
	if m.was.State != delivery.Idle || m.was.Delivered != m.messages {
		return fmt.Errorf("in the end it is %s at %d of %d: %+v", m.was.State, m.was.Delivered, m.messages, m.was)
	}
	// What was aborted in quarantine was not delivered: an operator handles it.
	given := map[int64]bool{}
	for _, q := range m.was.Quarantine {
		if q.State == delivery.InDoubt {
			return fmt.Errorf("in the end claim %v is in quarantine, and its database is there", q.Token)
		}
		for seq := q.From + 1; seq <= q.To; seq++ {
			given[seq] = true
		}
	}
	for seq := int64(1); seq <= m.messages; seq++ {
		for _, q := range []string{target, numbers} {
			if given[seq] || q == numbers && (!m.byNumber || seq == m.taken || len(given) > 0) {
				continue
			}
			if !slices.ContainsFunc(m.visible, func(a answer) bool { return a.queue == q && a.seq == seq }) {
				return fmt.Errorf("in the end %d is not answered in %s", seq, q)
			}
		}
	}
	operations, _, err := d.Inside(request.Inside{}).Audit(context.Background(), queue, "")
	if err != nil {
		return err
	}
	if given[m.taken] {
		return nil
	}
	recorded := slices.ContainsFunc(operations, func(a delivery.Operation) bool { return a.Kind == "reply" })
	if refused := m.taken > 0; refused != recorded || refused != (m.was.Refused.N > 0) || refused != (m.announced["consumer.reply-refused"] > 0) {
		return fmt.Errorf("refused %v: on record %v, counted %+v, announced %v", refused, recorded, m.was.Refused, m.announced)
	}
	return nil
}

// Snapshot implements [sim.Model].
func (m *model) Snapshot(d *sim.Digest) {
	d.Int(m.now.Unix())
	m.tables.Past.Snapshot(d)
	consumers.Hash(d, m.was)
	m.tables.HashHealth(d, consumer)
	d.Int(int64(m.calls))
	for _, a := range m.visible {
		d.Text(fmt.Sprint(a))
	}
	for _, q := range []string{target, numbers} {
		cur, _ := m.tables.Queues.Requests(queuelog.Inside{}).Cursor(context.Background(), q, true)
		d.Int(cur.Position)
		d.Int(cur.MaxParked)
		d.Int(int64(cur.Tail.Len()))
	}
	var sum int64
	add := func(parts ...any) {
		var one sim.Digest
		one.Text(fmt.Sprint(parts...))
		sum += one.Sum() // a map has no order
	}
	for name, n := range m.requests {
		add("request", name, n)
	}
	for token, outcome := range m.ended {
		add("ended", token, outcome)
	}
	for row, expires := range m.rows {
		add("row", row, expires.Unix())
	}
	for token := range m.aside {
		add("aside", token)
	}
	for kind := range m.announced {
		add("announced", kind)
	}
	if m.db != nil {
		for h, row := range m.db.markers {
			add("marker", h.Token, row.outcome, len(row.replies))
		}
	}
	d.Int(sum)
}
