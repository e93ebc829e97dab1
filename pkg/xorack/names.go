package xorack

import (
	"cmp"
	"slices"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/pkg/invalid"
	"github.com/streamsort/streamsort/pkg/table"
	"github.com/streamsort/streamsort/pkg/xorack/internal/chains"
)

// Names are the names of the chains' table and of its key. An empty field
// means its default, so the zero Names is ready to use. The other attributes'
// names are fixed; the key must not take one of them ([Names.Validate]).
type Names struct {
	Chains string // table of chains; "streamsort-chains"
	TagKey string // its partition key; "tag"
}

func (n Names) withDefaults() Names {
	return Names{Chains: cmp.Or(n.Chains, "streamsort-chains"), TagKey: cmp.Or(n.TagKey, "tag")}
}

// dueIndex is the index of the chains that the sweep must look at: those that
// are open, and those whose end nobody has carried on yet. It is read for
// candidates only; the table decides.
const dueIndex = "due"

// Tables is the definition of the chains' table. Its stream shows the new
// image: an end is permanent, so the image that has one says all of it.
func (n Names) Tables() []table.Definition {
	n = n.withDefaults()
	return []table.Definition{{
		Name:      n.Chains,
		Partition: table.Key{Name: n.TagKey, Type: table.String},
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

// Validate reports a key name that cannot be used: one over 255 bytes, or one
// that another attribute has.
func (n Names) Validate() error {
	n = n.withDefaults()
	if len(n.TagKey) > 255 {
		return &InvalidError{Field: "tag key", Code: invalid.TooLarge, Problem: "is longer than 255 bytes"}
	}
	taken := []ddb.Path{chains.Version, chains.DueShard, chains.Parent}
	for name := range codec.All(new(Chain)) {
		taken = append(taken, name)
	}
	if slices.Contains(taken, ddb.Path(n.TagKey)) {
		return &InvalidError{Field: "tag key", Code: invalid.Misplaced, Problem: "must not be " + n.TagKey + ": another attribute has that name"}
	}
	return nil
}
