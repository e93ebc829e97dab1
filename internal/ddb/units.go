package ddb

import "github.com/streamsort/streamsort/pkg/table"

// Units are what requests are charged, on demand.
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/read-write-operations.html
type Units struct {
	Reads, Writes float64
	// Index is the write units of the table's index.
	Index float64
}

// Plus adds.
func (u Units) Plus(o Units) Units {
	return Units{u.Reads + o.Reads, u.Writes + o.Writes, u.Index + o.Index}
}

// WriteUnits is the charge of a write: one unit for each KB of the item, as it was or as it is,
// whichever is larger; one at least.
func WriteUnits(size int) float64 { return float64(max((size+1023)/1024, 1)) }

// ReadUnits is the charge of a read: one unit for each 4 KB strong, half a unit otherwise; a read
// that finds nothing is charged as 4 KB.
func ReadUnits(size int, strong bool) float64 {
	units := float64(max((size+4095)/4096, 1))
	if strong {
		return units
	}
	return units / 2
}

// IndexUnits is the charge of the table's index for a change of an item: what an entry that goes
// costs, and what one that comes costs.
func IndexUnits(def *table.Definition, before, after Item) float64 {
	units := 0.0
	if sameEntry(def, before, after) {
		return units
	}
	for _, entry := range []Item{EntryOf(def, before), EntryOf(def, after)} {
		if entry.Exists() {
			units += WriteUnits(entry.Size())
		}
	}
	return units
}

// sameEntry reports whether two states of an item have the same entry in the table's index, or
// none.
func sameEntry(def *table.Definition, before, after Item) bool {
	index := &def.Index
	return index.Name == "" || before.Exists() == after.Exists() &&
		before.attribute(index.Partition.Name).Equal(after.attribute(index.Partition.Name)) &&
		before.attribute(index.Sort.Name).Equal(after.attribute(index.Sort.Name))
}

// EntryOf is an item's entry in the table's index of keys; none where it lacks one of the index's
// keys.
func EntryOf(def *table.Definition, it Item) Item {
	if def.Index.Name == "" || !it.Exists() {
		return Item{}
	}
	entry := KeyOf(def, it)
	for _, key := range []table.Key{def.Index.Partition, def.Index.Sort} {
		if key.Name == "" {
			continue
		}
		v := it.attribute(key.Name)
		if v.kind == None {
			return Item{}
		}
		entry = entry.with(key.Name, v)
	}
	return entry
}
