package main

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/streamsort/streamsort/internal/request"
	"github.com/streamsort/streamsort/internal/strictjson"
	"github.com/streamsort/streamsort/internal/tenancy"
	"github.com/streamsort/streamsort/pkg/invalid"
	"github.com/streamsort/streamsort/pkg/xorack"
)

// maxTokens is how many bytes the tokens of one answer take, so that it stays below Lambda's 6 MB.
const maxTokens = 4 << 20

type order struct {
	Operation string        `json:"operation" required:"true" one:"create done add fan fail extend stamp get outstanding delete"`
	Tag       string        `json:"tag"`
	ID        string        `json:"id"`
	Edge      xorack.Edge   `json:"edge"`
	Edges     int           `json:"edges" bounds:"1..10000"`
	Batch     string        `json:"batch"`
	Reason    string        `json:"reason"`
	Deadline  time.Duration `json:"deadline"`
	Until     time.Time     `json:"until"`
	Idle      time.Duration `json:"idle"`
	Parent    xorack.Edge   `json:"parent"`
	// Tree is what the root edges start, Limit how many edges are answered.
	Tree  roots `json:"tree"`
	Limit int   `json:"limit" bounds:"1..1000" default:"100"`

	Children    children   `json:"children"`
	Stamp       hexText    `json:"stamp"`
	StampBase64 base64Text `json:"stampBase64"`
	Given       strictjson.Given

	// children are those of the edge, as the caller names them; stamp is the one that is given.
	children []xorack.Edge
	stamp    []byte
}

type hexText []byte

func (h *hexText) UnmarshalText(text []byte) (err error) {
	if *h, err = hex.DecodeString(string(text)); err != nil {
		return errors.New("must be hexadecimal digits, two a byte")
	}
	return nil
}

type base64Text []byte

func (b *base64Text) UnmarshalText(text []byte) (err error) {
	if *b, err = base64.StdEncoding.Strict().DecodeString(string(text)); err != nil {
		return errors.New("must be base64 with its padding")
	}
	return nil
}

// fields are the members of each operation beside "operation".
var fields = map[string]struct{ required, optional []string }{
	"create": {[]string{"tag"}, []string{"id", "edges", "deadline", "idle", "parent", "stamp", "stampBase64"}},
	"done":   {[]string{"edge"}, []string{"children"}},
	"add":    {[]string{"edge", "batch", "children"}, nil},
	"fan":    {[]string{"edge", "edges"}, nil},
	"fail":   {[]string{"edge", "reason"}, nil},
	"extend": {[]string{"edge", "until"}, nil},
	"stamp":  {[]string{"tag"}, []string{"id", "stamp", "stampBase64"}},
	"get":    {[]string{"tag"}, nil},
	"delete": {[]string{"tag"}, nil},

	"outstanding": {[]string{"tag", "tree"}, []string{"limit"}},
}

func readOrders(scope tenancy.Scope, members []strictjson.Member) ([]order, error) {
	var batch struct {
		Operations []order `json:"operations" bounds:"1..500"`
	}
	if err := strictjson.DecodeMembers(members, &batch); err != nil {
		return nil, err
	}
	tokens := 0
	for i := range batch.Operations {
		o := &batch.Operations[i]
		if err := o.name(scope); err != nil {
			return nil, invalid.Within("operations", i, err)
		}
		tokens += o.tokens()
	}
	if tokens > maxTokens {
		return nil, invalid.New(invalid.OutOfRange, "operations",
			fmt.Sprintf("start edges whose tokens take more than %d bytes", maxTokens))
	}
	return batch.Operations, nil
}

