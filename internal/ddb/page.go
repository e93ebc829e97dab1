package ddb

import "slices"

func shown(it Item, only []Path) Item {
	if len(only) == 0 {
		return it
	}
	return it.Only(only...)
}

func (m *Memory) query(t *rows, r Query) (Answer, error) {
	if err := checkQuery(t.def, r); err != nil {
		return Answer{}, err
	}
	all := t.partitions
	if r.OfIndex {
		all = t.index
	}
	var found []row
	if at, ok := all.find(r.Partition); ok {
		found = within(all[at].rows, r.Where)
	}
	if r.After.Exists() {
		_, after := t.place(r.After)
		if r.OfIndex {
			_, after = t.entry(r.After)
		}
		found = beyond(found, after, r.Backwards)
	}
	return t.page(r, found), nil
}

// within are the rows of a partition for which a comparison of the sort key holds: neighbours, so
// two searches find them.
func within(rows []row, where Cond) []row {
	from, to := 0, len(rows)
	first := func(holds func(order int) bool, v Value) int {
		at, _ := slices.BinarySearchFunc(rows, v, func(r row, v Value) int {
			order, _ := r.sort.compare(v)
			if holds(order) {
				return 1
			}
			return -1
		})
		return at
	}
	notBelow, above := func(order int) bool {
		return order >= 0
	}, func(order int) bool { return order > 0 }
	switch where.Operator {
	case Equal:
		from, to = first(notBelow, where.Values[0]), first(above, where.Values[0])
	case Less:
		to = first(notBelow, where.Values[0])
	case LessOrEqual:
		to = first(above, where.Values[0])
	case Greater:
		from = first(above, where.Values[0])
	case GreaterOrEqual:
		from = first(notBelow, where.Values[0])
	case Between:
		from, to = first(notBelow, where.Values[0]), first(above, where.Values[1])
	case BeginsWith:
		from = first(notBelow, where.Values[0])
		for to = from; to < len(rows) &&
			where.Holds(sealed([]field{{string(where.Path), rows[to].sort}})); {
			to++
		}
	}
	return rows[from:max(from, to)]
}

// beyond are the rows after one, in the direction of reading.
func beyond(rows []row, after row, backwards bool) []row {
	at, found := slices.BinarySearchFunc(rows, after, row.compare)
	if backwards {
		return rows[:at]
	}
	if found {
		at++
	}
	return rows[at:]
}

// page is the first page of these rows: at most as many as the limit says, and as 1 MB has.
func (t *rows) page(r Query, found []row) Answer {
	var a Answer
	size := 0
	for i := range found {
		next := found[i].item
		if r.Backwards {
			next = found[len(found)-1-i].item
		}
		if size > 0 && size+next.Size() > maxPage {
			a.Next = t.next(r, a.Items[len(a.Items)-1])
			break
		}
		size += next.Size()
		a.Items = append(a.Items, next)
		if len(a.Items) == r.Limit {
			a.Next = t.next(r, next)
			break
		}
	}
	a.Units.Reads = ReadUnits(size, r.Strong)
	for i, it := range a.Items {
		a.Items[i] = shown(it, r.Only)
	}
	return a
}

// next is where the page after an item begins.
func (t *rows) next(r Query, last Item) Item {
	if r.OfIndex {
		return EntryOf(t.def, last)
	}
	return KeyOf(t.def, last)
}

// scan answers from all rows of a segment. Those that the filter leaves out count for the limit and
// the price.
func (m *Memory) scan(t *rows, r Scan) (Answer, error) {
	if r.Limit < 0 || r.Segments < 0 || r.Segment < 0 || r.Segment >= max(r.Segments, 1) {
		return Answer{}, invalidf("limit %d, segment %d of %d", r.Limit, r.Segment, r.Segments)
	}
	if err := checkCond(&r.Filter); err != nil {
		return Answer{}, err
	}
	if r.After.Exists() {
		if err := checkKey(t.def, r.After, true); err != nil {
			return Answer{}, err
		}
	}
	var a Answer
	size, looked := 0, 0
	var last Item
	for it := range t.segment(r) {
		if looked > 0 && size+it.Size() > maxPage {
			a.Next = KeyOf(t.def, last)
			break
		}
		size, looked, last = size+it.Size(), looked+1, it
		if r.Filter.Holds(it) {
			a.Items = append(a.Items, it)
		}
		if looked == r.Limit {
			a.Next = KeyOf(t.def, it)
			break
		}
	}
	a.Units.Reads = ReadUnits(size, false)
	return a, nil
}

// segment are the items of a scan's segment after its place, in the order of their keys.
func (t *rows) segment(r Scan) func(yield func(Item) bool) {
	return func(yield func(Item) bool) {
		from, after := 0, row{}
		if r.After.Exists() {
			var key Value
			key, after = t.place(r.After)
			from, _ = t.partitions.find(key)
			if from < len(t.partitions) && !t.partitions[from].key.Equal(key) {
				r.After = Item{}
			}
		}
		for i, one := range t.partitions[from:] {
			if !one.inSegment(r.Segment, r.Segments) {
				continue
			}
			rows := one.rows
			if i == 0 && r.After.Exists() {
				rows = beyond(rows, after, false)
			}
			for _, it := range rows {
				if !yield(it.item) {
					return
				}
			}
		}
	}
}
