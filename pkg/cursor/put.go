package cursor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/pkg/invalid"
)

// Put stores one message and, in synchronous mode, moves the queue's cursor
// over every gap-free run. See [Sorter.PutGroup]; in order and warm it costs
// two writes and no read.
func (s *Sorter) Put(ctx context.Context, m Message) (Result, error) {
	if err := m.Validate(); err != nil {
		return Result{}, err
	}
	var results [1]Result
	s.putQueue(ctx, []Message{m}, []int{0}, results[:])
	return results[0], results[0].Err
}

// PutGroup stores messages of any queues, and moves each queue's cursor once.
// The results are in the order of the messages. In a queue in arrival order, each
// message is appended at exactly its seq, or is Ahead.
//
// The error is an [InvalidError], and nothing was stored then: a message out
// of its bounds, or two different messages under one seq. What happens later
// is reported for each message: in Result.Err where its fate is unknown.
//
// Requests, where nothing else happens: none or one read of half a unit a
// queue (the look; none if this Sorter has seen the queue in the last half
// hour), one write a message, one write a queue.
func (s *Sorter) PutGroup(ctx context.Context, messages []Message) ([]Result, error) {
	byQueue, err := group(messages)
	if err != nil {
		return nil, err
	}
	results := make([]Result, len(messages))
	s.forEach(len(byQueue), func(i int) {
		s.putQueue(ctx, messages, byQueue[i], results)
	})
	return results, nil
}

// ValidateMessages is the InvalidError that PutGroup would return, if any: for a caller
// that has more to do, and wants nothing done of it then.
func ValidateMessages(messages []Message) error {
	_, err := group(messages)
	return err
}

// group is the places of each queue's messages, queues in the order of their
// first message.
func group(messages []Message) ([][]int, error) {
	type place struct {
		queue string
		seq   int64
	}
	var groups [][]int
	groupOf := map[string]int{}
	firstOf := map[place]int{}
	for i := range messages {
		m := &messages[i]
		if err := m.Validate(); err != nil {
			return nil, invalid.Within("messages", i, err)
		}
		at := place{m.Queue, m.Seq}
		if first, ok := firstOf[at]; !ok {
			firstOf[at] = i
		} else if !bytes.Equal(messages[first].digest(), m.digest()) {
			return nil, invalid.Within("messages", i, &InvalidError{
				Field: "seq", Code: invalid.Clash, Problem: "which is a different message", Twin: &invalid.Element{List: "messages", Index: first},
			})
		}
		g, ok := groupOf[m.Queue]
		if !ok {
			g = len(groups)
			groupOf[m.Queue] = g
			groups = append(groups, nil)
		}
		groups[g] = append(groups[g], i)
	}
	return groups, nil
}

// putQueue puts the messages at these places, all of one queue.
func (s *Sorter) putQueue(ctx context.Context, messages []Message, places []int, results []Result) {
	queue := messages[places[0]].Queue
	kind := kindFor(messages, places)
	cur, there, err := s.lookToPut(ctx, messages, places, kind)
	switch {
	case err != nil:
	case kind != KindNumbered && cur.Settings.Kind != kind:
		err = fixed("kind", kind, cur.Settings.Kind, ErrKindFixed)
	case !keyed(cur):
		places = checkFirst(messages, places, results, cur)
		switch {
		case !there:
			for _, i := range places {
				results[i] = refusedNew(messages[i], cur)
			}
			return
		case len(places) == 0:
			return
		case !numbered(cur):
			s.appendAt(ctx, cur, messages, places, results)
			return
		}
	default:
		err = invalidSeq(invalid.Misplaced, "must not be given: "+cur.Settings.Kind.takes())
	}
	// A caller that gets FULL may give up: memory is not good enough for that.
	if err == nil && slices.ContainsFunc(places, func(i int) bool { return !cur.fits(messages[i].Seq) }) {
		cur, err = s.readCursor(ctx, queue)
	}
	if err != nil {
		for _, i := range places {
			results[i] = Result{Queue: queue, Seq: messages[i].Seq, Err: err}
		}
		return
	}

	moved := progress{cur: cur, pieces: writerPieces}
	s.forEach(len(places), func(n int) {
		i := places[n]
		results[i] = s.putOne(ctx, messages[i], cur)
	})

	if slices.ContainsFunc(places, func(i int) bool { return results[i].Outcome == Stale }) {
		moved.err = s.erasedSince(ctx, queue)
	}
	if moved.err == nil && cur.Settings.Mode == ModeSync {
		own, largest := newSeqSet(), 0
		for _, i := range places {
			if results[i].occupied(cur) {
				own.add(results[i].Seq)
				largest = max(largest, messages[i].size())
			}
		}
		// What is parked is likely of the size of what arrives.
		moved.glance = readUnit / max(largest, 1)
		if len(own) > 0 {
			moved.err = s.advance(ctx, own, &moved)
		}
	}
	if moved.aged {
		s.schedule(moved.cur)
	}
	for _, i := range places {
		if errors.Is(moved.err, ErrErased) {
			// What was stored is nobody's: it is deleted with the queue.
			results[i] = Result{Queue: queue, Seq: messages[i].Seq, Err: moved.err}
			continue
		}
		results[i].finish(moved)
	}
}

