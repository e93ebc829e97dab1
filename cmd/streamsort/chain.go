package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"

	"github.com/streamsort/streamsort/internal/fantree"
	"github.com/streamsort/streamsort/pkg/tenant"
	"github.com/streamsort/streamsort/pkg/xorack"
)

// chainCommand lists chains, or prints one, and the parts of a fan in it.
type chainCommand struct {
	readFlags
	Tag   string `arg:"" optional:"" help:"The chain's tag. Without one, chains are listed."`
	State string `help:"List those in this state: open, failed, timed-out; open ones where it is not given." enum:",open,failed,timed-out" default:""`
	listFlags
	ID   string `help:"The id that the chain was created with, where it has one: its first edge is known by it, and the parts of a fan by that."`
	Edge string `help:"The token of the edge that was fanned, where that is not the chain's first. With a tenant's token it is always needed to see parts."`
}

// chain is a chain as the API shows it.
type chain fantree.Chain

// maxParts is how many parts of a fan are asked for: each is a request of its own.
const maxParts = 64

func (c *chainCommand) Run(s *session) error {
	switch {
	case c.Tag == "" && c.ID+c.Edge != "":
		return usageError("--id and --edge are for one chain: give its tag")
	case c.Tag == "":
		return s.chains(cmp.Or(c.State, "open"), c.listFlags)
	case c.State != "" || c.listFlags != (listFlags{}):
		return usageError("--state, --prefix and --limit are for a list: without a tag")
	}
	fanned, err := c.fanned()
	if err != nil {
		return err
	}
	whole, err := fantree.Read(s.chain, c.Tag, fanned, maxParts)
	if err != nil {
		return err
	}
	return s.printChain(whole)
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
func (s *session) chain(tag string) (json.RawMessage, error) {
	var answer struct{ Chain json.RawMessage }
	_, err := s.get("/chains", url.Values{"tag": {tag}}, &answer)
	return answer.Chain, err
}

// isPart reports whether the tag is that of a part of a fan, which ends an edge of another chain.
func (c chain) isPart() bool {
	_, name := tenant.Split(string(c.Tag))
	return strings.HasPrefix(name, "fan.")
}
