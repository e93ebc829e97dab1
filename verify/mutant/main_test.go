package main

import (
	"go/parser"
	"go/token"
	"strings"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/verify/sim"
	"github.com/streamsort/streamsort/verify/sim/cursorsim"
	"github.com/streamsort/streamsort/verify/sim/dedupsim"
	"github.com/streamsort/streamsort/verify/sim/deliverysim"
	"github.com/streamsort/streamsort/verify/sim/logsim"
	"github.com/streamsort/streamsort/verify/sim/repliessim"
	"github.com/streamsort/streamsort/verify/sim/twophasesim"
	"github.com/streamsort/streamsort/verify/sim/xoracksim"
)

// TestEveryMutantCanBePlanted: a change of the code that moves a text away is noticed without
// waiting for the mutants' own run.
func TestEveryMutantCanBePlanted(t *testing.T) {
	for _, m := range mutants() {
		changed, err := m.changed("../..")
		check.That(t, err == nil, "%s: %v", m.name, err)
		for path, text := range changed {
			_, err := parser.ParseFile(token.NewFileSet(), path, text, parser.SkipObjectResolution)
			check.That(t, err == nil, "%s: %v", m.name, err)
		}
	}
}

// TestSmallSchedulesAreThere: a scenario that goes by another name is noticed without waiting for
// the mutants' own run.
func TestSmallSchedulesAreThere(t *testing.T) {
	there := map[test]bool{}
	for suite, runs := range map[suite]sim.Suite{
		deliverySuite: deliverysim.Suite(), cursorSuite: cursorsim.Suite(), logSuite: logsim.Suite(),
		dedupSuite: dedupsim.Suite(), ackerSuite: xoracksim.Suite(), replySuite: repliessim.Suite(),
		twoPhaseSuite: twophasesim.Suite(),
	} {
		for _, s := range runs.Small {
			there[suite.in(s.Name)] = true
		}
	}
	for _, m := range mutants() {
		named := strings.Contains(m.caught.pattern, "/^")
		check.That(t, !named || there[m.caught], "%s: no scenario %s", m.name, m.caught)
	}
}
