// Package meter counts what DynamoDB would charge. A [Meter] sits between the SDK and the network
// ([New]); [Meter.Count] says what passed so far.
//
// Units are computed here, by AWS's rules, from the requests and the answers: the servers for local
// work report less than AWS charges. What is approximated:
//
//   - A write is charged by the larger of the item before and after it. A Meter
//     knows the items that passed through it, or that an answer shows; the size
//     before an overwrite by somebody else is not known to it.
//   - A query or scan with a filter or a projection is charged for what is read, and shows only
//     what is left: for projected items the size that the Meter has seen for that key is taken (the
//     keys must be among it); what a filter removed counts by ScannedCount at the mean size of the
//     table's items seen.
//   - An index of keys is charged for the places that items take and leave in
//     it, as far as an answer shows the item.
package meter

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/digest"
	"github.com/streamsort/streamsort/internal/dynamo"
	"github.com/streamsort/streamsort/pkg/table"
)

// Prices on demand, in dollars a million units.
const (
	WritePrice = 0.625
	ReadPrice  = 0.125
)

// Count is what requests came to.
type Count struct {
	// Requests are those that reached the server, the SDK's repeats among them.
	Requests int
	// Writes and Reads are units.
	Writes, Reads float64
}

// Dollars is the price of a count, in dollars a million times of it.
func (c Count) Dollars() float64 { return c.Writes*WritePrice + c.Reads*ReadPrice }

// Sub is what was added since an earlier moment.
func (c Count) Sub(earlier Count) Count {
	return Count{c.Requests - earlier.Requests, c.Writes - earlier.Writes, c.Reads - earlier.Reads}
}

// Meter is an http.RoundTripper that counts. It may be used by any number of goroutines.
type Meter struct {
	next http.RoundTripper

	mu     sync.Mutex
	total  Count
	tables map[string]table.Definition       // the keys of those that were created through the Meter
	items  map[string]map[digest.Digest]seen // by table and key
}

// seen is what is known of an item: its size, and its entry in the table's index.
type seen struct {
	size  int
	entry ddb.Item
}

// New returns a Meter in front of the transport.
func New(next http.RoundTripper) *Meter {
	return &Meter{
		next: next, tables: map[string]table.Definition{}, items: map[string]map[digest.Digest]seen{},
	}
}

// Count is what passed so far.
func (m *Meter) Count() Count {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.total
}

// RoundTrip implements http.RoundTripper.
func (m *Meter) RoundTrip(request *http.Request) (*http.Response, error) {
	_, operation, known := strings.Cut(request.Header.Get("X-Amz-Target"), ".")
	if !known || request.Body == nil ||
		strings.HasPrefix(request.Header.Get("X-Amz-Target"), "DynamoDBStreams") {
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
	KeySchema      keySchema
	IndexName      string

	GlobalSecondaryIndexes []struct {
		IndexName string
		KeySchema keySchema
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

type keySchema []struct{ AttributeName string }

func (k keySchema) key(i int) table.Key {
	if i < len(k) {
		return table.Key{Name: k[i].AttributeName}
	}
	return table.Key{}
}

// definition is the keys of a table and of its index, of a CreateTable.
func (x exchange) definition() table.Definition {
	def := table.Definition{Partition: x.KeySchema.key(0), Sort: x.KeySchema.key(1)}
	for _, index := range x.GlobalSecondaryIndexes {
		keys := index.KeySchema
		def.Index = table.Index{Name: index.IndexName, Partition: keys.key(0), Sort: keys.key(1)}
	}
	return def
}

func item(raw json.RawMessage) ddb.Item {
	if len(raw) == 0 || string(raw) == "null" {
		return ddb.Item{}
	}
	it, err := attributevalue.UnmarshalMapJSON(raw)
	if err != nil {
		return ddb.Item{}
	}
	return dynamo.FromSDK(it)
}

func (m *Meter) count(operation string, asked []byte, status int, answered []byte) {
	in, out := decode(asked), decode(answered)
	m.mu.Lock()
	defer m.mu.Unlock()
	var writes, reads float64
	failed := strings.HasSuffix(out.Type, "ConditionalCheckFailedException")
	if status == http.StatusOK || failed {
		switch operation {
		case "CreateTable":
			m.tables[in.TableName] = in.definition()
		case "PutItem", "UpdateItem":
			writes = m.write(in, out, failed)
		case "DeleteItem":
			key := m.key(in.TableName, item(in.Key))
			writes = ddb.WriteUnits(m.items[in.TableName][key].size)
			if !failed {
				m.store(in.TableName, key, ddb.Item{})
			}
		case "GetItem":
			reads = ddb.ReadUnits(m.see(in.TableName, item(out.Item)), in.ConsistentRead)
		case "BatchGetItem":
			reads = m.batch(in, out)
		case "Query", "Scan":
			size := 0
			for _, raw := range out.Items {
				if in.IndexName != "" {
					size += item(raw).Size() // an entry, not the item
					continue
				}
				size += m.see(in.TableName, item(raw))
			}
			if filtered := out.ScannedCount - len(out.Items); filtered > 0 {
				size += filtered * m.mean(in.TableName)
			}
			reads = ddb.ReadUnits(size, in.ConsistentRead)
		default:
			return
		}
	}
	m.total = Count{m.total.Requests + 1, m.total.Writes + writes, m.total.Reads + reads}
}

// write is the charge of a put or an update of an item; where it failed, the answer may show what
// stood in its way.
func (m *Meter) write(in, out exchange, failed bool) float64 {
	if failed {
		return ddb.WriteUnits(m.see(in.TableName, item(out.Item)))
	}
	named, after := item(in.Key), item(out.Attributes)
	if in.Item != nil {
		named, after = item(in.Item), item(in.Item)
	}
	key := m.key(in.TableName, named)
	before := m.items[in.TableName][key].size
	if in.Item != nil || in.ReturnValues == "ALL_NEW" {
		m.store(in.TableName, key, after)
	}
	return ddb.WriteUnits(max(before, m.items[in.TableName][key].size))
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
func (m *Meter) see(table string, it ddb.Item) int {
	if !it.Exists() {
		return 0
	}
	key := m.key(table, it)
	known := m.items[table][key]
	known.size = max(it.Size(), known.size)
	m.note(table, key, known)
	return known.size
}

// store notes what is stored under a key now, or that nothing is, and counts what the table's index
// is charged for that.
func (m *Meter) store(table string, key digest.Digest, after ddb.Item) {
	def := m.tables[table]
	m.total.Writes += ddb.IndexUnits(&def, m.items[table][key].entry, after)
	if !after.Exists() {
		delete(m.items[table], key)
		return
	}
	m.note(table, key, seen{after.Size(), ddb.EntryOf(&def, after)})
}

func (m *Meter) note(table string, key digest.Digest, known seen) {
	if m.items[table] == nil {
		m.items[table] = map[digest.Digest]seen{}
	}
	m.items[table][key] = known
}

func (m *Meter) mean(table string) int {
	sum := 0
	for _, known := range m.items[table] {
		sum += known.size
	}
	return sum / max(len(m.items[table]), 1)
}

// key tells an item of a table from the others.
func (m *Meter) key(table string, it ddb.Item) digest.Digest {
	def := m.tables[table]
	return ddb.KeyOf(&def, it).Digest()
}
