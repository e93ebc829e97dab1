// Package fantree finds the chains into which a fan of an edge was put. No chain has a list of
// them: their tags follow from the edge. [Read] asks for them one by one, up to the first that is
// not there. It stores nothing.
package fantree

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/streamsort/streamsort/internal/client"
	"github.com/streamsort/streamsort/internal/printable"
	"github.com/streamsort/streamsort/pkg/tenant"
	"github.com/streamsort/streamsort/pkg/xorack"
)

// Chain is a chain as the API shows it.
type Chain struct {
	Tag                             printable.Name
	State, Reason, Idle             string
	Created                         bool
	Edges, EdgesEnded, Stamps       int64
	AgeSeconds                      float64
	CreatedAt, Deadline, ProgressAt time.Time
	EndedAt                         time.Time
}

// Node is a chain in a tree, and what hangs under it.
type Node struct {
	Chain `json:"-"`
	// Raw is the chain as the API shows it.
	Raw   json.RawMessage `json:"chain"`
	Parts []*Node         `json:"parts,omitempty"`
	// More is that there may be parts which were not asked for.
	More bool `json:"more,omitempty"`
}

// Ask asks the API for a chain.
type Ask func(tag string) (json.RawMessage, error)

type reader struct {
	ask   Ask
	short bool // a tenant does not name itself in what it asks for
	left  int  // parts that may be asked for
}

// Fanned is the edge of a chain whose parts to look for: the one of a token; or, without a token,
// the first one of the chain that was created with an id.
func Fanned(tag, id, token string) (xorack.Edge, error) {
	if token == "" {
		return xorack.Root(tag, id, 0), nil
	}
	edge, err := xorack.ParseEdge(token)
	if err != nil {
		const asAnswered = "edge is %q: %w; give the token as the answer to create, done or fan has it"
		return edge, fmt.Errorf(asAnswered, token, err)
	}
	if _, name := tenant.Split(edge.Tag()); tag != edge.Tag() && tag != name {
		const another = "edge is an edge of the chain %q, not of %q: give that tag, or another edge"
		return edge, fmt.Errorf(another, edge.Tag(), tag)
	}
	return edge, nil
}

// Read asks for a chain, and for the chains into which a fan of an edge of it was put, and what
// those were put into in their turn, level by level: most parts at most, each a request. An edge
// that was not fanned, or into no more edges than one chain takes, has none. The error is that of
// ask.
func Read(ask Ask, tag string, fanned xorack.Edge, most int) (*Node, error) {
	r := &reader{ask: ask, left: most}
	whole, err := r.node(tag)
	if err != nil || whole.Edges < 2 { // a fan has started edges beside the one that it ended
		return whole, err
	}
	r.short = string(whole.Tag) != fanned.Tag()
	// The tags of the parts follow from the edge: the first ones are the same however many there are.
	tags := everyPart(fanned.Fan(xorack.FanWidth * xorack.FanWidth))
	if err := r.under(whole, tags); err != nil {
		return nil, err
	}
	for i, one := range whole.Parts {
		if err := r.under(one, partsOfPart(fanned, i)); err != nil {
			return nil, err
		}
		if len(one.Parts) == 0 && !one.More {
			break // its edges are the work itself, and so are those of the others
		}
	}
	return whole, nil
}

func (r *reader) node(tag string) (*Node, error) {
	raw, err := r.ask(tag)
	if err != nil {
		return nil, err
	}
	n := &Node{Raw: raw}
	return n, json.Unmarshal(raw, &n.Chain)
}

// under asks for the chains of these tags, up to the first that is not there, and as long as some
// are left to be asked for.
func (r *reader) under(above *Node, tags []string) error {
	for i, tag := range tags {
		if int64(i) == above.Edges {
			return nil
		}
		if r.left == 0 {
			above.More = true
			return nil
		}
		if r.short {
			_, tag = tenant.Split(tag)
		}
		found, err := r.node(tag)
		problem, ok := errors.AsType[*client.Problem](err)
		if ok && problem.Status == http.StatusNotFound {
			return nil
		}
		if err != nil {
			return err
		}
		r.left--
		above.Parts = append(above.Parts, found)
	}
	return nil
}

// partsOfPart are the tags that the parts of the ith part of a fan have. There are some in a fan
// that is wider than two levels hold.
func partsOfPart(edge xorack.Edge, i int) []string {
	const level = xorack.FanWidth * xorack.FanWidth
	leaves := edge.Fan(max(i+1, 2) * level)
	if len(leaves) == 0 {
		return nil // there is no such wide fan
	}
	return everyPart(leaves[i*level : (i+1)*level])
}

// everyPart are the tags of edges that are in parts of as many as one chain takes.
func everyPart(leaves []xorack.Edge) []string {
	var tags []string
	for i := 0; i < len(leaves); i += xorack.FanWidth {
		tags = append(tags, leaves[i].Tag())
	}
	return tags
}
