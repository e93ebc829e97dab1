package stamps

import (
	"bytes"
	"cmp"
	"context"
	"crypto/subtle"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/streamsort/streamsort/internal/bounds"
	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/pkg/invalid"
	"github.com/streamsort/streamsort/pkg/xorack"
	"github.com/streamsort/streamsort/pkg/xorack/internal/chains"
)

const (
	// MaxStamp is the most bytes of a stamp.
	MaxStamp = 64 * 1024
	// maxStamps is the most bytes that a chain's stamps take together, so that the item stays under
	// the 400 KB that it may have.
	maxStamps = 320 * 1024
)

// State is what stamps come to.
type State struct {
	// Stamp is the XOR of all stamps, and Acked reports that it is all zeros.
	Stamp []byte
	Acked bool
	// Outcome is that of the operation: Ended if it is the one that found the chain acked and
	// recorded that.
	Outcome xorack.Outcome
}

// XOR puts stamps of one length together: at least two of them, or that is [ErrLessThanTwoBuffers];
// other lengths are [ErrBufferLengthsUnequal].
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
	return State{Stamp: state, Acked: chains.IsZero(state)}, nil
}

// Options are the parts of a stamp's operation that have defaults. A nil Options means all of them.
type Options struct {
	// ID distinguishes the operation from others of its chain, up to [xorack.MaxTag] bytes: a
	// repeat of it with the same stamp changes nothing. Where it is empty each call is an operation
	// of its own, and only the SDK's own retries, after a lost response, are harmless.
	ID string
	// Deadline is how long after its creation the chain times out: up to [xorack.MaxDeadline], and
	// [xorack.DefaultDeadline] where it is 0. Only Create takes it.
	Deadline time.Duration
}

func (o *Options) orDefault() Options {
	if o == nil {
		return Options{}
	}
	return *o
}

// Stamper stamps chains. It may be used by any number of goroutines, and any number of Stampers in
// any number of processes may work on the same table.
type Stamper struct {
	store *store
}

// New returns a Stamper on the table of an acker, with its clock and tombstone.
func New(acker *xorack.Acker) *Stamper {
	return &Stamper{&store{acker.Base()}}
}

func validate(tag string, stamp []byte, o Options) error {
	if err := xorack.ValidateTag(tag); err != nil {
		return err
	}
	switch {
	case len(stamp) == 0 || len(stamp) > MaxStamp:
		return invalid.New(invalid.TextCode(string(stamp), MaxStamp), "stamp",
			"must have 1 to "+strconv.Itoa(MaxStamp)+" bytes")
	case len(o.ID) > xorack.MaxTag:
		return invalid.New(invalid.TooLarge, "id", "is longer than "+strconv.Itoa(xorack.MaxTag)+" bytes")
	case chains.IsZero(stamp):
		return ErrZeroBufferNoOp
	}
	return nil
}

func (s *Stamper) marked(kind byte, stamp []byte, id string) []byte {
	op := s.store.NewOp()
	if id != "" {
		hash := chains.Derive(kind, []byte(id))
		op = [8]byte(hash[:8])
	}
	return append(op[:chains.StampMark:chains.StampMark], stamp...)
}

// Create makes a chain with its first stamp. A tag that has a chain already is
// [xorack.ErrTagExists], except that a create with the same ID and the same stamp is the same one.
// A tag whose chain was deleted, or has ended and is forgotten, can be used again. Stamps that came
// before count.
//
// It costs one write and one of the index, and two writes where the tag was used before.
func (s *Stamper) Create(ctx context.Context, tag string, stamp []byte,
	options *Options) (State, error) {
	o := options.orDefault()
	o.Deadline = cmp.Or(o.Deadline, xorack.DefaultDeadline)
	if err := validate(tag, stamp, o); err != nil {
		return State{}, err
	}
	if err := bounds.Check("deadline", o.Deadline, time.Millisecond, xorack.MaxDeadline); err != nil {
		return State{}, err
	}
	id := o.ID
	if id == "" {
		op := s.store.NewOp()
		id = string(op[:])
	}
	there, err := s.store.Create(ctx, s.fresh(tag, stamp, id, o.Deadline))
	switch {
	case errors.Is(err, xorack.ErrOtherKind): // stamps that came before
		return State{}, ErrBufferLengthsUnequal
	case err != nil:
		return State{}, err
	}
	return s.settled(ctx, there)
}

