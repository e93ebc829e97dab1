package fifo

import (
	"context"
	"crypto/md5"
	"encoding/hex"
	"fmt"
	"strconv"

	"github.com/streamsort/streamsort/internal/awscall"
	"github.com/streamsort/streamsort/internal/sink/kind"
	"github.com/streamsort/streamsort/pkg/delivery"
)

// Sink is a queue or a topic.
type Sink struct {
	// Target is what requests name it by, and SendBatch makes one to a target.
	Target    string
	SendBatch func(context.Context, string, []awscall.Entry) (awscall.Verdicts, error)
	Limits    kind.Limits
	// Events means that messages are sent as CloudEvents.
	Events bool
}

// Send implements [kind.Sink].
func (s *Sink) Send(ctx context.Context, b delivery.Batch) error {
	items, err := Items(b, s.Events)
	if err != nil {
		return err
	}
	return kind.SendAll(ctx, b.Queue, items, s.Limits, true, s.put)
}

// put is one request. Its answer names entries by ids, which are their places here; one that the
// answer does not name was not taken, as far as we know.
func (s *Sink) put(ctx context.Context, entries []awscall.Entry) ([]kind.Refusal, error) {
	for i := range entries {
		entries[i].ID = strconv.Itoa(i)
	}
	out, err := s.SendBatch(ctx, s.Target, entries)
	if err != nil {
		return nil, fmt.Errorf("send %d messages to %s: %w", len(entries), s.Target, err)
	}
	taken, failed := map[string]awscall.Taken{}, map[string]awscall.Failed{}
	for _, t := range out.Successful {
		taken[t.ID] = t
	}
	for _, f := range out.Failed {
		failed[f.ID] = f
	}
	var refusals []kind.Refusal
	for i, e := range entries {
		t, isTaken := taken[e.ID]
		f, hasFailed := failed[e.ID]
		switch {
		case isTaken && !isSumOf(t.MD5OfMessageBody, e.Body):
			return nil,
				fmt.Errorf("%s took a message that was changed on its way: its deduplication id is %s",
					s.Target, e.DeduplicationID)
		case hasFailed:
			refusals = append(refusals, kind.Refusal{
				Index: i, Code: f.Code, Message: f.Message, Final: f.SenderFault, Away: !f.SenderFault,
			})
		case !isTaken:
			refusals = append(refusals, kind.Refusal{
				Index: i, Code: "NoVerdict", Message: "the answer does not name the message",
			})
		}
	}
	return refusals, nil
}

// isSumOf reports whether SQS's sum is that of a body. It may leave it out, and SNS has none.
func isSumOf(sum, body string) bool {
	own := md5.Sum([]byte(body))
	return sum == "" || sum == hex.EncodeToString(own[:])
}
