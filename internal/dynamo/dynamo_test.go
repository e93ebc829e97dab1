package dynamo_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/ddbtest"
	"github.com/streamsort/streamsort/internal/dev/faulty"
	"github.com/streamsort/streamsort/internal/dynamo"
	"github.com/streamsort/streamsort/internal/dynamo/streams"
	"github.com/streamsort/streamsort/pkg/table"
)

type attributes = map[string]types.AttributeValue

func put(ctx context.Context, client *dynamodb.Client, name, value string) error {
	_, err := client.PutItem(ctx, &dynamodb.PutItemInput{
		TableName: &name,
		Item: attributes{"p": &types.AttributeValueMemberS{Value: "x"},
			"v": &types.AttributeValueMemberS{Value: value}},
		ConditionExpression:                 aws.String("attribute_not_exists(p)"),
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	})
	return err
}

func TestOnServers(t *testing.T) {
	ddbtest.EachServer(t, func(t *testing.T, kind ddbtest.Kind) {
		endpoint := ddbtest.Endpoint(t, kind)
		client := check.Get(dynamo.New(&dynamo.Options{Endpoint: endpoint, MaxAttempts: 1}))
		definition := table.Definition{
			Name: "errors" + ddbtest.Suffix(), Partition: table.Key{Name: "p", Type: table.String},
			Stream: table.KeysOnly,
		}
		check.OK(t, table.Create(t.Context(), client, definition))
		check.OK(t, put(t.Context(), client, definition.Name, "first"))
		second := put(t.Context(), client, definition.Name, "second")
		failed, is := errors.AsType[*types.ConditionalCheckFailedException](second)
		check.That(t, is &&
			reflect.DeepEqual(failed.Item["v"], &types.AttributeValueMemberS{Value: "first"}),
			"a put over another: error %v", second)
		check.Fails(t, dynamo.Translate(t.Context(),
			put(t.Context(), client, definition.Name+"-other", "x")), ddb.ErrNoTable)
		large := dynamo.Translate(t.Context(),
			put(t.Context(), client, definition.Name, strings.Repeat("x", 401*1024)))
		check.That(t, errors.Is(large, ddb.ErrTooLarge), "an item over 400 KB: error %v", large)
		reader := check.Get(streams.New(endpoint))
		out, err := reader.ListStreams(t.Context(), nil)
		check.That(t, err == nil && len(out.Streams) != 0, "streams %+v, %v", out, err)
	})
}

func TestTranslate(t *testing.T) {
	for name, c := range map[string]struct {
		status int
		body   string
		want   error
	}{
		"throughput": {400, `{"__type":"com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException"}`, ddb.ErrThrottled},
		"throttling": {400, `{"__type":"com.amazonaws.dynamodb.v20120810#ThrottlingException"}`, ddb.ErrThrottled},
		"account":    {400, `{"__type":"com.amazonaws.dynamodb.v20120810#RequestLimitExceeded"}`, ddb.ErrThrottled},
		"fault":      {500, `{"__type":"com.amazonaws.dynamodb.v20120810#InternalServerError"}`, ddb.ErrUnavailable},
		"gateway":    {503, `<html>`, ddb.ErrUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/x-amz-json-1.0")
				w.WriteHeader(c.status)
				_, _ = w.Write([]byte(c.body))
			}))
			defer server.Close()
			client := check.Get(dynamo.New(&dynamo.Options{Endpoint: server.URL, MaxAttempts: 1}))
			check.Fails(t, dynamo.Translate(t.Context(), put(t.Context(), client, "any", "x")),
				c.want, c.want)
		})
	}
	client := check.Get(dynamo.New(&dynamo.Options{Endpoint: "http://127.0.0.1:1", MaxAttempts: 1}))
	check.Fails(t, dynamo.Translate(t.Context(), put(t.Context(), client, "any", "x")),
		ddb.ErrUnavailable)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := dynamo.Translate(ctx, put(ctx, client, "any", "x")); !errors.Is(err, context.Canceled) ||
		errors.Is(err, ddb.ErrUnavailable) {
		t.Errorf("an ended context: error %v", err)
	}
	if err := timedOut(t, t.Context()); !errors.Is(err, ddb.ErrUnavailable) ||
		errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a time-out of the client: error %v", err)
	}
	ctx, cancel = context.WithDeadline(t.Context(), time.Unix(1, 0))
	defer cancel()
	if err := timedOut(t, ctx); !errors.Is(err, context.DeadlineExceeded) ||
		errors.Is(err, ddb.ErrUnavailable) {
		t.Errorf("an ended context: error %v", err)
	}
	check.That(t, dynamo.Translate(t.Context(), nil) == nil, "nil became an error")
}

