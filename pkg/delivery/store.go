package delivery

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dynamo"
	"github.com/streamsort/streamsort/internal/request"
	"github.com/streamsort/streamsort/internal/trouble"
	"github.com/streamsort/streamsort/pkg/table"
)

// Store has the consumers and the operations, on DynamoDB ([NewDynamo]) or in memory ([NewMemory]).
type Store struct{ requests requests }

// requests are those to the tables.
//
// Every method is exactly one request. Writes are atomic and durable when the method returns nil;
// reads are strong. All methods may be called by any number of goroutines.
//
// A method that returns an error may have taken effect all the same, and a request may take effect
// twice (the SDK repeats one whose response is lost). So each write is made such that its second
// run changes nothing, and answers with the consumer that is stored afterwards (the zero Consumer
// without one) and with whether this call stored it: the caller looks, then decides.
//
// A consumer's item has less than 1 KB where names and reasons are short, so each write costs 1
// write unit.
type requests struct {
	engine           ddb.Engine
	consumers, audit table.Definition
	trouble          *trouble.Store
}

// Requests are those to the tables, past a Deliverer.
func (s *Store) Requests(request.Inside) *requests { return &s.requests }

// NewDynamo returns the store on DynamoDB. It makes no request.
func NewDynamo(client *dynamodb.Client, names Names) *Store {
	return NewStore(dynamo.NewEngine(client), names.Tables())
}

// NewMemory returns a store in memory, for tests of code that uses this package: everything is gone
// with the process.
func NewMemory() *Store {
	tables := Names{Trouble: trouble.DefaultName}.Tables()
	return NewStore(ddb.NewMemory(tables...), tables)
}

// NewStore returns the store on an engine that has these tables: see [Names.Tables].
func NewStore(engine ddb.Engine, tables []table.Definition) *Store {
	s := &Store{requests{engine: engine, consumers: tables[0], audit: tables[1]}}
	if len(tables) > 2 {
		s.requests.trouble = trouble.NewStore(engine, tables[2])
	}
	return s
}

// Endpoints are the engine and the consumers table, which has the endpoints of webhooks too.
func (s *requests) Endpoints() (ddb.Engine, table.Definition) { return s.engine, s.consumers }

// Trouble is the store of the table of trouble, or nil.
func (s *requests) Trouble() *trouble.Store { return s.trouble }

func keyOf(queue, name string) ddb.Item {
	return ddb.Fields{attrQueue: ddb.Text(queue), attrConsumer: ddb.Text(name)}.Item()
}

// CreateConsumer stores c if its queue has no consumer of its name: 1 write unit.
//
// Lost response: the repeat finds our own LastOp and reports true. Another did it first: theirs is
// returned, and false. We die right after: the consumer is Starting, and the next caller goes on
// with it.
func (s *requests) CreateConsumer(ctx context.Context, c Consumer) (Consumer, bool, error) {
	a, err := s.engine.Do(ctx, ddb.Put{
		Op: ddb.Op{Op: "create consumer", Table: &s.consumers}, Item: encodeConsumer(c),
		If: attrQueue.Missing(),
	})
	if err != nil || a.Held {
		return c, a.Held, err
	}
	there, err := ddb.Decoded(a.Item, decodeConsumer)
	return there, there.LastOp == c.LastOp, err
}

// Consumer reads a consumer: 1 read unit.
func (s *requests) Consumer(ctx context.Context, queue, name string) (Consumer, error) {
	a, err := s.engine.Do(ctx, ddb.Get{
		Op: ddb.Op{Op: "consumer", Table: &s.consumers}, Key: keyOf(queue, name), Strong: true,
	})
	if err != nil {
		return Consumer{}, err
	}
	return ddb.Decoded(a.Item, decodeConsumer)
}

