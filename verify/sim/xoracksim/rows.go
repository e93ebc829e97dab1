package xoracksim

import (
	"context"

	"github.com/streamsort/streamsort/internal/announce"
	"github.com/streamsort/streamsort/internal/trouble"
	"github.com/streamsort/streamsort/pkg/xorack"
	"github.com/streamsort/streamsort/verify/sim"
	"github.com/streamsort/streamsort/verify/sim/simdb"
)

// troubleTable has the rows of the chains that failed or timed out.
var troubleTable = trouble.Definition(trouble.DefaultName)

// listed is what a process does with an end: it announces it, and lists the chain.
func (m *model) listed(p *sim.Proc) xorack.Announce {
	rows := trouble.NewStore(simdb.Engine(p, m.Tables, &simdb.Hooks{}), troubleTable)
	return announce.Listed(rows, xorack.MinTombstone, m.announce(p))
}

// checkListed checks that a chain that is sealed is in the list of its end, and in no other.
func (m *model) checkListed(c xorack.Chain) {
	rows := trouble.NewStore(m.Tables, troubleTable)
	want, _ := announce.RowOf(c)
	for _, state := range trouble.ChainStates {
		if _, found, err := rows.Row(context.Background(), state, c.Tag, ""); err != nil ||
			found != (state == want.State) {
			m.Run.Violation("%s was sealed as %s; it is listed as %s: %v, %v", c.Tag,
				c.End(), state, found, err)
		}
	}
}