// look is step 0: a lower bound of the queue's position, and its settings,
// before anything is put. A queue without a cursor gets one first, so that a
// sweep over all cursors finds every queue that has a message.
func (s *Sorter) look(ctx context.Context, queue string) (Cursor, error) {
	cur, err := s.lookOnly(ctx, queue)
	if err != nil || cur.Exists() {
		return cur, err
	}
	return s.createOf(ctx, queue, KindNumbered)
}

// lookOnly is look, and makes no cursor.
func (s *Sorter) lookOnly(ctx context.Context, queue string) (Cursor, error) {
	if cur, ok := s.seen.get(queue); ok {
		return cur, nil
	}
	return s.remembering(func() (Cursor, error) { return s.store.Cursor(ctx, queue, false) })
}

// lookToPut is look for messages that are put. They make the queue, with the first seq that they
// name, unless all of them would be refused: there is false then, and the cursor is what it would be.
//
// Two that name other first seqs: the first one's cursor counts, and the other is refused by it.
func (s *Sorter) lookToPut(ctx context.Context, messages []Message, places []int, kind Kind) (cur Cursor, there bool, err error) {
	queue := messages[places[0]].Queue
	if cur, err = s.lookOnly(ctx, queue); err != nil || cur.Exists() {
		return cur, true, err
	}
	settings := s.defaults
	settings.Kind, settings.First = kind, firstOf(messages, places, settings.First)
	settings = settings.ofKind()
	unmade := newCursor(queue, settings, s.now())
	taken := func(i int) bool {
		m := messages[i]
		if kind == KindArrival {
			return m.Seq == settings.First && m.startsAt(settings.First)
		}
		return m.Seq > unmade.Position && unmade.fits(m.Seq) && m.startsAt(settings.First)
	}
	if slices.ContainsFunc(places, taken) {
		cur, err = s.create(ctx, queue, settings)
		return cur, true, err
	}
	if cur, err = s.readCursor(ctx, queue); err != nil || cur.Exists() {
		return cur, true, err
	}
	return unmade, false, nil
}

// firstOf is the first seq of a queue that messages make.
func firstOf(messages []Message, places []int, otherwise int64) int64 {
	here := FirstHere
	for _, i := range places {
		switch m := messages[i]; {
		case m.First == nil:
		case *m.First != FirstHere:
			return *m.First
		case here == FirstHere || m.Seq < here:
			here = m.Seq
		}
	}
	if here == FirstHere {
		return otherwise
	}
	return here
}

// refusedNew is the answer for a message that is refused by a queue that is not there.
func refusedNew(m Message, unmade Cursor) Result {
	r := Result{Queue: m.Queue, Seq: m.Seq, Outcome: Stale, NoQueue: true, First: unmade.Settings.First, Old: unmade.Position, New: unmade.Position}
	switch {
	case m.Seq <= unmade.Position:
	case !numbered(unmade):
		r.Outcome = Ahead
	default:
		r.Outcome, r.MaxAhead = Full, unmade.Settings.MaxAhead
	}
	return r
}

