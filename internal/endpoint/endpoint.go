// Package endpoint has where a consumer's webhooks go to, queue by queue: endpoints that are added,
// changed, paused and taken away while the stack runs.
//
// An endpoint is for one queue, or for all queues whose names begin so: a prefix ends with a slash,
// or is empty. For a queue [Store.Of] finds that of its whole name, else that of its longest
// prefix. A tenant's queues have their tenant's endpoints alone, since all their names begin with
// the tenant.
//
// # What is stored
//
// In the consumers table, an endpoint an item, under (queue, consumer): "endpoints " and the
// tenant, and " endpoint ", "queue " or "prefix ", the name, a space, and the consumer. No consumer
// has a name with a space, and no queue one that begins with
// [Keys]: so a role may be kept from all endpoints, and their secrets, by the partitions' names.
//
//	v             N  layout of the item, 1
//	rev           N  rises with each change, each of which compares it
//	url           S  where requests go to
//	secret        S  what they are signed with, as Standard Webhooks writes it; encrypted as all of the table is
//	oldSecret, oldUntil  S, N  what they are signed with beside it, until then, ms
//	paused, pausedSince  S, N  why nothing is sent, and since when, ms
//	at            N  ms, when it was changed last
//
// # Who did it
//
// The caller who changed it stands among the operations of the queue, or of the prefix, with the
// URL's host and no secret.
package endpoint

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/request"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/delivery"
	"github.com/streamsort/streamsort/pkg/invalid"
	"github.com/streamsort/streamsort/pkg/table"
	"github.com/streamsort/streamsort/pkg/tenant"
)

const (
	// KeptSecret is for how long requests are signed with the secret before the last one too.
	KeptSecret = 24 * time.Hour
	// MaxName is how many bytes a queue's name, or a prefix, has at most that an endpoint is for.
	MaxName = 800
	// MaxDepth is how many slashes a prefix has at most.
	MaxDepth = 8
	// MaxOfTenant is how many endpoints a tenant may have; of those that two of its calls make at
	// once, one more each.
	MaxOfTenant = 1000
	// maxTries is how often a change is tried that others are ahead of.
	maxTries = 5
	// keyBytes is how many bytes a secret's key has.
	keyBytes = 32
)

// ConsumersVariable is the environment variable with the names, between commas, of the consumers
// whose queues have endpoints; where it is not set, they are not known.
const ConsumersVariable = "STREAMSORT_ENDPOINT_CONSUMERS"

// ErrNone: there is no such endpoint.
var ErrNone = errors.New("the queue has no endpoint")

// ErrOutran: others changed the endpoint at the same time, again and again.
var ErrOutran = errors.New("the endpoint was changed at the same time")

// Place says for what an endpoint is: a queue, or all whose names begin so.
type Place struct {
	Consumer string
	// Name is the queue's whole name, or the prefix.
	Name   string
	Prefix bool
}

// Validate reports what is out of its bounds, by its name in a request.
func (p Place) Validate() error {
	if err := delivery.ValidateConsumer(p.Consumer); err != nil {
		return err
	}
	switch field := p.field(); {
	case len(p.Name) > MaxName:
		return invalid.New(invalid.TooLarge, field,
			fmt.Sprintf("has %d bytes: an endpoint takes %d", len(p.Name), MaxName))
	case !p.Prefix:
		return cursor.ValidateQueue(p.Name)
	case p.Name != "" && !strings.HasSuffix(p.Name, "/"):
		return invalid.New(invalid.Malformed, field, "must end with a slash, or be empty for all queues")
	case strings.Count(p.Name, "/") > MaxDepth:
		return invalid.New(invalid.OutOfRange, field, fmt.Sprintf("has more than %d slashes", MaxDepth))
	}
	return nil
}

func (p Place) field() string {
	if p.Prefix {
		return "prefix"
	}
	return "queue"
}

