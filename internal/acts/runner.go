package acts

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/fanout"
	"github.com/streamsort/streamsort/internal/pause"
	"github.com/streamsort/streamsort/internal/record"
	"github.com/streamsort/streamsort/pkg/handoff"
)

// Desk takes batches and carries them out. It may be used by any number of goroutines, and
// any number of processes may work on the same tables.
type Desk struct {
	store     *Store
	walker    walker
	consumers *handoff.Store
	act       func(context.Context, handoff.Act) (handoff.Operation, error)
	now       func() time.Time
	// Wait waits so long, or until the context ends; ForEach runs do(0) … do(n-1); NewName makes a
	// name that no other call of it makes, of 16 bytes at least. Tests replace them.
	Wait    func(context.Context, time.Duration) error
	ForEach func(n int, do func(i int))
	NewName func() string
}

// New returns the Desk of a Deliverer's tables.
func New(deliverer *handoff.Deliverer) *Desk {
	tables := record.TablesOf(deliverer)
	return &Desk{
		store: NewStore(tables.Store.Operations()), consumers: tables.Store, act: deliverer.Act, now: tables.Now,
		walker: walker{tables.Store.Trouble(), tables.Sorter, tables.Store}, Wait: pause.For, ForEach: fanout.SideBySide, NewName: rand.Text,
	}
}

// How long a turn at a batch is, and for how long it is one process's: longer than a page takes,
// whose requests are repeated.
const turn, lease = 5 * time.Second, 30 * time.Second

const (
	// pageSize is how many are acted on between two writes of the progress.
	pageSize = 50
	// maxEmpty is how many pages of which nobody is selected are read between them.
	maxEmpty = 20
	// maxFailures is how many are kept.
	maxFailures = 20
)

// Turn is what became of a turn at a batch.
type Turn struct {
	// Acted is how many consumers were acted on, Failed how many refused.
	Acted, Failed int
	// Next is when to go on; the zero time where nothing is left to do.
	Next time.Time
}

// Turn goes on with a batch for some seconds. What it finds to be over, or not started in time, it closes.
func (d *Desk) Turn(ctx context.Context, id ID) (Turn, error) {
	b, err := d.store.Read(ctx, id)
	if err != nil {
		return Turn{}, err
	}
	now := d.now()
	switch {
	case b.State == Running || b.State == Stopping:
	case b.State.over() || !startable(id, now):
		return Turn{}, d.store.Close(ctx, id)
	default:
		return Turn{}, nil // who starts it is about to, or died
	}
	if b.LeaseUntil.After(now) {
		return Turn{Next: b.LeaseUntil}, nil
	}
	r := run{Desk: d, b: b, began: now, until: now.Add(turn)}
	err = r.goOn(ctx)
	if errors.Is(err, errOutran) {
		return r.did, nil // another goes on with it
	}
	if err == nil && r.b.State.over() {
		return r.did, d.store.Close(ctx, id)
	}
	r.did.Next = d.now()
	return r.did, err
}

// errOutran: another process went on with the batch.
var errOutran = errors.New("another goes on with the batch")

// startable reports whether a batch that was not started may be one that somebody is starting now: he
// looked at it within [KeptDry], by his clock.
func startable(id ID, now time.Time) bool {
	looked, ok := lookedAt(id.ID)
	return ok && now.Sub(looked) < 2*KeptDry
}

// run is a turn at a batch.
type run struct {
	*Desk
	b            Batch
	began, until time.Time
	did          Turn
}

// goOn takes the batch, and acts on page after page until the time is over.
func (r *run) goOn(ctx context.Context) error {
	if err := r.save(ctx); err != nil {
		return err
	}
	for {
		if err := r.actOnPage(ctx); err != nil {
			return r.again(ctx, err)
		}
		due := r.began.Add(time.Duration(r.did.Acted) * time.Second / time.Duration(r.b.Rate))
		if left := due.Sub(r.now()); left > 0 {
			_ = r.Wait(ctx, left) // what is done is stored all the same
		}
		if err := r.turnPage(ctx); err != nil {
			return err
		}
		if r.b.State.over() || !r.hasTime(ctx) {
			return nil
		}
	}
}

func (r *run) hasTime(ctx context.Context) bool { return ctx.Err() == nil && r.now().Before(r.until) }

