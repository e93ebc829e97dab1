package cursor

import (
	"bytes"
	"context"
	"fmt"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/pkg/invalid"
)

// inArrivalOrder and inNumbers are what queues of the other kinds are.
const (
	inArrivalOrder = "the queue is in arrival order, and gives the seqs itself"
	inNumbers      = "the queue is numbered, and its producers give the seqs"
)

// is says what a queue of the kind is to who puts something else.
func (k Kind) is() string {
	switch k {
	case KindArrival:
		return inArrivalOrder
	case KindKeyed:
		return byKey
	}
	return inNumbers
}

// takes says what the queue is, and what to do instead of a put of another kind.
func (k Kind) takes() string {
	put := map[Kind]string{
		KindNumbered: "a seq and no key", KindArrival: "an id, no seq and no key", KindKeyed: "a key, an id and no seq",
	}[k]
	return k.is() + ": put it with " + put + ", or make a queue of another kind with PUT /queues"
}

// refusesArrivals is why a queue of the kind, which is not in arrival order, takes no
// arrival.
func (k Kind) refusesArrivals() error {
	if k == KindKeyed {
		return &InvalidError{Field: "key", Code: invalid.Missing, Problem: "is missing: " + k.takes()}
	}
	return invalidSeq(invalid.Missing, "is missing: "+k.takes())
}

// Appended is the answer for one arrival.
type Appended struct {
	Queue string
	// Outcome is Advanced where this call stored the arrival; Duplicate where it
	// was stored before; Conflict where another one was stored under the id,
	// which stays; Full where the queue has no seqs left; Stale where it was
	// stored before, and its seqs are not known any more.
	Outcome Outcome
	// Seqs are those of the arrival's messages, From < seq <= To, where Outcome
	// is Advanced or Duplicate.
	Seqs Range
	// Moved is the move by which this call gave the seqs; empty where another
	// call did.
	Moved Range
	// Err says why the arrival's fate is unknown; Outcome is empty then, and
	// repeating the call is safe. An InvalidError means that it was not stored:
	// the queue is numbered.
	Err error
}

// Append stores messages without seqs and gives them the next ones of a queue
// in arrival order, which it makes if it is not there. See
// [Sorter.AppendGroup]; warm it costs two writes and no read, and a twelfth of
// a write more for what keeps the cursor small.
func (s *Sorter) Append(ctx context.Context, a Arrival) (Appended, error) {
	if err := a.validate(); err != nil {
		return Appended{}, err
	}
	a.Digest = a.digest()
	var results [1]Appended
	s.appendQueue(ctx, []*appending{{Arrival: a, places: []int{0}}}, results[:])
	return results[0], results[0].Err
}

// AppendGroup stores arrivals of any queues. Those of one queue get their seqs
// in the order in which they stand in the group, up to 25 in one request, but
// for those that were stored before. Where one cannot be stored, those behind it
// have an Err too, and get no place before its repeat. The results are in the order of the
// arrivals.
//
// A repeat of an arrival, by its id and with the same messages, gets the
// seqs of the first, as long as that one is kept. So a call whose fate is
// unknown can be repeated, at any time until then, and by anybody.
//
// The error is an [InvalidError], and nothing was stored then: an arrival out
// of its bounds, or two different ones under one id. What happens later is reported
// for each arrival: in Appended.Err where its fate is unknown.
//
// Requests, where nothing else happens: one write an arrival, and one for each
// 25 arrivals of a queue; two more for each 24 arrivals of a queue. One read of
// half a unit where this Sorter has not seen the queue in the last seconds.
func (s *Sorter) AppendGroup(ctx context.Context, arrivals []Arrival) ([]Appended, error) {
	byQueue, err := groupArrivals(arrivals)
	if err != nil {
		return nil, err
	}
	results := make([]Appended, len(arrivals))
	s.forEach(len(byQueue), func(i int) {
		s.appendQueue(ctx, byQueue[i], results)
	})
	return results, nil
}

