package delivery

import (
	"context"
	"errors"

	"github.com/streamsort/streamsort/internal/request"
	"github.com/streamsort/streamsort/pkg/cursor"
)

// inside does what the functions of this module do with a Deliverer, and nobody else has to.
type inside struct{ *Deliverer }

// Inside is what only this module's own functions do with the Deliverer.
func (d *Deliverer) Inside(request.Inside) inside { return inside{d} }

// Health reads what is known of the sink of a consumer's name, as it was within the last second:
// half a read unit.
func (d inside) Health(ctx context.Context, consumer string) (request.Health, error) {
	return d.store.Health(ctx, consumer, false)
}

// One reads a consumer, and its queue's position after it; the zero Status where either is gone. 2
// read units at most.
func (d inside) One(ctx context.Context, queue, name string) (Status, error) {
	c, err := d.store.Consumer(ctx, queue, name)
	if err != nil || !c.Exists() {
		return Status{}, err
	}
	cur, err := d.sorter.Status(ctx, queue)
	if errors.Is(err, cursor.ErrNoQueue) || isErased(err, queue) {
		return Status{}, nil
	}
	return Status{c, cur.Position}, err
}