func (s *Stamper) fresh(tag string, stamp []byte, id string, deadline time.Duration) xorack.Chain {
	now := ddb.ToMillis(s.store.Now())
	// The incarnation identifies the options as well: each byte that the record does not have makes
	// room for stamps in its first KB.
	hash := chains.Derive(chains.ForStamps, []byte(tag), []byte(id),
		chains.Number(int(deadline)), stamp)
	c := xorack.Chain{
		Tag: tag, Incarnation: xorack.Incarnation(hash[:8]), StampLen: len(stamp),
		Stamps: [][]byte{s.marked(chains.ForStamps, stamp, id)}, Created: now, Seen: now,
		Deadline: ddb.ToMillis(now.Add(deadline)), Due: now.Add(chains.MinLook), ExpiresOn: chains.Never,
	}
	if c.Deadline.Before(c.Due) {
		c.Due = c.Deadline
	}
	return c
}

// Stamp XORs a stamp into a chain's state, once when a piece of work starts and once when it ends,
// or several put together by [XOR]. A stamp before Create is kept. After the end nothing changes:
// the outcome says how the chain ended.
//
// It costs one write, of one unit for each KB of the record: 60 stamps of 8 bytes; and one more for
// the stamp that acks the chain.
func (s *Stamper) Stamp(ctx context.Context, tag string, stamp []byte,
	options *Options) (State, error) {
	o := options.orDefault()
	if err := validate(tag, stamp, o); err != nil {
		return State{}, err
	}
	now := s.store.Now()
	marked := s.marked(chains.ForStamp, stamp, o.ID)
	c, added, err := s.store.add(ctx, addition{
		tag: tag, marked: marked, room: roomFor(len(stamp)) - 1,
		now: now, orphan: now.Add(s.store.Tombstone),
	})
	switch {
	case err != nil:
		return State{}, err
	case added, has(c, marked):
		return s.settled(ctx, c)
	case c.Tag != "" && c.StampLen == 0:
		return State{}, xorack.ErrOtherKind
	case c.StampLen != len(stamp):
		return State{}, ErrBufferLengthsUnequal
	case c.Recorded != xorack.Open:
		return State{Stamp: c.XOR(), Acked: c.Recorded == xorack.Done, Outcome: already[c.Recorded]}, nil
	}
	return State{}, xorack.ErrChainFull
}

func has(c xorack.Chain, marked []byte) bool {
	_, found := slices.BinarySearchFunc(c.Stamps, marked, bytes.Compare)
	return found
}

func roomFor(length int) int { return min(xorack.MaxOps, maxStamps/(chains.StampMark+length)) }

var already = map[xorack.End]xorack.Outcome{
	xorack.Done:     xorack.AlreadyDone,
	xorack.TimedOut: xorack.AlreadyTimedOut,
	xorack.Deleted:  xorack.AlreadyDeleted,
}

// settled is the state of a chain, and records that it is Done where it is acked. A chain that was
// acked for a moment only, because a stamp came between, goes on.
func (s *Stamper) settled(ctx context.Context, c xorack.Chain) (State, error) {
	c, settled, err := s.store.Settle(ctx, c)
	outcome := xorack.Applied
	switch {
	case err != nil:
		return State{}, err
	case settled:
		outcome = xorack.Ended
	case c.Recorded == xorack.TimedOut || c.Recorded == xorack.Deleted:
		outcome = already[c.Recorded]
	}
	state := c.XOR()
	return State{Stamp: state, Acked: chains.IsZero(state), Outcome: outcome}, nil
}

// Delete ends a chain, in whatever state, and frees its tag. Where it is not there, or another call
// deleted it, that is [xorack.ErrTagNotFound].
//
// It costs one write, and one of the index.
func (s *Stamper) Delete(ctx context.Context, tag string) error {
	if err := xorack.ValidateTag(tag); err != nil {
		return err
	}
	op, now := s.store.NewOp(), s.store.Now()
	c, deleted, err := s.store.delete(ctx, tag, op, now, now.Add(s.store.Tombstone))
	switch {
	case err != nil:
		return err
	case deleted, c.Recorded == xorack.Deleted && c.LastOp == op:
		return nil
	case c.Tag != "" && c.StampLen == 0:
		return xorack.ErrOtherKind
	}
	return xorack.ErrTagNotFound
}
