package main

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/streamsort/streamsort/internal/strictjson"
	"github.com/streamsort/streamsort/internal/tenancy"
	"github.com/streamsort/streamsort/pkg/handoff"
	"github.com/streamsort/streamsort/pkg/invalid"
	"github.com/streamsort/streamsort/pkg/xorack"
)

// maxOrders is how many operations one call takes.
const maxOrders = 500

// maxFan is how many edges a fan has here; the library takes more.
const maxFan = 10_000

// maxTokens is how many bytes the tokens of one answer take, so that it stays
// below Lambda's 6 MB.
const maxTokens = 4 << 20

// order is an operation that is asked for.
type order struct {
	operation string
	tag       string
	id        string
	edge      xorack.Edge
	edges     int
	// children are those of the edge, as the caller names them.
	children []xorack.Edge
	batch    string
	reason   string
	stamp    []byte
	deadline time.Duration
	until    time.Time
	idle     time.Duration
	parent   xorack.Edge
	// tree is what the root edges start, limit how many edges are answered,
	// and longest how many bytes the longest path takes.
	tree           []tree
	limit, longest int
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

// readOrders reads a batch.
func readOrders(scope tenancy.Scope, raw json.RawMessage) ([]order, error) {
	elements, err := strictjson.Elements(raw, maxOrders)
	if err != nil {
		return nil, invalid.Named("operations", err)
	}
	if len(elements) == 0 {
		return nil, invalid.New(invalid.OutOfRange, "operations", fmt.Sprintf("is empty: it must have 1 to %d elements", maxOrders))
	}
	orders, tokens := make([]order, len(elements)), 0
	for i, element := range elements {
		members, err := strictjson.Members(element)
		if err != nil {
			return nil, invalid.Within("operations", i, err)
		}
		if orders[i], err = readOrder(scope, members); err != nil {
			return nil, invalid.Within("operations", i, err)
		}
		tokens += orders[i].tokens()
	}
	if tokens > maxTokens {
		return nil, invalid.New(invalid.OutOfRange, "operations", fmt.Sprintf("start edges whose tokens take more than %d bytes", maxTokens))
	}
	return orders, nil
}

// readOrder reads an operation.
func readOrder(scope tenancy.Scope, members []strictjson.Member) (order, error) {
	name, members := strictjson.Take(members, "operation")
	o := order{limit: someOutstandings}
	var err error
	if name == nil {
		return o, invalid.New(invalid.Missing, "operation", "is missing")
	}
	if o.operation, err = strictjson.Text(name); err != nil {
		return o, invalid.Named("operation", err)
	}
	known, ok := fields[o.operation]
	if !ok {
		return o, invalid.New(invalid.Unknown, "operation", "must be create, done, add, fan, fail, extend, stamp, get, outstanding or delete")
	}
	seen := map[string]bool{}
	// The edge first and its children last: they derive from it and its batch.
	slices.SortStableFunc(members, func(a, b strictjson.Member) int { return bytes.Compare([]byte(rank(a)), []byte(rank(b))) })
	for _, m := range members {
		if !slices.Contains(known.required, m.Name) && !slices.Contains(known.optional, m.Name) {
			return o, invalid.New(invalid.Unknown, m.Name, "is not a member of "+o.operation)
		}
		seen[m.Name] = true
		if err := o.set(m); err != nil {
			return o, invalid.Named(m.Name, err)
		}
	}
	for _, name := range known.required {
		if !seen[name] {
			return o, invalid.New(invalid.Missing, name, "is missing")
		}
	}
	if err := o.stampGiven(seen); err != nil {
		return o, err
	}
	if o.operation == "outstanding" && o.tokens() > maxTokens {
		return o, invalid.New(invalid.OutOfRange, "limit", fmt.Sprintf("is %d: so many tokens and paths may take more than %d bytes", o.limit, maxTokens))
	}
	return o, o.name(scope)
}

// name puts the caller's tenant in front of the tag, and looks whose the edges are:
// tokens have the stored tag inside, so that they can be passed to any worker.
func (o *order) name(scope tenancy.Scope) (err error) {
	if o.tag, err = scope.Full("tag", o.tag); err != nil {
		return err
	}
	if handoff.TracksBatch(o.tag) && slices.Contains([]string{"create", "stamp", "delete"}, o.operation) {
		return invalid.New(invalid.Misplaced, "tag", fmt.Sprintf("must not begin with %s: such chains are those of tracked batches", handoff.TrackedPrefix))
	}
	if !o.edge.IsZero() {
		err = scope.Owns("edge", o.edge.Tag())
	}
	if err == nil && !o.parent.IsZero() {
		err = scope.Owns("parent", o.parent.Tag())
	}
	return err
}

// tokens is how many bytes the tokens of the answer take.
func (o order) tokens() int {
	if o.operation == "create" {
		return max(o.edges, 1) * len(xorack.Root(o.tag, o.id, 0).String())
	}
	if o.operation == "fan" {
		// All of a fan's tokens are as long as the first.
		return o.edges * len(o.edge.Fan(min(o.edges, xorack.FanWidth+1))[0].String())
	}
	if o.operation == "outstanding" {
		return o.limit * (len(xorack.Root(o.tag, "", 0).String()) + o.longest)
	}
	return len(o.children) * len(o.edge.String())
}

func rank(m strictjson.Member) string {
	switch m.Name {
	case "edge":
		return "0"
	case "children":
		return "2"
	}
	return "1"
}

// stampGiven checks that there is one stamp where one belongs.
func (o order) stampGiven(seen map[string]bool) error {
	given := seen["stamp"] || seen["stampBase64"]
	switch {
	case seen["stamp"] && seen["stampBase64"]:
		return invalid.New(invalid.Clash, "stampBase64", "must not stand beside stamp")
	case o.operation == "stamp" && !given:
		return invalid.New(invalid.Missing, "stamp", "is missing")
	case o.operation == "create" && given && (seen["edges"] || seen["idle"] || seen["parent"]):
		return invalid.New(invalid.Clash, "stamp", "must not stand beside edges, idle or parent")
	}
	return nil
}

// set sets the field of a member.
func (o *order) set(m strictjson.Member) (err error) {
	var text string
	if !slices.Contains([]string{"edges", "children", "tree", "limit"}, m.Name) {
		if text, err = strictjson.Text(m.Value); err != nil {
			return err
		}
	}
	switch m.Name {
	case "tag":
		o.tag = text
	case "id":
		o.id = text
	case "batch":
		o.batch = text
	case "reason":
		o.reason = text
	case "edge":
		o.edge, err = xorack.ParseEdge(text)
	case "parent":
		o.parent, err = xorack.ParseEdge(text)
	case "edges":
		most := xorack.MaxOps
		if o.operation == "fan" {
			most = maxFan
		}
		o.edges, err = count(m.Value, 1, most)
	case "children":
		o.children, err = o.readChildren(m.Value)
	case "tree":
		o.tree, o.longest, err = readTree(m.Value)
	case "limit":
		o.limit, err = count(m.Value, 1, maxOutstanding)
	case "deadline":
		o.deadline, err = duration(text)
	case "idle":
		o.idle, err = duration(text)
	case "until":
		if o.until, err = time.Parse(time.RFC3339Nano, text); err != nil {
			err = fmt.Errorf(`must be a time such as "2026-01-02T15:04:05Z"`)
		}
	case "stamp":
		if o.stamp, err = hex.DecodeString(text); err != nil {
			err = fmt.Errorf("must be hexadecimal digits, two a byte")
		}
	case "stampBase64":
		if o.stamp, err = base64.StdEncoding.Strict().DecodeString(text); err != nil {
			err = fmt.Errorf("must be base64 with its padding")
		}
	}
	return err
}

func duration(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return 0, fmt.Errorf(`must be a duration above 0, such as "90s", "5m" or "24h"`)
	}
	return d, nil
}

