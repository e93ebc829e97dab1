package dedup

import (
	"cmp"
	"maps"
	"slices"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/pkg/invalid"
	"github.com/streamsort/streamsort/pkg/table"
)

// Names are the names of the table and of its attributes. An empty field means
// its default, so the zero Names is ready to use.
type Names struct {
	Table        string // "streamsort-dedup"
	IDKey        string // partition key; "id"
	ProcessorKey string // sort key; "processorId"
	// OneKey is for a table without a sort key: id and processor are joined in
	// the partition key, as the processor's length, the processor and the id:
	// "8:payments:order-1".
	OneKey bool
	// Attributes gives other names to attributes, by the names that the package
	// comment lists them under. An attribute that is not in it keeps its name.
	Attributes map[string]string
}

func (n Names) withDefaults() Names {
	n.Table = cmp.Or(n.Table, "streamsort-dedup")
	n.IDKey = cmp.Or(n.IDKey, "id")
	n.ProcessorKey = cmp.Or(n.ProcessorKey, "processorId")
	n.Attributes = maps.Clone(n.Attributes) // the caller may change it
	return n
}

// Tables is the definition of the one table. It has no stream, and items
// expire by expiresOn.
func (n Names) Tables() []table.Definition {
	n = n.withDefaults()
	definition := table.Definition{
		Name:      n.Table,
		Partition: table.Key{Name: n.IDKey, Type: table.String},
		TTL:       string(n.attribute(attrExpiresOn)),
		Layout:    layout,
	}
	if !n.OneKey {
		definition.Sort = table.Key{Name: n.ProcessorKey, Type: table.String}
	}
	return []table.Definition{definition}
}

// validate reports a name that cannot be used: one over 255 bytes, one that
// two attributes would have, or a new name for an attribute that there is not.
func (n Names) validate() error {
	n = n.withDefaults()
	all := attributes()
	for name := range n.Attributes {
		if !slices.Contains(all, ddb.Path(name)) {
			return &InvalidError{Field: "names.attributes", Code: invalid.Misplaced, Problem: "has " + name + ", which is not an attribute of the table"}
		}
	}
	names := make([]string, 0, 2+len(all))
	names = append(names, n.IDKey, n.ProcessorKey)
	for _, name := range all {
		names = append(names, string(n.attribute(name)))
	}
	for i, name := range names {
		switch {
		case len(name) > 255:
			return &InvalidError{Field: "names", Code: invalid.TooLarge, Problem: "has one that is longer than 255 bytes"}
		case slices.Contains(names[:i], name):
			return &InvalidError{Field: "names", Code: invalid.Clash, Problem: "has " + name + " for two attributes"}
		}
	}
	return nil
}
