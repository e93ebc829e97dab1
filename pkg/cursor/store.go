package cursor

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dynamo"
	"github.com/streamsort/streamsort/internal/queuelog"
	"github.com/streamsort/streamsort/pkg/table"
)

// Store is the sorter's tables, as [Names.Tables] and [Names.ArrivalsTable] define them.
type Store struct{ requests requests }

// requests are those to the tables.
//
// Every method is exactly one request; one that changes a cursor is an UpdateItem of 1 write unit
// for each KB, which returns the cursor that is stored afterwards, the zero Cursor where none
// exists, and whether this request made the change, where it returns that. Writes are atomic and
// durable when the method returns nil; a strong read sees every write that was answered before it
// began; a read that is not strong may show an older state. All methods may be called by any number
// of goroutines.
//
// A method that returns an error may have taken effect all the same, and a request may take effect
// twice (the SDK repeats one whose response is lost). So each write is made such that its second
// run changes nothing, and answers with the item that is stored: the caller looks, then decides.
type requests struct {
	engine                               ddb.Engine
	names                                Names
	messages, cursors, trouble, arrivals *table.Definition
	queueKey, seqKey                     ddb.Path
}

// Requests are those of the tables one by one, for what looks after the sorter from within this
// module: simulators, figures and tests.
func (s *Store) Requests(queuelog.Inside) *requests { return &s.requests }

// NewDynamo returns the Store on these tables of DynamoDB. It makes no request.
func NewDynamo(client *dynamodb.Client, names Names) (*Store, error) {
	return NewStore(dynamo.NewEngine(client), names)
}

// NewMemory returns a Store in memory: for tests of code that uses this package. All its reads are
// strong, it deletes nothing by itself (call [Store.Expire]), and everything is gone with the
// process.
func NewMemory() *Store {
	var names Names
	s, err := NewStore(ddb.NewMemory(append(names.Tables(), names.ArrivalsTable())...), names)
	if err != nil {
		panic(err) // unreachable: the names are the defaults
	}
	return s
}

// NewStore returns the Store on the tables of an engine. It makes no request.
func NewStore(engine ddb.Engine, names Names) (*Store, error) {
	if err := names.Validate(); err != nil {
		return nil, err
	}
	names = names.withDefaults()
	tables, arrivals := names.Tables(), names.ArrivalsTable()
	return &Store{requests{
		engine: engine, names: names,
		messages: &tables[0], cursors: &tables[1], trouble: &tables[2], arrivals: &arrivals,
		queueKey: names.queueKey(), seqKey: names.seqKey(),
	}}, nil
}

// Expire deletes every message, arrival and order item of a [NewMemory] whose ExpiresOn has come,
// as DynamoDB's TTL does some time later by itself, and returns how many there were.
func (s *Store) Expire(now time.Time) int {
	if memory, ok := s.requests.engine.(*ddb.Memory); ok {
		return memory.Expire(now)
	}
	return 0
}

// put stores an item in the place of one for which the condition holds; none is one too.
func (s *requests) put(ctx context.Context, op string, on *table.Definition, it ddb.Item,
	condition ddb.Cond) (ddb.Answer, error) {
	return s.engine.Do(ctx, ddb.Put{Op: ddb.Op{Op: op, Table: on}, Item: it, If: condition})
}

func (s *requests) get(ctx context.Context, op string, on *table.Definition, key ddb.Item,
	strong bool) (ddb.Item, error) {
	a, err := s.engine.Do(ctx, ddb.Get{Op: ddb.Op{Op: op, Table: on}, Key: key, Strong: strong})
	return a.Item, err
}
