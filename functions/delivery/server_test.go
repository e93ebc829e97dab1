package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/ddbtest"
	"github.com/streamsort/streamsort/internal/egress"
	"github.com/streamsort/streamsort/internal/endpoint"
	"github.com/streamsort/streamsort/internal/httpapi/httpapitest"
	"github.com/streamsort/streamsort/internal/request"
	"github.com/streamsort/streamsort/internal/runtime"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/delivery"
	"github.com/streamsort/streamsort/pkg/table"
)

func init() { slog.SetDefault(slog.New(slog.DiscardHandler)) }

// server is the handler on fresh tables, with a client that holds every answer to the contract.
type server struct {
	*httpapitest.Client
	t         *testing.T
	sorter    *cursor.Sorter
	deliverer *delivery.Deliverer
	queues    cursor.Names
	names     delivery.Names
	logs      bytes.Buffer
	now       time.Time
	consumers *delivery.Store
	// allow is what endpoints of no tenant may have besides public addresses.
	rules egress.Rules
	// before, if not nil, is called before each request to the consumers' tables.
	before func(ddb.Request)
	// faults is the engine without that, engine the one with it.
	faults *ddbtest.Faults
	engine ddb.Engine
}

func onEach(t *testing.T, test func(*server)) {
	t.Helper()
	ddbtest.Each(t, func(t *testing.T, kind ddbtest.Kind) { test(newServer(t, kind)) })
}

func newServer(t *testing.T, kind ddbtest.Kind) *server {
	t.Helper()
	// Far ahead: the servers delete what expired by their own clock.
	s := &server{t: t, now: time.Date(2126, 5, 6, 7, 8, 9, 0, time.UTC)}
	suffix := ddbtest.Suffix()
	s.names = delivery.Names{Consumers: "consumers" + suffix, Audit: "operations" + suffix,
		Trouble: "trouble" + suffix}
	s.queues = cursor.Names{Messages: "messages" + suffix, Cursors: "cursors" + suffix,
		Trouble: "trouble" + suffix, Arrivals: "arrivals" + suffix}
	s.rules = egress.Rules{
		Allow: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")},
		Deny:  []netip.Prefix{netip.MustParsePrefix("2600:1f18:1::/48")},
	}
	tables := append(append(s.names.Tables(), s.queues.Tables()...), s.queues.ArrivalsTable())
	s.faults = ddbtest.NewFaults(ddbtest.Open(t, kind, tables...))
	s.engine = ddb.Func(func(ctx context.Context, r ddb.Request) (ddb.Answer, error) {
		if s.before != nil {
			s.before(r)
		}
		return s.faults.Do(ctx, r)
	})
	store := check.Get(cursor.NewStore(s.faults, s.queues))
	clock := func() time.Time { return s.now }
	s.sorter = check.Get(cursor.New(store, &cursor.Options{Now: clock}))
	s.consumers = delivery.NewStore(s.engine, s.names.Tables())
	s.deliverer = check.Get(delivery.New(s.consumers, s.sorter, &delivery.Options{Now: clock}))
	s.Client = s.with(func(*service) {})
	return s
}

// with is a client of the handler that has something changed.
func (s *server) with(change func(*service)) *httpapitest.Client {
	s.t.Helper()
	of := &service{
		deliverer: s.deliverer, sorter: s.sorter,
		trouble: s.consumers.Requests(request.Inside{}).Trouble(),
		now:     func() time.Time { return s.now }, endpoints: s.endpoints(), rules: s.rules,
	}
	change(of)
	return httpapitest.New(s.t, runtime.Around(&s.logs, runtime.Headroom, of.api().Handle))
}

func ofTenants(of *service) { of.tenantClaim = "org" }

// as asks as a tenant, or as an operator without one.
func (s *server) as(tenant, method, path, query, body string) httpapitest.Answer {
	s.t.Helper()
	if tenant == "" {
		return s.Request(method, path, query, body)
	}
	return s.with(ofTenants).RequestAs("org", tenant, method, path, query, body)
}

