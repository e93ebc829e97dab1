package xorack_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/pkg/xorack"
)

// TestInvalid gives every operation what it can never take, and checks that it says which field is
// wrong and that the chain stays as it is.
func TestInvalid(t *testing.T) {
	long := strings.Repeat("x", xorack.MaxTag+1)
	ok := xorack.Root("t", "", 0)
	children := func(edges ...xorack.Edge) func(context.Context, *fixture) error {
		return func(ctx context.Context, f *fixture) error { return check.Err(f.Done(ctx, ok, edges...)) }
	}
	created := func(o xorack.CreateOptions) func(context.Context, *fixture) error {
		return func(ctx context.Context, f *fixture) error { return check.Err(f.Create(ctx, "new", &o)) }
	}
	tag := func(tag string) func(context.Context, *fixture) error {
		return func(ctx context.Context, f *fixture) error { return check.Err(f.Create(ctx, tag, nil)) }
	}
	reason := func(reason string) func(context.Context, *fixture) error {
		return func(ctx context.Context, f *fixture) error { return check.Err(f.Fail(ctx, ok, reason)) }
	}
	deadline := func(deadline time.Time) func(context.Context, *fixture) error {
		return func(ctx context.Context, f *fixture) error {
			return check.Err(f.Extend(ctx, ok, deadline))
		}
	}
	for _, c := range []struct {
		name, field string
		do          func(context.Context, *fixture) error
	}{
		{"empty tag", "tag", tag("")},
		{"long tag", "tag", tag(long)},
		{"tag that is no UTF-8", "tag", tag("\xff")},
		{"get of an empty tag", "tag", func(ctx context.Context, f *fixture) error { return check.Err(f.Get(ctx, "")) }},
		{"delete of an empty tag", "tag", func(ctx context.Context, f *fixture) error { return check.Err(f.Delete(ctx, "")) }},
		{"long id", "id", created(xorack.CreateOptions{ID: long})},
		{"no roots", "edges", created(xorack.CreateOptions{Edges: -1})},
		{"too many roots", "edges", created(xorack.CreateOptions{Edges: xorack.MaxOps + 1})},
		{"negative deadline", "deadline", created(xorack.CreateOptions{Deadline: -time.Second})},
		{"long deadline", "deadline", created(xorack.CreateOptions{Deadline: xorack.MaxDeadline + 1})},
		{"negative idle", "idle", created(xorack.CreateOptions{Idle: -1})},
		{"idle under a millisecond", "idle", created(xorack.CreateOptions{Idle: 1})},
		{"long idle", "idle", created(xorack.CreateOptions{Idle: xorack.MaxDeadline + 1})},
		{"its own parent", "parent", created(xorack.CreateOptions{Parent: xorack.Root("new", "", 0)})},
		{"long data", "data", created(xorack.CreateOptions{Data: strings.Repeat("x", 2048+1)})},
		{"data that is no UTF-8", "data", created(xorack.CreateOptions{Data: "\xff"})},
		{"no edge", "edge", func(ctx context.Context, f *fixture) error { return check.Err(f.Done(ctx, xorack.Edge{})) }},
		{"fan of no edge", "edge", func(ctx context.Context, f *fixture) error { return check.Err(f.Fan(ctx, xorack.Edge{}, 1)) }},
		{"fan of nothing", "edges", func(ctx context.Context, f *fixture) error { return check.Err(f.Fan(ctx, ok, 0)) }},
		{"fan too wide", "edges", func(ctx context.Context, f *fixture) error {
			_, err := f.Fan(ctx, ok, xorack.FanWidth*xorack.FanWidth*xorack.FanWidth+1)
			return err
		}},
		{"failure of no edge", "edge", func(ctx context.Context, f *fixture) error { return check.Err(f.Fail(ctx, xorack.Edge{}, "why")) }},
		{"extension of no edge", "edge", func(ctx context.Context, f *fixture) error {
			_, err := f.Extend(ctx, xorack.Edge{}, start.Add(time.Hour))
			return err
		}},
		{"edge that is its own child", "children[0]", children(ok)},
		{"child twice", "children[1]", children(ok.Child(0), ok.Child(0))},
		{"child of another tag", "children[0]", children(xorack.Root("u", "", 0))},
		{"child of another incarnation", "children[0]", children(xorack.Root("t", "2", 0))},
		{"no child", "children[0]", children(xorack.Edge{})},
		{"too many children", "children", children(ok.Children(xorack.MaxOps + 1)...)},
		{"add of nothing", "children", func(ctx context.Context, f *fixture) error { return check.Err(f.Add(ctx, ok, "b")) }},
		{"long batch", "batch", func(ctx context.Context, f *fixture) error { return check.Err(f.Add(ctx, ok, long, ok.Child(0))) }},
		{"no reason", "reason", reason("")},
		{"long reason", "reason", reason(strings.Repeat("x", xorack.MaxReason+1))},
		{"reason that is no UTF-8", "reason", reason("\xff")},
		{"deadline now", "deadline", deadline(start)},
		{"deadline before", "deadline", deadline(start.Add(-time.Hour))},
		{"deadline too far", "deadline", deadline(start.Add(xorack.MaxDeadline + time.Millisecond))},
		{"short tombstone", "tombstone", func(context.Context, *fixture) error {
			_, err := xorack.New(xorack.NewMemory(), &xorack.Options{Tombstone: xorack.MinTombstone - 1})
			return err
		}},
		{"long tombstone", "tombstone", func(context.Context, *fixture) error {
			_, err := xorack.New(xorack.NewMemory(), &xorack.Options{Tombstone: 11 * 365 * 24 * time.Hour})
			return err
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFixture(t)
			f.create("t", nil)
			before := f.chain("t")
			err := c.do(t.Context(), f)
			check.Is(t, check.As[*xorack.InvalidError](t, err).Path(), c.field, err)
			check.Is(t, cmp.Diff(before, f.chain("t"), cmp.Comparer(func(a, b xorack.Edge) bool {
				return a == b
			})), "")
			check.Is(t, len(f.tags()), 1)
		})
	}
}

