package cursor

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/streamsort/streamsort/internal/queuelog"
	"github.com/streamsort/streamsort/internal/sortkey"
)

// AnnouncementKind is what happened in a queue.
type AnnouncementKind string

const (
	// GapOpened: a gap is older than its queue's policy allows. Repeated by every round of the
	// sweep until the gap is gone, for at most 1,000 gaps a run.
	GapOpened AnnouncementKind = "gap.opened"
	// GapClosed: the missing message came.
	GapClosed AnnouncementKind = "gap.closed"
	// GapSkipped: the missing seqs were given up and have tombstones.
	GapSkipped AnnouncementKind = "gap.skipped"
	// MessageLate: messages came to a keyed queue when greater keys had their places.
	MessageLate AnnouncementKind = "message.late"
	// KeysBehind: so many messages in a row were late in a keyed queue that a sender's counter, or
	// its clock, may have begun again. Repeated when more are late.
	KeysBehind AnnouncementKind = "keys.behind"
)

// Announcement is what people should hear of a queue. It goes out at least once; a repeat has the
// same ID.
type Announcement struct {
	Kind  AnnouncementKind
	ID    string
	Queue string
	// Missing are the seqs From < seq <= To that are (or were) missing.
	Missing Range
	// Parked is the highest seq known to wait behind the gap.
	MaxParked int64
	// Skipped are the runs of seqs that were given up: of GapSkipped, at most 1,000. Missing is the
	// first of them.
	Skipped []Range
	// Since is since when the gap counts (see [Gap]), Age how long that is ago; zero where the gap
	// is gone.
	Since time.Time
	Age   time.Duration
	// Late is how many messages were late since that was last announced, of KeysBehind how many in
	// a row; and LateExamples the last of them.
	Late         int64
	LateExamples []LateMessage
}

// LateMessage is a message of a keyed queue that was late.
type LateMessage struct {
	Seq     int64
	Key     sortkey.Key
	Dropped bool
}

// announcementID: the queue's length keeps any two queues' ids apart.
func announcementID(kind AnnouncementKind, queue string, n int64) string {
	return fmt.Sprintf("%s/%d/%s/%d", kind, len(queue), queue, n)
}

func newAnnouncement(kind AnnouncementKind, cur Cursor, missing Range) Announcement {
	return Announcement{
		Kind:      kind,
		ID:        announcementID(kind, cur.Queue, missing.From+1),
		Queue:     cur.Queue,
		Missing:   missing,
		MaxParked: cur.MaxParked,
	}
}

// maxRepeats is how many gaps are announced again in a run: however many are open, those that
// opened since are announced, and listeners are not flooded.
const maxRepeats = 1000

// announceOpen announces an open gap and then notes in the cursor that it did: the note is what the
// closing is announced by. It goes first before a skip, so that a crash between the two leaves a
// trace of what was skipped.
func (r *sweepRun) announceOpen(
	ctx context.Context, cur Cursor, behind Message, since time.Time,
) (Cursor, error) {
	first := cur.Position + 1
	if cur.Announced == first {
		if r.repeats.Add(1) > maxRepeats {
			return cur, nil
		}
	} else {
		var err error
		if cur, err = r.settled(ctx, cur); err != nil {
			return cur, err
		}
	}
	a := newAnnouncement(GapOpened, cur, Range{cur.Position, max(behind.Seq-1, cur.Position)})
	a.Since, a.Age = since, r.sorter.now().Sub(since)
	if err := r.announce(ctx, a); err != nil {
		return cur, err
	}
	if cur.Announced == first {
		return cur, nil
	}
	noted, err := r.sorter.store.Announce(ctx, cur.Queue, cur.Announced, first)
	if err == nil && noted {
		cur.Announced = first
	}
	return cur, err
}

// settled announces how the gap ended that was announced as open, once it is gone, and removes the
// note.
func (r *sweepRun) settled(ctx context.Context, cur Cursor) (Cursor, error) {
	if cur.Announced == noneAnnounced {
		return cur, nil
	}
	was := cur.Announced
	skipped, err := r.givenUp(ctx, cur.Queue, Range{was - 1, cur.Position})
	if err == nil && (len(skipped) == 0 || skipped[0].From > was-1) {
		err = r.announce(ctx, newAnnouncement(GapClosed, cur, Range{was - 1, was}))
	}
	for runs := range slices.Chunk(skipped, maxSkipped) {
		a := newAnnouncement(GapSkipped, cur, runs[0])
		if a.Skipped = runs; err == nil {
			err = r.announce(ctx, a)
		}
	}
	if err != nil {
		return cur, err
	}
	if _, err := r.sorter.store.Announce(ctx, cur.Queue, was, noneAnnounced); err != nil {
		return cur, err
	}
	cur.Announced = noneAnnounced
	return cur, nil
}

const maxSkipped = 1000

// givenUp returns the runs of seqs that were given up in a range: those that one page shows, and
// those that this visit gave up. A crash before the announcement loses what the page of the next
// visit does not show.
func (r *sweepRun) givenUp(ctx context.Context, queue string, in Range) ([]Range, error) {
	if in.From >= in.To {
		return nil, nil
	}
	page, err := r.sorter.store.Messages(ctx, queuelog.Query{
		Queue: queue, First: in.From + 1, Last: in.To, Limit: maxBatchSize, Strong: true, HeadsOnly: true,
	})
	var runs progress
	seen := in.From
	for _, m := range page.Messages {
		if seen = m.Seq; m.Tombstone != "" {
			runs.moved(m.Seq-1, m.Seq)
		}
	}
	for _, run := range r.skipped {
		if run.To > seen {
			runs.moved(max(run.From, seen), run.To)
		}
	}
	return runs.moves, err
}

func (r *sweepRun) announce(ctx context.Context, a Announcement) error {
	if err := r.options.Announce(ctx, a); err != nil {
		return fmt.Errorf("announce %s of queue %q: %w", a.Kind, a.Queue, err)
	}
	r.report.Announced++
	return nil
}
