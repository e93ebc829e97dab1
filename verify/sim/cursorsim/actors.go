package cursorsim

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/streamsort/streamsort/internal/queuelog"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/verify/sim"
	"github.com/streamsort/streamsort/verify/sim/world"
)

// put is one call of a producer: a group of seqs of one queue. The payload distinguishes different
// messages under one seq.
type put struct {
	queue   string
	payload string
	seqs    []int64
	// here: where it makes the queue, that starts at the least of them.
	here bool
}

// here are puts of one seq each, with which a queue may start.
func here(seqs ...int64) []put {
	calls := puts(seqs...)
	for i := range calls {
		calls[i].here = true
	}
	return calls
}

// puts are calls with the default queue and payload, one seq each.
func puts(seqs ...int64) []put {
	calls := make([]put, len(seqs))
	for i, seq := range seqs {
		calls[i] = put{seqs: []int64{seq}}
	}
	return calls
}

const defaultQueue = "q"

func (c put) messages() []cursor.Message {
	queue := c.queue
	if queue == "" {
		queue = defaultQueue
	}
	messages := make([]cursor.Message, len(c.seqs))
	for i, seq := range c.seqs {
		messages[i] = cursor.Message{Queue: queue, Seq: seq,
			Body: fmt.Appendf(nil, "%d%s", seq, c.payload)}
		if first := cursor.FirstHere; c.here {
			messages[i].First = &first
		}
	}
	return messages
}

// writer makes its calls one after the other, in one process, and repeats a call that failed, at
// most once.
func (m *model) writer(name string, calls ...put) {
	m.Run.Go(name, func(p *sim.Proc) {
		s, view := m.sorter(p)
		for i, call := range calls {
			if m.keep > 0 && p.Choose(sim.Labelf("next call"), nil, "") < 0 {
				// A point at which no call is under way: time that is long against a call passes only then.
				return
			}
			done := false
			for attempt := 0; attempt < 2 && !done; attempt++ {
				p.Invoke()
				view.begin(2*i + attempt)
				done = m.call(p, s, call)
			}
			if !done {
				m.unfinished = true
			}
			if p.Dead() {
				return
			}
		}
	})
}

// call makes one call and checks its answers; false where it has to be repeated.
func (m *model) call(p *sim.Proc, s *cursor.Sorter, c put) bool {
	m.Running++
	defer func() { m.Running-- }()
	messages := c.messages()
	queue := messages[0].Queue
	before := m.settings.First - 1
	if at := m.cursor(queue); at.Exists() {
		before = at.Position
	}
	if m.settings.MaxAhead < cursor.DefaultSettings().MaxAhead {
		// Only where a queue can be full is this more than is asked for below.
		p.Knows().Int(before)
	}
	m.tried(messages)
	erased := m.erased[queue]
	results := s.Put(context.Background(), messages...)
	if p.Dead() {
		return false
	}
	known := true
	for i, result := range results {
		if errors.Is(result.Err, cursor.ErrErased) && m.cursor(queue).Erased() {
			continue
		}
		if result.Err != nil {
			known = false
			continue
		}
		stored := result.Outcome == cursor.Advanced || result.Outcome == cursor.Parked ||
			result.Outcome == cursor.Stored
		silent := result.Deferred != nil && !errors.Is(result.Deferred, cursor.ErrErased)
		if erased && stored && !silent && m.settings.Mode == cursor.ModeSync {
			m.Run.Violation("E2: seq %d is %s in a queue that was erased before", result.Seq, result.Outcome)
		}
		if m.cursor(queue).Erased() {
			continue // since then
		}
		if result.Deferred != nil {
			m.unfinished = true
		}
		m.checkAnswer(messages[i], result, before)
	}
	return known
}

func (m *model) tried(messages []cursor.Message) {
	for _, message := range messages {
		m.attempts[message.Queue+string(message.Body)]++
	}
}

