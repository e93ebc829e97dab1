package cursor

import (
	"context"
	"crypto/sha256"
	"errors"
	"time"
)

// Bounds of a packed run.
const (
	// MaxPacked is the most messages of a packed run.
	MaxPacked = 100
	// maxPackBytes bounds the messages of a packed run together, as they are framed: who reads
	// one of them, or has to store them singly after all, pays for all.
	maxPackBytes = 32 * 1024
)

// ErrPacksFixed: only a queue that is made with packed runs has them; those of another kind, and
// asynchronous ones, have none.
var ErrPacksFixed = errors.New("the queue was made without packed runs, and cannot get any")

// ErrPacksSync: a queue that was made with packed runs never becomes asynchronous: a producer
// would be answered before anybody has looked whether a packed run holds its seq.
var ErrPacksSync = errors.New("a queue that was made with packed runs cannot be asynchronous")

// errPacksUnknown: the cursor was made anew, and by somebody who did not see what is stored. Nothing that was
// accepted is moved over as a hole, or overwritten.
var errPacksUnknown = errors.New("the queue has packed runs, and its cursor, which was lost and made anew, says that it was made without; docs/restore.md says what to do")

// errPacksNewer: a packed run is stored only right behind the position, so this cursor is older than what is
// stored, as after a restore. The run was accepted, perhaps: it is not overwritten, and the sweep moves on over it.
var errPacksNewer = errors.New("the queue has a packed run that its cursor is too old for, until the sweep has moved it on")

// last is the seq of a message, or of the last one of a packed run.
func (m *Message) last() int64 { return m.Seq + int64(max(len(m.Packed), 1)) - 1 }

// packed is a run of messages, in the order of their seqs and without a gap, as the one
// item that they are stored as.
func packed(run []Message) Message {
	return Message{Queue: run[0].Queue, Seq: run[0].Seq, Packed: run, AmongPacks: true, Digest: packedDigest(run)}
}

// packedDigest is the Digest of a packed run: over those of its messages, which are of one length.
func packedDigest(run []Message) []byte {
	hash := sha256.New()
	for i := range run {
		hash.Write(run[i].digest())
	}
	return hash.Sum(nil)[:digestSize]
}

// unpack gives the messages of a packed run what they have in common with it.
func (m *Message) unpack() {
	for i := range m.Packed {
		is := &m.Packed[i]
		is.Queue, is.Seq = m.Queue, m.Seq+int64(i)
		is.EnqueuedAt, is.ExpiresOn, is.Op = m.EnqueuedAt, m.ExpiresOn, m.Op
	}
}

// deadAt is the packed run, if it is stored under a seq, and nobody can move over it any more; the
// zero Message otherwise.
func (m *Message) deadAt(seq int64, cur Cursor) Message {
	if len(m.Packed) > 0 && m.Seq == seq && cur.Position == seq-1 && cur.GapOpen() {
		return *m
	}
	return Message{}
}

// within are the messages of an item with after < seq <= upTo: of a packed run, or the
// message itself.
func (m *Message) within(after, upTo int64) []Message {
	if len(m.Packed) == 0 {
		if m.Seq <= after || m.Seq > upTo {
			return nil
		}
		one := *m
		one.AmongPacks = false
		return []Message{one}
	}
	from, to := max(after+1, m.Seq), min(upTo, m.last())
	if from > to {
		return nil
	}
	return m.Packed[from-m.Seq : to-m.Seq+1]
}

// mayCover reports whether a packed run may hold a seq at or under the position of a cursor.
func (c Cursor) mayCover(seq int64) bool {
	return seq <= c.LastPack.To && c.LastPack.To > c.LastPack.From
}