// tenant is whose it is; empty for nobody's.
func (p Place) tenant() string {
	of, _ := tenant.Split(p.Name)
	if of == "" && p.Prefix {
		// The prefix of all queues of a tenant is no queue's name.
		of, _ = tenant.Split(p.Name + "x")
	}
	return of
}

// Endpoint is where a consumer's webhooks go to.
type Endpoint struct {
	Place
	URL string `ddb:"url"`
	// Secret is what requests are signed with, OldSecret what they are signed with too until
	// OldUntil.
	Secret    string    `ddb:"secret"`
	OldSecret string    `ddb:"oldSecret,omitzero"`
	OldUntil  time.Time `ddb:"oldUntil,omitzero"`
	// Paused is why nothing is sent; empty where it is.
	Paused      string    `ddb:"paused,omitzero"`
	PausedSince time.Time `ddb:"pausedSince,omitzero"`
	At          time.Time `ddb:"at,optional"`
	// Rev rises with each change.
	Rev int64 `ddb:"rev"`
}

// Secrets are those that requests are signed with at a time, the newest first.
func (e Endpoint) Secrets(now time.Time) []string {
	if e.OldSecret != "" && now.Before(e.OldUntil) {
		return []string{e.Secret, e.OldSecret}
	}
	return []string{e.Secret}
}

// Store has endpoints. Its methods may be called by any number of goroutines.
type Store struct {
	engine     ddb.Engine
	table      table.Definition
	operations *delivery.Store
	now        func() time.Time
}

// NewStore returns the store on an engine that has the consumers and the operations table: see
// [delivery.Names.Tables].
func NewStore(engine ddb.Engine, tables []table.Definition, now func() time.Time) *Store {
	return &Store{engine: engine, table: tables[0],
		operations: delivery.NewStore(engine, tables[:2]), now: now}
}

const (
	attrQueue    ddb.Path = "queue"
	attrConsumer ddb.Path = "consumer"
	attrRev      ddb.Path = "rev"
)

const layout = 1

// Keys begins the partition keys of all endpoints, and of nothing else in the table.
const Keys = "endpoints "

// keysBegin begins the sort keys of all endpoints: before those of consumers, and of what is known
// of their sinks.
const keysBegin = " endpoint "

func partitionOf(tenant string) ddb.Value { return ddb.Text(Keys + tenant) }

func (p Place) sort() string { return keysBegin + p.field() + " " + p.Name + " " + p.Consumer }

func placeOf(sort string) Place {
	field, rest, _ := strings.Cut(strings.TrimPrefix(sort, keysBegin), " ")
	space := max(strings.LastIndexByte(rest, ' '), 0)
	return Place{Consumer: strings.TrimPrefix(rest[space:], " "), Name: rest[:space],
		Prefix: field == "prefix"}
}

func (p Place) key() ddb.Item {
	return ddb.Fields{attrQueue: partitionOf(p.tenant()), attrConsumer: ddb.Text(p.sort())}.Item()
}

var endpoints = ddb.NewCodec[Endpoint]("endpoint", layout, layout)

func encode(e Endpoint) ddb.Item {
	return endpoints.Item(&e, attrQueue.Set(partitionOf(e.tenant())),
		attrConsumer.Set(ddb.Text(e.sort())))
}

func decode(it ddb.Item) (Endpoint, error) {
	return endpoints.Decode(it, func(e *Endpoint, d *ddb.Decoder) {
		e.Place = placeOf(d.Text(attrConsumer))
	})
}

// get reads an endpoint: half a read unit, or a whole one where it is strong.
func (s *Store) get(ctx context.Context, p Place, strong bool) (Endpoint, bool, error) {
	a, err := s.engine.Do(ctx, ddb.Get{Op: ddb.Op{Op: "endpoint", Table: &s.table}, Key: p.key(),
		Strong: strong})
	if err != nil || !a.Item.Exists() {
		return Endpoint{Place: p}, false, err
	}
	e, err := decode(a.Item)
	return e, err == nil, err
}

