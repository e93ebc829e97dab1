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

// Put stores messages of any queues, each where its kind of queue has it: one with a Seq under it,
// one with KeyParts to wait until its settle window is over, and any other at the end of a queue in
// arrival order. A queue that is not there is made. To a queue in arrival order, a message with a
// Seq is appended at exactly that, or is Ahead. The results are in the order of the messages.
//
// A message is known by its Seq; by its key and ID together; or by its PutID or ID. A repeat of it
// gets Duplicate, for as long as the first is retained. So a call whose fate is unknown can be
// repeated, at any time until then, and by anybody.
//
// A call that [Validate] refuses stores nothing, and all results have its error. What happens later
// is reported for each message: in Result.Err where its fate is unknown.
//
// Requests, where nothing else happens: one write a message (those of one PutID are one), and one
// write a queue, for each 25 in arrival order, where two more come for each 24; in a keyed queue
// one strong read in its place. None or one read of half a unit a queue: none if this Sorter has
// seen the queue in the last half hour, or in the last 10 seconds where the queue gives the seqs.
func (s *Sorter) Put(ctx context.Context, messages ...Message) []Result {
	results := make([]Result, len(messages))
	parts, err := group(messages)
	for i := range messages {
		results[i] = Result{Queue: messages[i].Queue, Seq: messages[i].Seq, Err: err}
	}
	s.forEach(len(parts), func(i int) {
		if p := parts[i]; p.kind == KindNumbered {
			s.putQueue(ctx, messages, p.places, results)
		} else {
			s.putLog(ctx, messages, p, results)
		}
	})
	return results
}

// Validate is the [InvalidError] for which a put of the messages stores nothing, if any: one is out
// of its bounds, two of a queue are of different kinds, or two different ones are under one seq or
// id. What only the queue can say, such as a key of another type than its own, is in Result.Err.
func Validate(messages []Message) error {
	_, err := group(messages)
	return err
}

// part is the messages of one queue in a call. arrivals are what they are in arrival order.
type part struct {
	queue    string
	kind     Kind
	places   []int
	arrivals []*incoming
}

// group is the parts of a call, in the order of their first messages.
func group(messages []Message) ([]*part, error) {
	var parts []*part
	of := map[string]*part{}
	first := map[twin]int{}
	arrivals := map[twin]*incoming{}
	for i := range messages {
		m := &messages[i]
		if err := m.Validate(); err != nil {
			return nil, invalid.Within("messages", i, err)
		}
		p := of[m.Queue]
		if p == nil {
			p = &part{queue: m.Queue, kind: m.way()}
			of[m.Queue], parts = p, append(parts, p)
		} else if err := p.mixed(m.way(), i); err != nil {
			return nil, err
		}
		p.places = append(p.places, i)
		if p.kind == KindKeyed {
			continue
		}
		name := twin{m.Queue, m.Seq, m.name()}
		if p.kind == KindNumbered {
			name.id = ""
		}
		at, again := first[name]
		switch {
		case !again:
			first[name] = i
			if p.kind == KindArrival {
				a := newIncoming(*m, i)
				arrivals[name], p.arrivals = a, append(p.arrivals, a)
			}
		case m.PutID != "" && messages[at].PutID != "":
			arrivals[name].join(*m, i)
		case m.PutID+messages[at].PutID != "" || !bytes.Equal(messages[at].digest(), m.digest()):
			field := "seq"
			if p.kind == KindArrival {
				field = "id"
			}
			return nil, invalid.Within("messages", i, &InvalidError{
				Field: field, Code: invalid.Clash, Problem: "which is a different message",
				Twin: &invalid.Element{List: "messages", Index: at},
			})
		case p.kind == KindArrival:
			arrivals[name].places = append(arrivals[name].places, i)
		}
	}
	for _, p := range parts {
		for _, a := range p.arrivals {
			if err := a.validate(); err != nil {
				return nil, err
			}
			a.Digest = a.digest()
		}
	}
	return parts, nil
}

// twin is what two messages of a call are the same by.
type twin struct {
	queue string
	seq   int64
	id    string
}

// mixed is what is wrong with a call that has several kinds of message for one queue: a queue is of
// one kind, and if it is new, none of them says which.
func (p *part) mixed(way Kind, place int) error {
	wrong := invalid.New(invalid.Missing, "seq", "is missing, and another message for the same queue has one: a queue takes messages with a seq or without, as its first put has them")
	switch {
	case way == p.kind:
		return nil
	case way == KindKeyed || p.kind == KindKeyed:
		wrong.Field = "key"
		wrong.Problem = "is missing, and another message for the same queue has one: a queue takes messages with a key or without, as its first put has them"
		if way == KindKeyed {
			place = p.places[0]
		}
	case p.kind == KindArrival:
		place = p.places[0]
	}
	return invalid.Within("messages", place, wrong)
}

