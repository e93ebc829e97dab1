package acts_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/acts"
	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/record"
	"github.com/streamsort/streamsort/pkg/handoff"
)

// TestWhoMayStart: who looked at it, within an hour, and of the same tenant.
func TestWhoMayStart(t *testing.T) {
	b := newBench(t)
	b.block(1, "no")
	a := redrive()
	a.Tenant, a.Prefix = "acme", "@acme/"
	l, err := b.desk().Look(t.Context(), a)
	b.check(err)
	for what, c := range map[string]struct {
		id   acts.ID
		who  handoff.Who
		want error
	}{
		"another tenant": {acts.ID{Tenant: "ac", ID: l.ID}, a.Who, acts.ErrNone},
		"an operator":    {acts.ID{ID: l.ID}, a.Who, acts.ErrNone},
		"another caller": {l.Name(), handoff.Who{Kind: handoff.WhoIAM}, acts.ErrAnothers},
	} {
		if _, err := b.desk().Start(t.Context(), c.id, c.who); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", what, err)
		}
	}
	b.now = b.now.Add(acts.KeptDry + time.Second)
	_, err = b.desk().Start(t.Context(), l.Name(), a.Who)
	b.is("too late", errors.Is(err, acts.ErrTooLate), true)
	_, _, err = b.desk().Open(t.Context())
	b.check(err)
	_, err = b.desk().Batch(t.Context(), l.Name())
	b.check(err)
	b.is("expires", b.expires(), []time.Time{l.At.Add(24 * time.Hour).Truncate(time.Second)})
	b.now = b.now.Add(acts.KeptDry)
	still, err := b.desk().Batch(t.Context(), l.Name())
	b.check(err)
	b.is("on record", still, l.Batch)
	open, _, err := acts.NewStore(b.tables, handoff.Names{}.Tables()[1]).Opened(t.Context(), acts.ID{})
	b.check(err)
	b.is("open", len(open), 0)
}

// expires is when each item of the operations table expires: the zero time for never.
func (b *bench) expires() (at []time.Time) {
	for _, it := range b.tables.Items(handoff.Names{}.Tables()[1].Name) {
		d := ddb.Decoder{Item: it}
		at = append(at, d.SecondsOr(record.AttrExpires))
		b.check(d.Err)
	}
	return at
}

// TestWhatIsStartedStaysOnRecord: a batch and its acts never expire.
func TestWhatIsStartedStaysOnRecord(t *testing.T) {
	b := newBench(t)
	b.block(2, "no")
	l, err := b.desk().Look(t.Context(), redrive())
	b.check(err)
	_, err = b.desk().Start(t.Context(), l.Name(), l.Who)
	b.check(err)
	b.is("batch, and that it is open", b.expires(), make([]time.Time, 2))
	_, _, err = b.desk().Open(t.Context())
	b.check(err)
	b.is("batch, and an act on each", b.expires(), make([]time.Time, 3))
}

// TestAStartThatDies: whichever request it dies at, a batch that runs is open for the sweep, which carries it out;
// one that does not may be started again. One that only was looked at is no matter of the sweep's.
func TestAStartThatDies(t *testing.T) {
	opened := func(b *bench) int {
		open, _, err := acts.NewStore(b.tables, handoff.Names{}.Tables()[1]).Opened(t.Context(), acts.ID{})
		b.check(err)
		return len(open)
	}
	for _, behind := range []bool{false, true} {
		for step := 1; ; step++ {
			b := newBench(t)
			b.block(2, "no")
			d := b.desk()
			l, err := d.Look(t.Context(), redrive())
			b.check(err)
			b.is("open while it is looked at", opened(b), 0)
			b.dies, b.behind = step, behind
			_, err = d.Start(t.Context(), l.Name(), l.Who)
			died := b.dead
			b.dies = 0
			if _, _, err := b.desk().Open(t.Context()); err != nil {
				t.Fatal(err)
			}
			what := fmt.Sprintf("died at %d (behind it: %v)", step, behind)
			is, err2 := b.desk().Batch(t.Context(), l.Name())
			b.check(err2)
			if err != nil && is.State == acts.Dry {
				// It may be started all the same, also where the sweep has seen that it was not.
				_, err = b.desk().Start(t.Context(), l.Name(), l.Who)
				b.check(err)
				_, _, err = b.desk().Open(t.Context())
				b.check(err)
			}
			is, err = b.desk().Batch(t.Context(), l.Name())
			b.check(err)
			b.is(what, []any{is.State, is.Done}, []any{acts.Done, 2})
			b.is(what+": open then", opened(b), 0)
			if !died {
				break
			}
		}
	}
	b := newBench(t)
	b.block(2, "no")
	l, err := b.desk().Look(t.Context(), redrive())
	b.check(err)
	b.breaks = func(r ddb.Request) error {
		if r.Name() == "start acts" {
			b.breaks = nil
			_, _, err := b.desk().Open(t.Context())
			return err
		}
		return nil
	}
	_, err = b.desk().Start(t.Context(), l.Name(), l.Who)
	b.check(err)
	b.is("open though the sweep came in between", opened(b), 1)

	b = newBench(t)
	b.block(2, "no")
	l, err = b.desk().Look(t.Context(), redrive())
	b.check(err)
	b.dies, b.behind = 2, true
	_, _ = b.desk().Start(t.Context(), l.Name(), l.Who)
	b.dies, b.dead = 0, false
	b.is("open where its start died", opened(b), 1)
	b.now = b.now.Add(2*acts.KeptDry + time.Second)
	_, _, err = b.desk().Open(t.Context())
	b.check(err)
	b.is("open when it can no longer be started", opened(b), 0)
}
