package streamsort

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/streamsort/streamsort/pkg/cursor"
)

// FunctionProps are what a function takes. A zero field is its default.
type FunctionProps struct {
	// Memory is in MB: 128 to 10,240; 512. Lambda gives processor time by memory.
	Memory int
	// Timeout is how long a call may take: 1 to 900 whole seconds. 60 seconds for sort and process:
	// what a call of process has from its sinks must come within it, and a batch whose process died
	// is tried again when it is over. 29 seconds for the others, since the HTTP API gives up after
	// 30. sweep and slow have none: sweep has 5 minutes, slow what process has.
	Timeout time.Duration
	// Concurrency reserves so many environments for the function, and bounds it to them: 1 to
	// 10,000; 0 leaves it to the account.
	Concurrency int
	// BatchSize, of sort, process and ack, is the most stream records of a call: 1 to 10,000;
	// 1,000, 100 and 100.
	BatchSize int
	// BatchWindow, of the same, is how long a batch may be gathered: 0 to 300 whole seconds. It is
	// 0, at once; 1 second for sort where it only makes up for writers that died (cursor.ModeSync):
	// a look at each queue then serves more records.
	BatchWindow *time.Duration
	// Parallelization, of the same, is how many batches of one shard are worked on at a time, each
	// queue's in order: 1 to 10; 10.
	Parallelization int
}

// functionDefaults are the functions by their names; a zero field is one that the function has not.
var functionDefaults = map[string]FunctionProps{
	"enqueue":  {Memory: 512, Timeout: 29 * time.Second},
	"sort":     {Memory: 512, Timeout: time.Minute, BatchSize: 1000, BatchWindow: new(time.Second), Parallelization: 10},
	"sweep":    {Memory: 512},
	"process":  {Memory: 512, Timeout: time.Minute, BatchSize: 100, BatchWindow: new(time.Duration), Parallelization: 10},
	"slow":     {},
	"delivery": {Memory: 512, Timeout: 29 * time.Second},
	"ack":      {Memory: 512, Timeout: 29 * time.Second, BatchSize: 100, BatchWindow: new(time.Duration), Parallelization: 10},
	"webhook":  {Memory: 512, Timeout: 29 * time.Second},
}

// FunctionNames are the names in Props.Functions, sorted.
func FunctionNames() []string { return slices.Sorted(maps.Keys(functionDefaults)) }

func (p *Props) setFunctionDefaults() {
	all := map[string]FunctionProps{}
	maps.Copy(all, p.Functions) // those that are unknown are reported
	p.Functions = all
	for name, d := range functionDefaults {
		if name == "sort" && p.Mode == cursor.ModeAsync {
			d.BatchWindow = new(time.Duration)
		}
		f := all[name]
		fill(&f, d)
		all[name] = f
	}
}

func (p Props) checkFunctionProps(c *checker) {
	for _, name := range slices.Sorted(maps.Keys(p.Functions)) {
		f := p.Functions[name]
		d, known := functionDefaults[name]
		if !known {
			c.fail("functions", "has %q; write some of %s", name, strings.Join(FunctionNames(), ", "))
			continue
		}
		given(c, name+"Memory", f.Memory, d.Memory, 128, 10_240)
		given(c, name+"Timeout", f.Timeout, d.Timeout, time.Second, 15*time.Minute)
		whole(c, name+"Timeout", f.Timeout, time.Second)
		between(c, name+"Concurrency", f.Concurrency, 0, 10_000)
		given(c, name+"BatchSize", f.BatchSize, d.BatchSize, 1, 10_000)
		given(c, name+"Parallelization", f.Parallelization, d.Parallelization, 1, 10)
		switch {
		case f.BatchWindow == nil:
		case d.BatchWindow == nil:
			c.fail(name+"BatchWindow", "is %s, and %s has none; leave it out", text(*f.BatchWindow), name)
		default:
			between(c, name+"BatchWindow", *f.BatchWindow, 0, 300*time.Second)
			whole(c, name+"BatchWindow", *f.BatchWindow, time.Second)
		}
	}
}

// given checks a value of a function that may have none: its default is zero then.
func given[T cmp.Ordered](c *checker, field string, value, fallback, least, most T) {
	var zero T
	switch {
	case fallback != zero:
		between(c, field, value, least, most)
	case value != zero:
		c.fail(field, "is %s, and the function has none; leave it out", text(value))
	}
}
