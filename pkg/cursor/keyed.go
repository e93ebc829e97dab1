package cursor

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/pkg/invalid"
)

// byKey is what a keyed queue is; noKey says what is wrong with a call for such a queue.
const (
	byKey = "the queue is a keyed one, which sorts by keys"
	noKey = "the queue is no keyed one"
)

// Received is a part of a key that is the time at which the message came, where its sender
// gives none. A repeat comes at another time and is the same message: the first time under
// the queue and the id counts, for as long as the message is kept.
type Received time.Time

// Keyed is a message for a keyed queue.
type Keyed struct {
	// Key are the one to three parts of the key, of the queue's [KeyType].
	Key []any
	// KeyType is the queue's where the put makes it. It may be empty where the queue is
	// there.
	KeyType KeyType
	// Prev, where it is not empty, is the id of the message that should stand before this
	// one in the queue. Where another does, readers get it marked as Unlinked.
	Prev string
	// Received, where it is not zero, is when a message came whose sender cannot repeat it: a time in
	// its key that is farther ahead than the queue's ClockAhead becomes that, as a [Received] does, and the
	// message is not refused.
	Received time.Time
	// Message is without a Seq, and with an ID: a message is known by key and id.
	Message
}

// KeyedResult is the answer for one message of a keyed put.
type KeyedResult struct {
	Queue string
	// Outcome is Waiting where this call stored the message, and it has no place yet;
	// Advanced where it was late, and has one, or Dropped; Duplicate where it was stored
	// before; Conflict where another one was stored under its key and id, which stays;
	// Stale where it was stored before, and what the queue knew of it is gone.
	Outcome Outcome
	// SettlesAt is when the message is given its place at the latest, beside Waiting, and
	// beside Duplicate where it still waits.
	SettlesAt time.Time
	// Seq is the message's place; 0 where it has none yet, or none is known.
	Seq int64
	// Late tells that a message with a greater key had its place before, Unlinked that it
	// stands behind another one than its Prev.
	Late, Unlinked bool
	// Placed tells that this call gave the message its place, and no settler: who counts what is
	// late counts it then.
	Placed bool
	// ClockAhead tells that a time in its key was too far ahead, and the time of receipt is there instead.
	ClockAhead bool
	// Err says why the message's fate is unknown; Outcome is empty then, and
	// repeating the call is safe. An InvalidError means that it was not stored.
	Err error
}

// PutKeyed stores a message that waits in a keyed queue until the queue's settle window is
// over, and then gets its place by its key: see [Sorter.PutKeyedGroup] and [Sorter.Settle].
func (s *Sorter) PutKeyed(ctx context.Context, m Keyed) (KeyedResult, error) {
	results, err := s.PutKeyedGroup(ctx, []Keyed{m})
	if err != nil {
		return KeyedResult{}, err
	}
	return results[0], results[0].Err
}

// PutKeyedGroup stores messages of any keyed queues. The results are in the order of the
// messages.
//
// A message is known by its key and id together: a repeat with the same content gets the
// outcome Duplicate, for as long as the first is kept. So a call whose fate is unknown can be
// repeated, at any time until then, and by anybody.
//
// The error is an [InvalidError], and nothing was stored then: a message out of its bounds,
// or two different ones under one key and id. What only the queue can say, such as a key of
// another type than its own, is in KeyedResult.Err, and so is a fate that is unknown.
//
// Requests, where nothing is late: one write a message, and one more of each with a
// [Received]; one strong read a queue; another of half a unit where this Sorter has not seen
// the queue in the last seconds.
func (s *Sorter) PutKeyedGroup(ctx context.Context, messages []Keyed) ([]KeyedResult, error) {
	if err := ValidateKeyed(messages); err != nil {
		return nil, err
	}
	var queues []string
	byQueue := map[string][]int{}
	for i, m := range messages {
		if byQueue[m.Queue] == nil {
			queues = append(queues, m.Queue)
		}
		byQueue[m.Queue] = append(byQueue[m.Queue], i)
	}
	results := make([]KeyedResult, len(messages))
	s.forEach(len(queues), func(n int) {
		at := byQueue[queues[n]]
		of := make([]Keyed, len(at))
		for i, place := range at {
			of[i] = messages[place]
		}
		for i, result := range s.putKeyedQueue(ctx, of) {
			results[at[i]] = result
		}
	})
	return results, nil
}

// ValidateKeyed is the InvalidError that PutKeyedGroup would return for what can be known
// without the queues, if any.
func ValidateKeyed(messages []Keyed) error {
	for i := range messages {
		if err := messages[i].validate(); err != nil {
			return invalid.Within("messages", i, err)
		}
	}
	return nil
}

