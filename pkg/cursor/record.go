package cursor

import (
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/queuelog"
	"github.com/streamsort/streamsort/internal/sortkey"
)

// Cursor is the durable record of a queue: how far it is gap-free, what is parked beyond a gap, and
// the queue's settings. The zero Cursor means that the queue has none.
type Cursor struct {
	Queue string
	// Settings are the queue's own.
	Settings Settings `ddb:",inline"`
	// Position is the last seq up to which the queue is gap-free; First-1 while nothing is. It
	// never decreases.
	Position int64 `ddb:"position"`
	// Parked is a seq that is known to be stored beyond a gap, or to have been: the first that was
	// seen there. It is never lowered: a gap is open if and only if Parked > Position.
	MaxParked int64 `ddb:"parked"`
	// MovedAt is when the gap at Position+1 opened, or the position last moved, to the millisecond.
	// It means nothing while no gap is open.
	MovedAt time.Time `ddb:"gapSince,optional"`
	// Floor is the seq up to which messages may have been deleted because every consumer is past
	// them; First-1 where none were. It never decreases.
	Floor int64
	// FloorSince is when Floor was last raised, to the millisecond; the zero time where it never
	// was.
	FloorSince time.Time `ddb:"floorSince,omitzero"`
	// Notified is when the queue's consumers were last woken up by hand, to the millisecond.
	Notified time.Time `ddb:"notify,omitzero"`
	// Announced is Position+1 of the gap that was last announced as open and not yet as closed; -1
	// where none exists.
	Announced int64
	// TailFrom and Tail are the last places of a queue in arrival order, or of a keyed one: those
	// of the seqs from TailFrom+1 up to Position. The places before are in order items. In a
	// numbered queue they are zero.
	TailFrom int64 `ddb:"tailFrom,omitzero"`
	Tail     queuelog.Tail
	// Fingerprints are of the places that left the tail last: of all those of the seqs from
	// FingerprintsFrom+1 up to TailFrom, and maybe of some before.
	FingerprintsFrom int64        `ddb:"printsFrom,omitzero"`
	Fingerprints     fingerprints `ddb:"prints,omitzero"`
	// High and Low are of a keyed queue, and less than every key at first. High is the greatest
	// sort key that has its place and is not late; it never decreases. What was in the table at or
	// under Low when High was raised beyond that has its place.
	High sortkey.SortKey `ddb:"high,omitzero,b"`
	Low  sortkey.SortKey `ddb:"low,omitzero,b"`
	// LateSoFar is how many messages of a keyed queue were late, also those that were dropped, and
	// LateTold for how many of them that was announced. LateSeq is the seq of the last one.
	LateSoFar int64 `ddb:"lateSoFar,omitzero"`
	LateTold  int64 `ddb:"lateTold,omitzero"`
	LateSeq   int64 `ddb:"lateSeq,omitzero"`
	// LateInRow is how many messages were late since the last place that was not: it is in the
	// write that gives the places, so it is lost only with the cursor itself, and then counts from
	// 0.
	LateInRow int64 `ddb:"inRow,omitzero"`
	// Restart is a hash of the order by which a keyed queue's keys last began anew; empty where
	// they never did.
	Restart string `ddb:"anew,omitzero,b"`
	// Erasure is of a queue that was erased: there, all others but Queue and Settings.First mean
	// nothing.
	Erasure Erasure
}

// Exists is false in the zero Cursor.
func (c Cursor) Exists() bool { return c.Queue != "" }

// GapOpen reports whether a message is known to wait behind a missing one.
func (c Cursor) GapOpen() bool { return c.MaxParked > c.Position }

// onRecord reports whether the cursor says that what is stored under seq waits: who moves over the
// gap looks at what is beyond it, however far.
func (c Cursor) onRecord(seq int64) bool { return c.MaxParked >= seq || c.GapOpen() }

func newCursor(queue string, settings Settings, now time.Time) Cursor {
	c := Cursor{
		Queue:     queue,
		Settings:  settings.ofKind(),
		Position:  settings.First - 1,
		MaxParked: settings.First - 1,
		MovedAt:   ddb.ToMillis(now),
		Floor:     settings.First - 1,
		Announced: noneAnnounced,
	}
	switch settings.Kind {
	case KindArrival:
		c.TailFrom, c.FingerprintsFrom = c.Position, c.Position
	case KindKeyed:
		c.TailFrom, c.High, c.Low = c.Position, sortkey.NoSortKey, sortkey.NoSortKey
	case KindNumbered:
	}
	return c
}

const noneAnnounced = -1

// fits reports whether seq may be stored while the position is this one.
func (c Cursor) fits(seq int64) bool {
	// As unsigned numbers the difference cannot overflow: seq > Position here.
	return seq <= c.Position || uint64(seq)-uint64(c.Position) <= uint64(c.Settings.MaxAhead)
}

// numbered reports whether the producers number the messages.
func numbered(c Cursor) bool { return c.Settings.Kind == KindNumbered }

// keyed reports whether the queue sorts by a key.
func keyed(c Cursor) bool { return c.Settings.Kind == KindKeyed }