// timedOut is the error of a put whose response comes too late for the client, or for the context.
func timedOut(t *testing.T, ctx context.Context) error {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	network := faulty.New(http.DefaultTransport)
	network.Fail(1, faulty.TimedOut)
	client := check.Get(dynamo.New(&dynamo.Options{Endpoint: server.URL, Transport: network,
		MaxAttempts: 1}))
	return dynamo.Translate(ctx, put(ctx, client, "any", "x"))
}

// closing closes a request's body before net/http has looked whether there is more of it than was
// announced, as the SDK may.
type closing struct {
	next http.RoundTripper
	err  error
}

func (c *closing) RoundTrip(r *http.Request) (*http.Response, error) {
	whole, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	_ = r.Body.Close()
	_, c.err = io.Copy(io.Discard, r.Body)
	again := *r
	again.Body = io.NopCloser(bytes.NewReader(whole))
	return c.next.RoundTrip(&again)
}

// TestClosedBodyIsAtItsEnd: what is left of a closed body is nothing, and no error, for which
// net/http closes the connection under the response that is being read.
func TestClosedBodyIsAtItsEnd(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/x-amz-json-1.0")
		_, _ = io.WriteString(w, `{"TableNames":[]}`)
	}))
	defer server.Close()
	network := &closing{next: dynamo.Transport()}
	client := check.Get(dynamo.New(&dynamo.Options{Endpoint: server.URL, Transport: network,
		MaxAttempts: 1}))
	if _, err := client.ListTables(t.Context(), &dynamodb.ListTablesInput{}); err != nil ||
		network.err != nil {
		t.Errorf("a list of tables: %v; the rest of a closed body: %v", err, network.err)
	}
}

// TestGroupsStayTogether: each group of a condition is asked for as one, whatever surrounds it, on
// every engine.
func TestGroupsStayTogether(t *testing.T) {
	def, all := engines(t)
	op := ddb.Op{Op: "groups", Table: def}
	names := []ddb.Path{"x", "y", "z"}
	x, y, z := names[0].Exists(), names[1].Exists(), names[2].Exists()
	for i, c := range []ddb.Cond{
		ddb.And(x, ddb.Or(y, z)), ddb.And(ddb.Or(x, y), z), ddb.Or(x, ddb.And(y, z)), ddb.Not(ddb.Or(x, y)),
		ddb.Not(ddb.And(x, y)), ddb.And(ddb.Not(x), y), ddb.Or(ddb.Not(ddb.And(x, y)), z), ddb.And(x, ddb.Not(ddb.Or(y, z))),
	} {
		for there := range 1 << len(names) {
			fields := keyFields("a", 1)
			for bit, name := range names {
				if there>>bit&1 == 1 {
					fields[name] = ddb.Int(1)
				}
			}
			for kind, engine := range all {
				if a := do(t.Context(), engine, ddb.Put{Op: op, Item: fields.Item()}); a.err != nil {
					t.Fatal(a.err)
				}
				a := do(t.Context(), engine, ddb.Delete{Op: op, Key: keyFields("a", 1).Item(), If: c})
				if a.err != nil || a.Held != c.Holds(fields.Item()) || !a.Held && !a.Item.Equal(fields.Item()) {
					t.Errorf("%s: condition %d of %v: held %v, %v, %v", kind, i, fields, a.Held, a.Item, a.err)
				}
			}
		}
	}
}

// TestManyNames: each of the names of a request is its own.
func TestManyNames(t *testing.T) {
	def, all := engines(t)
	op, key := ddb.Op{Op: "names", Table: def}, keyFields("a", 1)
	var actions []ddb.Action
	var conds []ddb.Cond
	for i := range 13 {
		name := ddb.Path(fmt.Sprint("name", i))
		key[name] = ddb.Int(int64(i))
		conds = append(conds, name.Eq(key[name]))
		actions = append(actions, name.Set(ddb.Int(int64(i*i))))
	}
	for kind, engine := range all {
		if a := do(t.Context(), engine, ddb.Put{Op: op, Item: key.Item()}); a.err != nil {
			t.Fatal(a.err)
		}
		a := do(t.Context(), engine,
			ddb.Update{Op: op, Key: keyFields("a", 1).Item(), If: ddb.And(conds...), Do: actions})
		if n, _ := a.Item.Get("name12").Int64(); !a.Held || a.err != nil || n != 144 {
			t.Errorf("%s: held %v, %v, %v", kind, a.Held, a.Item, a.err)
		}
	}
}

