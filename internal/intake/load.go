package intake

import (
	"context"
	"errors"

	"github.com/streamsort/streamsort/internal/emf"
	"github.com/streamsort/streamsort/internal/fanout"
	"github.com/streamsort/streamsort/internal/quota"
	"github.com/streamsort/streamsort/pkg/cursor"
)

// Load is what a request of a tenant's brings, as its quotas count it. The zero Load is nothing.
type Load struct {
	messages, bytes int64
	queues          []string
}

// Add adds a message for a queue: its body and its attributes count.
func (l *Load) Add(queue string, body []byte, attributes map[string]string) {
	l.messages++
	l.bytes += int64(len(body))
	for name, value := range attributes {
		l.bytes += int64(len(name) + len(value))
	}
	l.Use(queue)
}

// Use adds a queue, which is made if it is not there.
func (l *Load) Use(queue string) { l.queues = append(l.queues, queue) }

// Take takes the load from a tenant's quotas, or is the problem of the one in which there is no
// room for it. What has to be read for it is read only of a tenant that has room for the messages:
// the queues that this process has not seen lately, one strong read each.
func (l *Load) Take(ctx context.Context, quotas *quota.Keeper, metrics *emf.Metrics, tenant string,
	sorter *cursor.Sorter) error {
	if err := quotas.Take(ctx, metrics, tenant,
		quota.Amounts{quota.Messages: l.messages, quota.Bytes: l.bytes}); err != nil {
		return err
	}
	if !quotas.Bounds(tenant, quota.NewQueues) {
		return nil
	}
	missing, err := missingOf(ctx, sorter, l.queues)
	if err != nil {
		return err
	}
	return quotas.Take(ctx, metrics, tenant, quota.Amounts{quota.NewQueues: missing})
}

// missingOf is how many of the queues are not there. One whose name is invalid is left to the put.
func missingOf(ctx context.Context, sorter *cursor.Sorter,
	queues []string) (missing int64, err error) {
	seen := map[string]bool{}
	var ask []string
	for _, queue := range queues {
		if !seen[queue] && cursor.ValidateQueue(queue) == nil {
			ask = append(ask, queue)
		}
		seen[queue] = true
	}
	errs := make([]error, len(ask))
	fanout.SideBySide(len(ask), func(i int) { _, errs[i] = sorter.Settings(ctx, ask[i]) })
	for _, err := range errs {
		switch {
		case errors.Is(err, cursor.ErrNoQueue):
			missing++
		case err != nil:
			return 0, err
		}
	}
	return missing, nil
}
