package main

import (
	"fmt"
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
	there := map[string]bool{}
	for suite, runs := range map[suite]sim.Suite{
		deliverySuite: deliverysim.Suite(), replySuite: repliessim.Suite(), dedupSuite: dedupsim.Suite(),
		ackerSuite: xoracksim.Suite(), cursorSuite: cursorsim.Suite(), logSuite: logsim.Suite(),
	} {
		for _, s := range runs.Small {
			there[fmt.Sprint(suite.schedule(s.Name))] = true
		}
	}
	for _, m := range mutants() {
		check.That(t, !strings.Contains(m.caught.pattern, "/^") || there[fmt.Sprint(m.caught)],
			"%s: no scenario %s in %s", m.name, m.caught.pattern, m.caught.folder)
	}
}
