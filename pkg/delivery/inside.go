package delivery

import (
	"context"

	"github.com/streamsort/streamsort/internal/request"
)

// inside does what the functions of this module do with a Deliverer, and nobody else has to.
type inside struct{ *Deliverer }

// Inside is what only this module's own functions do with the Deliverer.
func (d *Deliverer) Inside(request.Inside) inside { return inside{d} } //nolint:revive // for this module alone

// Health reads what is known of the sink of a consumer's name, as it was within the last second: half
// a read unit.
func (d inside) Health(ctx context.Context, consumer string) (request.Health, error) {
	return d.store.Health(ctx, consumer, false)
}
