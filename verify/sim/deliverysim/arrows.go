package deliverysim

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/streamsort/streamsort/pkg/delivery"
)

// order is what an operator asked for.
type order struct {
	kind string
	seq  int64
}

// asked is the order that a consumer's last operation is of: it bears the order's own name at its
// end.
func (m *model) asked(lastOp string) order {
	for op, asked := range m.orders {
		if strings.HasSuffix(" "+lastOp, " "+op) {
			return asked
		}
	}
	return order{}
}

// arrow checks that a consumer moved along an arrow of its state machine (H1), and what Delivered
// rose over (H3, H6).
func (m *model) arrow(was, is delivery.Consumer) error {
	if !was.Exists() {
		if is.State != delivery.Idle || is.Starting == "" {
			return fmt.Errorf("H1: a consumer was made that is %s, and starts %q", is.State, is.Starting)
		}
		m.sinks[reader{is.Queue, is.Name}] = newSink(is)
		return nil
	}
	for slot, before := range was.Outcomes {
		if after := is.Outcomes[slot]; before.N == after.N && before.Outcome != "" && before != after {
			return fmt.Errorf("H4: the outcome of token %d was %s, and is %s", before.N,
				before.Outcome, after.Outcome)
		}
	}
	for _, r := range is.Outcomes {
		if m.never != "" && r.Outcome == m.never {
			return fmt.Errorf("token %d was %s", r.N, r.Outcome)
		}
	}
	used := is.Token.N - was.Token.N
	if used < 0 || used > 1 {
		return fmt.Errorf("H2: the token's number went from %d to %d", was.Token.N, is.Token.N)
	}
	switch {
	case is.State == delivery.Started && used == 1:
		return m.claimed(was, is)
	case is.Rewinds != was.Rewinds:
		return m.rewound(was, is, used)
	case was.State == delivery.Started && is.State == delivery.Idle && used == 0:
		return m.ended(was, is)
	case was.State != delivery.Blocked && is.State == delivery.Blocked && used == 1:
		return blocked(was, is)
	case (was.State == delivery.Blocked || was.State == delivery.Idle) &&
		is.State == delivery.Idle && used == 1:
		return m.unblocked(was, is)
	case was.State == is.State && used == 0 && was.Starting != "" && is.Starting == "":
		return m.started(was, is)
	case was.State == is.State && used == 0 && is.Deferred:
		return cmp.Or(still(was, is), m.work.isDeferred(is))
	case was.State == is.State && used == 0:
		return still(was, is)
	}
	return fmt.Errorf("H1: from %s to %s, the token's number up by %d", was.State, is.State, used)
}

// still checks that Delivered is where it was.
func still(was, is delivery.Consumer) error {
	if was.Delivered != is.Delivered {
		return fmt.Errorf("H6: delivered went from %d to %d", was.Delivered, is.Delivered)
	}
	return nil
}

// blocked checks that the message which blocks was alone.
func blocked(was, is delivery.Consumer) error {
	if was.To != was.From+1 {
		return fmt.Errorf("H6: blocked on %d by a batch up to %d", was.From+1, was.To)
	}
	return still(was, is)
}

// claimed checks a claim, with or without a commit of the one before it.
func (m *model) claimed(was, is delivery.Consumer) error {
	position := m.cursor(is.Queue).Position
	if m.work != nil {
		defer m.work.claimed(is)
	}
	switch {
	case was.State == delivery.Blocked || was.Paused != "" || was.Starting != "":
		return fmt.Errorf("H1: claimed while %s, paused %q, starting %q", was.State,
			was.Paused, was.Starting)
	case is.From != is.Delivered || is.To <= is.From || is.To > position:
		return fmt.Errorf("H1: claimed %d to %d, delivered is %d, the position %d", is.From, is.To,
			is.Delivered, position)
	case was.State == delivery.Started && is.Delivered != was.Delivered:
		return m.committed(was, is)
	}
	return cmp.Or(still(was, is), m.over(was, false))
}

func (m *model) ended(was, is delivery.Consumer) error {
	if is.Delivered == was.Delivered {
		return m.over(was, false)
	}
	return m.committed(was, is)
}

