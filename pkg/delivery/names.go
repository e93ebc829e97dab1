package delivery

import (
	"cmp"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/trouble"
	"github.com/streamsort/streamsort/pkg/table"
)

// Names are the names of the tables. An empty field means its default, so the zero Names is ready
// to use.
type Names struct {
	Consumers string // table of consumers; "streamsort-consumers"
	Audit     string // table of what operators did; "streamsort-audit"
	// Trouble is the table of queues and consumers that somebody should know of, which lists of
	// them read. Empty means no table: nothing is written to it, and lists by state are empty.
	Trouble string
}

// Tables are the definitions of the consumers and the operations table, and, where it has a name,
// of the table of trouble, in this order. None has a stream, and nothing in them expires.
func (n Names) Tables() []table.Definition {
	key := func(name ddb.Path) table.Key { return table.Key{Name: string(name), Type: table.String} }
	tables := []table.Definition{
		{Name: cmp.Or(n.Consumers, "streamsort-consumers"), Partition: key(attrQueue),
			Sort: key(attrConsumer), Layout: layout},
		{Name: cmp.Or(n.Audit, "streamsort-audit"), Partition: key(attrQueue),
			Sort: key(attrOperation), Layout: layout},
	}
	if n.Trouble != "" {
		tables = append(tables, trouble.Definition(n.Trouble))
	}
	return tables
}
