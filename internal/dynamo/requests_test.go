package dynamo_test

import (
	"fmt"
	"strings"

	"pgregory.net/rapid"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/pkg/table"
)

// requests are requests about few items with few attributes, so that they meet.
func requests(def *table.Definition) *rapid.Generator[ddb.Request] {
	return rapid.Custom(func(t *rapid.T) ddb.Request {
		op := ddb.Op{Op: "random", Table: def}
		switch rapid.SampledFrom([]string{"get", "put", "put", "update", "update", "update", "delete",
			"query", "query", "index", "scan", "batch get", "batch write"}).Draw(t, "kind") {
		case "get":
			return ddb.Get{Op: op, Key: keys().Draw(t, "key"), Strong: rapid.Bool().Draw(t, "strong")}
		case "put":
			return ddb.Put{Op: op, Item: items().Draw(t, "item"), If: optional(t)}
		case "update":
			return ddb.Update{Op: op, Key: keys().Draw(t, "key"), If: optional(t),
				Do: rapid.SliceOfN(actions(), 1, 4).Draw(t, "do"), Quiet: rapid.Bool().Draw(t, "quiet")}
		case "delete":
			return ddb.Delete{Op: op, Key: keys().Draw(t, "key"), If: optional(t)}
		case "query":
			return query(t, op)
		case "index":
			return indexQuery(t, op)
		case "scan":
			return ddb.Scan{Op: op, Filter: optional(t)}
		case "batch get":
			return ddb.BatchGet{Op: op, Keys: distinct().Draw(t, "keys"),
				Strong: rapid.Bool().Draw(t, "strong"), Only: only(t)}
		}
		return batchWrite(t, op)
	})
}

func optional(t *rapid.T) ddb.Cond {
	if rapid.Bool().Draw(t, "unconditional") {
		return ddb.Cond{}
	}
	return conds(2).Draw(t, "if")
}

func only(t *rapid.T) []ddb.Path {
	if rapid.Bool().Draw(t, "whole") {
		return nil
	}
	return []ddb.Path{"p", "s", "n", "b"}
}

func keyFields(p string, s int) ddb.Fields {
	return ddb.Fields{"p": ddb.Text(p), "s": ddb.Int(int64(s))}
}

func keys() *rapid.Generator[ddb.Item] {
	return rapid.Custom(func(t *rapid.T) ddb.Item {
		return keyFields(rapid.SampledFrom([]string{"a", "b"}).Draw(t, "p"),
			rapid.IntRange(-1, 3).Draw(t, "s")).Item()
	})
}

// everyKey deletes whatever there is.
func everyKey(def *table.Definition) ddb.BatchWrite {
	w := ddb.BatchWrite{Op: ddb.Op{Op: "clear", Table: def}}
	for _, p := range []string{"a", "b"} {
		for s := -1; s <= 3; s++ {
			w.Deletes = append(w.Deletes, keyFields(p, s).Item())
		}
	}
	return w
}

func manyKeys(n int) []ddb.Item {
	keys := make([]ddb.Item, n)
	for i := range keys {
		keys[i] = keyFields("a", i).Item()
	}
	return keys
}

// noTable is a table that no engine has.
func noTable(def *table.Definition) *table.Definition {
	other := *def
	other.Name += "-other"
	return &other
}

func distinct() *rapid.Generator[[]ddb.Item] {
	return rapid.SliceOfNDistinct(keys(), 1, 4, ddb.Item.String)
}

// names are the attributes beside the key: n and t are the index's keys.
var names = []ddb.Path{"n", "t", "b", "l", "m", "set", "ok", "other"}

func items() *rapid.Generator[ddb.Item] {
	return rapid.Custom(func(t *rapid.T) ddb.Item {
		fields := ddb.Fields{}
		for _, name := range names {
			if rapid.Bool().Draw(t, string(name)) {
				fields[name] = valueOf(t, name)
			}
		}
		return keys().Draw(t, "key").Merge(fields.Item())
	})
}

// valueOf is a value of the type that an attribute mostly has.
func valueOf(t *rapid.T, name ddb.Path) ddb.Value {
	switch name {
	case "n":
		return numbers().Draw(t, "n")
	case "t":
		return ddb.Text(rapid.SampledFrom([]string{"x", "xy", "z"}).Draw(t, "t"))
	case "b":
		return ddb.Blob(
			[]byte(rapid.SampledFrom([]string{"", "\x00", "ab", strings.Repeat("b", 1500),
				strings.Repeat("c", 5000)}).Draw(t, "b")))
	case "l":
		return ddb.ListOf(rapid.SliceOfN(scalars(), 0, 3).Draw(t, "l")...)
	case "m":
		return ddb.MapOf(ddb.Fields{"x": scalars().Draw(t, "x"),
			"in": ddb.MapOf(ddb.Fields{"y": scalars().Draw(t, "y")})})
	case "set":
		return sets(t)
	case "ok":
		return ddb.Bool(rapid.Bool().Draw(t, "ok"))
	}
	return scalars().Draw(t, "other")
}

func numbers() *rapid.Generator[ddb.Value] {
	return rapid.SampledFrom([]ddb.Value{
		ddb.Int(0), ddb.Int(1), ddb.Int(-1), ddb.Int(100), ddb.Int(12345), ddb.Int(1 << 62),
		ddb.Int128(1<<40, 7), ddb.Int128(-1<<40, 7), ddb.ParseNumber("9999999999999999999999999999999999999"),
	})
}

func sets(t *rapid.T) ddb.Value {
	members := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", "d"}), 1, 3).Draw(t, "set")
	blobs := make([][]byte, len(members))
	for i, one := range members {
		blobs[i] = []byte(one)
	}
	return ddb.Blobs(blobs...)
}

