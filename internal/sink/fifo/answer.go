package fifo

import (
	"strconv"

	"github.com/streamsort/streamsort/internal/awscall"
	"github.com/streamsort/streamsort/internal/sink/kind"
)

// Entries are messages as requests have them: the ids are their places.
func Entries(messages []Message) []awscall.Entry {
	entries := make([]awscall.Entry, len(messages))
	for i, m := range messages {
		entries[i] = awscall.Entry{
			ID: strconv.Itoa(i), Body: m.Body, Group: m.Group, DeduplicationID: m.Dedup, Attributes: map[string]awscall.Attribute{}, Trace: m.Trace,
		}
		for _, a := range m.Attributes {
			value := awscall.Attribute{DataType: a.DataType}
			if a.DataType == "Binary" {
				value.BinaryValue = []byte(a.Value)
			} else {
				value.StringValue = a.Value
			}
			entries[i].Attributes[a.Name] = value
		}
	}
	return entries
}

// Verdicts are what an answer of SQS or SNS says of each entry of a request.
type Verdicts []*kind.Refusal

// NewVerdicts are those of an answer that names none of n entries.
func NewVerdicts(n int) Verdicts {
	v := make(Verdicts, n)
	for i := range v {
		v[i] = &kind.Refusal{Index: i, Code: "NoVerdict", Message: "the answer does not name the message"}
	}
	return v
}

// index is the place of an entry in the request, where the answer names one.
func (v Verdicts) index(id string) (i int, ok bool) {
	i, err := strconv.Atoi(id)
	return i, err == nil && i >= 0 && i < len(v)
}

// Taken notes that the entry of an id was taken, and returns its place.
func (v Verdicts) Taken(id string) (i int, ok bool) {
	if i, ok = v.index(id); ok {
		v[i] = nil
	}
	return i, ok
}

// Refused notes entries that were refused.
func (v Verdicts) Refused(failed []awscall.Failed) {
	for _, f := range failed {
		if i, ok := v.index(f.ID); ok {
			v[i] = &kind.Refusal{Index: i, Code: f.Code, Message: f.Message, Final: f.SenderFault, Away: !f.SenderFault}
		}
	}
}

// Refusals are the entries that are not known to be taken.
func (v Verdicts) Refusals() []kind.Refusal {
	var all []kind.Refusal
	for _, r := range v {
		if r != nil {
			all = append(all, *r)
		}
	}
	return all
}
