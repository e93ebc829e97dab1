package cursor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/streamsort/streamsort/internal/queuelog"
	"github.com/streamsort/streamsort/internal/sortkey"
	"github.com/streamsort/streamsort/pkg/invalid"
)

// putLog puts messages without seqs, all of one queue. They are stored; those of a keyed queue that
// are late, and all in arrival order, get their places.
func (s *Sorter) putLog(ctx context.Context, messages []Message, p *part, results []Result) {
	all := p.arrivals
	cur, err := s.lookToLog(ctx, p.queue)
	switch {
	case err != nil:
	case p.kind == KindKeyed:
		if cur, err = s.makeKeyed(ctx, messages, p, cur); err == nil {
			all = s.keyAll(ctx, messages, p.places, cur)
			s.storeAll(ctx, all, cur)
			s.lookAgain(ctx, all)
		}
	default:
		if !cur.Exists() {
			cur, err = s.create(ctx, p.queue, s.settingsOf(KindArrival))
		}
		if err == nil && cur.Settings.Kind != KindArrival {
			err = cur.Settings.Kind.refusesArrivals()
		}
		if err == nil {
			s.storeAll(ctx, all, cur)
			err = s.allocateAll(ctx, all)
		}
	}
	for _, i := range p.places {
		results[i] = Result{Queue: p.queue, Seq: NoSeq, Err: err}
	}
	for _, a := range all {
		a.finish(err)
		a.answer(results)
	}
}

// makeKeyed makes the queue of messages with keys where it is not there, and one of them would be
// taken. A queue of another kind is an error.
func (s *Sorter) makeKeyed(ctx context.Context, messages []Message, p *part,
	cur Cursor) (Cursor, error) {
	typed := slices.IndexFunc(p.places, func(i int) bool { return messages[i].KeyType != "" })
	if !cur.Exists() && typed >= 0 {
		settings := s.defaults
		settings.Kind = KindKeyed
		// it was validated
		settings.KeyType, _ = sortkey.ParseKeyType(string(messages[p.places[typed]].KeyType))
		var err error
		cur, _, err = s.makeFor(ctx, p.queue, settings, func(unmade Cursor) bool {
			return slices.ContainsFunc(p.places, func(i int) bool {
				_, err := s.keyOf(messages[i], unmade)
				return err == nil
			})
		})
		if err != nil {
			return Cursor{}, err
		}
	}
	switch {
	case !cur.Exists():
		return Cursor{}, &InvalidError{
			Field: "keyType", Code: invalid.Missing, Queue: p.queue,
			Problem: `is missing: the queue is new, and needs the type of its keys: give keyType, such as time, ` +
				`with its first message, or make it with PUT /queues {"kind": "keyed", "keyType": "time"}`,
		}
	case !keyed(cur):
		return Cursor{}, &InvalidError{Field: "key", Code: invalid.Misplaced,
			Problem: "must not be given: " + cur.Settings.Kind.takes(), Queue: p.queue}
	}
	return cur, nil
}

// keyAll makes the arrivals of messages with keys. One that is in the call twice is one; two
// different ones under one key and id are refused, but for the first.
func (s *Sorter) keyAll(ctx context.Context, messages []Message, places []int,
	cur Cursor) []*incoming {
	made := make([]*incoming, len(places))
	s.forEach(len(places), func(n int) {
		m := messages[places[n]]
		a, err := s.keyOf(m, cur)
		if err == nil && slices.ContainsFunc(a.parts, isReceived) {
			err = s.firstReceipt(ctx, a, m, cur)
		}
		a.places, a.result.Err = []int{places[n]}, err
		made[n] = a
	})
	var all []*incoming
	first := map[sortkey.SortKey]*incoming{}
	for _, a := range made {
		switch twin := first[a.sortKey()]; {
		case !a.open():
		case twin == nil:
			first[a.sortKey()] = a
		case twin.same(a.Arrival):
			twin.places = append(twin.places, a.places...)
			continue
		default:
			a.result.Err = &InvalidError{Field: "id", Code: invalid.Clash,
				Problem: "is that of another message of the call with the same key", Queue: a.Queue}
		}
		all = append(all, a)
	}
	return all
}

