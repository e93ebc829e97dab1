package acts

import (
	"context"
	"errors"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/margin"
	"github.com/streamsort/streamsort/pkg/handoff"
)

var (
	// ErrNone: there is no such batch among the tenant's.
	ErrNone = errors.New("there is no such batch of acts")
	// ErrTooLate: it was looked at too long ago, or is over.
	ErrTooLate = errors.New("the batch can no longer be started")
	// ErrAnothers: who starts it is not who looked at it.
	ErrAnothers = errors.New("the batch was looked at by somebody else")
)

const (
	// maxLooked is how many are looked at, and maxRead how many of them are read to
	// see why they failed.
	maxLooked, maxRead = 10_000, 500
	// maxShown is how many are shown of them.
	maxShown = 20
)

// Looked is a batch that may be started, and the first consumers that it would act on.
type Looked struct {
	Batch
	First []One
}

// Look counts whom an Ask selects, for half of the time that the context has left, and keeps the batch to be
// started, and on record where it is not. Nothing else is written. 1 read unit for
// 100 rows, and 1 for each consumer where the error matters, or for each queue where no state is given; 1 write for each KB.
func (d *Desk) Look(ctx context.Context, a Ask) (Looked, error) {
	if err := a.Validate(); err != nil {
		return Looked{}, err
	}
	a.At = ddb.ToMillis(d.now())
	a.ID = newID(a.At, d.NewName())
	l := Looked{Batch: Batch{Ask: a, State: Dry}}
	looked, most, goOn := 0, maxLooked, margin.Half(ctx)
	if a.readsEach() {
		most = maxRead
	}
	for after, all := "", false; !all; {
		var page []One
		var err error
		if page, after, all, err = d.walker.page(ctx, a, after, pageSize); err != nil {
			return l, err
		}
		for _, one := range page {
			is, err := d.selected(ctx, a, one)
			if err != nil {
				return l, err
			}
			if !is {
				continue
			}
			if l.Selected++; len(l.First) < maxShown {
				l.First = append(l.First, one)
			}
		}
		if looked += max(len(page), 1); (looked >= most || !goOn()) && !all {
			l.More = true
			break
		}
	}
	return l, d.store.Create(ctx, l.Batch)
}

// readsEach reports whether a consumer has to be read to tell if it is selected: no row says why it failed, or that
// the queue has a consumer of the name.
func (a Ask) readsEach() bool { return a.Error != "" || a.State == "" }

// selected reads a consumer where its row does not say whether it is selected.
func (d *Desk) selected(ctx context.Context, a Ask, one One) (bool, error) {
	if !a.readsEach() {
		return true, nil
	}
	c, err := d.consumers.Consumer(ctx, one.Queue, one.Consumer)
	return err == nil && c.Exists() && a.selects(c), err
}

// Start has a batch carried out, by who looked at it. One that was started already is returned. 1 read unit for
// each 4 KB; 1 write, and 1 for each KB.
//
// Lost responses, another did it first: it is open, and runs. We die between: the batch may still be
// started, and until then the sweep finds one to which there is nothing to do.
func (d *Desk) Start(ctx context.Context, id ID, who handoff.Who) (Batch, error) {
	b, err := d.Batch(ctx, id)
	switch {
	case err != nil:
		return b, err
	case b.Who != who:
		return Batch{}, ErrAnothers
	case b.State != Dry:
		return b, nil
	case d.now().Sub(b.At) > KeptDry:
		return b, ErrTooLate
	}
	if err := d.store.Open(ctx, id); err != nil {
		return b, err
	}
	return d.store.Start(ctx, id, d.now())
}

// Stop has a batch end behind the page at hand. One that is over is returned.
func (d *Desk) Stop(ctx context.Context, id ID) (Batch, error) {
	for {
		b, err := d.Batch(ctx, id)
		if err != nil || b.State != Dry && b.State != Running {
			return b, err
		}
		if b, err = d.store.Stop(ctx, b, d.now()); err != nil || b.State != Running {
			return b, err
		}
	}
}

// Batch reads a batch.
func (d *Desk) Batch(ctx context.Context, id ID) (Batch, error) {
	b, err := d.store.Read(ctx, id)
	if err == nil && b.State == "" {
		err = ErrNone
	}
	return b, err
}

// List reads a tenant's batches, the last ones first, behind one of them.
func (d *Desk) List(ctx context.Context, tenant, after string, limit int) (page []Batch, next string, err error) {
	return d.store.List(ctx, tenant, after, limit)
}
