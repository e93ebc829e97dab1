package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/streamsort/streamsort/internal/client"
	"github.com/streamsort/streamsort/pkg/tenant"
	"github.com/streamsort/streamsort/pkg/xorack"
)

// chainCommand prints a chain, and the parts of a fan in it.
type chainCommand struct {
	readFlags
	Tag  string `arg:"" help:"The chain's tag."`
	ID   string `help:"The id that the chain was created with, where it has one: its first edge is known by it, and the parts of a fan by that."`
	Edge string `help:"The token of the edge that was fanned, where that is not the chain's first. With a tenant's token it is always needed to see parts."`
}

// chain is a chain as the API shows it.
type chain struct {
	Tag, State, Reason, Idle                 string
	Created                                  bool
	Edges, EdgesEnded, Stamps                int64
	AgeSeconds                               float64
	CreatedAt, Deadline, ProgressAt, EndedAt string
}

// maxParts is how many parts of a fan are asked for: each is a request of its own.
const maxParts = 64

// part is a chain in a tree, and what hangs under it.
type part struct {
	chain `json:"-"`
	Raw   json.RawMessage `json:"chain"`
	Parts []*part         `json:"parts,omitempty"`
	// More is that there may be parts which were not asked for.
	More bool `json:"more,omitempty"`
}

// Run implements the verb.
func (c *chainCommand) Run(s *session) error {
	fanned, err := c.fanned()
	if err != nil {
		return err
	}
	whole, err := s.chain(c.Tag)
	if err != nil {
		return err
	}
	if err := s.parts(whole, fanned); err != nil {
		return err
	}
	raw, err := json.Marshal(whole)
	if err != nil {
		return err
	}
	return s.printChain(raw, whole)
}

// fanned is the edge whose parts are looked for.
func (c *chainCommand) fanned() (xorack.Edge, error) {
	switch {
	case c.Edge != "" && c.ID != "":
		return xorack.Edge{}, usageError("--id and --edge are both given: each says which edge was fanned, so give one")
	case c.Edge == "":
		return xorack.Root(c.Tag, c.ID, 0), nil
	}
	edge, err := xorack.ParseEdge(c.Edge)
	if err != nil {
		return edge, usageError(fmt.Sprintf("--edge is %q: %v; give the token as the answer to the create, done or fan has it", c.Edge, err))
	}
	if _, name := tenant.Split(edge.Tag()); c.Tag != edge.Tag() && c.Tag != name {
		return edge, usageError(fmt.Sprintf("--edge is an edge of the chain %q, not of %q: give that tag, or another edge", edge.Tag(), c.Tag))
	}
	return edge, nil
}

// chain asks for one chain.
func (s *session) chain(tag string) (*part, error) {
	var answer struct{ Chain json.RawMessage }
	if _, err := s.get("/chains", url.Values{"tag": {tag}}, &answer); err != nil {
		return nil, err
	}
	found := &part{Raw: answer.Chain}
	return found, json.Unmarshal(answer.Chain, &found.chain)
}

// parts finds the chains into which a fan of an edge was put, and what those were put into in
// their turn, level by level. An edge that was not fanned, or into no more edges than one chain
// takes, has none.
func (s *session) parts(whole *part, fanned xorack.Edge) error {
	if whole.Edges < 2 { // a fan has started edges beside the one that it ended
		return nil
	}
	short := whole.Tag != fanned.Tag() // a tenant does not name itself
	left := maxParts
	if err := s.under(whole, partsOf(fanned), short, &left); err != nil {
		return err
	}
	for i, one := range whole.Parts {
		if err := s.under(one, partsOfPart(fanned, i), short, &left); err != nil {
			return err
		}
		if len(one.Parts) == 0 && !one.More {
			return nil // its edges are the work itself, and so are those of the others
		}
	}
	return nil
}

// under asks for the chains of these tags, up to the first that is not there, and as long as
// some are left to be asked for.
func (s *session) under(above *part, tags []string, short bool, left *int) error {
	for i, tag := range tags {
		if int64(i) == above.Edges {
			return nil
		}
		if *left == 0 {
			above.More = true
			return nil
		}
		if short {
			_, tag = tenant.Split(tag)
		}
		found, err := s.chain(tag)
		var problem *client.Problem
		if errors.As(err, &problem) && problem.Status == http.StatusNotFound {
			return nil
		}
		if err != nil {
			return err
		}
		*left--
		above.Parts = append(above.Parts, found)
	}
	return nil
}

// partsOf are the tags that the parts of a fan of an edge have: they follow from the edge, and
// the first ones are the same however many there are.
func partsOf(edge xorack.Edge) []string {
	leaves := edge.Fan(xorack.FanWidth * xorack.FanWidth)
	return everyPart(leaves)
}

// partsOfPart are the tags that the parts of the ith part of a fan have. There are some in a
// fan that is wider than two levels hold.
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

// isPart reports whether the tag is that of a part of a fan, which ends an edge of another chain.
func (c chain) isPart() bool {
	_, name := tenant.Split(c.Tag)
	return strings.HasPrefix(name, "fan.")
}
