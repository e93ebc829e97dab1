package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/faulty"
	"github.com/streamsort/streamsort/internal/dev/localdb"
	"github.com/streamsort/streamsort/internal/dynamo"
	"github.com/streamsort/streamsort/internal/egress"
	"github.com/streamsort/streamsort/internal/emf"
	"github.com/streamsort/streamsort/internal/endpoint"
	"github.com/streamsort/streamsort/internal/httpapi/httpapitest"
	"github.com/streamsort/streamsort/internal/record"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/handoff"
	"github.com/streamsort/streamsort/pkg/table"
)

// server is the handler on fresh tables of a real server, with a client that
// holds every answer to the contract.
type server struct {
	*httpapitest.Client
	t         *testing.T
	sorter    *cursor.Sorter
	deliverer *handoff.Deliverer
	network   *faulty.Transport
	client    *dynamodb.Client
	messages  string // the table's name
	table     string // that of consumers
	names     handoff.Names
	logs      bytes.Buffer
	now       time.Time
	consumers *handoff.Store
	// allow is what endpoints of no tenant may have besides public addresses.
	rules egress.Rules
	// before, if not nil, is called before each request to the consumers' tables.
	before func(ddb.Request)
	engine ddb.Engine
}

// onServers runs a test on each kind of server.
func onServers(t *testing.T, test func(*server)) {
	for _, kind := range localdb.Kinds() {
		t.Run(string(kind), func(t *testing.T) { test(newServer(t, kind)) })
	}
}

func newServer(t *testing.T, kind localdb.Kind) *server {
	t.Helper()
	// Today: the servers delete what expired by their own clock.
	s := &server{t: t, network: faulty.New(dynamo.Transport()), now: time.Now().UTC().Truncate(time.Second)}
	client, err := dynamo.New(&dynamo.Options{Endpoint: localdb.ForTest(t, kind), Transport: s.network, MaxAttempts: 1})
	if err != nil {
		t.Fatal(err)
	}
	suffix := localdb.Suffix()
	s.client, s.messages = client, "messages"+suffix
	names := handoff.Names{Consumers: "consumers" + suffix, Audit: "operations" + suffix, Trouble: "trouble" + suffix}
	s.table, s.names = names.Consumers, names
	s.rules = egress.Rules{
		Allow: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}, Deny: []netip.Prefix{netip.MustParsePrefix("2600:1f18:1::/48")},
	}
	queues := cursor.Names{Messages: s.messages, Cursors: "cursors" + suffix, Sweeps: "sweeps" + suffix, Arrivals: "arrivals" + suffix}
	if err := table.Create(t.Context(), client, append(append(names.Tables(), queues.Tables()...), queues.ArrivalsTable())...); err != nil {
		t.Fatal(err)
	}
	store, err := cursor.NewDynamo(client, queues)
	if err != nil {
		t.Fatal(err)
	}
	clock := func() time.Time { return s.now }
	if s.sorter, err = cursor.New(store, &cursor.Options{Now: clock}); err != nil {
		t.Fatal(err)
	}
	engine := dynamo.NewEngine(client)
	s.engine = ddb.Func(func(ctx context.Context, r ddb.Request) (ddb.Answer, error) {
		if s.before != nil {
			s.before(r)
		}
		return engine.Do(ctx, r)
	})
	s.consumers = record.NewStore(s.engine, names.Tables())
	if s.deliverer, err = handoff.New(s.consumers, s.sorter, &handoff.Options{Now: clock}); err != nil {
		t.Fatal(err)
	}
	s.Client = httpapitest.New(t, (&service{deliverer: s.deliverer, sorter: s.sorter, trouble: s.consumers.Trouble(), now: clock, endpoints: s.endpoints(), rules: s.rules}).api(emf.New(&s.logs, emf.Names{})).Handle)
	return s
}

// endpoints is the store of endpoints on the server.
func (s *server) endpoints() *endpoint.Store {
	return endpoint.NewStore(s.engine, s.names.Tables(), func() time.Time { return s.now })
}

// put puts messages up to a seq.
func (s *server) put(queue string, to int64) {
	s.t.Helper()
	for seq := int64(1); seq <= to; seq++ {
		if _, err := s.sorter.Put(s.t.Context(), cursor.Message{Queue: queue, Seq: seq, Body: []byte(`"canary"`)}); err != nil {
			s.t.Fatal(err)
		}
	}
}

// lose deletes a message behind everybody's back.
func (s *server) lose(queue string, seq int64) {
	s.t.Helper()
	_, err := s.client.DeleteItem(s.t.Context(), &dynamodb.DeleteItemInput{
		TableName: &s.messages, Key: dynamo.Item{"queue": dynamo.Text(queue), "seq": dynamo.Number(seq)},
	})
	if err != nil {
		s.t.Fatal(err)
	}
}

// unreadable has a consumer that a newer version wrote.
func (s *server) unreadable(queue, consumer string) {
	s.t.Helper()
	_, err := s.client.PutItem(s.t.Context(), &dynamodb.PutItemInput{
		TableName: &s.table, Item: dynamo.Item{"queue": dynamo.Text(queue), "consumer": dynamo.Text(consumer), "v": dynamo.Number(99)},
	})
	if err != nil {
		s.t.Fatal(err)
	}
}

// deliver delivers one message after the other to a consumer.
func (s *server) deliver(queue, consumer string, handle func(handoff.Batch) error) handoff.Delivery {
	s.t.Helper()
	done := s.deliverer.Deliver(s.t.Context(), queue, handoff.Reader{
		Name: consumer, MaxMessages: 1, Handle: func(_ context.Context, b handoff.Batch) error { return handle(b) },
	}, -1)
	if done.Err != nil {
		s.t.Fatal(done.Err)
	}
	return done
}

// block makes a consumer fail for good at a seq.
func (s *server) block(queue, consumer string, seq int64) {
	s.t.Helper()
	done := s.deliver(queue, consumer, func(b handoff.Batch) error {
		if b.To == seq {
			return handoff.Permanent(errors.New("cannot be billed"))
		}
		return nil
	})
	if done.Ended != handoff.EndedBlocked {
		s.t.Fatalf("%+v, want it blocked", done)
	}
}

func (s *server) create(document string) httpapitest.Answer {
	s.t.Helper()
	return s.Request("POST", "/consumers", "", document)
}

// operate asks for an operation on the consumer "billing" of the queue "q"; more are
// further members.
func (s *server) operate(name, more string) httpapitest.Answer {
	s.t.Helper()
	return s.Request("POST", "/operations", "", fmt.Sprintf(`{"action":%q,"queue":"q","consumer":"billing","reason":"because"%s}`, name, more))
}

func (s *server) status() httpapitest.Answer {
	s.t.Helper()
	return s.Request("GET", "/consumers", "queue=q&consumer=billing", "")
}