// TestAlteredToken alters each bit of a token: none is taken for another edge.
func TestAlteredToken(t *testing.T) {
	edge := xorack.Root("database/file13", "7", 2).Child(5)
	token := edge.String()
	again, err := xorack.ParseEdge(token)
	check.Need(t, err == nil && again == edge, "%v, %v", again, err)
	for i := range len(token) {
		for bit := range 8 {
			altered := []byte(token)
			altered[i] ^= 1 << bit
			got, err := xorack.ParseEdge(string(altered))
			check.That(t, check.As[*xorack.InvalidError](t, err).Field == "edge" && got.IsZero(),
				"bit %d of character %d: %v, %v", bit, i, got, err)
		}
	}
	for _, token := range []string{"", " ", token[:len(token)-1], token + "A", token + "=",
		token + "\n", token[:5] + "\r\n" + token[5:], "AQ", strings.Repeat("A", 5000)} {
		got, err := xorack.ParseEdge(token)
		check.That(t, err != nil && got.IsZero(), "%.40q: %v, %v", token, got, err)
	}
}

// FuzzParseEdge: what is taken for a token is one, and nothing panics.
func FuzzParseEdge(f *testing.F) {
	f.Add(xorack.Root("t", "", 0).String())
	f.Add(xorack.Root("é\x00", "id", 999).Named("n").String())
	f.Add("")
	f.Add("AQEBAQEBAQEB")
	f.Fuzz(func(t *testing.T, token string) {
		edge, err := xorack.ParseEdge(token)
		if err != nil {
			check.That(t, edge.IsZero(), "%q: an edge beside the error %v", token, err)
			return
		}
		check.That(t, edge.String() == token && xorack.ValidateTag(edge.Tag()) == nil,
			"%q is taken for %q", token, edge)
	})
}