func scalars() *rapid.Generator[ddb.Value] {
	return rapid.OneOf(
		numbers(),
		rapid.Map(rapid.SampledFrom([]string{"", "a", "ab", "b"}), ddb.Text),
		rapid.Map(rapid.SampledFrom([]string{"a", "ab", "b"}), func(s string) ddb.Value {
			return ddb.Blob([]byte(s))
		}),
	)
}

// paths are attributes, and places within some.
func paths() *rapid.Generator[ddb.Path] {
	nested := []ddb.Path{ddb.Path("m").At("x"), ddb.Path("m").At("in").At("y"),
		ddb.Path("m").At("new"), ddb.Path("l").Index(0), ddb.Path("l").Index(2)}
	return rapid.SampledFrom(append(nested, names...))
}

func conds(depth int) *rapid.Generator[ddb.Cond] {
	return rapid.Custom(func(t *rapid.T) ddb.Cond {
		if depth > 0 && rapid.IntRange(0, 2).Draw(t, "deeper") == 0 {
			parts := rapid.SliceOfN(conds(depth-1), 1, 3).Draw(t, "parts")
			switch rapid.IntRange(0, 2).Draw(t, "join") {
			case 0:
				return ddb.And(parts...)
			case 1:
				return ddb.Or(parts...)
			}
			return ddb.Not(parts[0])
		}
		path := paths().Draw(t, "path")
		value := func() ddb.Value { return operand(t, path) }
		compared := []func(ddb.Value) ddb.Cond{path.Eq, path.Ne, path.Lt, path.Le, path.Gt, path.Ge}
		switch n := rapid.IntRange(0, 13).Draw(t, "operator"); n {
		case 6:
			return path.Exists()
		case 7:
			return path.Missing()
		case 8:
			low := numbers().Draw(t, "low")
			return path.Between(low, low)
		case 9:
			return path.In(value(), value())
		case 10:
			return path.Contains(scalars().Draw(t, "contained"))
		case 11:
			return path.BeginsWith(ddb.Text("a"))
		case 12:
			return path.SizeLt(rapid.IntRange(0, 3).Draw(t, "size"))
		case 13:
			return path.SizeLe(rapid.IntRange(0, 3).Draw(t, "size"))
		default:
			return compared[n](value())
		}
	})
}

// operand is a value to compare with what a path has, or another path.
func operand(t *rapid.T, path ddb.Path) ddb.Value {
	if rapid.IntRange(0, 4).Draw(t, "a path") == 0 {
		return paths().Draw(t, "other path").Ref()
	}
	if rapid.Bool().Draw(t, "of the type") {
		return valueOf(t, path)
	}
	return scalars().Draw(t, "any")
}

func actions() *rapid.Generator[ddb.Action] {
	return rapid.Custom(func(t *rapid.T) ddb.Action {
		path := paths().Draw(t, "path")
		switch rapid.IntRange(0, 8).Draw(t, "verb") {
		case 0, 1:
			return path.Set(valueOf(t, path))
		case 2:
			return path.SetIfMissing(valueOf(t, path))
		case 3:
			return path.Plus(int64(rapid.IntRange(-2, 2).Draw(t, "plus")))
		case 4:
			return path.PlusFrom(numbers().Draw(t, "from"), 1)
		case 5:
			return path.Append(valueOf(t, "l"))
		case 6:
			if rapid.Bool().Draw(t, "add to a set") {
				return ddb.Path("set").Add(sets(t))
			}
			return ddb.Path("n").Add(numbers().Draw(t, "add"))
		case 7:
			return path.Set(paths().Draw(t, "other").Ref())
		}
		return path.Remove()
	})
}

func query(t *rapid.T, op ddb.Op) ddb.Query {
	q := ddb.Query{
		Op: op, Partition: ddb.Text(rapid.SampledFrom([]string{"a", "b", "none"}).Draw(t, "p")),
		Backwards: rapid.Bool().Draw(t, "backwards"), Strong: rapid.Bool().Draw(t, "strong"),
		Limit: rapid.IntRange(0, 3).Draw(t, "limit"), Only: only(t),
	}
	at := ddb.Int(int64(rapid.IntRange(-1, 3).Draw(t, "at")))
	sort := ddb.Path("s")
	q.Where = rapid.SampledFrom([]ddb.Cond{{}, sort.Eq(at), sort.Lt(at), sort.Le(at), sort.Gt(at),
		sort.Ge(at), sort.Between(ddb.Int(0), at)}).Draw(t, "where")
	if q.Where.IsZero() && rapid.Bool().Draw(t, "goes on") {
		q.After = keyFields(q.Partition.Str(), rapid.IntRange(-1, 3).Draw(t, "after")).Item()
	}
	return q
}

func indexQuery(t *rapid.T, op ddb.Op) ddb.Query {
	q := ddb.Query{
		Op: op, OfIndex: true, Partition: numbers().Draw(t, "n"),
		Limit: rapid.IntRange(0, 3).Draw(t, "limit"),
	}
	at := ddb.Text("xy")
	sort := ddb.Path("t")
	q.Where = rapid.SampledFrom([]ddb.Cond{{}, sort.Le(at), sort.Gt(at),
		sort.BeginsWith(ddb.Text("x"))}).Draw(t, "where")
	return q
}

func batchWrite(t *rapid.T, op ddb.Op) ddb.BatchWrite {
	w := ddb.BatchWrite{Op: op}
	for i, key := range distinct().Draw(t, "keys") {
		if rapid.Bool().Draw(t, fmt.Sprint("delete ", i)) {
			w.Deletes = append(w.Deletes, key)
			continue
		}
		w.Puts = append(w.Puts, items().Draw(t, "item").Merge(key))
	}
	return w
}
