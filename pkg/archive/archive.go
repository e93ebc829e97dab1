package archive

import (
	"context"
	"errors"
	"fmt"

	"github.com/streamsort/streamsort/pkg/cursor"
)

// Store keeps documents under keys, such as a bucket. A key is at most 1,024
// bytes of ASCII, a document at most 370 KB. All methods may be called by any
// number of goroutines.
type Store interface {
	// Put stores a document durably. It is given each key again with the same
	// document, but for the marks, and what a restored queue has in place of what
	// it lost: there the last one wins.
	//
	// Lost response, or another did it first: the repeat stores the same. We die
	// right after: the mark does not cover it, and it is put again.
	Put(ctx context.Context, key string, document []byte) error

	// Get reads what was put, strongly; nil where there is nothing. (S3 answers
	// 404, not 403, only to callers that may list the bucket.)
	Get(ctx context.Context, key string) ([]byte, error)

	// Delete deletes 1 to 25 documents, each whether or not it is there, and all of
	// them where it returns nil.
	//
	// Lost response, or another did it first: nothing is there, as asked for. We die
	// right after: the mark still covers what is deleted, and it is deleted again.
	Delete(ctx context.Context, keys []string) error
}

// Archive keeps queues' messages in a Store. It may be used by any number of
// goroutines, and any number of Archives in any number of processes may work on
// the same store.
type Archive struct {
	store  Store
	sorter *cursor.Sorter
}

// New returns an Archive of the sorter's queues. It makes no request.
func New(store Store, sorter *cursor.Sorter) *Archive { return &Archive{store, sorter} }

// To is the seq up to which a queue is archived; -1 where nothing is. 1 Get.
func (a *Archive) To(ctx context.Context, queue string) (int64, error) {
	raw, err := a.store.Get(ctx, markKey(queue))
	if err != nil || raw == nil {
		return -1, err
	}
	return decodeMark(raw)
}

// Message reads an archived message, a tombstone among them; there is false
// where the archive has none. 1 Get.
func (a *Archive) Message(ctx context.Context, queue string, seq int64) (m cursor.Message, there bool, err error) {
	raw, err := a.store.Get(ctx, messageKey(queue, seq))
	if err != nil || raw == nil {
		return cursor.Message{}, false, err
	}
	m, err = decode(raw, queue, seq)
	return m, err == nil, err
}

// Delivered makes cursor.SweepOptions.Delivered such that nothing expires that
// is not archived: it answers with what delivered does, and at most with the
// mark. 1 Get.
func (a *Archive) Delivered(delivered func(context.Context, string) (int64, bool, error)) func(context.Context, string) (int64, bool, error) {
	return func(ctx context.Context, queue string) (int64, bool, error) {
		seq, any, err := delivered(ctx, queue)
		if err != nil || !any {
			return seq, any, err
		}
		to, err := a.To(ctx, queue)
		return min(seq, to), true, err
	}
}

// Kept is what an [Archive.Keep] did.
type Kept struct {
	// To is the seq up to which the queue is archived; -1 where nothing is.
	To int64
	// Messages is how many were archived, tombstones among them, Missing how many
	// seqs were gone before.
	Messages, Missing int
}

// markEvery is how many messages there are between two marks.
const markEvery = 100

// Keep archives what is stored up to a seq, which must not be past the queue's
// position: at most limit messages, from the mark on. The first time it begins
// with the oldest message that is stored.
//
// A mark that is past the queue's position is set back to it: the queue was
// restored from a backup, and what comes now is archived in place of what is lost.
//
// It costs a Get, the reading of the messages, a Put a message, and one for each
// 100 and at the end; a Get where there is nothing to do, and a read of the
// cursor where the mark is past upTo.
//
// We die right after any step: the next one goes on from the last mark.
func (a *Archive) Keep(ctx context.Context, queue string, upTo int64, limit int) (Kept, error) {
	to, err := a.To(ctx, queue)
	if err != nil {
		return Kept{To: -1}, err
	}
	if to < 0 {
		if to, err = a.begin(ctx, queue, upTo); err != nil {
			return Kept{To: -1}, err
		}
	}
	run := keeping{a: a, queue: queue, marked: to, Kept: Kept{To: to}}
	if to > upTo {
		if run.To, err = a.notPast(ctx, queue, to); err != nil {
			return run.Kept, err
		}
	}
	for run.To < upTo && run.seen < limit && err == nil {
		err = run.readOn(ctx, min(upTo, run.To+int64(limit-run.seen)))
	}
	// What was archived is marked, whatever came after.
	return run.Kept, errors.Join(err, run.mark(ctx))
}

// begin is the seq behind which a queue that has no mark is archived.
func (a *Archive) begin(ctx context.Context, queue string, upTo int64) (int64, error) {
	oldest, found, err := a.sorter.Oldest(ctx, queue)
	if err != nil || !found {
		return upTo, err
	}
	return min(oldest.Seq-1, upTo), nil
}

// notPast is a mark, set back to the queue's position where it is past it: then
// the queue was restored from a backup, and its numbers are given out again.
func (a *Archive) notPast(ctx context.Context, queue string, to int64) (int64, error) {
	it, err := a.sorter.Status(ctx, queue)
	if err != nil {
		return to, err
	}
	return min(to, it.Position), nil
}

// keeping is a Keep under way.
type keeping struct {
	Kept
	a     *Archive
	queue string
	// marked is what the mark says, seen how many seqs were dealt with.
	marked int64
	seen   int
}

// readOn archives what is stored, until something is missing: that is stepped
// over.
func (run *keeping) readOn(ctx context.Context, upTo int64) error {
	for m, err := range run.a.sorter.Read(ctx, run.queue, run.To, upTo) {
		var missing *cursor.MissingError
		switch {
		case errors.As(err, &missing):
			return run.stepOver(ctx, missing.Seq)
		case err != nil:
			return fmt.Errorf("read queue %q: %w", run.queue, err)
		}
		if err := run.a.store.Put(ctx, messageKey(run.queue, m.Seq), encode(m)); err != nil {
			return fmt.Errorf("archive message %d of queue %q: %w", m.Seq, run.queue, err)
		}
		run.Messages++
		if err := run.passed(ctx, m.Seq); err != nil {
			return err
		}
	}
	return nil
}

// stepOver goes on behind a seq that is not stored: it was deleted after it was
// archived, where a mark went back, or it is lost.
func (run *keeping) stepOver(ctx context.Context, seq int64) error {
	_, there, err := run.a.Message(ctx, run.queue, seq)
	if err != nil {
		return err
	}
	if !there {
		run.Missing++
	}
	return run.passed(ctx, seq)
}

// passed notes that a seq was dealt with.
func (run *keeping) passed(ctx context.Context, seq int64) error {
	run.To = seq
	if run.seen++; run.seen%markEvery != 0 {
		return nil
	}
	return run.mark(ctx)
}

// mark puts the mark, where it has changed.
func (run *keeping) mark(ctx context.Context) error {
	if run.marked == run.To {
		return nil
	}
	if err := run.a.store.Put(ctx, markKey(run.queue), encodeMark(run.queue, run.To)); err != nil {
		run.To = run.marked // nothing is to be deleted by it
		return fmt.Errorf("mark the archive of queue %q: %w", run.queue, err)
	}
	run.marked = run.To
	return nil
}
