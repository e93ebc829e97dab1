package kind

import (
	"strconv"

	"github.com/streamsort/streamsort/internal/cloudevents"
	"github.com/streamsort/streamsort/pkg/delivery"
)

// EventOf is the batch's i-th message as a CloudEvent in JSON. What a consumer has to know of the
// delivery are extensions of it: streamsortqueue, streamsortseq, streamsortconsumer,
// streamsorttoken, and streamsortedge where the batch is tracked. Data that the sink does not take
// as JSON, of which encode says so, is in base64; encode may be nil.
func EventOf(b delivery.Batch, i int, encode func(data []byte) bool) ([]byte, error) {
	m := b.Messages[i]
	m.Queue = b.Queue
	e := cloudevents.Of(m)
	for name, value := range map[string]string{
		"streamsortqueue": b.Queue, "streamsortseq": strconv.FormatInt(m.Seq, 10), "streamsortconsumer": b.Consumer,
		"streamsorttoken": b.Token.String(), "streamsortedge": EdgeOf(b, i),
	} {
		if delete(e.Kinds, name); value != "" {
			e.Attributes[name] = value
		}
	}
	return e.JSON(encode)
}