// newIncoming is the arrival of a message without a seq, the first of those with its PutID.
func newIncoming(m Message, place int) *incoming {
	a := &incoming{Arrival: Arrival{Queue: m.Queue, ID: m.name(), Prev: m.Prev},
		together: m.PutID != ""}
	if !a.together {
		m.ID = ""
	}
	a.join(m, place)
	return a
}

func (a *incoming) join(m Message, place int) {
	m.Queue, m.Seq, m.Tombstone, m.PutID = "", 0, "", ""
	a.Messages, a.places = append(a.Messages, m), append(a.places, place)
}

// putQueue puts the messages at these places, all of one queue, with seqs.
func (s *Sorter) putQueue(ctx context.Context, messages []Message, places []int, results []Result) {
	queue := messages[places[0]].Queue
	kind := kindFor(messages, places)
	cur, there, err := s.lookToPut(ctx, messages, places, kind)
	switch {
	case err != nil:
	case kind != KindNumbered && cur.Settings.Kind != kind:
		err = fixed("kind", kind, cur.Settings.Kind)
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
	if err == nil && slices.ContainsFunc(places, func(i int) bool {
		return !cur.fits(messages[i].Seq)
	}) {
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
	storedFirst(places, results)

	if slices.ContainsFunc(places, func(i int) bool { return results[i].Outcome == Stale }) {
		moved.err = s.erasedSince(ctx, queue)
	}
	if moved.err == nil && cur.Settings.Mode == ModeSync {
		own, largest := seqSet{}, 0
		for _, i := range places {
			// A duplicate counts: its first writer may have died before it moved the cursor.
			if r := results[i]; r.Err == nil && r.Seq > cur.Position && r.Outcome != Full {
				own[r.Seq] = struct{}{}
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

// storedFirst has the first of the same messages be the one that was stored: they are put in any
// order, and the later ones of the call are the duplicates.
func storedFirst(places []int, results []Result) {
	for n, first := range places {
		if results[first].Outcome != Duplicate {
			continue
		}
		for _, later := range places[n+1:] {
			if results[later].Outcome == Stored && results[later].Seq == results[first].Seq {
				results[first], results[later] = results[later], results[first]
			}
		}
	}
}

// lookOnly is step 0: a lower bound of the queue's position, and its settings, before anything is
// put.
func (s *Sorter) lookOnly(ctx context.Context, queue string) (Cursor, error) {
	if cur, ok := s.seen.get(queue); ok {
		return cur, nil
	}
	return s.remembering(func() (Cursor, error) { return s.store.Cursor(ctx, queue, false) })
}

// lookToPut is the look of messages that are put. They make the queue, with the first seq that they
// name, unless all of them would be refused: there is false then, and the cursor is what it would
// be.
//
// Two that name other first seqs: the first one's cursor counts, and the other is refused by it.
func (s *Sorter) lookToPut(ctx context.Context, messages []Message, places []int,
	kind Kind) (cur Cursor, there bool, err error) {
	queue := messages[places[0]].Queue
	if cur, err = s.lookOnly(ctx, queue); err != nil || cur.Exists() {
		return cur, true, err
	}
	settings := s.settingsOf(kind)
	settings.First = firstOf(messages, places, settings.First)
	settings = settings.ofKind()
	return s.makeFor(ctx, queue, settings, func(unmade Cursor) bool {
		return slices.ContainsFunc(places, func(i int) bool {
			m := messages[i]
			if kind == KindArrival {
				return m.Seq == settings.First && m.startsAt(settings.First)
			}
			return m.Seq > unmade.Position && unmade.fits(m.Seq) && m.startsAt(settings.First)
		})
	})
}

// makeFor makes a queue's cursor if one of the messages would be taken then, so that a sweep over
// all cursors finds every queue that has a message. Otherwise there is false, and the cursor is
// what it would be; or that of who made the queue first.
func (s *Sorter) makeFor(ctx context.Context, queue string, settings Settings,
	taken func(unmade Cursor) bool) (cur Cursor, there bool, err error) {
	unmade := newCursor(queue, settings, s.now())
	if taken(unmade) {
		cur, err = s.create(ctx, queue, settings)
		return cur, true, err
	}
	if cur, err = s.readCursor(ctx, queue); err != nil || cur.Exists() {
		return cur, true, err
	}
	return unmade, false, nil
}

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
	r := Result{Queue: m.Queue, Seq: m.Seq, Outcome: Stale, NoQueue: true,
		First: unmade.Settings.First, Old: unmade.Position, New: unmade.Position}
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

// checkFirst refuses the messages that name another first seq than the queue's, and returns the
// others.
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

func kindFor(messages []Message, places []int) Kind {
	for _, i := range places {
		if kind := messages[i].Kind; kind != KindNumbered {
			return kind
		}
	}
	return KindNumbered
}

func (s *Sorter) settingsOf(kind Kind) Settings {
	settings := s.defaults
	settings.Kind = kind
	return settings.ofKind()
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
