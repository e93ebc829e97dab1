package producertest

import (
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
	p, err := producer.New(transport, &producer.Options{RequestTimeout: RequestTimeout, MinBackOff: MinBackOff, MaxBackOff: MaxBackOff})
	if err != nil {
		return nil, err
	}
	futures := make([]*producer.Future, len(messages))
	for i, text := range messages {
		var m producer.Message
		if err := json.Unmarshal(text, &m); err != nil {
			return nil, errors.Join(err, p.Close(ctx))
		}
		if futures[i], err = p.Send(ctx, m); err != nil {
			return nil, errors.Join(err, p.Close(ctx))
		}
	}
	failed := p.Close(ctx)
	outcomes := make([]string, len(futures))
	for i, f := range futures {
		result, err := f.Wait(ctx)
		var refused *producer.RefusedError
		switch {
		case errors.As(err, &refused):
			outcomes[i] = strconv.Itoa(refused.Status)
		case err != nil:
			failed = errors.Join(failed, err)
		default:
			outcomes[i] = string(result.Outcome)
		}
	}
	return outcomes, failed
}
