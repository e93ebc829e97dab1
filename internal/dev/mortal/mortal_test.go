package mortal

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/pkg/delivery"
)

// calls are Claims that write down what they were called for.
type calls struct {
	delivery.Claims
	seen []string
}

func (c *calls) Claim(context.Context, delivery.Request) (delivery.Answer, error) {
	c.seen = append(c.seen, "Claim")
	return delivery.Answer{Outcome: delivery.OK}, nil
}

func (c *calls) Prepare(context.Context, delivery.Held) (delivery.Answer, error) {
	c.seen = append(c.seen, "Prepare")
	return delivery.Answer{}, nil
}

func (c *calls) CommitAndClaim(context.Context, delivery.Held, delivery.Request,
	...delivery.Reply) (done, next delivery.Answer, err error) {
	c.seen = append(c.seen, "CommitAndClaim")
	return delivery.Answer{}, delivery.Answer{}, nil
}

// batch takes all steps of a batch.
func batch(ctx context.Context, c delivery.Claims) error {
	_, claimed := c.Claim(ctx, delivery.Request{})
	_, prepared := c.Prepare(ctx, delivery.Held{})
	_, _, committed := c.CommitAndClaim(ctx, delivery.Held{}, delivery.Request{})
	return errors.Join(claimed, prepared, committed)
}

func TestSteps(t *testing.T) {
	under := &calls{}
	claims := Claims{under, func(s Step) bool {
		under.seen = append(under.seen, string(s))
		return false
	}}
	check.OK(t, batch(t.Context(), claims))
	want := []string{"Claim", string(Claimed), string(Worked), "Prepare", string(Prepared),
		string(Booked), "CommitAndClaim", string(Committed)}
	check.Is(t, cmp.Diff(want, under.seen), "")
}
