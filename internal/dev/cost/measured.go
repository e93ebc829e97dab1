package cost

// Measured is what a million messages of a load cost with one consumer, in dollars.
type Measured struct {
	// Tables is for the units that it took; Total for all, without what there is once.
	Tables, Total float64
	// Expected is Total by the figures of this package, and not by what was measured.
	Expected float64
}

// Measured prices the units that a message took, as the producer moves the cursor; together says
// that batches were one item each. The workload has been checked but for its rate.
func (w Workload) Measured(message Units, together bool) Measured {
	f := w.sync()
	if together && w.appendable() {
		f = w.append()
	}
	b := w.delivered("", f)
	millions := w.Messages() / million
	m := Measured{Tables: message.dollars() * million,
		Expected: (b.Total() - b.Fixed - w.sweep(f.moves).Quiet()) / millions}
	m.Total = m.Expected - b.Requests/millions + m.Tables
	return m
}
