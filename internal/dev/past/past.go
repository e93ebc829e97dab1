// Package past is what a read of tables in memory may be answered that is not strong.
package past

import (
	"context"
	"slices"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/digest"
)

// Past is how items were before their last changes: what a read that is not strong may be answered
// still. A nil Past has nothing.
type Past struct {
	tables *ddb.Memory
	// changed are the items that were changed, in the order in which they first were.
	changed []before
}

// before is an item before its last change; none where that made it.
type before struct {
	table string
	key   ddb.Item
	was   ddb.Item
}

// Of is the past of these tables from now on. Report each change of theirs to it: see [Past.Note].
func Of(tables *ddb.Memory) *Past { return &Past{tables: tables} }

// Note keeps what an item was before a change: see [ddb.Memory.OnChange].
func (p *Past) Note(c ddb.Change) {
	if p == nil {
		return
	}
	is := c.After
	if !is.Exists() {
		is = c.Before
	}
	now := before{c.Table.Name, ddb.KeyOf(c.Table, is), c.Before}
	for i, b := range p.changed {
		if b.table == now.table && b.key.Equal(now.key) {
			p.changed[i] = now
			return
		}
	}
	p.changed = append(p.changed, now)
}

// Older is what a read may be answered beside that of now: with each one of the items as it was
// before, and with all of them, as far as that shows.
func (p *Past) Older(r ddb.Request, now func() (ddb.Answer, error)) []func() (ddb.Answer, error) {
	if p == nil {
		return nil
	}
	is, err := now()
	if err != nil {
		return nil
	}
	seen := []digest.Digest{answered(is)}
	var older []func() (ddb.Answer, error)
	show := func(items []before) {
		a, err := p.with(r, items)
		if err != nil {
			return // what fails now has failed before, too
		}
		if slices.Contains(seen, answered(a)) {
			return
		}
		seen = append(seen, answered(a))
		older = append(older, func() (ddb.Answer, error) { return a, nil })
	}
	var there []before
	for _, b := range p.changed {
		if b.table == r.On().Name {
			there = append(there, b)
			show([]before{b})
		}
	}
	show(there)
	return older
}

func (p *Past) with(r ddb.Request, items []before) (ddb.Answer, error) {
	ctx, then := context.Background(), ddb.NewMemory(*r.On())
	op := ddb.Op{Op: "then", Table: r.On()}
	for _, it := range p.tables.Items(op.Table.Name) {
		if _, err := then.Do(ctx, ddb.Put{Op: op, Item: it}); err != nil {
			return ddb.Answer{}, err
		}
	}
	for _, b := range items {
		var put ddb.Request = ddb.Put{Op: op, Item: b.was}
		if !b.was.Exists() {
			put = ddb.Delete{Op: op, Key: b.key}
		}
		if _, err := then.Do(ctx, put); err != nil {
			return ddb.Answer{}, err
		}
	}
	return then.Do(ctx, r)
}

// Snapshot feeds all by which two pasts differ.
func (p *Past) Snapshot(d *digest.Digest) {
	if p == nil {
		return
	}
	var sum int64
	for _, b := range p.changed {
		var one digest.Digest
		one.Text(b.table)
		one.Digest(b.key.Digest())
		one.Digest(b.was.Digest())
		sum += one.Sum() // the order in which they first changed does not matter
	}
	d.Int(sum)
}

func answered(a ddb.Answer) digest.Digest {
	var d digest.Digest
	d.Digest(a.Item.Digest())
	for _, it := range a.Items {
		d.Digest(it.Digest())
	}
	d.Digest(a.Next.Digest())
	return d
}

// IsStrong reports whether a read sees every write that was answered before it.
func IsStrong(r ddb.Request) bool {
	switch r := r.(type) {
	case ddb.Get:
		return r.Strong
	case ddb.Query:
		return r.Strong
	case ddb.BatchGet:
		return r.Strong
	}
	return false
}