// committed checks H3: of a claim that was given back, for what is before its first failure.
func (m *model) committed(was, is delivery.Consumer) error {
	s := m.sinks[reader{is.Queue, is.Name}]
	switch {
	case is.Delivered != was.To && (is.Outcomes[was.Token.N%4].Outcome != delivery.Aborted ||
		is.Delivered < was.From || is.Delivered > was.To):
		return fmt.Errorf("H6: delivered went to %d by the commit of %d to %d",
			is.Delivered, was.From, was.To)
	case s.high[is.Rewinds] < is.Delivered:
		return fmt.Errorf("H3: %d is committed, and the sink has everything up to %d", is.Delivered,
			s.high[is.Rewinds])
	}
	outcome, _ := is.Outcome(was.Token)
	return m.over(was, outcome == delivery.Committed) // else its sink took a part
}

// once checks that an operator's operation is done once.
func (m *model) once(is delivery.Consumer) error {
	key := fmt.Sprintf("%s/%s/%s", is.Queue, is.Name, is.LastOp)
	if m.done[key]++; m.done[key] > 1 {
		return fmt.Errorf("the operator's %q was done twice", is.LastOp)
	}
	return nil
}

// unblocked checks an operator's skip or redrive, of a message that failed.
func (m *model) unblocked(was, is delivery.Consumer) error {
	asked := m.asked(is.LastOp)
	if err := m.once(is); err != nil {
		return err
	}
	switch {
	case asked.seq != was.Delivered+1:
		return fmt.Errorf("H6: %d was unblocked, and nobody asked for it", was.Delivered+1)
	case was.State != delivery.Blocked && !was.Retries():
		return fmt.Errorf("H6: there was a %s of %d, which never failed", asked.kind, asked.seq)
	case asked.kind == "skip" && was.To != was.From+1:
		return fmt.Errorf("H6: %d was skipped, and failed only with others up to %d", asked.seq, was.To)
	case asked.kind == "redrive":
		return still(was, is)
	case asked.kind != "skip" || is.Delivered != asked.seq:
		return fmt.Errorf("H6: delivered went from %d to %d by a %s", was.Delivered,
			is.Delivered, asked.kind)
	}
	m.sinks[reader{is.Queue, is.Name}].skipped(is)
	return nil
}

func (m *model) rewound(was, is delivery.Consumer, used int64) error {
	asked := m.asked(is.LastOp)
	if err := m.once(is); err != nil {
		return err
	}
	position := m.cursor(is.Queue).Position
	switch {
	case asked.kind != "rewind":
		return fmt.Errorf("H6: set to %d, and nobody asked for it", is.Delivered)
	case was.State == delivery.Started || used != 1 || is.Rewinds != was.Rewinds+1 ||
		is.Starting == "":
		return fmt.Errorf("H1: rewound while %s, the token's number up by %d, starting %q", was.State,
			used, is.Starting)
	case is.Delivered > position: // the floor is looked at by the end of the start
		return fmt.Errorf("H6: set to %d, and the position is %d", is.Delivered, position)
	}
	m.sinks[reader{is.Queue, is.Name}].set(is)
	return nil
}

// started checks the end of a start: what it goes over is gone, and what lies behind it is there.
func (m *model) started(was, is delivery.Consumer) error {
	at := m.cursor(is.Queue)
	_, there := m.message(is.Queue, is.Delivered)
	switch {
	case is.Delivered < was.Delivered:
		return fmt.Errorf("H6: the start went back from %d to %d", was.Delivered, is.Delivered)
	case is.Delivered > was.Delivered && is.Delivered > at.Floor && there:
		return fmt.Errorf("H6: the start went over %d, which is stored", is.Delivered)
	}
	m.sinks[reader{is.Queue, is.Name}].set(is)
	return m.whole(is)
}

// whole checks that everything behind a consumer's place is stored.
func (m *model) whole(c delivery.Consumer) error {
	for seq := c.Delivered + 1; seq <= m.cursor(c.Queue).Position; seq++ {
		if _, there := m.message(c.Queue, seq); !there {
			return fmt.Errorf("H6: seq %d is not stored, and %s is at %d", seq, c.Name, c.Delivered)
		}
	}
	return nil
}