// Of is the endpoint of a consumer's queue: that of its name, else that of its longest prefix. The
// error is [ErrNone] where it has none. Half a read unit for its name, and for each of its
// prefixes, nine at most.
func (s *Store) Of(ctx context.Context, consumer, queue string) (Endpoint, error) {
	for _, p := range placesOf(consumer, queue) {
		if e, there, err := s.get(ctx, p, false); err != nil || there {
			return e, err
		}
	}
	return Endpoint{}, ErrNone
}

// placesOf are where a queue's endpoint may be found, the first one that is there counts.
func placesOf(consumer, queue string) []Place {
	all := []Place{{consumer, queue, false}}
	if len(queue) > MaxName {
		all = nil
	}
	of, _ := tenant.Split(queue)
	var prefixes []Place
	for i := range queue {
		if queue[i] == '/' && len(prefixes) < MaxDepth && i < MaxName {
			prefixes = append(prefixes, Place{consumer, queue[:i+1], true})
		}
	}
	for i := len(prefixes) - 1; i >= 0; i-- {
		all = append(all, prefixes[i])
	}
	if of == "" {
		all = append(all, Place{consumer, "", true})
	}
	return all
}

// Change is what becomes of an endpoint.
type Change struct {
	Place
	// URL is where requests go to; empty where that stays as it is.
	URL string
	// Paused is why nothing is sent; empty where it is.
	Paused string
	// Rotate gives it another secret; the one of before is good for [KeptSecret] more.
	Rotate bool
	Who    delivery.Who
}

// Put makes an endpoint, or changes the one that is there. It returns the endpoint, and whether its
// secret is new: that is the one time to show it. 3 write units and 1 read unit, and for a tenant's
// new one 1 more for each 8 KB of those that it has: the error is an [invalid.Error] where these
// are as many as it may have, or where a new one has no URL.
//
// Lost response: the same again finds it as it is; who lost a new secret with the response has to
// rotate it. Another changed it first: it is looked at anew. We die right after: nothing is left to
// do but to note that it was done.
func (s *Store) Put(ctx context.Context, c Change) (e Endpoint, fresh bool, err error) {
	before, there, err := s.get(ctx, c.Place, true)
	if err == nil && !there {
		err = s.mayBeMade(ctx, c)
	}
	if err != nil {
		return Endpoint{}, false, err
	}
	host := ""
	if u, err := url.Parse(c.URL); err == nil {
		host = u.Host
	}
	request := map[string]string{"host": host, "rotate": strconv.FormatBool(c.Rotate),
		"paused": strconv.FormatBool(c.Paused != "")}
	err = s.noted(ctx, c.Place, "endpoint", c.Paused, request, c.Who, func() error {
		for range maxTries {
			e, fresh = s.changed(before, c), !there || c.Rotate
			if !there || c.Rotate {
				key := make([]byte, keyBytes)
				_, _ = rand.Read(key) // it never fails
				e.Secret = "whsec_" + base64.StdEncoding.EncodeToString(key)
			}
			unchanged := attrRev.Eq(ddb.Int(before.Rev))
			if !there {
				unchanged = attrQueue.Missing()
			}
			a, err := s.engine.Do(ctx, ddb.Put{Op: ddb.Op{Op: "put endpoint", Table: &s.table},
				Item: encode(e), If: unchanged})
			if err != nil {
				return err
			}
			if a.Held || a.Item.Equal(encode(e)) { // a repeat by the SDK finds its own
				return nil
			}
			if before, there, err = s.get(ctx, c.Place, true); err != nil {
				return err
			}
			if !there && c.URL == "" {
				return errNoURL // it was taken away meanwhile
			}
		}
		return ErrOutran
	})
	return e, fresh, err
}

var errNoURL = invalid.New(invalid.Missing, "url",
	"is missing: there is no endpoint yet whose URL could stay as it is")

