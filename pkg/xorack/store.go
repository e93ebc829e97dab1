package xorack

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dynamo"
	"github.com/streamsort/streamsort/pkg/table"
)

// Store is the chains' table: on DynamoDB as [Names.Tables] defines it
// ([NewDynamo]), or in memory ([NewMemory]).
//
// Every method is exactly one request. Writes are atomic and durable when the
// method returns nil; a strong read sees every write that was answered before
// it began. All methods may be called by any number of goroutines.
//
// A method that returns an error may have taken effect all the same, and a
// request may take effect twice (the SDK repeats one whose response is lost).
// So each write says in its condition what must still be so, answers with the
// chain that stands there afterwards and whether this request changed it, and
// leaves a mark by which its repeat finds it. An item of a newer layout is not
// written: [table.ErrNewerLayout].
//
// "Not ended" means [Chain.End] is Open; "same incarnation" that the record
// has none, or this one.
//
// A write is charged 1 write unit for each KB of the item, as it was or as it
// is, whichever is larger; and what is said of the index on top of that.
type Store struct {
	engine ddb.Engine
	table  *table.Definition
	tagKey ddb.Path
}

// NewDynamo returns the Store on this table. It makes no request.
func NewDynamo(client *dynamodb.Client, names Names) (*Store, error) {
	return NewStore(dynamo.NewEngine(client), names)
}

// NewMemory returns a Store in memory, empty: for tests of code that uses this
// package. Nothing is deleted by itself (call [Store.Expire]), and everything
// is gone with the process.
func NewMemory() *Store { return newStore(ddb.NewMemory(Names{}.Tables()...), Names{}) }

// NewStore returns the Store on an engine that has the table. It makes no
// request.
func NewStore(engine ddb.Engine, names Names) (*Store, error) {
	if err := names.Validate(); err != nil {
		return nil, err
	}
	return newStore(engine, names), nil
}

func newStore(engine ddb.Engine, names Names) *Store {
	return &Store{engine: engine, table: &names.Tables()[0], tagKey: ddb.Path(names.withDefaults().TagKey)}
}

// Expire deletes every chain whose ExpiresOn has come, as DynamoDB's TTL does
// some time later, and returns how many there were. It does so in memory only.
func (s *Store) Expire(now time.Time) int {
	if memory, ok := s.engine.(*ddb.Memory); ok {
		return memory.Expire(now)
	}
	return 0
}

// What conditions ask of a chain's item. isOpen is for items that may be none, or
// of a chain that was not created; isRunning for those that are neither.
var (
	isOpen    = ddb.And(attrRecorded.Missing(), ddb.Or(attrCreated.Missing(), attrSum.Ne(ddb.Int(0))))
	isRunning = ddb.And(attrRecorded.Missing(), attrSum.Ne(ddb.Int(0)))
	isKnown   = attrVersion.Le(ddb.Int(layout))
	hasEdges  = attrStampLen.Missing()
)

func isThis(inc Incarnation) ddb.Cond { return attrIncarnation.Eq(ddb.Blob(inc[:])) }

func isSame(inc Incarnation) ddb.Cond { return ddb.Or(attrIncarnation.Missing(), isThis(inc)) }

func (s *Store) op(name string) ddb.Op { return ddb.Op{Op: name, Table: s.table} }

func (s *Store) key(tag string) ddb.Item { return ddb.Fields{s.tagKey: ddb.Text(tag)}.Item() }

// upsert changes the chain under a tag, or makes it, if the condition holds.
func (s *Store) upsert(ctx context.Context, op, tag string, condition ddb.Cond, do ...ddb.Action) (Chain, bool, error) {
	return s.do(ctx, op, tag, ddb.And(condition, ddb.Or(attrVersion.Missing(), isKnown)),
		append(do, attrVersion.SetIfMissing(ddb.Int(layout))))
}

// update changes the chain under a tag, if it is there and the condition holds.
func (s *Store) update(ctx context.Context, op, tag string, condition ddb.Cond, do ...ddb.Action) (Chain, bool, error) {
	return s.do(ctx, op, tag, ddb.And(condition, isKnown), do)
}

// do returns the chain that stands there afterwards and whether the condition
// held.
func (s *Store) do(ctx context.Context, op, tag string, condition ddb.Cond, do []ddb.Action) (Chain, bool, error) {
	a, err := s.engine.Do(ctx, ddb.Update{Op: s.op(op), Key: s.key(tag), If: condition, Do: do})
	if err != nil {
		return Chain{}, false, err
	}
	c, err := s.decoded(a.Item)
	return c, a.Held && err == nil, err
}

// Chain reads a chain strongly; the zero Chain where there is none.
//
// One strong GetItem; 1 read unit for each 4 KB.
func (s *Store) Chain(ctx context.Context, tag string) (Chain, error) {
	a, err := s.engine.Do(ctx, ddb.Get{Op: s.op("get"), Key: s.key(tag), Strong: true})
	if err != nil {
		return Chain{}, err
	}
	return s.decoded(a.Item)
}

func (s *Store) decoded(it ddb.Item) (Chain, error) {
	return ddb.Decoded(it, func(it ddb.Item) (Chain, error) { return decodeChain(it, s.tagKey) })
}

// DueShards is how many parts the chains that are due are in.
const DueShards = dueShards

// DueQuery asks for chains that are due.
type DueQuery struct {
	// Shard is the part, from 0 to DueShards-1.
	Shard int
	// At is the time at which they are due.
	At time.Time
	// After, where it is not the zero DueChain, is the last one that was read
	// before.
	After DueChain
	// Limit is the most chains to return, from 1 on.
	Limit int
}

// DueChain is a chain that is due.
type DueChain struct {
	Tag string
	Due time.Time
}

// Due reads which chains of a part are due, the longest due first, not
// strongly.
//
// One Query of the index; half a read unit for each 4 KB, about 60 tags.
func (s *Store) Due(ctx context.Context, q DueQuery) ([]DueChain, error) {
	query := ddb.Query{
		Op: s.op("query due chains"), OfIndex: true, Partition: ddb.Int(int64(q.Shard)),
		Where: attrDue.Le(ddb.Millis(q.At)), Limit: q.Limit,
	}
	if q.After.Tag != "" {
		query.After = ddb.Fields{
			s.tagKey: ddb.Text(q.After.Tag), attrDueShard: query.Partition, attrDue: ddb.Millis(q.After.Due),
		}.Item()
	}
	a, err := s.engine.Do(ctx, query)
	if err != nil {
		return nil, err
	}
	due := make([]DueChain, 0, len(a.Items))
	for _, it := range a.Items {
		d := ddb.Decoder{Item: it}
		due = append(due, DueChain{d.Text(s.tagKey), d.MillisOr(attrDue)})
		if d.Err != nil {
			return nil, d.Err
		}
	}
	return due, nil
}