// ValidateArrivals is the InvalidError that AppendGroup would return, if any:
// for a caller who has more to do, and wants nothing done of it then.
func ValidateArrivals(arrivals []Arrival) error {
	_, err := groupArrivals(arrivals)
	return err
}

// appending is an arrival on its way into a queue.
type appending struct {
	Arrival
	// places are where it stands in the call: more than one where it is in the
	// group twice.
	places []int
	// mine is set when this call stored it, due that one stored before is to
	// expire soon.
	mine, due bool
	// seen is a seq up to which it is sure to have no place.
	seen   int64
	result Appended
}

// done notes where the arrival is.
func (a *appending) done(seqs Range) {
	a.result.Outcome, a.result.Seqs = Duplicate, seqs
	if a.mine {
		a.result.Outcome = Advanced
	}
}

// open reports whether the arrival still needs a place.
func (a *appending) open() bool { return a.result.Outcome == "" && a.result.Err == nil }

// groupArrivals is the arrivals of each queue, in the order of the first ones.
func groupArrivals(arrivals []Arrival) ([][]*appending, error) {
	var groups [][]*appending
	groupOf := map[string]int{}
	type name struct{ queue, id string }
	firstOf := map[name]*appending{}
	for i, a := range arrivals {
		if err := a.validate(); err != nil {
			return nil, invalid.Within("arrivals", i, err)
		}
		a.Digest = a.digest()
		if first := firstOf[name{a.Queue, a.ID}]; first != nil {
			if !first.same(a) || len(first.Messages) != len(a.Messages) {
				return nil, invalid.Within("arrivals", i, &InvalidError{
					Field: "id", Code: invalid.Clash, Problem: "which is a different message", Twin: &invalid.Element{List: "arrivals", Index: first.places[0]},
				})
			}
			first.places = append(first.places, i)
			continue
		}
		new := &appending{Arrival: a, places: []int{i}}
		firstOf[name{a.Queue, a.ID}] = new
		g, ok := groupOf[a.Queue]
		if !ok {
			g = len(groups)
			groupOf[a.Queue] = g
			groups = append(groups, nil)
		}
		groups[g] = append(groups[g], new)
	}
	return groups, nil
}

// appendQueue appends arrivals of one queue.
func (s *Sorter) appendQueue(ctx context.Context, arrivals []*appending, results []Appended) {
	cur, err := s.lookToAppend(ctx, arrivals[0].Queue)
	if err == nil && cur.Settings.Kind != KindArrival {
		err = cur.Settings.Kind.refusesArrivals()
	}
	if err == nil {
		s.forEach(len(arrivals), func(i int) { arrivals[i].result.Err = s.storeArrival(ctx, arrivals[i], cur) })
		err = s.allocateAll(ctx, arrivals)
	}
	for _, a := range arrivals {
		if err != nil && a.open() {
			a.result.Err = err
		}
		a.result.Queue = a.Queue
		for n, place := range a.places {
			results[place] = a.result
			if n > 0 && a.result.Outcome == Advanced {
				results[place].Outcome, results[place].Moved = Duplicate, Range{}
			}
		}
	}
}

// keepOrder has those behind one that could not be stored get no place either: a repeat would give it the place behind them.
func keepOrder(arrivals []*appending) {
	var before *appending
	for _, a := range arrivals {
		switch {
		case before != nil && a.open():
			a.result.Err = fmt.Errorf("queue %q: an arrival before it was not stored: %w", a.Queue, before.result.Err)
		case before == nil && a.result.Err != nil:
			before = a
		}
	}
}

// lookToAppend is a position that the queue has had, before anything is stored.
// Any older one is right; but one far behind costs a search, so what is
// remembered is used only while it is young.
func (s *Sorter) lookToAppend(ctx context.Context, queue string) (Cursor, error) {
	if cur, ok := s.seen.getToAppend(queue); ok {
		return cur, nil
	}
	cur, err := s.remembering(func() (Cursor, error) { return s.store.Cursor(ctx, queue, false) })
	if err != nil || cur.Exists() {
		return cur, err
	}
	return s.createOf(ctx, queue, KindArrival)
}

