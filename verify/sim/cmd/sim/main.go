// Command sim walks the schedules of all suites: every one of the small scenarios, with FULL=1 of
// the large ones too, and then random ones. It ends with 1 where one leads to what must not be, and
// prints its seed and the shortest trace. SEED=N repeats one, SUITE=name walks one part only.
package main

import (
	"os"

	"github.com/streamsort/streamsort/verify/sim"
	"github.com/streamsort/streamsort/verify/sim/cursorsim"
	"github.com/streamsort/streamsort/verify/sim/dedupsim"
	"github.com/streamsort/streamsort/verify/sim/deliverysim"
	"github.com/streamsort/streamsort/verify/sim/logsim"
	"github.com/streamsort/streamsort/verify/sim/repliessim"
	"github.com/streamsort/streamsort/verify/sim/twophasesim"
	"github.com/streamsort/streamsort/verify/sim/xoracksim"
)

// suites are those of all packages that have one.
func suites() []sim.Suite {
	return []sim.Suite{cursorsim.Suite(), deliverysim.Suite(), logsim.Suite(), dedupsim.Suite(), xoracksim.Suite(), twophasesim.Suite(), repliessim.Suite()}
}

func main() {
	os.Exit(command(suites(), os.Getenv, os.Stdout, os.Stderr))
}
