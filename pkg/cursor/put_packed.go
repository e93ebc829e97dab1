package cursor

import (
	"bytes"
	"cmp"
	"context"
	"slices"

	"github.com/streamsort/streamsort/internal/ddb"
)

// putPacks stores the messages at these places that go on from the position without a gap as
// packed runs, each one item and one move, as long as no gap is open; the results say so. It
// returns the places of all others, which are put singly, and the run among them that it stored, or met, and that is not moved over.
func (s *Sorter) putPacks(ctx context.Context, messages []Message, places []int, results []Result, p *progress) (singles []int, pack Message) {
	bySeq := inOrder(messages, places)
	behind, _ := slices.BinarySearchFunc(bySeq, p.cur.Position+1, func(i int, seq int64) int { return cmp.Compare(messages[i].Seq, seq) })
	singles, rest := bySeq[:behind:behind], bySeq[behind:]
	// Put while a gap is open, a run would do no harm: it is dead at once, by the move's condition.
	for !p.cur.GapOpen() {
		n := packable(messages, rest, p.cur.Position)
		if n < 2 {
			break
		}
		pack = s.newPack(messages, rest[:n])
		if !s.putPacked(ctx, pack, rest[:n], results, p) {
			break
		}
		// What comes again in this call is a duplicate of it.
		rest, pack = rest[n:], Message{}
	}
	for _, i := range rest {
		if results[i].Err == nil {
			singles = append(singles, i)
		}
	}
	return singles, pack
}

// awaited reports whether messages would begin with a packed run, were the position right before them and no
// gap open, and by this cursor they do not: it may be an older one. The strong read that tells
// is paid by the first two messages that need no item of their own.
func awaited(cur Cursor, messages []Message, places []int) bool {
	if cur.Settings.Packs != PacksOn {
		return false
	}
	first := messages[slices.MinFunc(places, func(i, k int) int { return cmp.Compare(messages[i].Seq, messages[k].Seq) })].Seq
	early := first > cur.Position+1 || first == cur.Position+1 && cur.GapOpen()
	return early && packable(messages, inOrder(messages, places), first-1) >= 2
}

// inOrder are places in the order of their messages' seqs.
func inOrder(messages []Message, places []int) []int {
	bySeq := slices.Clone(places)
	slices.SortStableFunc(bySeq, func(i, k int) int { return cmp.Compare(messages[i].Seq, messages[k].Seq) })
	return bySeq
}

// packable is how many of the messages at these places, in the order of their seqs, are one
// packed run behind a position.
func packable(messages []Message, places []int, position int64) int {
	bytes := 0
	for n, i := range places {
		bytes += len(frames(messages[i:i+1])) + messages[i].Trace.size()
		if n == MaxPacked || messages[i].Seq != position+int64(n)+1 || bytes > maxPackBytes {
			return n
		}
	}
	return len(places)
}

// newPack is the packed run of the messages at these places.
func (s *Sorter) newPack(messages []Message, places []int) Message {
	run := make([]Message, len(places))
	for n, i := range places {
		run[n] = messages[i]
	}
	pack := packed(run)
	pack.Op, pack.EnqueuedAt, pack.ExpiresOn = s.newOp(), ddb.ToMillis(s.now()), s.keepFor(pack)
	return pack
}

// putPacked stores one packed run and moves the position over it. It is false where the
// messages have to be put singly, and where their fate is unknown: the results say why then.
//
// Died after the put: nobody was answered, and who comes next moves over it, or puts a message in
// its place. Died after the move: all is accepted.
func (s *Sorter) putPacked(ctx context.Context, pack Message, places []int, results []Result, p *progress) bool {
	there, err := s.store.PutMessage(ctx, pack)
	if err == nil {
		if len(there.Packed) != len(pack.Packed) || !bytes.Equal(there.Digest, pack.Digest) {
			return false
		}
		err = s.help(ctx, there, p)
		// The cursor is that before the messages are put singly.
		p.fresh = false
	}
	if err == nil && (len(p.moves) == 0 || p.moves[len(p.moves)-1].To != pack.last()) {
		return false
	}
	outcome := Stored
	if !bytes.Equal(there.Op, pack.Op) {
		outcome = Duplicate
	}
	for n, i := range places {
		results[i] = Result{Queue: pack.Queue, Seq: pack.Seq + int64(n), Outcome: outcome, Err: err}
		if err != nil {
			results[i].Outcome = ""
		}
	}
	return err == nil
}

// classify says what became of the messages at these places that were stored, or found, while
// somebody else moved the position past them: what counts is the packed run that they may be
// in. Of one of which nobody knows whether the position or a gap on record is past it, nobody knows
// whether a packed run comes to hold its seq.
func (s *Sorter) classify(ctx context.Context, messages []Message, places []int, results []Result, pack Message, looked Cursor, moved progress) {
	for _, i := range places {
		r := &results[i]
		switch own := slices.ContainsFunc(moved.moves, func(m Range) bool { return m.From < r.Seq && r.Seq <= m.To }); {
		case !r.occupied(looked) || own:
		case moved.err != nil && r.Seq > max(moved.cur.Position, moved.cur.MaxParked):
			*r = Result{Queue: r.Queue, Seq: r.Seq, Err: moved.err}
		case r.Seq <= moved.cur.Position && moved.cur.mayCover(r.Seq):
			there, found, err := s.standing(ctx, moved.cur, r.Seq)
			switch {
			case err != nil:
				*r = Result{Queue: r.Queue, Seq: r.Seq, Err: err}
			case !found:
				r.Outcome, r.First = Stale, moved.cur.Settings.First
			case len(there.Packed) > 0:
				m := messages[i]
				m.Digest = m.digest()
				r.Outcome = compare(there, m, pack)
			}
		}
	}
}
