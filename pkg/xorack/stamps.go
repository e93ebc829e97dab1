package xorack

import (
	"bytes"
	"context"
	"crypto/subtle"
	"slices"
	"strconv"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/pkg/invalid"
)

const (
	// MaxStamp is the most bytes of a stamp.
	MaxStamp = 64 * 1024
	// stampMark is how many bytes before a stored stamp mark its operation.
	stampMark = 6
	// maxStamps is the most bytes that a chain's stamps take together, so that
	// the item stays under the 400 KB that it may have.
	maxStamps = 320 * 1024
)

// State is what stamps come to.
type State struct {
	// Stamp is the XOR of all stamps, and Acked reports that it is all zeros.
	Stamp []byte
	Acked bool
	// Outcome is that of the operation: Ended if it is the one that found the
	// chain acked and recorded that.
	Outcome Outcome
}

// XOR puts stamps of one length together: at least two of them, or that is
// [ErrLessThanTwoBuffers]; other lengths are [ErrBufferLengthsUnequal].
func XOR(stamps ...[]byte) (State, error) {
	if len(stamps) < 2 {
		return State{}, ErrLessThanTwoBuffers
	}
	state := slices.Clone(stamps[0])
	for _, stamp := range stamps[1:] {
		if len(stamp) != len(state) {
			return State{}, ErrBufferLengthsUnequal
		}
		subtle.XORBytes(state, state, stamp)
	}
	return State{Stamp: state, Acked: isZero(state)}, nil
}

// StampOptions are the parts of a stamp's operation that have defaults. A nil
// StampOptions means all of them.
type StampOptions struct {
	// ID tells the operation from others of its chain, up to [MaxTag] bytes: a
	// repeat of it with the same stamp changes nothing. Where it is empty each
	// call is an operation of its own, and only the repeats that the SDK makes
	// by itself, after a lost response, are harmless.
	ID string
	// Deadline is how long after its creation the chain times out: up to
	// MaxDeadline, and DefaultDeadline where it is 0. Only Create takes it.
	Deadline time.Duration
}

func (o *StampOptions) orDefault() StampOptions {
	if o == nil {
		return StampOptions{}
	}
	return *o
}

// Stamper is the interface of xor-ack-dynamodb: stamps of bytes instead of
// edges. A chain's stamps are kept one beside the other, and put together by
// whoever reads them, so that a stamp is one write at any number of writers and
// a repeated one counts once. It may share its table with an [Acker].
type Stamper struct{ acker *Acker }

// NewStamper returns a Stamper on the store, or an [InvalidError] that names
// the option that is out of its bounds.
func NewStamper(store *Store, options *Options) (*Stamper, error) {
	a, err := New(store, options)
	if err != nil {
		return nil, err
	}
	return &Stamper{a}, nil
}

// validateStamp reports what can never be stamped.
func validateStamp(tag string, stamp []byte, o StampOptions) error {
	if err := ValidateTag(tag); err != nil {
		return err
	}
	switch {
	case len(stamp) == 0 || len(stamp) > MaxStamp:
		return &InvalidError{Field: "stamp", Code: invalid.TextCode(string(stamp), MaxStamp), Problem: "must have 1 to " + strconv.Itoa(MaxStamp) + " bytes"}
	case len(o.ID) > MaxTag:
		return &InvalidError{Field: "id", Code: invalid.TooLarge, Problem: "is longer than " + strconv.Itoa(MaxTag) + " bytes"}
	case isZero(stamp):
		return ErrZeroBufferNoOp
	}
	return nil
}

// marked is the stamp as it is stored.
func (s *Stamper) marked(kind byte, stamp []byte, id string) []byte {
	op := s.acker.newOp()
	if id != "" {
		hash := derive(kind, []byte(id))
		op = Op(hash[:8])
	}
	return append(op[:stampMark:stampMark], stamp...)
}

// Create makes a chain with its first stamp. A tag that has a chain already is
// [ErrTagExists], except that a create with the same ID and the same stamp is
// the same one. A tag whose chain was deleted, or has ended and is forgotten,
// can be used again. Stamps that came before count.
//
// It costs one write and one of the index, and two writes where the tag was
// used before.
func (s *Stamper) Create(ctx context.Context, tag string, stamp []byte, options *StampOptions) (State, error) {
	o := options.orDefault()
	if o.Deadline == 0 {
		o.Deadline = DefaultDeadline
	}
	if err := validateStamp(tag, stamp, o); err != nil {
		return State{}, err
	}
	if o.Deadline < time.Millisecond || o.Deadline > MaxDeadline {
		return State{}, &InvalidError{Field: "deadline", Code: invalid.OutOfRange, Problem: "must be from 1ms to " + MaxDeadline.String()}
	}
	id := o.ID
	if id == "" {
		op := s.acker.newOp()
		id = string(op[:])
	}
	there, err := s.acker.create(ctx, s.fresh(tag, stamp, id, o.Deadline))
	if err != nil {
		return State{}, err
	}
	return s.settled(ctx, there, Applied)
}

