package ddb

import (
	"cmp"
	"hash/fnv"
	"iter"
	"slices"
	"strings"

	"github.com/streamsort/streamsort/pkg/table"
)

// rows are a table's items in the order of their keys, and its index's entries.
type rows struct {
	def        *table.Definition
	partitions partitions
	// index has the entries of the table's index, by its keys.
	index partitions
}

type partitions []*partition

// partition is the items of a partition, sorted by their sort keys.
type partition struct {
	key  Value
	rows []row
}

// row is an item under its sort key; tie tells entries of an index apart that have the same keys
// there.
type row struct {
	sort Value
	tie  string
	item Item
}

func (r row) compare(o row) int {
	order, _ := r.sort.compare(o.sort)
	return cmp.Or(order, strings.Compare(r.tie, o.tie))
}

func (p partitions) find(key Value) (int, bool) {
	return slices.BinarySearchFunc(p, key, func(one *partition, key Value) int {
		order, _ := one.key.compare(key)
		return order
	})
}

// set puts a row in, or takes it out where it has no item.
func (p *partitions) set(key Value, r row) {
	at, found := p.find(key)
	if !found {
		if !r.item.Exists() {
			return
		}
		*p = slices.Insert(*p, at, &partition{key: key})
	}
	one := (*p)[at]
	place, found := slices.BinarySearchFunc(one.rows, r, row.compare)
	switch {
	case found && r.item.Exists():
		one.rows[place] = r
	case found:
		one.rows = slices.Delete(one.rows, place, place+1)
	case r.item.Exists():
		one.rows = slices.Insert(one.rows, place, r)
	}
	if len(one.rows) == 0 {
		*p = slices.Delete(*p, at, at+1)
	}
}

func (t *rows) place(key Item) (Value, row) {
	return key.attribute(t.def.Partition.Name), row{sort: key.attribute(t.def.Sort.Name)}
}

func (t *rows) entry(it Item) (Value, row) {
	tie := it.attribute(t.def.Partition.Name).String() + "\x00" +
		it.attribute(t.def.Sort.Name).String()
	return it.attribute(t.def.Index.Partition.Name),
		row{sort: it.attribute(t.def.Index.Sort.Name), tie: tie}
}

func (t *rows) get(key Item) Item {
	partition, r := t.place(key)
	at, found := t.partitions.find(partition)
	if !found {
		return Item{}
	}
	rows := t.partitions[at].rows
	place, found := slices.BinarySearchFunc(rows, r, row.compare)
	if !found {
		return Item{}
	}
	return rows[place].item
}

// set puts an item in the place of another; none deletes it.
func (t *rows) set(key, before, after Item) {
	partition, r := t.place(key)
	r.item = after
	t.partitions.set(partition, r)
	if sameEntry(t.def, before, after) {
		return
	}
	if was := EntryOf(t.def, before); was.Exists() {
		partition, r := t.entry(was)
		t.index.set(partition, r)
	}
	if is := EntryOf(t.def, after); is.Exists() {
		partition, r := t.entry(is)
		r.item = is
		t.index.set(partition, r)
	}
}

func (t *rows) items() iter.Seq[Item] {
	return func(yield func(Item) bool) {
		for _, one := range t.partitions {
			for _, r := range one.rows {
				if !yield(r.item) {
					return
				}
			}
		}
	}
}

func (p *partition) inSegment(segment, segments int) bool {
	if segments <= 1 {
		return true
	}
	hash := fnv.New32a()
	hash.Write([]byte(p.key.String()))
	return int(hash.Sum32()%uint32(segments)) == segment
}
