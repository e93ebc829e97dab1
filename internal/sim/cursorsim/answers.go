package cursorsim

import (
	"time"

	"github.com/streamsort/streamsort/internal/sim"
	"github.com/streamsort/streamsort/pkg/cursor"
)

// cursorAnswer is a cursor, and whether a write had its effect.
type cursorAnswer struct {
	cursor.Cursor
	Done bool
}

// Hash implements [sim.Hasher].
func (a cursorAnswer) Hash(d *sim.Digest) {
	hashCursor(d, a.Cursor)
	d.Bool(a.Done)
}

// messageAnswer is a message, and whether it is there. For a put, mine tells
// whether it is the very one that was put: nobody needs to know whose other
// one it is.
type messageAnswer struct {
	cursor.Message
	Found, mine bool
}

// Hash implements [sim.Hasher].
func (a messageAnswer) Hash(d *sim.Digest) {
	d.Bool(a.Found)
	d.Bool(a.mine)
	d.Text(string(a.Body))
	d.Text(a.Tombstone)
}

type pageAnswer struct{ cursor.Page }

// Hash implements [sim.Hasher].
func (a pageAnswer) Hash(d *sim.Digest) {
	hashMessages(d, a.Messages)
	d.Bool(a.More)
}

type cursorsAnswer struct{ cursor.CursorPage }

// Hash implements [sim.Hasher].
func (a cursorsAnswer) Hash(d *sim.Digest) {
	for _, c := range a.Cursors {
		d.Text(c.Queue)
		hashCursor(d, c)
	}
	d.Text(a.Next)
}

type progressAnswer struct{ cursor.Progress }

// Hash implements [sim.Hasher].
func (a progressAnswer) Hash(d *sim.Digest) {
	d.Text(a.After)
	d.Int(a.Began.Unix())
	d.Int(a.Finished.Unix())
}

// hashCursor feeds what can differ in a queue's cursor within a scenario.
func hashCursor(d *sim.Digest, c cursor.Cursor) {
	d.Bool(c.Exists())
	d.Int(c.Position)
	d.Int(c.Parked)
	d.Int(c.GapSince.Unix())
	d.Int(c.Announced)
	d.Int(c.Settings.MaxAhead)
	d.Bool(c.Settings.Mode == cursor.ModeSync)
}

func hashMessages(d *sim.Digest, messages []cursor.Message) {
	d.Int(int64(len(messages)))
	for _, m := range messages {
		d.Int(m.Seq)
		d.Text(string(m.Body))
		d.Text(m.Tombstone)
		d.Int(m.ExpiresOn.Unix())
	}
}

// remembered is what a process remembers of a queue's cursor.
type remembered struct {
	cursor cursor.Cursor
	read   time.Time
}
