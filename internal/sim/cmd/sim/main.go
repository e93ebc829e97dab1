// Command sim walks the schedules of all suites: every one of the small
// scenarios, with -full of the large ones as well, and then random ones. It
// ends with 1 where one of them leads to what must not be, and prints its seed
// and the shortest trace that it finds. SEED=N, or -seed N, repeats one.
package main

import (
	"os"

	"github.com/streamsort/streamsort/internal/sim"
	"github.com/streamsort/streamsort/internal/sim/arrivalsim"
	"github.com/streamsort/streamsort/internal/sim/cursorsim"
	"github.com/streamsort/streamsort/internal/sim/dedupsim"
	"github.com/streamsort/streamsort/internal/sim/handoffsim"
	"github.com/streamsort/streamsort/internal/sim/repliessim"
	"github.com/streamsort/streamsort/internal/sim/trackedsim"
	"github.com/streamsort/streamsort/internal/sim/twophasesim"
	"github.com/streamsort/streamsort/internal/sim/xoracksim"
)

// suites are those of all packages that have one.
func suites() []sim.Suite {
	return []sim.Suite{cursorsim.Suite(), handoffsim.Suite(), arrivalsim.Suite(), dedupsim.Suite(), xoracksim.Suite(), twophasesim.Suite(), repliessim.Suite(), trackedsim.Suite()}
}

func main() {
	os.Exit(command(suites(), os.Args[1:], os.Getenv, os.Stdout, os.Stderr))
}