// Two callers, as a gateway authorizes them.
const (
	ben = `{"jwt":{"claims":{"org":"acme","sub":"ben","client_id":"app"}}}`
	ann = `{"iam":{"userArn":"arn:aws:iam::1:user/ann"}}`
)

// by asks as a caller whom a gateway authorized.
func (s *server) by(authorizer, method, path, query, body string) httpapitest.Answer {
	s.t.Helper()
	event := httpapitest.V2(method, path, query, body, false)
	a := s.Raw(strings.Replace(event, `"requestContext":{`,
		`"requestContext":{"authorizer":`+authorizer+`,`, 1))
	s.Check(method, path, query, body, a)
	return a
}

func (s *server) endpoints() *endpoint.Store {
	return endpoint.NewStore(s.engine, s.names.Tables(), func() time.Time { return s.now })
}

func (s *server) put(queue string, to int64) {
	s.t.Helper()
	for seq := int64(1); seq <= to; seq++ {
		check.OK(s.t, s.sorter.Put(s.t.Context(),
			cursor.Message{Queue: queue, Seq: seq, Body: []byte(`"canary"`)})[0].Err)
	}
}

// billing puts messages to the queue "q", with the consumer "billing".
func (s *server) billing(to int64) {
	s.t.Helper()
	s.put("q", to)
	s.create(`{"queue":"q","consumer":"billing"}`)
}

// lose deletes a message behind everybody's back.
func (s *server) lose(queue string, seq int64) {
	s.t.Helper()
	s.do(ddb.Delete{Op: s.on(s.queues.Messages),
		Key: ddb.Fields{"queue": ddb.Text(queue), "seq": ddb.Int(seq)}.Item()})
}

// unreadable has a consumer that a newer version wrote.
func (s *server) unreadable(queue, consumer string) {
	s.t.Helper()
	s.do(ddb.Put{Op: s.on(s.names.Consumers),
		Item: ddb.Fields{"queue": ddb.Text(queue), "consumer": ddb.Text(consumer),
			"v": ddb.Int(99)}.Item()})
}

// on names a table as one that a request is made of.
func (s *server) on(name string) ddb.Op {
	all := append(s.names.Tables(), s.queues.Tables()...)
	return ddb.Op{Op: "test", Table: &all[slices.IndexFunc(all, func(d table.Definition) bool {
		return d.Name == name
	})]}
}

func (s *server) do(r ddb.Request) {
	s.t.Helper()
	check.Get(s.engine.Do(s.t.Context(), r))
}

// deliver delivers one message after the other to a consumer.
func (s *server) deliver(queue, consumer string,
	handle func(delivery.Batch) error) delivery.Delivery {
	s.t.Helper()
	done := s.deliverer.Deliver(s.t.Context(), queue, delivery.Reader{
		Name: consumer, MaxMessages: 1, Handle: func(_ context.Context, b delivery.Batch) error {
			return handle(b)
		},
	}, -1)
	check.OK(s.t, done.Err)
	return done
}

// block makes a consumer fail for good at a seq.
func (s *server) block(queue, consumer string, seq int64) {
	s.t.Helper()
	done := s.deliver(queue, consumer, func(b delivery.Batch) error {
		if b.To == seq {
			return delivery.Permanent(errors.New("cannot be billed"))
		}
		return nil
	})
	check.Need(s.t, done.Outcome == delivery.Blocked, "%+v, want it blocked", done)
}

func (s *server) create(document string) httpapitest.Answer {
	s.t.Helper()
	return s.Request("POST", "/consumers", "", document)
}

// operate asks for an operation on the consumer "billing" of the queue "q"; more are further
// members.
func (s *server) operate(name, more string) httpapitest.Answer {
	s.t.Helper()
	return s.Request("POST", "/operations", "",
		fmt.Sprintf(`{"action":%q,"queue":"q","consumer":"billing","reason":"because"%s}`, name, more))
}

func (s *server) status() httpapitest.Answer {
	s.t.Helper()
	return s.Request("GET", "/consumers", "queue=q&consumer=billing", "")
}
