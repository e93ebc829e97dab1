package lambda

import (
	"encoding/json"

	"github.com/streamsort/streamsort/internal/jsonseq"
	"github.com/streamsort/streamsort/internal/sink/kind"
	"github.com/streamsort/streamsort/internal/strictjson"
	"github.com/streamsort/streamsort/pkg/delivery"
	"github.com/streamsort/streamsort/pkg/tenant"
)

// Document is what a function is called with. Seqs and the token's number are JSON numbers up to
// 2^53, and strings of digits beyond.
type Document struct {
	// The queue's whole name.
	Queue string `json:"queue"`
	// Whose queue it is, where its name has a tenant in front.
	Tenant string `json:"tenant,omitempty"`
	// The consumer's name.
	Consumer string `json:"consumer"`
	// The claim's token: its number, a hyphen, and its request.
	Token string `json:"token" jsonschema:"pattern=^[0-9]+-"`
	// The token's number alone, which rises with every claim of the consumer.
	TokenN jsonseq.Seq `json:"tokenN"`
	// The seq before the document's first: every one after it, up to and with "to", is here as a
	// message or as skipped.
	From jsonseq.Seq `json:"from"`
	// The document's last seq.
	To jsonseq.Seq `json:"to"`
	// 1 the first time that the range is delivered.
	Attempt int `json:"attempt" jsonschema:"minimum=1"`
	// How often the consumer was set back.
	Rewinds int64 `json:"rewinds" jsonschema:"minimum=0"`
	// In the order of their seqs. Those of a tracked consumer have their edge: when the message's
	// work is done, the function, or whichever it passes the work to, says so under this token.
	Messages []json.RawMessage `json:"messages"`
	// The seqs that will never come.
	Skipped []jsonseq.Seq `json:"skipped"`
}

// Written is a [Document] in JSON, and its range: the seqs behind From, up to To.
type Written struct {
	JSON     []byte
	From, To int64
}

// part is one seq of a document: a message's JSON, or nil for a skipped seq.
type part = kind.Item[json.RawMessage]

// skippedBytes is what a skipped seq takes at most: 19 digits, two quotes and a comma.
const skippedBytes = 22

// Documents writes a batch in as few documents as the limit allows, at least one. They are written
// one after the other, and follow each other without a gap.
func Documents(b delivery.Batch, l kind.Limits) ([]Written, error) {
	parts, err := partsOf(b)
	if err != nil {
		return nil, err
	}
	empty, err := strictjson.Marshal(documentOf(b, nil, b.From, b.To))
	if err != nil {
		return nil, err
	}
	// The seqs of a part may be longer than the whole's.
	around := len(empty) + 2*skippedBytes
	for _, p := range parts {
		if bytes := p.Bytes + around; bytes > l.Bytes {
			return nil, &kind.TooLargeError{Kind: l.Kind, Seq: p.Seq, Bytes: bytes, Limit: l.Bytes}
		}
	}
	room := kind.Limits{Bytes: l.Bytes - around, Entries: len(parts)}
	var all []Written
	for from, first := b.From, true; first || len(parts) > 0; first = false {
		n, to := kind.Take(parts, room), b.To
		if n < len(parts) {
			to = parts[n-1].Seq
		}
		written, err := strictjson.Marshal(documentOf(b, parts[:n], from, to))
		if err != nil {
			return nil, err
		}
		all, parts, from = append(all, Written{written, from, to}), parts[n:], to
	}
	return all, nil
}

// partsOf are the batch's messages and skipped seqs, in the order of their seqs.
func partsOf(b delivery.Batch) ([]part, error) {
	parts := make([]part, 0, len(b.Messages)+len(b.Skipped))
	skipped := b.Skipped
	for i := range b.Messages {
		seq := b.Messages[i].Seq
		for len(skipped) > 0 && skipped[0] < seq {
			parts = append(parts, skip(skipped[0]))
			skipped = skipped[1:]
		}
		written, err := strictjson.Marshal(kind.MessageOf(b, i))
		if err != nil {
			return nil, err
		}
		parts = append(parts, part{Seq: seq, Bytes: len(written) + 1, Entry: written})
	}
	for _, seq := range skipped {
		parts = append(parts, skip(seq))
	}
	return parts, nil
}

func skip(seq int64) part { return part{Seq: seq, Bytes: skippedBytes} }

func documentOf(b delivery.Batch, parts []part, from, to int64) Document {
	of, _ := tenant.Split(b.Queue)
	d := Document{
		Queue: b.Queue, Tenant: of, Consumer: b.Consumer, Token: b.Token.String(),
		TokenN: jsonseq.Seq(b.Token.N),
		From:   jsonseq.Seq(from), To: jsonseq.Seq(to), Attempt: b.Attempt, Rewinds: b.Rewinds,
		Messages: []json.RawMessage{}, Skipped: []jsonseq.Seq{},
	}
	for _, p := range parts {
		if p.Entry == nil {
			d.Skipped = append(d.Skipped, jsonseq.Seq(p.Seq))
		} else {
			d.Messages = append(d.Messages, p.Entry)
		}
	}
	return d
}