// count reads how many edges there are.
func count(raw json.RawMessage, least, most int) (int, error) {
	n, err := strconv.Atoi(string(raw))
	if err != nil || n < least || n > most || strconv.Itoa(n) != string(raw) {
		return 0, invalid.New(invalid.OutOfRange, "", fmt.Sprintf("must be an integer from %d to %d", least, most))
	}
	return n, nil
}

// readChildren reads an edge's children: how many there are, or their names.
// Those that an add counts are named by its batch: two adds, or an add and a
// done, must not start the same edge twice. The batch is read before them.
func (o *order) readChildren(raw json.RawMessage) ([]xorack.Edge, error) {
	if !strictjson.IsArray(raw) {
		n, err := count(raw, 0, xorack.MaxOps)
		if err != nil {
			return nil, invalid.New(invalid.OutOfRange, "", err.Error()+", or an array of names")
		}
		if o.operation != "add" {
			return o.edge.Children(n), nil
		}
		edges := make([]xorack.Edge, n)
		for i := range edges {
			edges[i] = o.edge.Added(o.batch, i)
		}
		return edges, nil
	}
	elements, err := strictjson.Elements(raw, xorack.MaxOps)
	if err != nil {
		return nil, err
	}
	edges := make([]xorack.Edge, len(elements))
	for i, element := range elements {
		name, err := strictjson.Text(element)
		if err != nil {
			return nil, invalid.New(invalid.Malformed, "", "has an element that "+err.Error())
		}
		edges[i] = o.edge.Named(name)
	}
	return edges, nil
}
