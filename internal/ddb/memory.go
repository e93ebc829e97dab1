package ddb

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/streamsort/streamsort/internal/digest"
	"github.com/streamsort/streamsort/pkg/table"
)

// Memory is an [Engine] in memory that keeps to DynamoDB's rules: types, sizes, limits, pages,
// units. Every read is strong; nothing is deleted by itself (see [Memory.Expire]), and everything
// is gone with the process.
type Memory struct {
	mu     sync.Mutex
	tables map[string]*rows
	// changed, if not nil, is called for each change of an item.
	changed func(Change)
	// remembers: see [Memory.Remember].
	remembers bool
}

// Change is what a record of a table's stream shows: an item before and after a write that changed
// it; none before it was made, or after it was deleted.
type Change struct {
	Table         *table.Definition
	Before, After Item
}

// NewMemory returns a Memory with these tables, empty.
func NewMemory(definitions ...table.Definition) *Memory {
	m := &Memory{tables: map[string]*rows{}}
	for _, def := range definitions {
		m.tables[def.Name] = &rows{def: &def}
	}
	return m
}

// OnChange has a function called for each change of an item, in their order, while nothing else can
// happen. It must make no request.
func (m *Memory) OnChange(changed func(Change)) { m.changed = changed }

// Remember has items decoded once only ([Decoded]). It is for who runs one goroutine and changes
// nothing that was decoded: a simulation.
func (m *Memory) Remember() *Memory {
	m.remembers = true
	return m
}

// Do implements [Engine].
func (m *Memory) Do(ctx context.Context, r Request) (Answer, error) {
	if err := ctx.Err(); err != nil {
		return Answer{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	t := m.tables[r.On().Name]
	if t == nil {
		return Answer{}, ErrNoTable
	}
	switch r := r.(type) {
	case Get:
		return m.get(t, r)
	case Put:
		return m.put(t, r)
	case Update:
		return m.update(t, r)
	case Delete:
		return m.delete(t, r)
	case Query:
		return m.query(t, r)
	case Scan:
		return m.scan(t, r)
	case BatchGet:
		return m.batchGet(t, r)
	case BatchWrite:
		return m.batchWrite(t, r)
	}
	return Answer{}, invalidf("a request of type %T", r)
}

func (m *Memory) get(t *rows, r Get) (Answer, error) {
	if err := checkKey(t.def, r.Key, true); err != nil {
		return Answer{}, err
	}
	it := t.get(r.Key)
	return Answer{Item: it, Units: Units{Reads: ReadUnits(it.Size(), r.Strong)}}, nil
}

func (m *Memory) put(t *rows, r Put) (Answer, error) {
	if err := checkItem(t.def, r.Item); err != nil {
		return Answer{}, err
	}
	return m.write(t, r.Item, r.If, func(Item) (Item, error) { return r.Item, nil })
}

func (m *Memory) update(t *rows, r Update) (Answer, error) {
	if err := checkKey(t.def, r.Key, true); err != nil {
		return Answer{}, err
	}
	if err := checkActions(t.def, r.Do); err != nil {
		return Answer{}, err
	}
	a, err := m.write(t, r.Key, r.If, func(before Item) (Item, error) {
		if !before.Exists() {
			before = r.Key
		}
		after, err := apply(r.Do, before)
		if err != nil {
			return Item{}, err
		}
		return after, checkItem(t.def, after)
	})
	if err == nil && a.Held {
		a.Item = Item{}
		if !r.Quiet {
			a.Item = t.get(r.Key)
		}
	}
	return a, err
}

func (m *Memory) delete(t *rows, r Delete) (Answer, error) {
	if err := checkKey(t.def, r.Key, true); err != nil {
		return Answer{}, err
	}
	return m.write(t, r.Key, r.If, func(Item) (Item, error) { return Item{}, nil })
}

// write changes the item under a key if the condition holds. An answer that did not hold has the
// item that failed it.
func (m *Memory) write(t *rows, key Item, condition Cond,
	change func(before Item) (Item, error)) (Answer, error) {
	if err := checkCond(&condition); err != nil {
		return Answer{}, err
	}
	before := t.get(key)
	if !condition.Holds(before) {
		return Answer{Item: before, Units: Units{Writes: WriteUnits(before.Size())}}, nil
	}
	after, err := change(before)
	if err != nil {
		return Answer{}, err
	}
	return Answer{Held: true, Units: m.store(t, key, before, after)}, nil
}

// store puts an item in the place of another; none deletes it.
func (m *Memory) store(t *rows, key, before, after Item) Units {
	units := Units{Writes: WriteUnits(max(before.Size(), after.Size())),
		Index: IndexUnits(t.def, before, after)}
	if after.Exists() && m.remembers && after.memo == nil {
		after = Item{&image{fields: after.fields, memo: &memo{}}}
	}
	if before.Equal(after) || !before.Exists() && !after.Exists() {
		return units
	}
	t.set(key, before, after)
	if m.changed != nil {
		m.changed(Change{Table: t.def, Before: before, After: after})
	}
	return units
}

func (m *Memory) batchGet(t *rows, r BatchGet) (Answer, error) {
	if err := checkBatch(t.def, r.Keys, maxBatchGet); err != nil {
		return Answer{}, err
	}
	if err := checkOnly(r.Only); err != nil {
		return Answer{}, err
	}
	var a Answer
	for _, key := range r.Keys {
		it := t.get(key)
		a.Units.Reads += ReadUnits(it.Size(), r.Strong)
		if it.Exists() {
			a.Items = append(a.Items, shown(it, r.Only))
		}
	}
	return a, nil
}

func (m *Memory) batchWrite(t *rows, r BatchWrite) (Answer, error) {
	keys := slices.Clone(r.Deletes)
	for _, it := range r.Puts {
		if err := checkItem(t.def, it); err != nil {
			return Answer{}, err
		}
		keys = append(keys, KeyOf(t.def, it))
	}
	if err := checkBatch(t.def, keys, maxBatch); err != nil {
		return Answer{}, err
	}
	a := Answer{Held: true}
	for i, key := range keys {
		after := Item{}
		if i >= len(r.Deletes) {
			after = r.Puts[i-len(r.Deletes)]
		}
		a.Units = a.Units.Plus(m.store(t, key, t.get(key), after))
	}
	return a, nil
}

// Expire deletes every item whose TTL has come, as DynamoDB does some time later, and returns how
// many there were.
func (m *Memory) Expire(now time.Time) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	expired := 0
	for _, t := range m.sorted() {
		if t.def.TTL == "" {
			continue
		}
		var gone []Item
		for it := range t.items() {
			if s, ok := it.attribute(t.def.TTL).Int64(); ok && s <= now.Unix() {
				gone = append(gone, it)
			}
		}
		for _, it := range gone {
			m.store(t, KeyOf(t.def, it), it, Item{})
		}
		expired += len(gone)
	}
	return expired
}

// Items are all items of a table, in the order of their keys.
func (m *Memory) Items(name string) []Item {
	m.mu.Lock()
	defer m.mu.Unlock()
	t := m.tables[name]
	if t == nil {
		return nil
	}
	return slices.Collect(t.items())
}

// Snapshot feeds all that is stored.
func (m *Memory) Snapshot(d *digest.Digest) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, t := range m.sorted() {
		for it := range t.items() {
			d.Digest(it.Digest())
		}
		d.Int(0)
	}
}

func (m *Memory) sorted() []*rows {
	return slices.SortedFunc(maps.Values(m.tables), func(a, b *rows) int {
		return strings.Compare(a.def.Name, b.def.Name)
	})
}
