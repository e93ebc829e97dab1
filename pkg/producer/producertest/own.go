package producertest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strconv"

	"github.com/streamsort/streamsort/pkg/producer"
)

// Own is the [Drive] of package producer.
func Own(ctx context.Context, url string, messages []json.RawMessage) ([]string, error) {
	transport, err := producer.HTTP(url)
	if err != nil {
		return nil, err
	}
	p, err := producer.New(transport, &producer.Options{RequestTimeout: RequestTimeout,
		MinBackOff: MinBackOff, MaxBackOff: MaxBackOff})
	if err != nil {
		return nil, err
	}
	futures := make([]*producer.Future, len(messages))
	for i, text := range messages {
		m, err := messageOf(text)
		if err == nil {
			futures[i], err = p.Send(ctx, m)
		}
		if err != nil {
			return nil, errors.Join(err, p.Close(ctx))
		}
	}
	failed := p.Close(ctx)
	outcomes := make([]string, len(futures))
	for i, f := range futures {
		result, err := f.Wait(ctx)
		refused, ok := errors.AsType[*producer.RefusedError](err)
		switch {
		case ok:
			outcomes[i] = strconv.Itoa(refused.Status)
		case err != nil:
			failed = errors.Join(failed, err)
		default:
			outcomes[i] = string(result.Outcome)
		}
	}
	return outcomes, failed
}

// messageOf reads a message of a case, and fails on a member that it would lose.
func messageOf(text json.RawMessage) (producer.Message, error) {
	var m struct {
		producer.Message
		Body       json.RawMessage
		BodyBase64 []byte
	}
	reader := json.NewDecoder(bytes.NewReader(text))
	reader.DisallowUnknownFields()
	err := reader.Decode(&m)
	m.Message.Body = m.Body
	if m.BodyBase64 != nil {
		m.Message.Body = m.BodyBase64
	}
	return m.Message, err
}