// storeArrival is step 1: the arrival is stored, or what stands under its id is
// looked at. It has no place yet: nobody but a repeat sees it.
func (s *Sorter) storeArrival(ctx context.Context, a *appending, cur Cursor) error {
	a.Op, a.EnqueuedAt, a.ExpiresOn, a.Seen = s.newOp(), ddb.ToMillis(s.now()), s.expiry(), cur.Position
	there, err := s.store.PutArrival(ctx, a.Arrival)
	if err != nil {
		return err
	}
	if !a.same(there) || len(a.Messages) != len(there.Messages) {
		a.result.Outcome = Conflict
		return nil
	}
	// The one that was stored first may have a place since what it had seen, not
	// since what we have.
	a.mine = bytes.Equal(a.Op, there.Op)
	a.due = s.expiresSoon(there.ExpiresOn)
	a.Seen, a.seen = there.Seen, there.Seen
	return nil
}

// maxAllocations is how many places one request gives.
const maxAllocations = 25

// allocateAll is step 2: all that are stored get their places.
func (s *Sorter) allocateAll(ctx context.Context, arrivals []*appending) error {
	keepOrder(arrivals)
	if err := s.keepBeforeAllocation(ctx, arrivals); err != nil {
		return err
	}
	for waited := false; ; {
		var next []*appending
		for _, a := range arrivals {
			if a.open() && len(next) < maxAllocations {
				next = append(next, a)
			}
		}
		if len(next) == 0 {
			return nil
		}
		full, err := s.allocate(ctx, next)
		if err != nil {
			return err
		}
		if full.Tail.Len() >= OrderItemEntries && !waited {
			waited = true // somebody is at it
			continue
		}
		if err := s.flush(ctx, full, MaxTail-len(next)); err != nil {
			return err
		}
	}
}

// allocate asks once for places, and looks what the answer means: for some of the
// arrivals it may be that they have theirs already. It returns the cursor where
// there is no room in its tail.
func (s *Sorter) allocate(ctx context.Context, arrivals []*appending) (full Cursor, err error) {
	queue, seen := arrivals[0].Queue, Range{arrivals[0].seen, arrivals[0].seen}
	entries := make([]Entry, len(arrivals))
	for i, a := range arrivals {
		entries[i], seen = a.entry(), Range{min(seen.From, a.seen), max(seen.To, a.seen)}
	}
	tail, given := NewTail(entries...), false
	cur, err := s.remembering(func() (cur Cursor, err error) {
		cur, given, err = s.store.Allocate(ctx, queue, tail, seen, s.now())
		return cur, err
	})
	switch {
	case err != nil:
		return Cursor{}, err
	case !cur.Exists():
		return Cursor{}, ErrNoQueue
	case cur.Settings.Kind != KindArrival:
		return Cursor{}, cur.Settings.Kind.refusesArrivals()
	case given:
		moved, i := Range{cur.Position - tail.Seqs(), cur.Position}, 0
		for p := range tail.places(moved.From) {
			arrivals[i].done(p.seqs)
			arrivals[i].result.Moved = moved
			i++
		}
		s.flushAfter(ctx, cur, tail.Len())
		return Cursor{}, nil
	}
	// From here on, each reason for which it was refused leads to another allocation
	// that has not that reason, or to none.
	arrivals = notAhead(inTail(arrivals, cur), cur)
	switch {
	case cur.TailFrom > notBefore(arrivals, cur):
		s.seen.crowd(queue)
		return Cursor{}, s.search(ctx, arrivals, cur)
	case cur.Position > MaxSeq-tail.Seqs():
		noSeqsLeft(arrivals, cur)
		return Cursor{}, nil
	}
	return cur, nil
}

// inTail finishes the arrivals that have a place in the tail, and returns the
// others. One beside an earlier arrival's place that looks the same (see
// [Entry.Seen]) has to wait until that one has left the tail.
func inTail(arrivals []*appending, cur Cursor) []*appending {
	var others []*appending
	for _, a := range arrivals {
		seqs, found := cur.Tail.find(cur.TailFrom, a.entry(), a.Seen)
		switch {
		case found:
			a.done(seqs)
		case cur.Tail.contains(a.entry()):
			a.result.Err = fmt.Errorf("queue %q: an earlier arrival under the id %q has a place that looks the same", cur.Queue, a.ID)
		default:
			others = append(others, a)
		}
	}
	return others
}