// turnPage stores what became of the page at hand, together with the next one; or that the batch is
// over. Where the time is over it lets others go on.
func (r *run) turnPage(ctx context.Context) error {
	p := &r.b.Progress
	p.Page, p.Tries = nil, 0
	switch {
	case p.All:
		r.b.State, r.b.Ended = Done, r.now()
		if r.b.Ask.State != "" {
			// Of those that left the state before the walk came to them, it saw nothing.
			p.Passed = max(p.Passed, p.Selected-p.Done-p.Failed)
		}
	case r.b.State == Stopping:
		r.b.State, r.b.Ended = Stopped, r.now()
	default:
		for empty := 0; len(p.Page) == 0 && !p.All && empty < maxEmpty; empty++ {
			var err error
			if p.Page, p.After, p.All, err = r.walker.page(ctx, r.b.Ask, p.After, min(pageSize, r.b.Rate)); err != nil {
				return err
			}
		}
	}
	return r.save(ctx)
}

// save stores how far the batch is, and keeps it while there is time.
func (r *run) save(ctx context.Context) error {
	r.b.LeaseUntil = time.UnixMilli(0)
	if r.hasTime(ctx) {
		r.b.LeaseUntil = r.now().Add(lease)
	}
	saved, ours, err := r.store.Save(ctx, r.b, r.NewName())
	if err == nil && !ours {
		return errOutran
	}
	if err == nil {
		r.b = saved
	}
	return err
}

// actOnPage acts on the consumers of the page at hand, and counts them. An error says nothing about
// them: these acts come again, but for those of a page that was tried often enough, which have failed.
func (r *run) actOnPage(ctx context.Context) error {
	page := r.b.Page
	ended, errs := make([]handoff.Operation, len(page)), make([]error, len(page))
	r.ForEach(len(page), func(i int) {
		act, err := r.b.act(page[i])
		if err == nil {
			ended[i], err = r.act(ctx, act)
		}
		if err != nil && !comesAgain(ctx, err) && r.b.Tries >= maxTries {
			ended[i], err = handoff.Operation{Error: whyInside}, nil
		}
		errs[i] = err
	})
	for _, err := range errs {
		if err == nil {
			r.did.Acted++
		}
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	r.count(ended)
	return nil
}

// count counts what became of the consumers of the page at hand.
func (r *run) count(ended []handoff.Operation) {
	p := &r.b.Progress
	for i, o := range ended {
		switch {
		case o.Done:
			p.Done++
		case o.Error != "":
			p.Failed++
			r.did.Failed++
			f := Failure{p.Page[i].Queue, p.Page[i].Consumer, o.Error}
			if len(p.Failures) < maxFailures && sizeOf(p.Failures)+sizeOf(f) <= maxPageBytes {
				p.Failures = append(p.Failures, f)
			}
		case r.b.Ask.State != "": // without a state, a queue may as well have no such consumer
			p.Passed++
		}
	}
}

// maxTries is how often a page comes again of which the store fails otherwise than by an outage, and
// whyInside what is told of its consumers then: what the store says is for operators, in the log.
const (
	maxTries  = 4
	whyInside = "it could not be done: the operator's log says why"
)

// again notes a try of the page at hand that failed, where it was no outage: one that lasts counts as no
// try, however long.
func (r *run) again(ctx context.Context, failed error) error {
	if comesAgain(ctx, failed) {
		return failed
	}
	r.b.Tries++
	return errors.Join(failed, r.save(ctx))
}

// comesAgain reports whether an error is that of an outage, or of the end of the time.
func comesAgain(ctx context.Context, err error) bool {
	return ddb.Transient(err) || ctx.Err() != nil
}

// Open has a turn at each batch that is open, side by side. It reports what was done by all of them, and which of
// them have to go on.
func (d *Desk) Open(ctx context.Context) (did Turn, goOn []ID, err error) {
	var mu sync.Mutex
	for after := (ID{}); ; {
		page, next, failed := d.store.Opened(ctx, after)
		if failed != nil {
			return did, goOn, errors.Join(err, failed)
		}
		d.ForEach(len(page), func(i int) {
			turn, failed := d.Turn(ctx, page[i])
			mu.Lock()
			defer mu.Unlock()
			did.Acted, did.Failed = did.Acted+turn.Acted, did.Failed+turn.Failed
			if !turn.Next.IsZero() {
				goOn = append(goOn, page[i])
			}
			if failed != nil {
				err = errors.Join(err, fmt.Errorf("batch of acts %s: %w", page[i], failed))
			}
		})
		if after = next; after == (ID{}) {
			return did, goOn, err
		}
	}
}

// newID names a batch that is looked at now: those of a tenant are in the order of their times.
func newID(now time.Time, name string) string {
	return fmt.Sprintf("%013d%s", now.UnixMilli(), strings.ToLower(name[:16]))
}

// lookedAt is when the batch of an id was looked at.
func lookedAt(id string) (time.Time, bool) {
	var ms int64
	if len(id) < 13 {
		return time.Time{}, false
	}
	if _, err := fmt.Sscanf(id[:13], "%013d", &ms); err != nil {
		return time.Time{}, false
	}
	return time.UnixMilli(ms), true
}
