package mortal

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/streamsort/streamsort/pkg/delivery"
	"github.com/streamsort/streamsort/pkg/delivery/pull"
)

// calls are Claims that write down what they were called for.
type calls struct {
	pull.Claims
	seen []string
}

func (c *calls) Claim(context.Context, pull.Request) (pull.Answer, error) {
	c.seen = append(c.seen, "Claim")
	return pull.Answer{Verdict: pull.OK}, nil
}

func (c *calls) Prepare(context.Context, pull.Held) (pull.Answer, error) {
	c.seen = append(c.seen, "Prepare")
	return pull.Answer{}, nil
}

func (c *calls) CommitAndClaim(context.Context, pull.Held, pull.Request, ...delivery.Reply) (done, next pull.Answer, err error) {
	c.seen = append(c.seen, "CommitAndClaim")
	return pull.Answer{}, pull.Answer{}, nil
}

// batch takes all steps of a batch.
func batch(ctx context.Context, c pull.Claims) error {
	_, claimed := c.Claim(ctx, pull.Request{})
	_, prepared := c.Prepare(ctx, pull.Held{})
	_, _, committed := c.CommitAndClaim(ctx, pull.Held{}, pull.Request{})
	return errors.Join(claimed, prepared, committed)
}

func TestSteps(t *testing.T) {
	under := &calls{}
	claims := Claims{under, func(s Step) bool { under.seen = append(under.seen, string(s)); return false }}
	if err := batch(t.Context(), claims); err != nil {
		t.Fatal(err)
	}
	want := []string{"Claim", string(Claimed), string(Worked), "Prepare", string(Prepared), string(Booked), "CommitAndClaim", string(Committed)}
	if diff := cmp.Diff(want, under.seen); diff != "" {
		t.Errorf("a batch (-want +got):\n%s", diff)
	}
}
