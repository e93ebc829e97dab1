package main

import (
	"fmt"
	"go/parser"
	"go/token"
	"slices"
	"strings"
	"testing"

	"github.com/streamsort/streamsort/verify/sim"
	"github.com/streamsort/streamsort/verify/sim/cursorsim"
	"github.com/streamsort/streamsort/verify/sim/dedupsim"
	"github.com/streamsort/streamsort/verify/sim/deliverysim"
	"github.com/streamsort/streamsort/verify/sim/logsim"
	"github.com/streamsort/streamsort/verify/sim/repliessim"
	"github.com/streamsort/streamsort/verify/sim/xoracksim"
)

func TestAShortRunSeesAllPartsOfTheList(t *testing.T) {
	all := make([]mutant, 100)
	for i := range all {
		all[i].name = fmt.Sprint(i)
	}
	var tenths [10]int
	for _, m := range spread(all)[:20] {
		tenths[m.name[0]-'0'] += len(m.name) - 1 // of 10 to 99: the first digit is the tenth
		if len(m.name) == 1 {
			tenths[0]++
		}
	}
	if slices.Contains(tenths[:], 0) {
		t.Errorf("a fifth of the list has of each tenth %v, want some of each", tenths)
	}
}

// TestEveryMutantCanBePlanted: a change of the code that moves a text away is noticed
// without waiting for the mutants' own run.
func TestEveryMutantCanBePlanted(t *testing.T) {
	for _, m := range mutants() {
		changed, err := m.changed("../..")
		if err != nil {
			t.Errorf("%s: %v", m.name, err)
		}
		for path, text := range changed {
			if _, err := parser.ParseFile(token.NewFileSet(), path, text, parser.SkipObjectResolution); err != nil {
				t.Errorf("%s: %v", m.name, err)
			}
		}
	}
}

// TestSmallSchedulesAreThere: a scenario that goes by another name is noticed
// without waiting for the mutants' own run.
func TestSmallSchedulesAreThere(t *testing.T) {
	there := map[string]bool{}
	for folder, suite := range map[string]sim.Suite{
		deliveries.folder: deliverysim.Suite(), repliesWalked.folder: repliessim.Suite(), dedupSchedules.folder: dedupsim.Suite(),
		ackerSchedules.folder: xoracksim.Suite(), schedules.folder: cursorsim.Suite(),
		logFolder: logsim.Suite(),
	} {
		for _, s := range suite.Small {
			there[fmt.Sprint(smallSchedule(folder, s.Name))] = true
		}
	}
	for _, m := range mutants() {
		if strings.Contains(m.caught.pattern, "/^") && !there[fmt.Sprint(m.caught)] {
			t.Errorf("%s: no scenario %s in %s", m.name, m.caught.pattern, m.caught.folder)
		}
	}
}
