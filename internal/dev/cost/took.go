package cost

// Took is what a message took on average, as it was measured: what it costs from the tables on to
// its consumers.
type Took struct {
	// Units of the tables.
	Units
	// Batches that consumers got, and Calls of process for them.
	Batches, Calls float64
}

// Million is what a million such messages cost, in dollars, but for what no delivery changes: API,
// producer's function, what is stored, and what there is once.
func (t Took) Million() float64 {
	b := Bill{line: callLine}
	b.addCalls(t.Calls*million/month, 0)
	b.Functions += t.Batches * million * (invocation + (5*trip+sinkTime)*memory*gbSecond)
	return t.dollars()*million + b.Functions + b.Logs
}