// notAhead refuses the arrivals that have seen a position which the queue has
// not had, and returns the others. That can only be where tables were restored
// to different times. A place before what it has seen is one that no repeat
// finds, so such an arrival has to wait until the queue has come so far again.
func notAhead(arrivals []*appending, cur Cursor) []*appending {
	var others []*appending
	for _, a := range arrivals {
		if a.seen <= cur.Position {
			others = append(others, a)
			continue
		}
		a.result.Err = fmt.Errorf("queue %q: the position is %d, and the arrival under the id %q is stored as one that has seen %d: the tables are of different times", cur.Queue, cur.Position, a.ID, a.seen)
	}
	return others
}

// notBefore notes which arrivals are sure to have no place before the tail, and
// returns a position up to which none has one.
func notBefore(arrivals []*appending, cur Cursor) int64 {
	none := cur.TailFrom
	for _, a := range arrivals {
		if cur.without(a.entry(), a.seen) {
			a.seen = max(a.seen, cur.TailFrom)
		}
		none = min(none, a.seen)
	}
	return none
}

// noSeqsLeft answers "full" to arrivals for which a queue has no seqs: the
// last one where each would fit alone.
func noSeqsLeft(arrivals []*appending, cur Cursor) {
	left := MaxSeq - cur.Position
	for _, a := range arrivals {
		if left -= int64(len(a.Messages)); left < 0 {
			a.result.Outcome = Full
		}
	}
}

// search is step 3: the arrivals that may have a place before the tail are
// looked for in the order items. Those found there are done; the others are
// sure to have none up to where the tail begins, and that part never changes.
//
// It ends when all are found. Only one that was stored and never got a place is
// looked for up to the tail.
//
// An order item expires later than what it names. Should one be missing all the
// same (a retention that was made shorter), nothing is sure: such an arrival is
// Stale, for another place would be a second one.
func (s *Sorter) search(ctx context.Context, arrivals []*appending, cur Cursor) error {
	unknown, err := s.readLog(ctx, cur, func() int64 { return leastSeen(arrivals, cur.TailFrom) }, func(entries Tail, after int64) {
		for _, a := range arrivals {
			if seqs, found := entries.find(after, a.entry(), a.Seen); found && a.open() {
				a.done(seqs)
			}
		}
	})
	if err != nil {
		return err
	}
	for _, a := range arrivals {
		if a.open() && a.seen < unknown {
			a.result.Outcome = Stale
		}
		a.seen = max(a.seen, cur.TailFrom)
	}
	return nil
}

// leastSeen is the least seq behind which an open arrival may have its place; last
// where none is before it.
func leastSeen(arrivals []*appending, last int64) int64 {
	for _, a := range arrivals {
		if a.open() {
			last = min(last, a.seen)
		}
	}
	return last
}

// keepBeforeAllocation keeps arrivals that were stored before and expire soon: one
// that gets its place now must be there until it is delivered. One that has its
// place is left alone, for its order item expires when it was to.
func (s *Sorter) keepBeforeAllocation(ctx context.Context, arrivals []*appending) error {
	var due []*appending
	for _, a := range arrivals {
		if a.open() && a.due {
			due = append(due, a)
		}
	}
	if len(due) == 0 {
		return nil
	}
	cur, err := s.readCursor(ctx, due[0].Queue)
	if err != nil {
		return err
	}
	due = inTail(due, cur)
	if err := s.search(ctx, due, cur); err != nil {
		return err
	}
	for _, a := range due {
		if !a.open() {
			continue
		}
		there, err := s.store.KeepArrival(ctx, a.Queue, HashOf(a.ID), a.Seen, s.expiry())
		if err == nil && !there {
			err = ErrExpired
		}
		if err != nil {
			a.result.Err = err
		}
	}
	return nil
}