// TestWhatABatchLeavesIsSaid: of a batch DynamoDB may do a part only.
func TestWhatABatchLeavesIsSaid(t *testing.T) {
	def := &table.Definition{Name: "t", Partition: table.Key{Name: "p", Type: table.String},
		Sort: table.Key{Name: "s", Type: table.Number}}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		const key = `{"p":{"S":"a"},"s":{"N":"%d"}}`
		w.Header().Set("Content-Type", "application/x-amz-json-1.0")
		if r.Header.Get("X-Amz-Target") == "DynamoDB_20120810.BatchGetItem" {
			fmt.Fprintf(w, `{"Responses":{"t":[]},"UnprocessedKeys":{"t":{"Keys":[`+key+`]}}}`, 1)
			return
		}
		fmt.Fprintf(w, `{"UnprocessedItems":{"t":[{"DeleteRequest":{"Key":`+key+
			`}},{"PutRequest":{"Item":`+key+`}}]}}`, 1, 2)
	}))
	t.Cleanup(server.Close)
	client := check.Get(dynamo.New(&dynamo.Options{Endpoint: server.URL, MaxAttempts: 1}))
	engine, op, three := dynamo.NewEngine(client), ddb.Op{Op: "batch", Table: def}, manyKeys(3)
	for _, c := range []struct {
		r    ddb.Request
		left []ddb.Item
	}{
		{ddb.BatchGet{Op: op, Keys: three}, three[1:2]},
		{ddb.BatchWrite{Op: op, Deletes: three[:2], Puts: three[2:]}, three[1:]},
	} {
		a, err := engine.Do(t.Context(), c.r)
		check.That(t, err == nil && fmt.Sprint(a.Left) == fmt.Sprint(c.left),
			"%T: left %v, %v; want %v", c.r, a.Left, err, c.left)
	}
}

// TestPagesEndAtOneMegabyte reads items of sizes that fill pages, on every engine.
func TestPagesEndAtOneMegabyte(t *testing.T) {
	def, all := engines(t)
	op := ddb.Op{Op: "pages", Table: def}
	for size, perPage := range map[int]int{100_000: 10, 300_000: 3, 400_000: 2} {
		pages := map[ddbtest.Kind][]int{}
		for kind, engine := range all {
			for s := range 12 {
				it := keyFields("a", s).Item().Merge(ddb.Fields{"b": ddb.Blob(make([]byte, size))}.Item())
				a := do(t.Context(), engine, ddb.Put{Op: op, Item: it})
				check.Need(t, a.err == nil, "%v", a.err)
			}
			q := ddb.Query{Op: op, Partition: ddb.Text("a"), Strong: true}
			for {
				a := do(t.Context(), engine, q)
				check.Need(t, a.err == nil, "%v", a.err)
				pages[kind] = append(pages[kind], len(a.Items))
				if q.After = a.Next; !q.After.Exists() {
					break
				}
			}
		}
		for kind, got := range pages {
			want := perPage
			if kind == ddbtest.DynamoDBLocal {
				want++ // it shows the item that crosses 1 MB, too
			}
			check.That(t, got[0] == want && pages["memory"][0] == perPage,
				"%s: pages of %v items of %d bytes, want %d in the first", kind, got, size, want)
		}
	}
}

