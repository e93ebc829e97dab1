package handoff

import (
	"cmp"

	"github.com/streamsort/streamsort/internal/record"
	"github.com/streamsort/streamsort/pkg/table"
)

// Names are the names of the tables. An empty field means its default, so the
// zero Names is ready to use.
type Names struct {
	Consumers string // table of consumers; "streamsort-consumers"
	Audit     string // table of what operators did; "streamsort-audit"
}

func (n Names) withDefaults() Names {
	return Names{
		Consumers: cmp.Or(n.Consumers, "streamsort-consumers"),
		Audit:     cmp.Or(n.Audit, "streamsort-audit"),
	}
}

// Tables are the definitions of the consumers and the operations table, in this
// order. Neither has a stream, and nothing in them expires.
func (n Names) Tables() []table.Definition {
	n = n.withDefaults()
	return record.Definitions(n.Consumers, n.Audit)
}
