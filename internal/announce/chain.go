package announce

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws/arn"

	"github.com/streamsort/streamsort/internal/awscall"
	"github.com/streamsort/streamsort/pkg/xorack"
)

// chain is the announcement of a chain's end as readers see it.
type chain struct {
	ID         string     `json:"id"`
	Kind       string     `json:"kind"`
	Tag        string     `json:"tag"`
	Tenant     string     `json:"tenant,omitempty"`
	Outcome    string     `json:"outcome"`
	Reason     string     `json:"reason,omitempty"`
	Operation  string     `json:"operation,omitempty"`
	Edges      int64      `json:"edges"`
	EdgesEnded int        `json:"edgesEnded"`
	CreatedAt  *time.Time `json:"createdAt,omitempty"`
	EndedAt    time.Time  `json:"endedAt"`
	Seconds    float64    `json:"ageSeconds"`
}

// newChain is the document of an end. Its kind is "chain.done",
// "chain.failed", "chain.timed-out" or "chain.deleted".
func newChain(c xorack.Chain) chain {
	d := chain{
		ID: c.EventID(), Kind: "chain." + strings.ReplaceAll(strings.ToLower(string(c.End())), "_", "-"),
		Tag: c.Tag, Tenant: of(c.Tag), Outcome: string(c.End()), Reason: c.Reason, Edges: c.Edges, EdgesEnded: c.EdgesEnded(),
		EndedAt: c.Ended(), Seconds: c.Age(c.Ended()).Seconds(),
	}
	if c.IsCreated() {
		d.CreatedAt = &c.Created
	}
	if c.End() == xorack.Done || c.End() == xorack.Failed {
		// The mark of the edge that was the last, or that failed.
		d.Operation = c.LastOp.String()
	}
	if c.HasStamps() {
		d.Operation = ""
	}
	return d
}

// Chain announces how a chain ended.
func (a *Announcer) Chain(ctx context.Context, c xorack.Chain) error {
	d := newChain(c)
	slog.InfoContext(ctx, d.Kind, "id", d.ID, "tag", d.Tag, "edges", d.Edges, "edgesEnded", d.EdgesEnded, "ageSeconds", d.Seconds)
	return a.send(ctx, d.Kind, d)
}

// Function hands the ends of chains on to a Lambda function.
type Function struct {
	arn    string
	client *awscall.Client
}

// NewFunction returns a Function by its ARN, which may name a version or an
// alias. It makes no request.
func NewFunction(function string) (*Function, error) {
	target, err := arn.Parse(function)
	if err != nil || target.Service != "lambda" || target.Region == "" || !strings.HasPrefix(target.Resource, "function:") {
		return nil, fmt.Errorf("function %q must be like arn:aws:lambda:REGION:ACCOUNT:function:NAME", function)
	}
	client, err := awscall.New(awscall.Lambda, awscall.Options{Region: target.Region, Timeout: requestTimeout})
	return &Function{arn: function, client: client}, err
}

// Chain invokes the function, asynchronously, with the document that events of
// a chain's end have as their detail. Lost response: it is invoked twice, with
// the same id. We die right after: whoever finishes the chain repeats it.
func (f *Function) Chain(ctx context.Context, c xorack.Chain) error {
	payload, err := json.Marshal(newChain(c))
	if err != nil {
		return err
	}
	if _, err := f.client.Invoke(ctx, f.arn, awscall.Event, payload); err != nil {
		return fmt.Errorf("invoke %s: %w", f.arn, err)
	}
	return nil
}

// Ends makes what tells people and programs how chains end: on a bus, on a
// topic, and by a function's ARN, each where it is not empty.
func Ends(bus, topic, function string) (xorack.Announce, error) {
	announcer, err := New(bus, topic)
	if err != nil {
		return nil, err
	}
	if function == "" {
		return announcer.Chain, nil
	}
	invoked, err := NewFunction(function)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, c xorack.Chain) error {
		if err := announcer.Chain(ctx, c); err != nil {
			return err
		}
		return invoked.Chain(ctx, c)
	}, nil
}