func (s *Store) mayBeMade(ctx context.Context, c Change) error {
	of := c.tenant()
	switch {
	case c.URL == "":
		return errNoURL
	case of == "":
		return nil
	}
	for n, after := 0, ""; ; {
		page, next, err := s.List(ctx, of, "", after, MaxOfTenant-n)
		if err != nil {
			return err
		}
		if n += len(page); n >= MaxOfTenant {
			return invalid.New(invalid.OutOfRange, c.field(), fmt.Sprintf("would be one more than the %d endpoints that a tenant may have: take one away, or make one for a prefix", MaxOfTenant))
		}
		if after = next; next == "" {
			return nil
		}
	}
}

// changed is an endpoint after a change, with the secret that it had.
func (s *Store) changed(before Endpoint, c Change) Endpoint {
	now := ddb.ToMillis(s.now())
	e := before
	e.Place, e.URL, e.At, e.Rev = c.Place, cmp.Or(c.URL, before.URL), now, before.Rev+1
	if c.Rotate && before.Secret != "" {
		e.OldSecret, e.OldUntil = before.Secret, ddb.ToMillis(now.Add(KeptSecret))
	}
	if c.Paused == "" {
		e.PausedSince = time.Time{}
	} else if before.Paused == "" {
		e.PausedSince = now
	}
	e.Paused = c.Paused
	return e
}

// noted does something, and has it on record before and after.
func (s *Store) noted(ctx context.Context, p Place, kind, reason string, asked map[string]string,
	who delivery.Who, do func() error) error {
	name := p.Name
	if name == "" {
		name = "/" // the prefix of all
	}
	o := delivery.Operation{
		Queue: name, Consumer: p.Consumer, At: ddb.ToMillis(s.now()), Op: strings.ToLower(rand.Text()),
		Kind: kind, Seq: -1,
		Reason: reason, Request: asked, Who: who,
	}
	if err := s.operations.Requests(request.Inside{}).RecordOperation(ctx, o); err != nil {
		return err
	}
	err := do()
	if o.Done = err == nil; err != nil {
		o.Error = err.Error()
	}
	_ = s.operations.Requests(request.Inside{}).RecordOperation(ctx, o) // it stands there as asked for
	return err
}

const pageSize = 1000

// List reads a page of the endpoints of a tenant, or of nobody, in the order of their names,
// queues' before prefixes, after a token; next is empty after the last page. Where a consumer is
// named a page has those of its own among the next 1,000, so that it may be empty and not the last.
// 1 read unit for each 8 KB.
func (s *Store) List(ctx context.Context, tenant, consumer, after string,
	limit int) (page []Endpoint, next string, err error) {
	query := ddb.Query{
		Op: ddb.Op{Op: "endpoints", Table: &s.table}, Partition: partitionOf(tenant),
		Where: attrConsumer.BeginsWith(ddb.Text(keysBegin)), Limit: limit,
	}
	if consumer != "" {
		query.Limit = pageSize
	}
	if after != "" {
		query.After = ddb.Fields{attrQueue: partitionOf(tenant),
			attrConsumer: ddb.Text(keysBegin + after)}.Item()
	}
	a, err := s.engine.Do(ctx, query)
	if err != nil {
		return nil, "", err
	}
	for _, it := range a.Items {
		e, err := decode(it)
		if err != nil {
			return nil, "", err
		}
		if consumer != "" && e.Consumer != consumer {
			continue
		}
		if page = append(page, e); len(page) == limit && consumer != "" {
			return page, strings.TrimPrefix(e.sort(), keysBegin), nil
		}
	}
	return page, strings.TrimPrefix(a.Next.Get(attrConsumer).Str(), keysBegin), nil
}

// ValidAfter reports whether a token may be one that [Store.List] gave.
func ValidAfter(after string) bool {
	return len(keysBegin)+len(after) <= 1024 &&
		(strings.HasPrefix(after, "queue ") || strings.HasPrefix(after, "prefix "))
}
