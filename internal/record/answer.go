package record

import (
	"strings"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
)

// MaxAnswer is how many bytes of what a sink answered are kept.
const MaxAnswer = 200

// Answer is what a sink answered when it took a batch, of sinks that say so. The zero Answer is none.
type Answer struct {
	// Status is the sink's own, such as that of HTTP.
	Status int
	// Took is how long the answer took, At when it came.
	Took time.Duration
	At   time.Time
	// Text is the beginning of what it said.
	Text string
	// Own says that the sink is the own one of the queue's tenant, which may read Text.
	Own bool
}

// setAnswer keeps what a sink answered, and the last answer where it said nothing.
func setAnswer(a Answer) []ddb.Action {
	if a == (Answer{}) {
		return nil
	}
	fields := ddb.Fields{
		attrStatus: ddb.Int(int64(a.Status)), attrTook: ddb.Int(a.Took.Milliseconds()), attrAt: ddb.Millis(a.At),
	}
	if a.Text != "" {
		fields[attrText] = ddb.Text(Cut(strings.ToValidUTF8(a.Text, "?"), MaxAnswer))
	}
	if a.Own {
		fields[attrOwn] = ddb.Bool(true)
	}
	return []ddb.Action{attrAnswer.Set(ddb.MapOf(fields))}
}

func decodeAnswer(d *ddb.Decoder, c *Consumer) {
	if !d.Item.Has(attrAnswer) {
		return
	}
	inner := ddb.Decoder{Item: d.MapOr(attrAnswer)}
	c.Answer = Answer{
		Status: int(inner.Number(attrStatus)), Took: time.Duration(inner.Number(attrTook)) * time.Millisecond,
		At: inner.Millis(attrAt), Text: inner.TextOr(attrText, ""), Own: inner.Item.Has(attrOwn),
	}
	if inner.Err != nil {
		d.Fail(attrAnswer, "is not an answer")
	}
}
