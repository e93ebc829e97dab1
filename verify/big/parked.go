package big

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/streamsort/streamsort/internal/queuelog"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/table"
)

// parked fills a gap behind which as much waits as a queue takes by default. The
// producer who fills it is answered soon, others are no longer refused by a full
// queue, and the stream's handler releases the rest, in one invocation after the other;
// of another queue of its batch it loses no invocation.
func parked(w *world) error {
	ctx, last := context.Background(), 1+w.of(100_000)
	settings := cursor.DefaultSettings()
	maxAhead := last
	for _, queue := range []string{"big", "other"} {
		var s spent
		if err := w.invoke(&s, oneByOne(time.Minute), func(sorter *cursor.Sorter) error {
			_, err := sorter.Configure(ctx, queue, cursor.Change{MaxAhead: &maxAhead, Mode: &settings.Mode})
			return err
		}); err != nil {
			return err
		}
	}
	if err := w.fill("big", 2, last, 30_000); err != nil {
		return err
	}
	if _, err := w.store.Requests(queuelog.Inside{}).OpenGap(ctx, "big", last, w.now); err != nil {
		return err
	}
	if err := w.fill("other", 1, 3, 100); err != nil {
		return err
	}

	var put spent
	filler := cursor.Message{Queue: "big", Seq: 1, Body: []byte("1")}
	if err := w.invoke(&put, oneByOne(time.Second), func(s *cursor.Sorter) error {
		err := s.Put(ctx, filler)[0].Err
		return err
	}); err != nil {
		return err
	}
	w.line(fmt.Sprintf("the put of the missing message, to position %d", w.position("big")), put)
	if w.position("big") < 1 {
		return errors.New("the missing message is not released with the put")
	}
	var ahead cursor.Result
	if err := w.invoke(&spent{}, oneByOne(time.Second), func(s *cursor.Sorter) (err error) {
		ahead = s.Put(ctx, cursor.Message{Queue: "big", Seq: last + 1, Body: []byte("1")})[0]
		err = ahead.Err
		return err
	}); err != nil || ahead.Outcome == cursor.Full {
		return fmt.Errorf("after it a producer's answer is %s, %w", ahead.Outcome, err)
	}

	event := table.StreamEvent{Records: []json.RawMessage{inserted(1, "big", 1), inserted(2, "other", 1)}}
	var rest spent
	for done := false; !done; {
		before := w.position("big")
		if err := w.invoke(&rest, oneByOne(55*time.Second), func(s *cursor.Sorter) error {
			response, err := cursor.OnMessages(s, cursor.Names{}, nil)(ctx, event)
			done = len(response.BatchItemFailures) == 0
			return err
		}); err != nil {
			return err
		}
		if w.position("other") != 3 {
			return errors.New("another queue of the batch waits")
		}
		if !done && w.position("big") == before {
			return fmt.Errorf("an invocation did nothing, at position %d", before)
		}
	}
	w.line("the stream's handler", rest)
	bytes := float64(last) * 30_000
	return errors.Join(
		atMost("requests of the put", float64(put.requests), 12),
		atMost("read units of the put", put.units.Reads, 1000),
		atMost("invocations", float64(rest.invocations), 1+1.2*bytes/(55*readRate)),
		atMost("requests", float64(rest.requests), 20+2.2*bytes/(1<<20)+10*float64(rest.invocations)),
		atMost("read units", rest.units.Reads, 300+1.1*bytes/4096),
		atMost("messages that are not released", float64(last+1-w.position("big")), 0))
}

// inserted is a record of the messages' stream.
func inserted(sequence int, queue string, seq int64) json.RawMessage {
	return fmt.Appendf(nil, `{"eventName":"INSERT","dynamodb":{"SequenceNumber":"%d","Keys":{"queue":{"S":%q},"seq":{"N":"%d"}}}}`, sequence, queue, seq)
}