// startsAt reports whether a message may be for a queue that starts at a seq.
func (m *Message) startsAt(first int64) bool {
	return m.First == nil || *m.First == FirstHere || *m.First == first
}

// checkFirst refuses the messages that name another first seq than the queue's, and returns the others.
func checkFirst(messages []Message, places []int, results []Result, cur Cursor) []int {
	var right []int
	for _, i := range places {
		m := &messages[i]
		if m.startsAt(cur.Settings.First) {
			right = append(right, i)
			continue
		}
		results[i] = Result{Queue: m.Queue, Seq: m.Seq, Err: &InvalidError{
			Field: "first", Code: invalid.Clash, Queue: m.Queue,
			Problem: fmt.Sprintf("is %d: the queue starts at seq %d, which is fixed: leave it out, or use another queue", *m.First, cur.Settings.First),
		}}
	}
	return right
}

// kindFor is the kind that messages say their queue is of.
func kindFor(messages []Message, places []int) Kind {
	for _, i := range places {
		if kind := messages[i].Kind; kind != KindNumbered {
			return kind
		}
	}
	return KindNumbered
}

// createOf makes the queue's cursor for messages with seqs, or returns the
// one that is there, of whatever kind.
func (s *Sorter) createOf(ctx context.Context, queue string, kind Kind) (Cursor, error) {
	settings := s.defaults
	settings.Kind = kind
	return s.create(ctx, queue, settings.ofKind())
}

// create makes the queue's cursor, or returns the one that is there.
func (s *Sorter) create(ctx context.Context, queue string, settings Settings) (Cursor, error) {
	return s.remembering(func() (Cursor, error) {
		return s.store.CreateCursor(ctx, newCursor(queue, settings, s.now()))
	})
}

// putOne is steps 0 and 1 for one message: what stands under its seq.
func (s *Sorter) putOne(ctx context.Context, m Message, cur Cursor) Result {
	result := Result{Queue: m.Queue, Seq: m.Seq}
	m.Digest = m.digest()
	switch {
	case m.Seq <= cur.Position:
		// No put: once a passed message is deleted, its seq would be free.
		there, found, err := s.store.Message(ctx, m.Queue, m.Seq)
		switch {
		case err != nil:
			result.Err = err
		case !found:
			result.Outcome, result.First = Stale, cur.Settings.First
		default:
			result.Outcome = compare(there, m)
		}
	case !cur.fits(m.Seq):
		result.Outcome, result.MaxAhead = Full, cur.Settings.MaxAhead
	default:
		m.Op = s.newOp()
		m.EnqueuedAt = ddb.ToMillis(s.now())
		m.ExpiresOn = s.expiry()
		m.Tombstone = ""
		there, err := s.store.PutMessage(ctx, m)
		switch {
		case err != nil:
			result.Err = err
		case bytes.Equal(there.Op, m.Op):
			result.Outcome = Stored
		default:
			result.Outcome = compare(there, m)
		}
	}
	return result
}

// compare is what m is to what is stored under its seq.
func compare(there, m Message) Outcome {
	switch {
	case there.Tombstone != "":
		return Late
	case bytes.Equal(there.Digest, m.Digest):
		return Duplicate
	}
	return Conflict
}

// occupied reports whether the answer shows that something is stored under a
// seq ahead of the position. A duplicate counts: its first writer may have
// died before it moved the cursor.
func (r *Result) occupied(cur Cursor) bool {
	return r.Err == nil && r.Seq > cur.Position && r.Outcome != Full
}

// finish fills in the state of the queue.
func (r *Result) finish(moved progress) {
	r.Old, r.New = moved.cur.Position, moved.cur.Position
	if len(moved.moves) > 0 {
		r.Old, r.New = moved.moves[0].From, moved.moves[len(moved.moves)-1].To
		r.Moves = moved.moves
	}
	if r.Err == nil {
		r.Deferred = moved.err
	}
	if r.Outcome != Stored {
		return
	}
	switch {
	case r.Seq <= moved.cur.Position:
		r.Outcome = Advanced
	case moved.err == nil && moved.cur.Settings.Mode == ModeSync:
		r.Outcome = Parked
		if moved.cur.Position < moved.cur.Settings.First {
			r.First = moved.cur.Settings.First
		}
	}
}
