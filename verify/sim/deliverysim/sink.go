package deliverysim

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/delivery"
	"github.com/streamsort/streamsort/verify/sim"
	"github.com/streamsort/streamsort/verify/sim/world"
)

// sink is where a consumer's batches go.
type sink struct {
	// token is the highest number that a batch came under.
	token int64
	// high is, for each number of rewinds, the seq up to which it has everything from the
	// consumer's place on.
	high map[int64]int64
}

func newSink(c delivery.Consumer) *sink {
	return &sink{high: map[int64]int64{c.Rewinds: c.Delivered}}
}

// set notes that the consumer was set to another place.
func (s *sink) set(c delivery.Consumer) { s.high[c.Rewinds] = c.Delivered }

// skipped notes that a message is not delivered.
func (s *sink) skipped(c delivery.Consumer) {
	s.high[c.Rewinds] = max(s.high[c.Rewinds], c.Delivered)
}

func (s *sink) hash(d *sim.Digest) {
	sim.Feed(d, s.token, fmt.Sprint(s.high)) // in the order of its keys
}

var (
	errLowerToken = errors.New("a higher token was here")
	errPoison     = errors.New("no sink takes this")
)

// take is what a sink does with a batch.
func (m *model) take(b delivery.Batch) error {
	if m.isPoison(b) {
		err := errPoison
		if m.permanent {
			err = delivery.Permanent(err)
		}
		if m.parts && b.From+1 < m.poison {
			if wrong := m.accept(b, m.poison-1); wrong != nil {
				return wrong
			}
			return delivery.DoneUpTo(err, m.poison-1)
		}
		return err
	}
	if err := m.outage.refuses(b.Queue); err != nil {
		return err
	}
	return m.accept(b, b.To)
}

// accept is what a sink does with a batch up to a seq.
func (m *model) accept(b delivery.Batch, upTo int64) error {
	s := m.sinkOf(b)
	if b.Token.N < s.token && !m.careless {
		return errLowerToken
	}
	switch high, known := s.high[b.Rewinds]; {
	case b.Token.N < s.token:
		m.Run.Violation("S3: %d to %d came under token %d, after one under token %d", b.From, b.To,
			b.Token.N, s.token)
	case !known || b.From > high:
		m.Run.Violation("S3: %d to %d came, and the sink has everything up to %d", b.From, b.To, high)
	default:
		s.high[b.Rewinds] = max(high, upTo)
	}
	s.token = max(s.token, b.Token.N)
	if err := m.content(b); err != nil {
		m.Run.Violation("S3: %v", err)
	}
	return nil
}

// sinkOf is where a batch goes: one of a consumer that was removed since, to that one's.
func (m *model) sinkOf(b delivery.Batch) *sink {
	if m.work != nil {
		tag := chainTag(delivery.Consumer{Queue: b.Queue, Name: b.Consumer, Token: b.Token})
		if c := m.work.claims[tag]; c != nil && c.former != nil {
			return c.former
		}
	}
	return m.sinks[reader{b.Queue, b.Consumer}]
}

// isPoison reports whether a batch has the message that no sink takes.
func (m *model) isPoison(b delivery.Batch) bool {
	return m.poison > 0 && b.Queue == m.poisoned &&
		slices.ContainsFunc(b.Messages, func(message cursor.Message) bool {
			return message.Seq == m.poison
		})
}

// content checks that a batch is the messages of its range, and that it is the range that was
// claimed.
func (m *model) content(b delivery.Batch) error {
	if c := m.consumers[reader{b.Queue, b.Consumer}]; c.Token == b.Token &&
		(c.From != b.From || c.To != b.To) {
		return fmt.Errorf("%d to %d came under the claim of %d to %d", b.From, b.To, c.From, c.To)
	}
	return world.Whole(
		cursor.Batch{From: b.From, To: b.To, Messages: b.Messages, Skipped: b.Skipped},
		func(seq int64, got *cursor.Message) bool {
			return got == nil || bytes.Equal(got.Body, body(b.Queue, seq))
		})
}
