package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/streamsort/streamsort/internal/httpapi"
	"github.com/streamsort/streamsort/internal/strictjson"
	"github.com/streamsort/streamsort/pkg/invalid"
	"github.com/streamsort/streamsort/pkg/xorack"
)

const (
	maxTree      = 10_000
	maxTreeDepth = 100
)

// tree is what work starts, as the caller gives it: edges by their number or by their name, each
// with what follows from it.
type tree struct {
	// key is a number or a name, edge makes the edge of that key.
	key   any
	under []tree
}

// waiting is an edge that has not ended, and where in the tree it is.
type waiting struct {
	Path []any       `json:"path"`
	Edge xorack.Edge `json:"edge"`
}

// outstanding lists the edges of a tree that have not ended.
func (s *service) outstanding(ctx context.Context, call *httpapi.Call, o order) result {
	c, err := s.acker.Get(ctx, o.Tag)
	if err == nil && c.HasStamps() {
		err = xorack.ErrOtherKind
	}
	if err != nil {
		return refused(ctx, call, o, err)
	}
	found := []waiting{}
	more := false
	var walk func(e xorack.Edge, t tree, path []any)
	walk = func(e xorack.Edge, t tree, path []any) {
		switch {
		case c.Has(e.Op()):
			for _, child := range t.under {
				var under xorack.Edge
				switch key := child.key.(type) {
				case int:
					under = e.Child(key)
				case string:
					under = e.Named(key)
				}
				walk(under, child, append(slices.Clip(path), child.key))
			}
		case len(found) == o.Limit:
			more = true
		default:
			found = append(found, waiting{path, e})
		}
	}
	for i, root := range o.Tree.trees {
		walk(c.Root(i), root, []any{i})
	}
	return result{Status: http.StatusOK, Operation: o.Operation, Outstanding: found, More: more,
		Chain: s.answer(call, c)}
}

// roots are what the root edges start, and how many bytes the longest path in that takes.
type roots struct {
	trees   []tree
	longest int
}

// UnmarshalJSON implements json.Unmarshaler: how many edges there are that start no other, an array
// with what each of them starts, or an object of that by name.
func (t *roots) UnmarshalJSON(raw []byte) (err error) {
	r := treeReader{left: maxTree}
	if t.trees, err = r.trees(raw, maxTreeDepth, 0); err != nil {
		return err
	}
	if len(t.trees) == 0 {
		return invalid.New(invalid.Missing, "", "must have a root edge")
	}
	if _, named := t.trees[0].key.(string); named {
		return errors.New("must be how many root edges there are, or an array of what each starts: they have no names")
	}
	t.longest = r.longest
	return nil
}

// treeReader is how many edges a tree may still have, and the longest path so far.
type treeReader struct{ left, longest int }

var errTreeTooLarge = invalid.New(invalid.OutOfRange, "",
	fmt.Sprintf("has more than %d edges, or more than %d levels", maxTree, maxTreeDepth))

// trees reads what an edge starts, at the end of a path of so many bytes.
func (r *treeReader) trees(raw json.RawMessage, depth, path int) ([]tree, error) {
	if depth == 0 {
		return nil, errTreeTooLarge
	}
	var trees []tree
	add := func(key any, under json.RawMessage) (err error) {
		if r.left--; r.left < 0 {
			return errTreeTooLarge
		}
		text, err := json.Marshal(key)
		if err != nil {
			return err
		}
		length := path + len(text) + 1
		r.longest = max(r.longest, length)
		t := tree{key: key}
		if under != nil {
			t.under, err = r.trees(under, depth-1, length)
		}
		trees = append(trees, t)
		return err
	}
	if strictjson.IsArray(raw) {
		elements, err := strictjson.Elements(raw, maxTree)
		if err != nil {
			return nil, err
		}
		for i, element := range elements {
			if err := add(i, element); err != nil {
				return nil, err
			}
		}
		return trees, nil
	}
	if members, err := strictjson.Members(raw); err == nil {
		for _, m := range members {
			if err := add(m.Name, m.Value); err != nil {
				return nil, err
			}
		}
		return trees, nil
	}
	n, err := count(raw)
	if err != nil {
		return nil, errors.New("must be how many edges there are, an array of what each starts, or an object of that by name")
	}
	for i := range n {
		if err := add(i, nil); err != nil {
			return nil, err
		}
	}
	return trees, nil
}
