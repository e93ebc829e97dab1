package ddb_test

import (
	"slices"
	"testing"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/check"
)

func TestEveryClauseCanBeDropped(t *testing.T) {
	a, b, c := ddb.Path("a"), ddb.Path("b"), ddb.Path("c").At("7").At("d")
	one := ddb.Int(1)
	r := ddb.Update{
		Op: ddb.Op{Op: "move"},
		If: ddb.And(a.Eq(one), ddb.Or(b.Missing(), b.Lt(a.Ref())), ddb.Not(ddb.Or(c.Contains(one), c.Contains(ddb.Int(2))))),
		Do: []ddb.Action{a.Set(one), b.Remove()},
	}
	want := []string{
		"move if (a = ? and (b missing or b < a) and not (c.*.d contains ?))",
		"move if a = ?",
		"move if (b missing or b < a)",
		"move if b missing",
		"move if b < a",
		"move if b < a (bound)",
		"move if not (c.*.d contains ?)",
		"move if (c.*.d contains ?)",
		"move if c.*.d contains ?",
		"move does a",
		"move does b",
	}
	got := ddb.Clauses(r)
	check.That(t, slices.Equal(got, want), "clauses %q\nwant %q", got, want)
	for clause, left := range map[string][]string{
		"move if a = ?":         {"(b missing or b < a)", "not (c.*.d contains ?)"},
		"move if b < a":         {"a = ?", "b missing", "not (c.*.d contains ?)"},
		"move if b < a (bound)": {"b <= a"},
		"move does a":           {"does b"},
	} {
		after := ddb.Clauses(ddb.Without(r, clause))
		for _, part := range left {
			check.That(t, slices.ContainsFunc(after, func(name string) bool { return name == "move if "+part || name == "move "+part }),
				"without %q: %q, want %q in it", clause, after, part)
		}
		check.That(t, !slices.Contains(after, clause) || clause == "move if b < a (bound)",
			"without %q it is still there: %q", clause, after)
	}
	other := (ddb.Get{Op: ddb.Op{Op: "move"}})
	check.That(t, len(ddb.Clauses(other)) == 0, "a read has no clauses")
}
