// Package pullhttp speaks the two-phase delivery over HTTP, for consumers that have no access to
// the tables: [New] returns a [delivery.Claims].
//
//	claims, err := pullhttp.New("https://ID.execute-api.REGION.amazonaws.com")
//	err = markers.Consume(ctx, claims, "orders", "ledger", effect, nil)
//
// Requests to API Gateway are signed for IAM, those to a custom domain with [NewSigned]; or they
// have a tenant's token ([NewWithToken]). Region and credentials are found as the SDKs of AWS find
// them: the environment, profiles, SSO, the roles of ECS, EKS and EC2. What runs out is fetched
// anew, so that a consumer may run for as long as it likes. In a message of a keyed queue, Key has
// the JSON that the API shows, and Late and Unlinked are set: a time is a text in it, so go by the
// seqs, and not by comparing keys.
//
// What fails on the way, or is answered 429 or 5xx, is repeated with longer and longer waits, which
// is always safe: every call repeated gives the same answer.
package pullhttp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/streamsort/streamsort/internal/client"
	"github.com/streamsort/streamsort/internal/jsonseq"
	"github.com/streamsort/streamsort/internal/message"
	"github.com/streamsort/streamsort/internal/reply"
	"github.com/streamsort/streamsort/internal/sortkey"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/delivery"
	"github.com/streamsort/streamsort/pkg/invalid"
)

// Client is a client of one API. Its methods may be called by any number of goroutines.
type Client struct{ api *client.Client }

var _ delivery.Claims = (*Client)(nil)

// New returns a client of the API at a URL, such as http://127.0.0.1:3000 or
// https://ID.execute-api.REGION.amazonaws.com.
func New(base string) (*Client, error) { return of(client.New(base)) }

// NewSigned is [New] for an API at a custom domain, which its name does not tell: its requests are
// signed for IAM, for a region, or for that of the configuration where it is empty. Over plain http
// nothing is signed but for this machine.
func NewSigned(base, region string) (*Client, error) {
	return of(client.Open(client.Access{URL: base, Sign: true, Region: region}))
}

// NewWithToken returns a client of the tenants' API at a URL. token is called for every request,
// for a JWT that is good for some seconds at least. Queues are named without the tenant.
func NewWithToken(base string, token func(context.Context) (string, error)) (*Client, error) {
	return of(client.Open(client.Access{URL: base, Token: token}))
}

func of(api *client.Client, err error) (*Client, error) {
	if err != nil {
		return nil, err
	}
	return &Client{api}, nil
}

type document struct {
	Action       string  `json:"action,omitempty"`
	Queue        string  `json:"queue,omitempty"`
	Consumer     string  `json:"consumer,omitempty"`
	Request      *string `json:"request,omitempty"`
	MaxMessages  int     `json:"maxMessages,omitempty"`
	MaxBytes     int     `json:"maxBytes,omitempty"`
	Seqs         []int64 `json:"seqs,omitempty"`
	LeaseSeconds int64   `json:"leaseSeconds,omitempty"`
	Token        string  `json:"token,omitempty"`
	Outcome      string  `json:"outcome,omitempty"`
	Reason       string  `json:"reason,omitempty"`
	// Replies are as reply.Encode writes them.
	Replies json.RawMessage `json:"replies,omitempty"`

	Next *document `json:"next,omitempty"`
}

// keyOf reads a key as the API shows it: a number, a text, or a list of such. A time is a text
// there, and a rank a number, so that the key has the same JSON, and another order than the queue's
// where it has times.
func keyOf(raw json.RawMessage) (sortkey.Key, error) {
	parts, err := sortkey.KeyParts(raw)
	if err != nil {
		return "", err
	}
	types := make([]string, len(parts))
	for i, part := range parts {
		types[i] = "number"
		if _, is := part.(string); is {
			types[i] = "text"
		}
	}
	return sortkey.KeyType(strings.Join(types, ",")).Key(parts...)
}

// answer is what is answered; docs/openapi.yaml describes it.
type answer struct {
	Outcome   delivery.Outcome   `json:"outcome"`
	Reason    string             `json:"reason"`
	Token     string             `json:"token"`
	From      jsonseq.Seq        `json:"from"`
	To        jsonseq.Seq        `json:"to"`
	Messages  []message.Document `json:"messages"`
	Skipped   []jsonseq.Seq      `json:"skipped"`
	Attempt   int                `json:"attempt"`
	Rewinds   int64              `json:"rewinds"`
	Until     time.Time          `json:"until"`
	Committed int64              `json:"committed"`
	Unsettled []string           `json:"unsettled"`
	Detail    string             `json:"detail"`
	Next      *answer            `json:"next"`
}

