package announce

import (
	"context"
	"log/slog"
)

// RecordSetAside is the kind of the announcement that records of a source made no message.
const RecordSetAside = "record.set-aside"

// SetAside are records of a source that made no message, and were sent to the failure queue: those
// of one event.
type SetAside struct {
	// ID is the same for the same records, however often they come.
	ID string
	// Source is the source's name, Tenant whose queues it writes to; empty: nobody's.
	Source, Tenant string
	// Count is how many there are, Examples are the first few.
	Count    int
	Examples []SetAsideRecord
}

// SetAsideRecord is a record that was set aside.
type SetAsideRecord struct {
	// Record is its name in its source, such as a message's id.
	Record string `json:"record"`
	// Reason is why in a word, Field what of the message is wrong, Detail how.
	Reason string `json:"reason"`
	Field  string `json:"field,omitempty"`
	Detail string `json:"detail,omitempty"`
}

// Records announces that records were set aside. What it announces is in the failure queue by then:
// nothing is lost where it fails.
func (a *Announcer) Records(ctx context.Context, said SetAside) error {
	d := struct {
		ID       string           `json:"id"`
		Kind     string           `json:"kind"`
		Source   string           `json:"source"`
		Tenant   string           `json:"tenant,omitempty"`
		Count    int              `json:"count"`
		Examples []SetAsideRecord `json:"examples"`
	}{said.ID, RecordSetAside, said.Source, said.Tenant, said.Count, said.Examples}
	slog.WarnContext(ctx, d.Kind, "id", d.ID, "source", d.Source, "count", d.Count,
		"examples", d.Examples)
	return a.send(ctx, d.Kind, d)
}
