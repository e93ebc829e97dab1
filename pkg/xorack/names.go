package xorack

import (
	"cmp"

	"github.com/streamsort/streamsort/pkg/table"
	"github.com/streamsort/streamsort/pkg/xorack/internal/chains"
)

// Names is the name of the chains' table. An empty field means its default, so the zero Names is
// ready to use.
type Names struct {
	Chains string // "streamsort-chains"
}

// dueIndex is the index of the chains that the sweep must look at: those that are open, and those
// whose end nobody has carried on yet. It is read for candidates only; the table decides.
const dueIndex = "due"

// Tables is the definition of the chains' table. Its stream shows the new image: an end is
// permanent, so the image that has one says all of it.
func (n Names) Tables() []table.Definition {
	return []table.Definition{{
		Name:      cmp.Or(n.Chains, "streamsort-chains"),
		Partition: table.Key{Name: string(chains.Tag), Type: table.String},
		Stream:    table.NewImage,
		TTL:       string(chains.ExpiresOn),
		Layout:    chains.Layout,
		Index: table.Index{
			Name:      dueIndex,
			Partition: table.Key{Name: string(chains.DueShard), Type: table.Number},
			Sort:      table.Key{Name: string(chains.Due), Type: table.Number},
		},
	}}
}