// keyOf is the message under its key, by the type that the queue's keys have. It is there beside an
// error too.
func (s *Sorter) keyOf(m Message, cur Cursor) (*incoming, error) {
	a := newIncoming(m, 0)
	of := cur.Settings.KeyType
	if m.KeyType != "" && m.KeyType != of {
		// with spaces it is the same
		if written, _ := sortkey.ParseKeyType(string(m.KeyType)); written != of {
			return a, &InvalidError{Field: "keyType", Code: invalid.Clash,
				Problem: "is not that of the queue, " + string(of), Queue: m.Queue}
		}
	}
	key, err := of.Key(m.KeyParts...)
	if err != nil {
		return a, err
	}
	a.parts = slices.Clone(m.KeyParts)
	latest := s.now().Add(cur.Settings.ClockAhead)
	for i, at := range key.Times() {
		switch {
		case !at.After(latest), isReceived(a.parts[i]):
		case m.Received.IsZero():
			return a, sortkey.InPart(i, len(m.KeyParts), invalid.New(invalid.OutOfRange, "", fmt.Sprintf(
				"is %s, and at most %s are taken, %s ahead of now: set the sender's clock, or \"clockAhead\" with PUT /queues",
				at.Format(time.RFC3339Nano), latest.UTC().Format(time.RFC3339), cur.Settings.ClockAhead)))
		default:
			a.parts[i], a.result.ClockAhead = sortkey.Received(m.Received), true
		}
	}
	a.Key, a.Era, a.Digest = key, cur.High.Era(), a.digest()
	return a, nil
}

// isReceived reports whether a part of a key is the time of receipt.
func isReceived(part any) bool { _, is := part.(sortkey.Received); return is }

// firstReceipt is step 0b: the message gets the key of the first time that it came.
func (s *Sorter) firstReceipt(ctx context.Context, a *incoming, m Message, cur Cursor) error {
	for i, part := range a.parts {
		at, is := part.(sortkey.Received)
		if !is {
			continue
		}
		first, err := s.store.PutReceipt(ctx, m.Queue, m.ID, time.Time(at), s.now(), s.orderExpiry())
		if err != nil {
			return err
		}
		a.parts[i] = first
	}
	key, err := cur.Settings.KeyType.Key(a.parts...)
	a.Key = key
	return err
}

// lookAgain is step 1b: a strong look at the queue, after the messages were stored. A message
// beyond the watermark waits: a settler sees it. One that is not was stored too late for that, or
// has its place already.
//
// We die before: nobody was answered. A repeat comes here again.
func (s *Sorter) lookAgain(ctx context.Context, all []*incoming) {
	all = open(all)
	if len(all) == 0 {
		return
	}
	cur, err := existing(s.readCursor(ctx, all[0].Queue))
	var late []*incoming
	for _, a := range all {
		switch {
		case err != nil:
			a.result.Err = err
		case a.sortKey() > cur.High && a.Seen > cur.Position:
			a.stale = true
		case a.sortKey() > cur.High:
			a.result.Outcome, a.result.SettlesAt = Duplicate, a.EnqueuedAt.Add(cur.Settings.Settle)
			if a.mine {
				a.result.Outcome = Waiting
			}
		default:
			late = append(late, a)
		}
	}
	if len(late) == 0 {
		return
	}
	if err := s.placeLate(ctx, late, cur); err != nil {
		for _, a := range open(late) {
			a.result.Err = err
		}
	}
}

// placeLate gives late messages of a queue their places, behind all others. Those that have one get
// that. They are at or under the watermark of the cursor, which was read strongly.
//
// A move that fails is followed by a pause and another look at the cursor: all is looked up anew,
// for what was found out is of one position. Low stays: nothing was read that it could speak for.
func (s *Sorter) placeLate(ctx context.Context, late []*incoming, cur Cursor) error {
	for losses := 0; ; {
		var err error
		if cur, err = s.flush(ctx, cur, queuelog.OrderItemEntries); err != nil {
			return err
		}
		if _, err := s.lookUp(ctx, open(late), cur); err != nil {
			return err
		}
		left := open(late)
		if len(left) == 0 {
			return nil
		}
		batch := left[:min(len(left), maxPlacing)]
		if err := errors.Join(s.keepStored(ctx, batch)...); err != nil {
			return err
		}
		given := false
		if cur, given, err = s.givePlaces(ctx, cur, batch, nil, cur.Low); err != nil {
			return err
		}
		if !given {
			if losses++; losses > maxLosses {
				return fmt.Errorf("queue %q: others gave places each time: %w", cur.Queue, ErrThrottled)
			}
			if err := s.waitAfterLoss(ctx, losses); err != nil {
				return err
			}
			if cur, err = s.readCursor(ctx, cur.Queue); err != nil {
				return err
			}
		}
	}
}