// Check is called by the decoder: it looks at what belongs together, and reads what derives from
// it.
func (o *order) Check() error {
	known := fields[o.Operation]
	all := slices.Concat([]string{"operation"}, known.required, known.optional)
	for _, name := range slices.Sorted(maps.Keys(o.Given)) {
		if !slices.Contains(all, name) {
			return invalid.New(invalid.Unknown, name,
				"is not a member of "+o.Operation+", which has "+strings.Join(all, ", "))
		}
	}
	for _, name := range known.required {
		if !o.Given[name] {
			return invalid.New(invalid.Missing, name, "is missing")
		}
	}
	given := o.Given["stamp"] || o.Given["stampBase64"]
	if o.stamp = o.Stamp; o.stamp == nil {
		o.stamp = o.StampBase64
	}
	switch {
	case o.Given["stamp"] && o.Given["stampBase64"]:
		return invalid.New(invalid.Clash, "stampBase64", "must not stand beside stamp")
	case o.Operation == "stamp" && !given:
		return invalid.New(invalid.Missing, "stamp", "is missing")
	case o.Operation == "create" && given &&
		(o.Given["edges"] || o.Given["idle"] || o.Given["parent"]):
		return invalid.New(invalid.Clash, "stamp", "must not stand beside edges, idle or parent")
	case o.Operation == "outstanding" && o.tokens() > maxTokens:
		return invalid.New(invalid.OutOfRange, "limit",
			fmt.Sprintf("is %d: so many tokens and paths may take more than %d bytes", o.Limit, maxTokens))
	case o.Operation == "create" && o.Edges > xorack.MaxOps:
		return invalid.New(invalid.OutOfRange, "edges",
			fmt.Sprintf("must be an integer from 1 to %d: it is %d", xorack.MaxOps, o.Edges))
	case o.Given["children"]:
		o.children = o.Children.edges(o)
	}
	return nil
}

// name puts the caller's tenant in front of the tag, and looks whose the edges are: tokens have the
// stored tag inside, so that they can be passed to any worker.
func (o *order) name(scope tenancy.Scope) (err error) {
	if o.Tag, err = scope.Full("tag", o.Tag); err != nil {
		return err
	}
	if request.TracksBatch(o.Tag) &&
		slices.Contains([]string{"create", "stamp", "delete"}, o.Operation) {
		return invalid.New(invalid.Misplaced, "tag",
			fmt.Sprintf("must not begin with %s: such chains are those of tracked batches",
				request.TrackedPrefix))
	}
	if !o.Edge.IsZero() {
		err = scope.Owns("edge", o.Edge.Tag())
	}
	if err == nil && !o.Parent.IsZero() {
		err = scope.Owns("parent", o.Parent.Tag())
	}
	return err
}

// tokens is how many bytes the tokens of the answer take.
func (o order) tokens() int {
	if o.Operation == "create" {
		return max(o.Edges, 1) * len(xorack.Root(o.Tag, o.ID, 0).String())
	}
	if o.Operation == "fan" {
		// All of a fan's tokens are as long as the first.
		return o.Edges * len(o.Edge.Fan(min(o.Edges, xorack.FanWidth+1))[0].String())
	}
	if o.Operation == "outstanding" {
		return o.Limit * (len(xorack.Root(o.Tag, "", 0).String()) + o.Tree.longest)
	}
	return len(o.children) * len(o.Edge.String())
}

func count(raw json.RawMessage) (int, error) {
	n, err := strconv.Atoi(string(raw))
	if err != nil || n < 0 || n > xorack.MaxOps || strconv.Itoa(n) != string(raw) {
		return 0, fmt.Errorf("must be an integer from 0 to %d", xorack.MaxOps)
	}
	return n, nil
}

// children are an edge's as the caller gives them: how many there are, or their names.
type children struct {
	n     int
	names []string
}

func (c *children) UnmarshalJSON(raw []byte) (err error) {
	if !strictjson.IsArray(raw) {
		if c.n, err = count(raw); err != nil {
			return invalid.New(invalid.OutOfRange, "",
				err.Error()+", or an array of names: it is "+strictjson.Shown(raw))
		}
		return nil
	}
	elements, err := strictjson.Elements(raw, xorack.MaxOps)
	if err != nil {
		return err
	}
	c.names = make([]string, len(elements))
	for i, element := range elements {
		if c.names[i], err = strictjson.Text(element); err != nil {
			return invalid.Within("", i, err)
		}
	}
	return nil
}

// edges are the children of an order's edge. Those that an add counts are named by its batch: two
// adds, or an add and a done, must not start the same edge twice.
func (c *children) edges(o *order) []xorack.Edge {
	if c.names == nil && o.Operation != "add" {
		return o.Edge.Children(c.n)
	}
	edges := make([]xorack.Edge, max(c.n, len(c.names)))
	for i := range edges {
		if c.names == nil {
			edges[i] = o.Edge.Added(o.Batch, i)
		} else {
			edges[i] = o.Edge.Named(c.names[i])
		}
	}
	return edges
}