// fresh is a chain of stamps at its creation.
func (s *Stamper) fresh(tag string, stamp []byte, id string, deadline time.Duration) Chain {
	now := ddb.ToMillis(s.acker.now())
	// The incarnation tells the options as well: each byte that the record does
	// not have makes room for stamps in its first KB.
	hash := derive(forStamps, []byte(tag), []byte(id), number(int(deadline)), stamp)
	c := Chain{
		Tag: tag, Incarnation: Incarnation(hash[:8]), StampLen: len(stamp),
		Stamps: [][]byte{s.marked(forStamps, stamp, id)}, Created: now, Seen: now,
		Deadline: ddb.ToMillis(now.Add(deadline)), ExpiresOn: Never,
	}
	c.Due = c.nextLook(now)
	return c
}

// Stamp XORs a stamp into a chain's state, once when a piece of work starts and
// once when it ends, or several put together by [XOR]. A stamp before Create is
// kept. After the end nothing changes: the outcome says how the chain ended.
//
// It costs one write, of one unit for each KB of the record: 60 stamps of 8
// bytes; and one more for the stamp that acks the chain.
func (s *Stamper) Stamp(ctx context.Context, tag string, stamp []byte, options *StampOptions) (State, error) {
	o := options.orDefault()
	if err := validateStamp(tag, stamp, o); err != nil {
		return State{}, err
	}
	now := s.acker.now()
	marked := s.marked(forStamp, stamp, o.ID)
	c, added, err := s.acker.store.AddStamp(ctx, Stamp{
		Tag: tag, Marked: marked, Room: roomFor(len(stamp)) - 1, Now: now, Orphan: now.Add(s.acker.tombstone),
	})
	if err != nil {
		return State{}, err
	}
	_, there := slices.BinarySearchFunc(c.Stamps, marked, bytes.Compare)
	switch {
	case added, there:
		return s.settled(ctx, c, Applied)
	case c.HasEdges() || c.Exists() && !c.HasStamps():
		return State{}, ErrOtherKind
	case c.StampLen != len(stamp):
		return State{}, ErrBufferLengthsUnequal
	case c.Recorded != Open:
		return State{Stamp: c.XOR(), Acked: c.Recorded == Done, Outcome: already(c.Recorded)}, nil
	}
	return State{}, ErrChainFull
}

// roomFor is how many stamps of a length a chain has room for.
func roomFor(length int) int { return min(MaxOps, maxStamps/(stampMark+length)) }

// settled is the state of a chain, and records that it is Done where it is
// acked. A chain that was acked for a moment only, because a stamp came
// between, goes on.
func (s *Stamper) settled(ctx context.Context, c Chain, outcome Outcome) (State, error) {
	c, settled, err := s.acker.settle(ctx, c)
	if err != nil {
		return State{}, err
	}
	switch {
	case settled:
		outcome = Ended
	case c.Recorded == Failed || c.Recorded == TimedOut || c.Recorded == Deleted:
		outcome = already(c.Recorded)
	}
	state := c.XOR()
	return State{Stamp: state, Acked: isZero(state), Outcome: outcome}, nil
}

// settle records that a chain of stamps is Done, where its stamps say so. It
// reports whether this request did.
func (a *Acker) settle(ctx context.Context, c Chain) (Chain, bool, error) {
	if c.Recorded != Open || !c.acked() {
		return c, false, nil
	}
	return a.store.Settle(ctx, c.Tag, c.Incarnation, len(c.Stamps), a.now())
}

// Delete ends a chain, in whatever state, and frees its tag. Where there is
// none, or another call deleted it, that is [ErrTagNotFound].
//
// It costs one write, and one of the index.
func (s *Stamper) Delete(ctx context.Context, tag string) error {
	if err := ValidateTag(tag); err != nil {
		return err
	}
	op, now := s.acker.newOp(), s.acker.now()
	c, deleted, err := s.acker.store.DeleteStamps(ctx, tag, op, now, now.Add(s.acker.tombstone))
	switch {
	case err != nil:
		return err
	case deleted, c.Recorded == Deleted && c.LastOp == op:
		return nil
	case c.Exists() && !c.HasStamps():
		return ErrOtherKind
	}
	return ErrTagNotFound
}