// validate reports the first field that is out of its bounds.
func (m *Keyed) validate() error {
	if len(m.Key) == 0 {
		return &InvalidError{Field: "key", Code: invalid.Missing, Problem: "is missing: " + KindKeyed.takes()}
	}
	if m.KeyType != "" {
		if _, err := m.KeyType.Key(m.Key...); err != nil {
			return err
		}
	}
	switch {
	case m.Seq != 0:
		return invalidSeq(invalid.Misplaced, "must not be given: "+KindKeyed.takes())
	case len(m.Prev) > MaxID:
		return tooLarge("prev", len(m.Prev), MaxID)
	case !utf8.ValidString(m.Prev):
		return &InvalidError{Field: "prev", Code: invalid.Malformed, Problem: "is not valid UTF-8"}
	}
	a := m.waiting("")
	return a.validate()
}

// waiting is the message as it waits under a key.
func (m *Keyed) waiting(key Key) Arrival {
	return Arrival{Queue: m.Queue, ID: m.ID, Key: key, Prev: m.Prev, Messages: []Message{m.Message}}
}

// keying is a message on its way into a keyed queue.
type keying struct {
	waiting
	// parts are those of its key.
	parts []any
	// mine is set when this call stored it.
	mine   bool
	result KeyedResult
	// twin is the same message, where it stands in the call before: the answer for it
	// counts.
	twin *keying
}

// open reports whether the message has no answer yet.
func (k *keying) open() bool { return k.result.Outcome == "" && k.result.Err == nil && k.twin == nil }

// answer is the message's result.
func (k *keying) answer() KeyedResult {
	if k.twin == nil {
		return k.result
	}
	r := k.twin.answer()
	switch r.Outcome {
	case Waiting, Advanced, Dropped:
		r.Outcome = Duplicate
	}
	r.Placed = false
	return r
}

// putKeyedQueue puts messages of one queue: it stages them, looks whether one is late, and
// gives such a one its place.
func (s *Sorter) putKeyedQueue(ctx context.Context, messages []Keyed) []KeyedResult {
	all := make([]*keying, len(messages))
	cur, err := s.lookToPutKeyed(ctx, messages)
	for i := range messages {
		all[i] = &keying{}
		if all[i].result.Err = err; err == nil {
			all[i].result.Err = s.check(all[i], messages[i], cur)
		}
	}
	s.forEach(len(all), func(i int) {
		if k := all[i]; k.open() && slices.ContainsFunc(k.parts, isReceived) {
			k.result.Err = s.firstReceipt(ctx, k, messages[i], cur)
		}
	})
	twins(all)
	s.forEach(len(all), func(i int) {
		if all[i].open() {
			all[i].result.Err = s.stageKeyed(ctx, all[i], cur)
		}
	})
	s.lookAgain(ctx, all)
	results := make([]KeyedResult, len(all))
	for i, k := range all {
		results[i] = k.answer()
		results[i].Queue = messages[i].Queue
	}
	return results
}

// lookToPutKeyed is step 0: a position that the queue has had, before anything is stored,
// and the type of its keys. Any older position is right, but what was placed since may have
// to be searched. A queue that is not there is made.
func (s *Sorter) lookToPutKeyed(ctx context.Context, messages []Keyed) (Cursor, error) {
	queue := messages[0].Queue
	cur, known := s.seen.getToAppend(queue)
	if !known {
		var err error
		if cur, err = s.remembering(func() (Cursor, error) { return s.store.Cursor(ctx, queue, false) }); err != nil {
			return Cursor{}, err
		}
	}
	typed := slices.IndexFunc(messages, func(m Keyed) bool { return m.KeyType != "" })
	if !cur.Exists() && typed >= 0 {
		settings := s.defaults
		settings.Kind = KindKeyed
		settings.KeyType, _ = ParseKeyType(string(messages[typed].KeyType)) // it was validated
		unmade := newCursor(queue, settings, s.now())
		taken := func(m Keyed) bool { return s.check(&keying{}, m, unmade) == nil }
		var err error
		if slices.ContainsFunc(messages, taken) {
			cur, err = s.create(ctx, queue, settings)
		} else if cur, err = s.readCursor(ctx, queue); err == nil && !cur.Exists() {
			cur = unmade // all are refused
		}
		if err != nil {
			return Cursor{}, err
		}
	}
	switch {
	case !cur.Exists():
		return Cursor{}, &InvalidError{
			Field: "keyType", Code: invalid.Missing, Queue: queue,
			Problem: `is missing: the queue is new, and needs the type of its keys: give keyType, such as time, ` +
				`with its first message, or make it with PUT /queues {"kind": "keyed", "keyType": "time"}`,
		}
	case !keyed(cur):
		return Cursor{}, &InvalidError{Field: "key", Code: invalid.Misplaced, Problem: "must not be given: " + cur.Settings.Kind.takes(), Queue: queue}
	}
	return cur, nil
}

