// Package meter counts what DynamoDB would charge. A [Meter] sits between the SDK and the network
// ([New]); [Meter.Total] says what passed so far, by operation.
//
// Units are computed here, by AWS's rules, from the requests and the answers: the servers for local
// work report less than AWS charges. What is approximated:
//
//   - A write is charged by the larger of the item before and after it. A Meter
//     knows the items that passed through it, or that an answer shows; the size
//     before an overwrite by somebody else is not known to it.
//   - A query or scan with a filter or a projection is charged for what is
//     read, and shows only what is left: for projected items the size that the
//     Meter has seen for that key is taken (the keys must be among it); what a filter removed counts by
//     ScannedCount at the mean size of the table's items seen.
//   - An index of keys is charged for the places that items take and leave in
//     it, under the operation "Index", as far as an answer shows the item.
package meter

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dynamo"
)

// Prices on demand, in dollars a million units.
const (
	WritePrice = 0.625
	ReadPrice  = 0.125
)

// Count is what an operation, or all, came to.
type Count struct {
	// Requests are those that reached the server, the SDK's repeats among them.
	Requests int
	// Writes and Reads are units.
	Writes, Reads float64
}

// Dollars is the price of a count, in dollars a million times of it.
func (c Count) Dollars() float64 { return c.Writes*WritePrice + c.Reads*ReadPrice }

func (c *Count) add(o Count) {
	c.Requests += o.Requests
	c.Writes += o.Writes
	c.Reads += o.Reads
}

// Counts are counts by operation, such as "PutItem".
type Counts map[string]Count

// Total is the sum of all operations.
func (c Counts) Total() Count {
	var total Count
	for _, count := range c {
		total.add(count)
	}
	return total
}

// Sub is what was added since an earlier moment.
func (c Counts) Sub(earlier Counts) Counts {
	since := Counts{}
	for operation, now := range c {
		was := earlier[operation]
		d := Count{now.Requests - was.Requests, now.Writes - was.Writes, now.Reads - was.Reads}
		if d != (Count{}) {
			since[operation] = d
		}
	}
	return since
}

// String lists the operations in the order of their names.
func (c Counts) String() string {
	var out strings.Builder
	for _, operation := range slices.Sorted(maps.Keys(c)) {
		n := c[operation]
		fmt.Fprintf(&out, "%s %d (%.1f write, %.1f read units); ", operation, n.Requests, n.Writes, n.Reads)
	}
	return strings.TrimSuffix(out.String(), "; ")
}

// Meter is an http.RoundTripper that counts. It may be used by any number of goroutines.
type Meter struct {
	next http.RoundTripper

	mu     sync.Mutex
	counts Counts
	// keys are the key attributes of each table, sizes the size of each item seen, by table and key.
	keys  map[string][]string
	sizes map[string]map[string]int
	// indexes are the key attributes of each table's indexes, entries the place of each item seen
	// in each of them.
	indexes map[string][][]string
	entries map[string]string
}

// New returns a Meter in front of the transport.
func New(next http.RoundTripper) *Meter {
	return &Meter{
		next: next, counts: Counts{}, keys: map[string][]string{}, sizes: map[string]map[string]int{},
		indexes: map[string][][]string{}, entries: map[string]string{},
	}
}

// Counts is what passed so far.
func (m *Meter) Counts() Counts {
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.counts)
}

// RoundTrip implements http.RoundTripper.
func (m *Meter) RoundTrip(request *http.Request) (*http.Response, error) {
	_, operation, known := strings.Cut(request.Header.Get("X-Amz-Target"), ".")
	if !known || request.Body == nil || strings.HasPrefix(request.Header.Get("X-Amz-Target"), "DynamoDBStreams") {
		return m.next.RoundTrip(request)
	}
	asked, err := io.ReadAll(request.Body)
	if err != nil {
		return nil, err
	}
	request.Body = io.NopCloser(bytes.NewReader(asked))
	response, err := m.next.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	answered, err := io.ReadAll(response.Body)
	_ = response.Body.Close()
	if err != nil {
		return nil, err
	}
	response.Body = io.NopCloser(bytes.NewReader(answered))
	m.count(operation, asked, response.StatusCode, answered)
	return response, nil
}

type exchange struct {
	TableName      string
	Key            json.RawMessage
	Item           json.RawMessage
	Attributes     json.RawMessage
	Items          []json.RawMessage
	ConsistentRead bool
	ScannedCount   int
	ReturnValues   string
	KeySchema      []struct{ AttributeName string }
	IndexName      string

	GlobalSecondaryIndexes []struct {
		KeySchema []struct{ AttributeName string }
	}
	// RequestItems and Responses are of a BatchGetItem, whose answer's Responses are by table.
	RequestItems map[string]struct {
		Keys           []json.RawMessage
		ConsistentRead bool
	}
	Responses       map[string][]json.RawMessage
	UnprocessedKeys map[string]struct{ Keys []json.RawMessage }

	Type string `json:"__type"`
}

func decode(raw []byte) exchange {
	var x exchange
	// What is not JSON is not DynamoDB's; then nothing is known of it.
	_ = json.Unmarshal(raw, &x)
	return x
}