// checkAnswer checks what a producer was answered, when the position was `before` as it asked.
func (m *model) checkAnswer(message cursor.Message, r cursor.Result, before int64) {
	at := place{message.Queue, message.Seq}
	stored, ever := m.stored[at]
	there, now := m.message(at)
	position := m.cursor(at.queue).Position
	wrong := func(why string) { m.Run.Violation("seq %d was answered %s: %s", at.seq, r.Outcome, why) }
	if r.Outcome.Durable() && (!ever || !same(stored, message)) {
		wrong("S5: it was never stored")
	}
	switch r.Outcome {
	case cursor.Advanced:
		if position < at.seq {
			wrong("the position is before it")
		}
	case cursor.Duplicate:
		if m.attempts[at.queue+string(message.Body)] == 1 {
			wrong("it was put only once")
		}
	case cursor.Conflict:
		if !ever || same(stored, message) || stored.Tombstone != "" {
			wrong("no other message is there")
		}
	case cursor.Late:
		if stored.Tombstone == "" {
			wrong("there is no tombstone")
		}
	case cursor.Stale:
		if now && same(there, message) || at.seq > position {
			wrong("it is there, or ahead")
		}
	case cursor.Full:
		if at.seq <= before+m.settings.MaxAhead {
			wrong("it fitted when it was asked")
		}
	}
	if r.NoQueue && m.cursor(at.queue).Exists() {
		wrong("F1: there is a queue")
	}
	stands := r.Outcome != cursor.Full && r.Outcome != cursor.Stale
	c := m.cursor(at.queue)
	// The process that fills the gap before it handles it, and may be about to, or have died. Right
	// behind the position there is no gap.
	left := at.seq > before+1 && (c.GapOpen() || m.Running > 1 || m.unfinished)
	if stands && m.settings.Mode == cursor.ModeSync && r.Deferred == nil &&
		max(c.Position, c.MaxParked) < at.seq && !left {
		wrong(fmt.Sprintf("S6: the position is %d, and %d the last on record", c.Position, c.MaxParked))
	}
	if r.New > position {
		wrong(fmt.Sprintf("the position is said to be %d, and is %d", r.New, position))
	}
	for _, moved := range r.Moves {
		if moved.To > position || moved.From >= moved.To {
			wrong(fmt.Sprintf("a move %v that nobody made", moved))
		}
	}
}

// handler is the function behind the messages' stream: it takes the oldest record until Heal
// succeeds. The stream may drop a record or hand it out again; the handler may die.
func (m *model) handler() {
	m.handled = true
	ways := []string{"", "drops it", "hands it out twice"}
	if m.shards {
		ways = append(ways, "is behind: the last one comes first")
	}
	ready := func() bool { return len(m.records) > 0 }
	m.Serves("handler", sim.Labelf("next record"), ready, func(p *sim.Proc) func(int) {
		// Heal begins with a strong read: what the process remembers matters to nobody.
		s, _ := m.sorter(p)
		return func(way int) {
			if way == 1 {
				m.records, m.dropped = m.records[1:], true
				return
			}
			at := 0
			if way == 3 {
				at = len(m.records) - 1
			}
			r := m.records[at]
			p.Invoke()
			m.Running++
			_, err := s.Inside(queuelog.Inside{}).Heal(context.Background(), r.queue, r.seq)
			m.Running--
			if errors.Is(err, cursor.ErrErased) {
				err = nil // what it names was deleted
			}
			if !p.Dead() && (err == nil && way != 2 || err != nil && m.leaves && m.left(p, s, r)) {
				m.records = slices.Delete(m.records, at, at+1)
			}
		}
	}, ways...)
}

// left leaves a record's queue to the sweep.
func (m *model) left(p *sim.Proc, s *cursor.Sorter, r place) bool {
	m.unhealed = true
	m.Running++
	defer func() { m.Running-- }()
	return s.Inside(queuelog.Inside{}).LeaveToSweep(context.Background(), r.queue, r.seq) == nil &&
		!p.Dead()
}

func (m *model) sweeper(times int) {
	m.Turns("sweep", times, nil, nil, func(p *sim.Proc) func(int) {
		s, _ := m.sorter(p)
		return func(int) {
			if _, err := s.Sweep(context.Background(),
				cursor.SweepOptions{Segments: 1, FullEvery: time.Minute, SkipLimit: 2}); err != nil {
				m.unfinished = true // as with the skipper
			}
		}
	})
}