// Consumers reads the queue's consumers whose names come after `after`, in the order of their
// names: 1 read unit for each 4 KB, about 10 consumers. next is empty after the last page.
//
// One that cannot be read is left out: the error is then [ErrUnreadable], and page and next are
// those of the others.
func (s *requests) Consumers(ctx context.Context,
	queue, after string) (page []Consumer, next string, err error) {
	return list(ctx, s.engine, attrConsumer, after, decodeConsumer, ddb.Query{
		Op: ddb.Op{Op: "consumers", Table: &s.consumers}, Partition: ddb.Text(queue),
		Where: isConsumer, Strong: true,
	})
}

// list makes a query for the items behind one, which sort names. It leaves out those that cannot be
// read: the error is then [ErrUnreadable].
func list[T any](ctx context.Context, engine ddb.Engine, sort ddb.Path, after string,
	decode func(ddb.Item) (T, error), query ddb.Query) (page []T, next string, err error) {
	if after != "" {
		query.After = ddb.Fields{attrQueue: query.Partition, sort: ddb.Text(after)}.Item()
	}
	a, err := engine.Do(ctx, query)
	if err != nil {
		return nil, "", err
	}
	for _, it := range a.Items {
		one, wrong := ddb.Decoded(it, decode)
		if wrong != nil {
			err = errors.Join(err,
				fmt.Errorf("%s %q: %w: %w", sort, it.Get(sort).Str(), ErrUnreadable, wrong))
			continue
		}
		page = append(page, one)
	}
	return page, a.Next.Get(sort).Str(), err
}

// update changes a consumer if the condition holds. It returns the consumer that is stored
// afterwards, and whether the condition held.
func (s *requests) update(ctx context.Context, op, queue, name string, condition ddb.Cond,
	do ...ddb.Action) (Consumer, bool, error) {
	a, err := s.engine.Do(ctx, ddb.Update{
		Op: ddb.Op{Op: op, Table: &s.consumers}, Key: keyOf(queue, name), If: condition, Do: do,
	})
	if err != nil {
		return Consumer{}, false, err
	}
	c, err := ddb.Decoded(a.Item, decodeConsumer)
	return c, a.Held && err == nil, err
}

// opReply is the Kind of an Operation that no operator made: it records replies that could never be
// stored.
const opReply = "reply"

// Who is the caller of an operation, as far as somebody whom the caller cannot influence says so.
// The zero Who is not known.
type Who struct {
	// Kind is iam (signed for IAM), jwt (a token), direct (the function was invoked: Lambda does
	// not say by whom), or none (a gateway verified nothing).
	Kind string `ddb:"kind"`
	// Name is the ARN of the caller, or the subject of the token.
	Name string `ddb:"name,omitzero"`
	// Client is the client that the token was made for.
	Client string `ddb:"client,omitzero"`
}

// Operation is what an operator did to a consumer, or asked for.
type Operation struct {
	Queue    string `ddb:"queue,key"`
	Consumer string `ddb:"consumer"`
	// At is when it was asked for, to the millisecond.
	At time.Time `ddb:"at,optional"`
	// Op is what the operator called it: the same Op is the same operation.
	Op string `ddb:"op"`
	// Kind is create, skip, redrive, rewind, pause, resume, settle, release or remove.
	Kind string `ddb:"kind"`
	// Seq is the message that was skipped or redriven, or the place that was gone back to, or -1.
	Seq    int64  `ddb:"seq"`
	Reason string `ddb:"reason"`
	// Request is what else was asked for, by the names that the request has for it.
	Request map[string]string `ddb:"request,omitzero"`
	// Who is the caller.
	Who Who `ddb:"who,omitzero"`
	// Done says that it was done, Error why it was not; neither is set while it is in progress.
	Done  bool   `ddb:"done,omitzero"`
	Error string `ddb:"error,omitzero"`
	// ReplyQueue is the queue that the replies of an opReply were to go to. It is not in Error.
	ReplyQueue string `ddb:"replyQueue,omitzero"`
}