// standing is the item that a seq at or under the cursor's position is read from: the packed
// run that holds it, or the message itself. What is stored under a seq of a packed run
// beside that is a stray: its writer came too late, and it is nobody's.
//
// It costs a strong read of the item where no packed run can hold the seq, or the last one does;
// else a strong query downwards of the item before the seq, and where that is no packed run,
// of those of 100 seqs.
func (s *Sorter) standing(ctx context.Context, cur Cursor, seq int64) (Message, bool, error) {
	if !cur.mayCover(seq) {
		return s.store.Message(ctx, cur.Queue, seq)
	}
	if seq > cur.LastPack.From {
		return s.store.Message(ctx, cur.Queue, cur.LastPack.From+1)
	}
	var single Message
	found := false
	upTo, lowest := seq, max(seq-MaxPacked+1, 0)
	for limit := 1; upTo >= lowest; limit = MaxPacked {
		page, err := s.store.Messages(ctx, Query{Queue: cur.Queue, First: lowest, Last: upTo, Limit: limit, Strong: true, Backwards: true})
		if err != nil {
			return Message{}, false, err
		}
		for _, m := range page.Messages {
			switch {
			case len(m.Packed) > 0 && m.last() >= seq:
				return m, true, nil
			case len(m.Packed) > 0:
				return single, found, nil // packed runs do not overlap
			case m.Seq == seq:
				single, found = m, true
			}
			upTo = m.Seq - 1
		}
		if !page.More {
			break
		}
	}
	return single, found, nil
}

// keepFor is when an item that is stored or pushed forward now may be deleted: a packed run
// later than any stray in it, which is stored by who remembers an older cursor.
func (s *Sorter) keepFor(m Message) time.Time {
	if len(m.Packed) > 0 {
		return s.orderExpiry()
	}
	return s.expiry()
}

// dueFor is the time by which it is told whether an item expires soon: that of a packed run is
// counted as that of a message that was stored with it.
func dueFor(m Message) time.Time {
	if len(m.Packed) > 0 && !m.ExpiresOn.IsZero() {
		return m.ExpiresOn.Add(-orderGrace)
	}
	return m.ExpiresOn
}

// help moves the position over a packed run that is right behind it, whose writer has not done
// so yet, or died.
func (s *Sorter) help(ctx context.Context, pack Message, p *progress) error {
	if !p.cur.Settings.Packs.some() {
		return errPacksUnknown
	}
	from, now := p.cur.Position, s.now()
	if expiresOn := s.orderExpiry(); !pack.ExpiresOn.IsZero() && pack.ExpiresOn.Before(expiresOn.Add(-helpAfter)) {
		// Strays in it are stored until the position has passed.
		if _, err := s.store.KeepUntil(ctx, pack.Queue, pack.Seq, expiresOn); err != nil {
			return err
		}
	}
	moved := false
	cur, err := s.remembering(func() (cur Cursor, err error) {
		cur, moved, err = s.store.MovePacked(ctx, pack.Queue, pack.Seq, pack.last(), now)
		return cur, err
	})
	if err != nil {
		return err
	}
	if !cur.Exists() {
		return ErrNoQueue
	}
	p.cur, p.fresh = cur, true
	if moved {
		p.moved(from, pack.last())
	}
	return nil
}

// helpAfter is how much older than a new one a packed run may be that somebody else moves
// over, before its expiry is pushed forward.
const helpAfter = memoAge / 2

// putSingle is PutMessage for a message or tombstone of a queue that may have packed runs. A
// dead one, over which the position cannot move any more, gives way; one that is only on its
// way is helped. dead is such a one where it is known to be under the seq. It returns what stands under the seq afterwards: m or another item, or, where the
// position is past the seq, the item that it is read from.
func (s *Sorter) putSingle(ctx context.Context, m, dead Message) (there Message, err error) {
	if len(dead.Packed) > 0 {
		there, err = s.store.PutOver(ctx, m, dead)
	} else {
		there, err = s.store.PutMessage(ctx, m)
	}
	for err == nil && len(there.Packed) > 0 {
		var cur Cursor
		if cur, err = s.readCursor(ctx, m.Queue); err != nil {
			break
		}
		switch p := (progress{cur: cur}); {
		case cur.Position >= m.Seq:
			there, _, err = s.standing(ctx, cur, m.Seq)
			return there, err
		case cur.Position < m.Seq-1 && cur.Settings.Packs.some():
			err = errPacksNewer
		case cur.GapOpen() && cur.Settings.Packs.some():
			there, err = s.store.PutOver(ctx, m, there)
		default:
			err = s.help(ctx, there, &p)
		}
	}
	return there, err
}
