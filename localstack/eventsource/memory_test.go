package eventsource

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"github.com/streamsort/streamsort/internal/dev/check"
)

// memoryStream is a stream in memory that does what no local server shows: several shards, splits,
// iterators that expire, records that are trimmed, errors.
type memoryStream struct {
	mu     sync.Mutex
	shards []*memoryShard
	next   int              // last sequence number given
	era    int              // iterators of an earlier one have expired
	broken map[string]error // what calls of an operation fail with
	calls  map[string]int
	gone   bool
}

type memoryShard struct {
	id, parent string
	records    []types.Record
	trimmed    int // records that are no longer there
	closed     bool
}

func newMemoryStream(shards ...string) *memoryStream {
	m := &memoryStream{calls: map[string]int{}, broken: map[string]error{}}
	for _, id := range shards {
		m.shards = append(m.shards, &memoryShard{id: id})
	}
	return m
}

func (m *memoryStream) shard(id string) *memoryShard {
	i := slices.IndexFunc(m.shards, func(s *memoryShard) bool { return s.id == id })
	if i < 0 {
		return nil
	}
	return m.shards[i]
}

// put writes a change of an item and returns its sequence number.
func (m *memoryStream) put(shard, key string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.next++
	sequence := fmt.Sprintf("%d00000000%019d", 1, m.next) // 28 digits, as AWS's
	image := map[string]types.AttributeValue{
		"id": &types.AttributeValueMemberS{Value: key},
		"n":  &types.AttributeValueMemberN{Value: strconv.Itoa(m.next)},
	}
	s := m.shard(shard)
	s.records = append(s.records, types.Record{
		EventID: &sequence, EventName: types.OperationTypeInsert, EventVersion: aws.String("1.1"),
		Dynamodb: &types.StreamRecord{
			SequenceNumber: &sequence, ApproximateCreationDateTime: aws.Time(time.Now()),
			SizeBytes:      aws.Int64(10),
			StreamViewType: types.StreamViewTypeNewImage,
			Keys:           map[string]types.AttributeValue{"id": image["id"]}, NewImage: image,
		},
	})
	return sequence
}

// split closes a shard and opens its children.
func (m *memoryStream) split(id string, children ...string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.shard(id).closed = true
	for _, child := range children {
		m.shards = append(m.shards, &memoryShard{id: child, parent: id})
	}
}

// breaks has calls of an operation fail from now on, or, without an error, go well again.
func (m *memoryStream) breaks(op string, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.broken[op] = err
}

// change runs f while no call is under way.
func (m *memoryStream) change(f func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f()
}

func (m *memoryStream) begin(op string) error {
	m.calls[op]++
	if m.gone {
		return &types.ResourceNotFoundException{Message: aws.String("no such stream")}
	}
	return m.broken[op]
}

func (m *memoryStream) DescribeStream(ctx context.Context, in *dynamodbstreams.DescribeStreamInput,
	_ ...func(*dynamodbstreams.Options)) (*dynamodbstreams.DescribeStreamOutput, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.begin("describe"); err != nil {
		return nil, err
	}
	// One shard a page, so that paging is always in the test.
	from := 0
	if in.ExclusiveStartShardId != nil {
		from = 1 + slices.IndexFunc(m.shards, func(s *memoryShard) bool {
			return s.id == *in.ExclusiveStartShardId
		})
	}
	d := &types.StreamDescription{}
	if from < len(m.shards) {
		s := m.shards[from]
		shard := types.Shard{ShardId: &s.id, SequenceNumberRange: &types.SequenceNumberRange{}}
		if s.parent != "" {
			shard.ParentShardId = &s.parent
		}
		if len(s.records) > 0 { // as dynoxide does, open or closed
			shard.SequenceNumberRange.EndingSequenceNumber =
				s.records[len(s.records)-1].Dynamodb.SequenceNumber
		}
		d.Shards = []types.Shard{shard}
		if from+1 < len(m.shards) {
			d.LastEvaluatedShardId = &s.id
		}
	}
	return &dynamodbstreams.DescribeStreamOutput{StreamDescription: d}, nil
}

func (m *memoryStream) GetShardIterator(ctx context.Context,
	in *dynamodbstreams.GetShardIteratorInput,
	_ ...func(*dynamodbstreams.Options)) (*dynamodbstreams.GetShardIteratorOutput, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.begin("iterator"); err != nil {
		return nil, err
	}
	s := m.shard(*in.ShardId)
	if s == nil {
		return nil, &types.ResourceNotFoundException{Message: aws.String("no such shard")}
	}
	at := 0
	switch in.ShardIteratorType {
	case types.ShardIteratorTypeTrimHorizon:
		at = s.trimmed
	case types.ShardIteratorTypeLatest:
		at = len(s.records)
	case types.ShardIteratorTypeAfterSequenceNumber:
		at = 1 + slices.IndexFunc(s.records, func(r types.Record) bool {
			return *r.Dynamodb.SequenceNumber == *in.SequenceNumber
		})
	}
	return &dynamodbstreams.GetShardIteratorOutput{ShardIterator: m.iterator(s.id, at)}, nil
}

func (m *memoryStream) iterator(shard string, at int) *string {
	return aws.String(fmt.Sprintf("%s|%d|%d", shard, at, m.era))
}

func (m *memoryStream) GetRecords(ctx context.Context, in *dynamodbstreams.GetRecordsInput,
	_ ...func(*dynamodbstreams.Options)) (*dynamodbstreams.GetRecordsOutput, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.begin("records"); err != nil {
		return nil, err
	}
	parts := strings.Split(*in.ShardIterator, "|")
	s := m.shard(parts[0])
	at, _ := strconv.Atoi(parts[1])
	switch {
	case s == nil:
		return nil, &types.ResourceNotFoundException{Message: aws.String("no such shard")}
	case parts[2] != strconv.Itoa(m.era):
		return nil, &types.ExpiredIteratorException{Message: aws.String("iterator expired")}
	case at < s.trimmed:
		return nil, &types.TrimmedDataAccessException{Message: aws.String("records trimmed")}
	}
	end := min(at+int(*in.Limit), len(s.records))
	out := &dynamodbstreams.GetRecordsOutput{Records: s.records[at:end:end]}
	if !s.closed || end < len(s.records) {
		out.NextShardIterator = m.iterator(s.id, end)
	}
	return out, nil
}

// received is a record as a function sees it.
type received struct {
	Dynamodb struct {
		Keys           map[string]struct{ S string }
		SequenceNumber string
	} `json:"dynamodb"`
}

// function is a test's Lambda function: it keeps what it was given.
type function struct {
	t   testing.TB
	mu  sync.Mutex
	got []string // the keys of what was delivered, in order
	// answer may be nil: accept everything.
	answer func(records []received) (response, functionError string, err error)
}

func (f *function) invoke(_ context.Context, payload []byte) ([]byte, string, error) {
	var event struct{ Records []received }
	check.Is(f.t, json.Unmarshal(payload, &event), nil)
	f.mu.Lock()
	for _, r := range event.Records {
		f.got = append(f.got, r.Dynamodb.Keys["id"].S)
	}
	f.mu.Unlock()
	if f.answer == nil {
		return nil, "", nil
	}
	response, functionError, err := f.answer(event.Records)
	return []byte(response), functionError, err
}

func (f *function) keys() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.got)
}