// check makes the message's key, by the type that the queue's keys have.
func (s *Sorter) check(k *keying, m Keyed, cur Cursor) error {
	of := cur.Settings.KeyType
	if m.KeyType != "" && m.KeyType != of {
		if written, _ := ParseKeyType(string(m.KeyType)); written != of { // with spaces it is the same
			return &InvalidError{Field: "keyType", Code: invalid.Clash, Problem: "is not that of the queue, " + string(of), Queue: m.Queue}
		}
	}
	key, err := of.Key(m.Key...)
	if err != nil {
		return err
	}
	k.parts = slices.Clone(m.Key)
	latest := s.now().Add(cur.Settings.ClockAhead)
	for i, at := range key.times() {
		switch {
		case !at.After(latest), isReceived(k.parts[i]):
		case m.Received.IsZero():
			return inPart(i, len(m.Key), invalid.New(invalid.OutOfRange, "", fmt.Sprintf(
				"is %s, and at most %s are taken, %s ahead of now: set the sender's clock, or \"clockAhead\" with PUT /queues",
				at.Format(time.RFC3339Nano), latest.UTC().Format(time.RFC3339), cur.Settings.ClockAhead)))
		default:
			k.parts[i], k.result.ClockAhead = Received(m.Received), true
		}
	}
	k.Arrival = m.waiting(key)
	k.Era, k.Digest = cur.High.Era(), k.digest()
	return nil
}

// isReceived reports whether a part of a key is the time of receipt.
func isReceived(part any) bool { _, is := part.(Received); return is }

// firstReceipt is step 0b: the message gets the key of the first time that it came.
func (s *Sorter) firstReceipt(ctx context.Context, k *keying, m Keyed, cur Cursor) error {
	for i, part := range k.parts {
		at, is := part.(Received)
		if !is {
			continue
		}
		first, err := s.store.PutReceipt(ctx, m.Queue, m.ID, time.Time(at), s.now(), s.orderExpiry())
		if err != nil {
			return err
		}
		k.parts[i] = first
	}
	key, err := cur.Settings.KeyType.Key(k.parts...)
	k.Key = key
	return err
}

// twins finds the messages that stand twice in a call, and refuses those that are not the
// same.
func twins(all []*keying) {
	first := map[SortKey]*keying{}
	for _, k := range all {
		if !k.open() {
			continue
		}
		twin := first[k.sortKey()]
		switch {
		case twin == nil:
			first[k.sortKey()] = k
		case twin.same(k.Arrival):
			k.twin = twin
		default:
			k.result.Err = &InvalidError{Field: "id", Code: invalid.Clash, Problem: "is that of another message of the call with the same key", Queue: k.Queue}
		}
	}
}

// stageKeyed is step 1: the message is stored, or what stands under its key and id is looked
// at. It has no place yet.
func (s *Sorter) stageKeyed(ctx context.Context, k *keying, cur Cursor) error {
	k.Op, k.EnqueuedAt, k.ExpiresOn, k.Seen = s.newOp(), ddb.ToMillis(s.now()), s.expiry(), cur.Position
	there, err := s.store.PutArrival(ctx, k.Arrival)
	if err != nil {
		return err
	}
	if !k.same(there) {
		k.result.Outcome = Conflict
		return nil
	}
	k.mine = bytes.Equal(k.Op, there.Op)
	// From here on, what the one that is stored has seen counts, and when it came.
	k.Seen, k.EnqueuedAt, k.ExpiresOn = there.Seen, there.EnqueuedAt, there.ExpiresOn
	return nil
}

// lookAgain is step 1b: a strong look at the queue, after the messages were stored. Who is
// beyond the watermark waits: whoever settles sees it. Who is not was stored too late for
// that, or has its place already.
//
// We die before: nobody was answered. A repeat comes here again.
func (s *Sorter) lookAgain(ctx context.Context, all []*keying) {
	var open []*keying
	for _, k := range all {
		if k.open() {
			open = append(open, k)
		}
	}
	if len(open) == 0 {
		return
	}
	cur, err := s.readCursor(ctx, open[0].Queue)
	if err == nil && !cur.Exists() {
		err = ErrNoQueue
	}
	var late []*waiting
	for _, k := range open {
		switch {
		case err != nil:
			k.result.Err = err
		case k.sortKey() > cur.High && k.Seen > cur.Position:
			k.result.Outcome = Stale
		case k.sortKey() > cur.High:
			k.waits(cur.Settings.Settle)
		default:
			late = append(late, &k.waiting)
		}
	}
	if len(late) == 0 {
		return
	}
	err = s.placeLate(ctx, late, cur)
	for _, k := range open {
		if k.open() {
			k.finish(err)
		}
	}
}

// waits answers that the message waits.
func (k *keying) waits(settle time.Duration) {
	k.result.Outcome, k.result.SettlesAt = Duplicate, k.EnqueuedAt.Add(settle)
	if k.mine {
		k.result.Outcome = Waiting
	}
}

// finish answers for a message that was looked for in the log.
func (k *keying) finish(err error) {
	switch {
	case k.stale:
		k.result.Outcome = Stale
		return
	case !k.found:
		k.result.Err = err
		return
	}
	k.result.Outcome, k.result.Seq = Duplicate, k.at.seqs.To
	k.result.Late, k.result.Unlinked, k.result.Placed = k.at.has(MarkLate), k.at.has(MarkUnlinked), k.placed
	switch {
	case k.mine && k.at.has(MarkDropped):
		k.result.Outcome = Dropped
	case k.mine:
		k.result.Outcome = Advanced
	}
}