// parseToken reads a token as it travels.
func parseToken(text string) (delivery.Token, error) {
	number, req, _ := strings.Cut(text, "-")
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return delivery.Token{}, fmt.Errorf("token %q in an answer: %w", text, err)
	}
	return delivery.Token{N: n, Req: req}, nil
}

// read is the answer as callers of Claims see it.
func (a answer) read(queue, consumer string) (delivery.Answer, error) {
	read := delivery.Answer{
		Outcome: a.Outcome, Reason: a.Reason, Until: a.Until, Committed: a.Committed, Detail: a.Detail,
		Batch: delivery.Batch{Queue: queue, Consumer: consumer, Attempt: a.Attempt, Rewinds: a.Rewinds},
	}
	var err error
	if a.Token != "" {
		if read.Token, err = parseToken(a.Token); err != nil {
			return delivery.Answer{}, err
		}
	}
	if a.To > 0 || a.From > 0 {
		read.From, read.To = int64(a.From)-1, int64(a.To)
	}
	for _, d := range a.Messages {
		m, err := d.Message()
		if err == nil && d.Key != nil {
			m.Key, err = keyOf(d.Key)
		}
		if err != nil {
			return delivery.Answer{}, fmt.Errorf("message %d in an answer: %w", d.Seq, err)
		}
		m.Queue, m.Late, m.Unlinked = queue, d.Late, d.Unlinked
		read.Messages = append(read.Messages, m)
	}
	for _, s := range a.Skipped {
		read.Skipped = append(read.Skipped, int64(s))
	}
	for _, text := range a.Unsettled {
		token, err := parseToken(text)
		if err != nil {
			return delivery.Answer{}, err
		}
		read.Unsettled = append(read.Unsettled,
			delivery.Held{Queue: queue, Consumer: consumer, Token: token})
	}
	return read, nil
}

func (c *Client) call(ctx context.Context, method string, query url.Values,
	d document) (delivery.Answer, error) {
	a, err := c.ask(ctx, method, query, d)
	if err != nil {
		return delivery.Answer{}, err
	}
	return a.read(d.Queue, d.Consumer)
}

// ask makes a request, and returns what is answered.
func (c *Client) ask(ctx context.Context, method string, query url.Values,
	d document) (a answer, err error) {
	var body []byte
	if query == nil {
		if body, err = json.Marshal(d); err != nil {
			return a, err
		}
	}
	if err := c.api.Call(ctx, method, "/claims", query, body, &a); err != nil {
		return a, claimsError(err)
	}
	return a, nil
}

// claimsError is the error that Claims promises for a problem.
func claimsError(err error) error {
	problem, ok := errors.AsType[*client.Problem](err)
	if !ok {
		return err
	}
	switch problem.Code {
	case "no-consumer":
		return delivery.ErrNoConsumer
	case "no-queue":
		return cursor.ErrNoQueue
	}
	if problem.Status != http.StatusBadRequest || len(problem.Errors) == 0 {
		return err
	}
	f := problem.Errors[0]
	wrong := invalid.New(f.Code, strings.TrimPrefix(f.Field, "next."), f.Detail)
	for _, list := range []string{"replies", "seqs"} {
		if name, index, ok := f.Of(list); ok {
			wrong.At, wrong.Field = []invalid.Element{{List: list, Index: index}}, name
		}
	}
	if wrong.Field == "leaseSeconds" {
		wrong.Field = "lease"
	}
	return wrong
}

// seconds is a lease as it travels, rounded up.
func seconds(lease time.Duration) int64 {
	return int64((lease + time.Second - 1) / time.Second)
}

// Queues implements [delivery.Claims]: a page has at most 100.
func (c *Client) Queues(ctx context.Context,
	prefix, after string) (page []delivery.Queue, next string, err error) {
	query := url.Values{"limit": {"100"}}
	for name, value := range map[string]string{"prefix": prefix, "after": after} {
		if value != "" {
			query.Set(name, value)
		}
	}
	var a struct {
		List []struct {
			Queue    string      `json:"queue"`
			Position jsonseq.Seq `json:"position"`
		} `json:"list"`
		Next string `json:"next"`
	}
	if err := c.api.Call(ctx, http.MethodGet, "/queues", query, nil, &a); err != nil {
		return nil, "", claimsError(err)
	}
	for _, q := range a.List {
		page = append(page, delivery.Queue{Name: q.Queue, Position: int64(q.Position)})
	}
	return page, a.Next, nil
}

