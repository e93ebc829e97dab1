package delivery

import (
	"strings"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
)

// maxResponse is how many bytes of what a sink answered are kept.
const maxResponse = 200

// Response is what a sink answered when it took a batch, of sinks that say so. The zero Response
// means that there was no answer.
type Response struct {
	// Status is the sink's own, such as that of HTTP.
	Status int `ddb:"status"`
	// Took is how long the answer took, At when it came.
	Took time.Duration `ddb:"ms"`
	At   time.Time     `ddb:"at"`
	// Text is the beginning of what it said.
	Text string `ddb:"text,omitzero"`
	// Own says that the sink is the own one of the queue's tenant, which may read Text.
	Own bool `ddb:"own,omitzero"`
}

// setAnswer keeps what a sink answered, and the last answer where it said nothing.
func setAnswer(a Response) []ddb.Action {
	if a == (Response{}) {
		return nil
	}
	a.Text = shorten(strings.ToValidUTF8(a.Text, "?"), maxResponse)
	return []ddb.Action{attrAnswer.Set(ddb.ValueOf(a))}
}