func item(raw json.RawMessage) map[string]types.AttributeValue {
	if len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	it, err := attributevalue.UnmarshalMapJSON(raw)
	if err != nil {
		return nil
	}
	return it
}

func (m *Meter) count(operation string, asked []byte, status int, answered []byte) {
	in, out := decode(asked), decode(answered)
	m.mu.Lock()
	defer m.mu.Unlock()
	count := Count{Requests: 1}
	failed := strings.HasSuffix(out.Type, "ConditionalCheckFailedException")
	if status == http.StatusOK || failed {
		switch operation {
		case "CreateTable":
			for _, key := range in.KeySchema {
				m.keys[in.TableName] = append(m.keys[in.TableName], key.AttributeName)
			}
			for _, index := range in.GlobalSecondaryIndexes {
				var names []string
				for _, key := range index.KeySchema {
					names = append(names, key.AttributeName)
				}
				m.indexes[in.TableName] = append(m.indexes[in.TableName], names)
			}
		case "PutItem":
			count.Writes = m.write(in.TableName, item(in.Item), item(out.Item), failed)
		case "UpdateItem":
			count.Writes = m.update(in, out, failed)
		case "DeleteItem":
			before := m.sizes[in.TableName][m.key(in.TableName, item(in.Key))]
			count.Writes = ddb.WriteUnits(before)
			if !failed {
				delete(m.sizes[in.TableName], m.key(in.TableName, item(in.Key)))
				m.indexed(in.TableName, m.key(in.TableName, item(in.Key)), nil)
			}
		case "GetItem":
			count.Reads = ddb.ReadUnits(m.see(in.TableName, item(out.Item)), in.ConsistentRead)
		case "BatchGetItem":
			count.Reads = m.batch(in, out)
		case "Query", "Scan":
			size := 0
			for _, raw := range out.Items {
				if in.IndexName != "" {
					size += itemSize(item(raw)) // an entry, not the item
					continue
				}
				size += m.see(in.TableName, item(raw))
			}
			if filtered := out.ScannedCount - len(out.Items); filtered > 0 {
				size += filtered * m.mean(in.TableName)
			}
			count.Reads = ddb.ReadUnits(size, in.ConsistentRead)
		default:
			return
		}
	}
	total := m.counts[operation]
	total.add(count)
	m.counts[operation] = total
}

// write is the charge of a put of an item, where `there` is what stood in its way if it failed.
func (m *Meter) write(table string, new, there map[string]types.AttributeValue, failed bool) float64 {
	if failed {
		return ddb.WriteUnits(m.see(table, there))
	}
	key, size := m.key(table, new), itemSize(new)
	before := m.sizes[table][key]
	m.note(table, key, size)
	m.indexed(table, key, new)
	return ddb.WriteUnits(max(before, size))
}

func (m *Meter) update(in, out exchange, failed bool) float64 {
	if failed {
		return ddb.WriteUnits(m.see(in.TableName, item(out.Item)))
	}
	key := m.key(in.TableName, item(in.Key))
	before := m.sizes[in.TableName][key]
	after := before
	if in.ReturnValues == "ALL_NEW" {
		after = itemSize(item(out.Attributes))
		m.note(in.TableName, key, after)
		m.indexed(in.TableName, key, item(out.Attributes))
	}
	return ddb.WriteUnits(max(before, after))
}

// batch is the charge of a BatchGetItem: each item is rounded up by itself, and one that is not
// there is charged as in a GetItem.
func (m *Meter) batch(in, out exchange) float64 {
	units := 0.0
	for table, asked := range in.RequestItems {
		found := out.Responses[table]
		for _, raw := range found {
			units += ddb.ReadUnits(m.see(table, item(raw)), asked.ConsistentRead)
		}
		missing := len(asked.Keys) - len(found) - len(out.UnprocessedKeys[table].Keys)
		units += float64(missing) * ddb.ReadUnits(0, asked.ConsistentRead)
	}
	return units
}

// see notes the size of an item that an answer shows, and returns it: the largest that is known,
// for an answer may show a part only.
func (m *Meter) see(table string, it map[string]types.AttributeValue) int {
	if it == nil {
		return 0
	}
	key := m.key(table, it)
	size := max(itemSize(it), m.sizes[table][key])
	m.note(table, key, size)
	return size
}

func (m *Meter) note(table, key string, size int) {
	if m.sizes[table] == nil {
		m.sizes[table] = map[string]int{}
	}
	m.sizes[table][key] = size
}

func (m *Meter) mean(table string) int {
	sum := 0
	for _, size := range m.sizes[table] {
		sum += size
	}
	return sum / max(len(m.sizes[table]), 1)
}

// key tells an item of a table from the others.
func (m *Meter) key(table string, it map[string]types.AttributeValue) string {
	var key strings.Builder
	for _, name := range m.keys[table] {
		switch v := it[name].(type) {
		case *types.AttributeValueMemberS:
			fmt.Fprintf(&key, "S%q", v.Value)
		case *types.AttributeValueMemberN:
			fmt.Fprintf(&key, "N%s", v.Value)
		case *types.AttributeValueMemberB:
			fmt.Fprintf(&key, "B%x", v.Value)
		}
	}
	return key.String()
}

func itemSize(it map[string]types.AttributeValue) int { return dynamo.FromSDK(it).Size() }
