package dedup

import (
	"cmp"

	"github.com/streamsort/streamsort/pkg/table"
)

// Names is the name of the table. An empty field means its default, so the zero Names is ready to
// use.
type Names struct {
	Table string // "streamsort-dedup"
}

// Tables is the definition of the one table. It has no stream, and items expire by expiresOn.
func (n Names) Tables() []table.Definition {
	return []table.Definition{{
		Name:      cmp.Or(n.Table, "streamsort-dedup"),
		Partition: table.Key{Name: string(attrID), Type: table.String},
		Sort:      table.Key{Name: string(attrProcessor), Type: table.String},
		TTL:       string(attrExpiresOn),
		Layout:    layout,
	}}
}