// timer wakes queues up a number of times, each at any moment: a wake-up that comes too early or
// too late, twice, or not at all, and one for a queue that nobody knows.
func (m *model) timer(queues ...string) {
	m.Turns("timer", len(queues), sim.Labelf("wake one of %v", queues), nil,
		func(p *sim.Proc) func(int) {
			s, _ := m.sorter(p)
			return func(i int) {
				if _, _, err := s.Wake(context.Background(), queues[i],
					cursor.SweepOptions{SkipLimit: 2}); err != nil {
					m.unfinished = true // as with the skipper
				}
			}
		})
}

// eraser erases a queue, until the answer is that it is erased, and deletes what is stored, as far
// as one call does.
func (m *model) eraser(queue string) {
	m.Run.Go("eraser", func(p *sim.Proc) {
		s, _ := m.sorter(p)
		for {
			p.Forget()
			c, err := s.Erase(context.Background(), queue, "op")
			if p.Dead() || errors.Is(err, cursor.ErrNoQueue) {
				return
			}
			if err != nil {
				continue
			}
			m.erased[queue], m.Changed = true, true
			p.Forget().Int(1)
			// What is left, because a request failed, is the sweep's.
			_, _ = s.Inside(queuelog.Inside{}).EraseMore(context.Background(), c, nil)
			return
		}
	})
}

// skipper skips the default queue's gaps a number of times, at most three seqs a call.
func (m *model) skipper(times int) {
	m.Run.Go("skipper", func(p *sim.Proc) {
		s, _ := m.sorter(p)
		for i := range times {
			p.Forget().Int(int64(i))
			if _, _, err := s.Inside(queuelog.Inside{}).SkipGap(context.Background(), defaultQueue, "old",
				m.settings.GapAfter, 3, nil); err != nil {
				// A tombstone may be in, and the cursor before it.
				m.unfinished = true
			}
			if p.Dead() {
				return
			}
		}
	})
}

// clock lets time pass, a number of times. None passes while a cursor or a message is being
// written: a gap's age counts from when the request was sent, and nobody promises more than that
// the policy's time is long against a request's.
func (m *model) clock(times int, step time.Duration) {
	m.Run.Clock(&m.Now, func(time.Duration) bool {
		return m.writing == 0
	}, slices.Repeat([]time.Duration{step}, times)...)
}

// expiry deletes what has expired, as TTL does, when the retention is over. It waits until nothing
// is undelivered: what the sweep does for that is the keeper's part.
func (m *model) expiry() {
	m.keep = cursor.MinRetention
	ready := func() bool { return m.Running == 0 && !m.undelivered() }
	m.Step("expiry", sim.Labelf("%v pass", m.keep), ready, func() {
		m.Now, m.Changed = m.Now.Add(m.keep), true
		m.expire()
	})
}

// keeper lets time pass, keeps what is undelivered as the sweep does in each quarter of the
// retention, and deletes what has expired.
func (m *model) keeper() {
	m.keep = cursor.MinRetention
	m.Run.Go("keeper", func(p *sim.Proc) {
		s, _ := m.sorter(p)
		for range 6 {
			if p.Choose(sim.Labelf("tick"), func() bool { return m.Running == 0 }, "") < 0 {
				return
			}
			m.Now, m.Changed = m.Now.Add(m.keep/4), true
			if c := m.cursor(defaultQueue); c.Exists() {
				m.Running++
				err := world.KeepUndelivered(s, c.Queue, c.Position)
				m.Running--
				if err != nil {
					return
				}
			}
			m.expire()
		}
	})
}

// undelivered reports whether a message is beyond its queue's position.
func (m *model) undelivered() bool {
	for _, queue := range m.QueueNames() {
		if len(m.messagesFrom(queue, m.cursor(queue).Position+1)) > 0 {
			return true
		}
	}
	return false
}

// expire deletes what has expired, and checks that it was delivered.
func (m *model) expire() {
	m.store.Expire(m.Now)
	for at := range m.stored {
		if _, there := m.message(at); !there && at.seq > m.cursor(at.queue).Position {
			m.Run.Violation("the message at %v was deleted before it was delivered", at)
		}
	}
}