// TestLimitsAreRefused: what is over a limit is refused by every engine alike.
func TestLimitsAreRefused(t *testing.T) {
	def, all := engines(t)
	op := ddb.Op{Op: "limits", Table: def}
	key := keyFields("a", 1).Item()
	large := key.Merge(ddb.Fields{"b": ddb.Blob(make([]byte, 400<<10))}.Item())
	var many []ddb.Cond
	for range 302 {
		many = append(many, ddb.Path("n").Ne(ddb.Int(1)))
	}
	for name, c := range map[string]struct {
		r    ddb.Request
		want error
	}{
		"a large item":                    {ddb.Put{Op: op, Item: large}, ddb.ErrTooLarge},
		"an update to it":                 {ddb.Update{Op: op, Key: key, Do: []ddb.Action{ddb.Path("b").Set(large.Get("b"))}}, ddb.ErrTooLarge},
		"a key in an update":              {ddb.Update{Op: op, Key: key, Do: []ddb.Action{ddb.Path("s").Set(ddb.Int(2))}}, ddb.ErrInvalid},
		"an empty key":                    {ddb.Get{Op: op, Key: keyFields("", 1).Item()}, ddb.ErrInvalid},
		"half a key":                      {ddb.Get{Op: op, Key: ddb.Fields{"p": ddb.Text("a")}.Item()}, ddb.ErrInvalid},
		"a key of other type":             {ddb.Get{Op: op, Key: ddb.Fields{"p": ddb.Int(1), "s": ddb.Int(1)}.Item()}, ddb.ErrInvalid},
		"an index key":                    {ddb.Put{Op: op, Item: key.Merge(ddb.Fields{"n": ddb.Text("x")}.Item())}, ddb.ErrInvalid},
		"101 keys":                        {ddb.BatchGet{Op: op, Keys: manyKeys(101)}, ddb.ErrInvalid},
		"26 deletes":                      {ddb.BatchWrite{Op: op, Deletes: manyKeys(26)}, ddb.ErrInvalid},
		"a key twice":                     {ddb.BatchWrite{Op: op, Deletes: []ddb.Item{key, key}}, ddb.ErrInvalid},
		"an empty index key":              {ddb.Put{Op: op, Item: key.Merge(ddb.Fields{"t": ddb.Text("")}.Item())}, ddb.ErrInvalid},
		"an update to it, empty":          {ddb.Update{Op: op, Key: key, Do: []ddb.Action{ddb.Path("t").Set(ddb.Text(""))}}, ddb.ErrInvalid},
		"between two types":               {ddb.Put{Op: op, Item: key, If: ddb.Path("n").Between(ddb.Int(1), ddb.Text("a"))}, ddb.ErrInvalid},
		"in nothing":                      {ddb.Put{Op: op, Item: key, If: ddb.Path("n").In()}, ddb.ErrInvalid},
		"an inequality of the sort key":   {ddb.Query{Op: op, Partition: ddb.Text("a"), Where: ddb.Path("s").Ne(ddb.Int(1))}, ddb.ErrInvalid},
		"a list of sort keys":             {ddb.Query{Op: op, Partition: ddb.Text("a"), Where: ddb.Path("s").In(ddb.Int(1))}, ddb.ErrInvalid},
		"a sort key by reference":         {ddb.Query{Op: op, Partition: ddb.Text("a"), Where: ddb.Path("s").Eq(ddb.Path("n").Ref())}, ddb.ErrInvalid},
		"a page after half a key":         {ddb.Query{Op: op, Partition: ddb.Text("a"), After: ddb.Fields{"p": ddb.Text("a")}.Item()}, ddb.ErrInvalid},
		"a page after more than a key":    {ddb.Query{Op: op, Partition: ddb.Text("a"), After: key.Merge(ddb.Fields{"n": ddb.Int(1)}.Item())}, ddb.ErrInvalid},
		"a page of the index after a key": {ddb.Query{Op: op, OfIndex: true, Partition: ddb.Int(1), After: key}, ddb.ErrInvalid},
		"an attribute shown twice":        {ddb.Query{Op: op, Partition: ddb.Text("a"), Only: []ddb.Path{"n", "n"}}, ddb.ErrInvalid},
		"shown twice by a batch":          {ddb.BatchGet{Op: op, Keys: []ddb.Item{key}, Only: []ddb.Path{"n", "n"}}, ddb.ErrInvalid},
		"a scan after half a key":         {ddb.Scan{Op: op, After: ddb.Fields{"p": ddb.Text("a")}.Item()}, ddb.ErrInvalid},
		"no table":                        {ddb.Get{Op: ddb.Op{Table: noTable(def)}, Key: key}, ddb.ErrNoTable},
	} {
		for kind, engine := range all {
			a := do(t.Context(), engine, c.r)
			check.That(t, errors.Is(a.err, c.want), "%s on %s: error %v, want %v", name, kind, a.err, c.want)
		}
	}
	for more, want := range []error{nil, ddb.ErrTooLarge} {
		it := key.Merge(ddb.Fields{"z": ddb.Blob(make([]byte, 400<<10-key.Size()-len("z")+more))}.Item())
		for kind, engine := range all {
			a := do(t.Context(), engine, ddb.Put{Op: op, Item: it})
			check.That(t, errors.Is(a.err, want), "400 KB and %d bytes on %s: error %v", more, kind, a.err)
		}
	}
	// dynoxide takes them.
	var values []ddb.Value
	for i := range 101 {
		values = append(values, ddb.Int(int64(i)))
	}
	for name, r := range map[string]ddb.Request{
		"603 operators":               ddb.Put{Op: op, Item: key, If: ddb.And(many...)},
		"in 101 values":               ddb.Put{Op: op, Item: key, If: ddb.Path("n").In(values...)},
		"an index key of 1025 bytes":  ddb.Put{Op: op, Item: key.Merge(ddb.Fields{"t": ddb.Text(strings.Repeat("x", 1025)), "n": ddb.Int(1)}.Item())},
		"a partition without a name":  ddb.Query{Op: op, Partition: ddb.Text("")},
		"a sort key of other type":    ddb.Query{Op: op, Partition: ddb.Text("a"), Where: ddb.Path("s").Eq(ddb.Text("1"))},
		"a page of another partition": ddb.Query{Op: op, Partition: ddb.Text("a"), After: keyFields("b", 1).Item()},
		"a page of another range":     ddb.Query{Op: op, Partition: ddb.Text("a"), Where: ddb.Path("s").Gt(ddb.Int(3)), After: key},
	} {
		for _, kind := range []ddbtest.Kind{"memory", ddbtest.DynamoDBLocal} {
			if engine := all[kind]; engine != nil {
				a := do(t.Context(), engine, r)
				check.That(t, errors.Is(a.err, ddb.ErrInvalid), "%s on %s: error %v", name, kind, a.err)
			}
		}
	}
}

