package xorack

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dynamo"
	"github.com/streamsort/streamsort/pkg/xorack/internal/chains"
)

// Store is the chains' table: on DynamoDB as [Names.Tables] defines it ([NewDynamo]), or in memory
// ([NewMemory]).
//
// It may be used by any number of goroutines; what writes to it is an [Acker].
type Store struct{ table *chains.Table }

// Every method is exactly one request. Writes are atomic and durable when the method returns nil; a
// strong read sees every write that was answered before it began.
//
// A method that returns an error may have taken effect all the same, and a request may take effect
// twice (the SDK repeats one whose response is lost). So each write says in its condition what must
// still be so, answers with the chain that is stored afterwards and whether this request changed
// it, and leaves a mark by which its repeat finds it. An item of a newer layout is not written:
// [table.ErrNewerLayout].
//
// "Not ended" means [Chain.End] is Open; "same incarnation" that the record has none, or this one.
//
// A write is charged 1 write unit for each KB of the item, as it was or as it is, whichever is
// larger; and what is said of the index on top of that.

// NewDynamo returns the Store on this table. It makes no request.
func NewDynamo(client *dynamodb.Client, names Names) *Store {
	return NewStore(dynamo.NewEngine(client), names)
}

// NewMemory returns a Store in memory, empty: for tests of code that uses this package. Nothing
// expires, and everything is gone with the process.
func NewMemory() *Store { return NewStore(ddb.NewMemory(Names{}.Tables()...), Names{}) }

// NewStore returns the Store on an engine that has the table. It makes no request.
func NewStore(engine ddb.Engine, names Names) *Store {
	return &Store{&chains.Table{Engine: engine, Definition: &names.Tables()[0]}}
}

// What conditions ask of a chain's item. isOpen is for items that may be none, or of a chain that
// was not created; isRunning for those that are neither.
var (
	isOpen = ddb.And(chains.Recorded.Missing(),
		ddb.Or(chains.Created.Missing(), chains.Sum.Ne(ddb.Int(0))))
	isRunning = ddb.And(chains.Recorded.Missing(), chains.Sum.Ne(ddb.Int(0)))
	hasEdges  = chains.StampLen.Missing()
)

// upsert changes the chain under a tag, or makes it, if the condition holds. It returns the chain
// that is stored afterwards and whether the condition held.
func (s *Store) upsert(ctx context.Context, op, tag string, condition ddb.Cond,
	do ...ddb.Action) (Chain, bool, error) {
	return s.decoded(s.table.Upsert(ctx, op, tag, condition, do...))
}

// update changes the chain under a tag, if it is there and the condition holds.
func (s *Store) update(ctx context.Context, op, tag string, condition ddb.Cond,
	do ...ddb.Action) (Chain, bool, error) {
	return s.decoded(s.table.Update(ctx, op, tag, condition, do...))
}

func (s *Store) decoded(it ddb.Item, held bool, err error) (Chain, bool, error) {
	if err != nil {
		return Chain{}, false, err
	}
	c, err := ddb.Decoded(it, decodeChain)
	return c, held && err == nil, err
}

// Chain reads a chain strongly; the zero Chain where none exists.
//
// One strong GetItem; 1 read unit for each 4 KB.
func (s *Store) Chain(ctx context.Context, tag string) (Chain, error) {
	a, err := s.table.Engine.Do(ctx,
		ddb.Get{Op: s.table.Op("get"), Key: s.table.Key(tag), Strong: true})
	c, _, err := s.decoded(a.Item, true, err)
	return c, err
}

// settle records that a chain of stamps is Done, if it is created, not ended, of c's incarnation,
// and has as many stamps as c.
//
// Lost response, another did it first: it is done. We die right after: the stream's handler and the
// sweep announce its end.
//
// One UpdateItem, ALL_NEW.
func (s *Store) settle(ctx context.Context, c Chain, now time.Time) (Chain, bool, error) {
	// Only a chain of stamps that is created has an incarnation.
	hasNoOther := chains.Stamps.SizeEq(len(c.Stamps))
	return s.update(ctx, "settle", c.Tag,
		ddb.And(chains.IsThis(c.Incarnation), chains.Recorded.Missing(), hasNoOther),
		chains.Recorded.Set(ddb.Text(string(Done))), chains.EndedAt.Set(ddb.Millis(now)))
}

// due reads which chains of a part, from 0 to chains.DueShards-1, are due at a time: limit at most,
// the longest due first, not strongly. after, where it is not the zero Pending, is the last one
// that was read before.
//
// One Query of the index; half a read unit for each 4 KB, about 60 tags.
func (s *Store) due(
	ctx context.Context, shard int, at time.Time, after Pending, limit int,
) ([]Pending, error) {
	query := ddb.Query{
		Op: s.table.Op("query due chains"), OfIndex: true, Partition: ddb.Int(int64(shard)),
		Where: chains.Due.Le(ddb.Millis(at)), Limit: limit,
	}
	if after.Tag != "" {
		query.After = ddb.Fields{
			chains.Tag: ddb.Text(after.Tag), chains.DueShard: query.Partition,
			chains.Due: ddb.Millis(after.Due),
		}.Item()
	}
	a, err := s.table.Engine.Do(ctx, query)
	if err != nil {
		return nil, err
	}
	due := make([]Pending, 0, len(a.Items))
	for _, it := range a.Items {
		d := ddb.Decoder{Item: it}
		due = append(due, Pending{d.Text(chains.Tag), d.MillisOr(chains.Due)})
		if d.Err != nil {
			return nil, d.Err
		}
	}
	return due, nil
}
