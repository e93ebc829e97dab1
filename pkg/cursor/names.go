package cursor

import (
	"cmp"
	"slices"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/trouble"
	"github.com/streamsort/streamsort/pkg/invalid"
	"github.com/streamsort/streamsort/pkg/table"
)

// Names are the names of the sorter's tables and of their keys. An empty field means its default,
// so the zero Names is ready to use.
//
// The keys have the same names in all tables but Trouble, as in a table made for aws-stream-sort:
// the partition key is QueueKey, the sort key of the messages is SeqKey. The other attributes'
// names are fixed; a key must not take one of them ([Names.Validate]).
type Names struct {
	Messages string // table of messages; "streamsort-messages"
	Cursors  string // table of cursors; "streamsort-cursors"
	Trouble  string // table that has the sweep's progress; "streamsort-trouble"
	Arrivals string // table of arrivals; "streamsort-arrivals"
	QueueKey string // partition key of messages, cursors and arrivals; "queue"
	SeqKey   string // sort key of messages; "seq"
}

func (n Names) withDefaults() Names {
	return Names{
		Messages: cmp.Or(n.Messages, "streamsort-messages"),
		Cursors:  cmp.Or(n.Cursors, "streamsort-cursors"),
		Trouble:  cmp.Or(n.Trouble, trouble.DefaultName),
		Arrivals: cmp.Or(n.Arrivals, "streamsort-arrivals"),
		QueueKey: cmp.Or(n.QueueKey, "queue"),
		SeqKey:   cmp.Or(n.SeqKey, "seq"),
	}
}

func (n Names) queueKey() ddb.Path { return ddb.Path(n.QueueKey) }

func (n Names) seqKey() ddb.Path { return ddb.Path(n.SeqKey) }

// Tables are the definitions of the messages, the cursors and the trouble table, in this order.
//
// The messages' stream shows keys only: its reader needs to know that seq s of queue q is there,
// and no more. The cursors' stream shows both images: the batch that a move releases is what lies
// between them.
func (n Names) Tables() []table.Definition {
	n = n.withDefaults()
	return []table.Definition{
		{
			Name:      n.Messages,
			Partition: table.Key{Name: n.QueueKey, Type: table.String},
			Sort:      table.Key{Name: n.SeqKey, Type: table.Number},
			Stream:    table.KeysOnly,
			TTL:       string(attrExpiresOn),
			Layout:    layout,
		},
		{
			Name:      n.Cursors,
			Partition: table.Key{Name: n.QueueKey, Type: table.String},
			Stream:    table.NewAndOldImages,
			Layout:    layout,
		},
		trouble.Definition(n.Trouble),
	}
}

// ArrivalsTable is the definition of the arrivals table, which only queues in arrival order and
// keyed queues use. Its stream, of keys only, shows when a keyed queue has to be settled: see
// [OnArrivals].
func (n Names) ArrivalsTable() table.Definition {
	n = n.withDefaults()
	return table.Definition{
		Name:      n.Arrivals,
		Partition: table.Key{Name: n.QueueKey, Type: table.String},
		Sort:      table.Key{Name: string(attrSortKey), Type: table.Binary},
		Stream:    table.KeysOnly,
		TTL:       string(attrExpiresOn),
		Layout:    layoutKeyed,
	}
}

// Validate reports a key name that cannot be used: one over 255 bytes, one that another attribute
// of the tables has, or the same name for both keys.
func (n Names) Validate() error {
	n = n.withDefaults()
	keys := []struct{ field, name string }{{"queue key", n.QueueKey}, {"seq key", n.SeqKey}}
	for _, key := range keys {
		if len(key.name) > 255 {
			return invalid.New(invalid.TooLarge, key.field, "is longer than 255 bytes")
		}
		if slices.Contains(fixedAttributes, ddb.Path(key.name)) {
			return invalid.New(invalid.Misplaced, key.field,
				"must not be "+key.name+": another attribute has that name")
		}
	}
	if n.QueueKey == n.SeqKey {
		return invalid.New(invalid.Clash, "seq key", "must differ from the queue key")
	}
	return nil
}