// Create implements [delivery.Claims].
func (c *Client) Create(ctx context.Context, queue, consumer string) error {
	body, err := json.Marshal(document{Queue: queue, Consumer: consumer})
	if err != nil {
		return err
	}
	var created json.RawMessage
	return claimsError(c.api.Call(ctx, http.MethodPost, "/consumers", nil, body, &created))
}

// List implements [delivery.Claims].
func (c *Client) List(ctx context.Context, r delivery.Request) (delivery.Answer, error) {
	query := url.Values{"queue": {r.Queue}, "consumer": {r.Consumer}}
	for name, n := range map[string]int{"maxMessages": r.MaxMessages, "maxBytes": r.MaxBytes} {
		if n != 0 {
			query.Set(name, strconv.Itoa(n))
		}
	}
	return c.call(ctx, http.MethodGet, query, document{Queue: r.Queue, Consumer: r.Consumer})
}

// Claim implements [delivery.Claims]. The bodies of an answer have at most 3 MB.
func (c *Client) Claim(ctx context.Context, r delivery.Request) (delivery.Answer, error) {
	return c.call(ctx, http.MethodPost, nil, requested(r))
}

func requested(r delivery.Request) document {
	return document{
		Queue: r.Queue, Consumer: r.Consumer, Request: &r.ID, MaxMessages: r.MaxMessages,
		MaxBytes: r.MaxBytes,
		Seqs:     r.Seqs, LeaseSeconds: seconds(r.Lease),
	}
}

func (c *Client) on(ctx context.Context, action string, h delivery.Held,
	d document) (delivery.Answer, error) {
	d.Action, d.Queue, d.Consumer, d.Token = action, h.Queue, h.Consumer, h.Token.String()
	return c.call(ctx, http.MethodPatch, nil, d)
}

// Extend implements [delivery.Claims].
func (c *Client) Extend(ctx context.Context, h delivery.Held,
	lease time.Duration) (delivery.Answer, error) {
	return c.on(ctx, "extend", h, document{LeaseSeconds: seconds(lease)})
}

// Prepare implements [delivery.Claims].
func (c *Client) Prepare(ctx context.Context, h delivery.Held) (delivery.Answer, error) {
	return c.on(ctx, "prepare", h, document{})
}

// Commit implements [delivery.Claims].
func (c *Client) Commit(ctx context.Context, h delivery.Held,
	replies ...delivery.Reply) (delivery.Answer, error) {
	text, err := reply.Encode(replies)
	if err != nil {
		return delivery.Answer{}, err
	}
	return c.on(ctx, "commit", h, document{Replies: text})
}

// CommitAndClaim implements [delivery.Claims]. The bodies of an answer have at most 3 MB.
func (c *Client) CommitAndClaim(ctx context.Context, h delivery.Held, r delivery.Request,
	replies ...delivery.Reply) (done, next delivery.Answer, err error) {
	following := requested(r)
	// They are the commit's; what differs is refused here, as where the tables are.
	if r.Queue != h.Queue {
		return done, next, invalid.New(invalid.Clash, "queue", "must be that of the claim to commit")
	}
	if r.Consumer != h.Consumer {
		return done, next, invalid.New(invalid.Clash, "consumer", "must be that of the claim to commit")
	}
	following.Queue, following.Consumer = "", ""
	text, err := reply.Encode(replies)
	if err != nil {
		return done, next, err
	}
	a, err := c.ask(ctx, http.MethodPatch, nil, document{
		Action: "commit", Queue: h.Queue, Consumer: h.Consumer, Token: h.Token.String(),
		Next: &following, Replies: text,
	})
	if err != nil {
		return done, next, err
	}
	if done, err = a.read(h.Queue, h.Consumer); err == nil && a.Next != nil {
		next, err = a.Next.read(h.Queue, h.Consumer)
	}
	return done, next, err
}

// Abort implements [delivery.Claims].
func (c *Client) Abort(ctx context.Context, h delivery.Held,
	reason string) (delivery.Answer, error) {
	return c.on(ctx, "abort", h, document{Reason: reason})
}

// Settle implements [delivery.Claims].
func (c *Client) Settle(ctx context.Context, h delivery.Held, outcome delivery.TokenOutcome,
	reason string, replies ...delivery.Reply) (delivery.Answer, error) {
	text, err := reply.Encode(replies)
	if err != nil {
		return delivery.Answer{}, err
	}
	return c.on(ctx, "settle", h, document{Outcome: string(outcome), Reason: reason, Replies: text})
}