// TestSizeOfText: size counts a text in UTF-16.
func TestSizeOfText(t *testing.T) {
	def, all := engines(t)
	op := ddb.Op{Op: "size", Table: def}
	it := keyFields("a", 1).Item().Merge(ddb.Fields{"u": ddb.Text("é𝄞")}.Item())
	for kind, engine := range all {
		if a := do(t.Context(), engine, ddb.Put{Op: op, Item: it}); a.err != nil {
			t.Fatal(a.err)
		}
		a := do(t.Context(), engine, ddb.Put{Op: op, Item: it, If: ddb.Path("u").SizeEq(3)})
		check.That(t, a.Held && a.err == nil, "%s: held %v, %v", kind, a.Held, a.err)
	}
}

// TestScansAreTheWhole: a scan that goes on page by page sees each item once, also where its
// segments are scanned apart, and no page is longer than its limit.
func TestScansAreTheWhole(t *testing.T) {
	def, all := engines(t)
	op := ddb.Op{Op: "scan", Table: def}
	for kind, engine := range all {
		want := map[string]int{}
		for i := range 20 {
			it := keyFields(strings.Repeat("p", 1+i/2), i%2).Item()
			want[it.String()] = 1
			a := do(t.Context(), engine, ddb.Put{Op: op, Item: it})
			check.Need(t, a.err == nil, "%v", a.err)
		}
		// What the filter leaves out counts for the limit.
		if a := do(t.Context(), engine, ddb.Scan{Op: op, Filter: ddb.Path("none").Exists(),
			Limit: 4}); len(a.Items) > 0 || !a.Next.Exists() || a.err != nil {
			t.Errorf("%s: a filtered page %v, and the next begins at %v, %v", kind, a.Items, a.Next, a.err)
		}
		for _, segments := range []int{0, 3} {
			seen, parts := map[string]int{}, map[int]bool{}
			for segment := range max(segments, 1) {
				scan := ddb.Scan{Op: op, Segment: segment, Segments: segments, Limit: 4}
				for {
					a := do(t.Context(), engine, scan)
					check.Need(t, a.err == nil && len(a.Items) <= scan.Limit,
						"%s: a page of %d items, %v", kind, len(a.Items), a.err)
					for _, it := range a.Items {
						seen[it.String()]++
						parts[segment] = true
					}
					if scan.After = a.Next; !scan.After.Exists() {
						break
					}
				}
			}
			check.That(t, maps.Equal(seen, want) && (segments <= 0 || len(parts) != 1),
				"%s: %d segments: seen %v", kind, segments, seen)
		}
	}
}
