package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/streamsort/streamsort/internal/httpapi"
	"github.com/streamsort/streamsort/internal/intake"
	"github.com/streamsort/streamsort/internal/jsonseq"
	"github.com/streamsort/streamsort/internal/message"
	"github.com/streamsort/streamsort/internal/reply"
	"github.com/streamsort/streamsort/internal/strictjson"
	"github.com/streamsort/streamsort/internal/tenancy"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/delivery"
	"github.com/streamsort/streamsort/pkg/invalid"
)

// claimDocument is how a call of the two-phase protocol went, as callers see it. From and To are
// the first and the last seq of the claim's range.
type claimDocument struct {
	Status    int                `json:"status"`
	Outcome   delivery.Outcome   `json:"outcome"`
	Reason    string             `json:"reason,omitempty"`
	Queue     string             `json:"queue"`
	Consumer  string             `json:"consumer"`
	Token     string             `json:"token,omitempty"`
	From      *jsonseq.Seq       `json:"from,omitempty"`
	To        *jsonseq.Seq       `json:"to,omitempty"`
	Messages  []message.Document `json:"messages,omitempty"`
	Skipped   []jsonseq.Seq      `json:"skipped,omitempty"`
	Attempt   int                `json:"attempt,omitempty"`
	Rewinds   int64              `json:"rewinds,omitempty"`
	Until     *time.Time         `json:"until,omitempty"`
	Committed int64              `json:"committed,omitempty"`
	Unsettled []string           `json:"unsettled,omitempty"`
	Detail    string             `json:"detail,omitempty"`
	// Next is the claim that was made with a commit.
	Next *claimDocument `json:"next,omitempty"`
}

func newClaimDocument(scope tenancy.Scope, a delivery.Answer) claimDocument {
	d := claimDocument{
		Status: http.StatusOK, Outcome: a.Outcome, Reason: a.Reason, Queue: scope.Short(a.Queue),
		Consumer: a.Consumer,
		Attempt:  a.Attempt, Rewinds: a.Rewinds, Committed: a.Committed,
		Detail: reasonFor(scope, a.ReplyQueue, a.Detail),
	}
	if a.Token.N > 0 {
		d.Token = a.Token.String()
	}
	if a.To > a.From {
		from, to := jsonseq.Seq(a.From+1), jsonseq.Seq(a.To)
		d.From, d.To = &from, &to
	}
	for _, m := range a.Messages {
		m.ID = scope.ShortID(m.ID)
		d.Messages = append(d.Messages, message.New(m))
	}
	for _, seq := range a.Skipped {
		d.Skipped = append(d.Skipped, jsonseq.Seq(seq))
	}
	if !a.Until.IsZero() {
		d.Until = &a.Until
	}
	for _, h := range a.Unsettled {
		d.Unsettled = append(d.Unsettled, h.Token.String())
	}
	return d
}

// pulled answers with how a call went, or why it could not be made.
func pulled(c *httpapi.Call, a delivery.Answer, err error) (int, any, error) {
	if err != nil {
		return 0, nil, err
	}
	if a.Outcome == delivery.OK {
		c.Metrics.Count("Claims", 1)
	}
	return http.StatusOK, newClaimDocument(c.Scope, a), nil
}

func sizeOf(m cursor.Message) int { return message.New(m).Size() }

// puller is the two-phase protocol on the deliverer's tables.
func (s *service) puller() delivery.Claims {
	p, err := delivery.NewClaims(s.deliverer,
		&delivery.ClaimsOptions{Answer: &cursor.Bound{Bytes: message.MaxAnswer, Of: sizeOf}})
	if err != nil {
		panic(err) // unreachable: no option is out of its bounds
	}
	return p
}

// listReady shows what a claim would get.
func (s *service) listReady(ctx context.Context, c *httpapi.Call) (int, any, error) {
	var asked struct {
		Queue    string `json:"queue"`
		Consumer string `json:"consumer"`
		wanted
	}
	if err := c.Parameters(&asked, &asked.Queue); err != nil {
		return 0, nil, err
	}
	a, err := s.puller().List(ctx, delivery.Request{Queue: asked.Queue, Consumer: asked.Consumer,
		MaxMessages: asked.MaxMessages, MaxBytes: asked.MaxBytes})
	return pulled(c, a, err)
}

// wanted are the bounds of a claim. Those of messages are the protocol's own; maxBytes bounds the
// bodies of an answer; all that is written of its messages is bounded too.
type wanted struct {
	MaxMessages int `json:"maxMessages" bounds:"1..1000"`
	MaxBytes    int `json:"maxBytes" bounds:"1..3145728" default:"3145728"`
}

// nextClaim is what a claim asks for beside its queue and its consumer.
type nextClaim struct {
	Request      string `json:"request"`
	LeaseSeconds int    `json:"leaseSeconds" bounds:"30..43200"`
	wanted
}

func (n *nextClaim) request(queue, consumer string) delivery.Request {
	return delivery.Request{
		Queue: queue, Consumer: consumer, ID: n.Request, MaxMessages: n.MaxMessages, MaxBytes: n.MaxBytes,
		Lease: time.Duration(n.LeaseSeconds) * time.Second,
	}
}

type token struct{ delivery.Token }

func (t *token) UnmarshalText(text []byte) error {
	number, req, found := strings.Cut(string(text), "-")
	n, err := strconv.ParseInt(number, 10, 64)
	if !found || err != nil || n < 1 || strconv.FormatInt(n, 10) != number || req == "" {
		return errors.New("must be a token that a claim was answered with")
	}
	t.Token = delivery.Token{N: n, Req: req}
	return nil
}

// claim gives a consumer the messages that wait first.
func (s *service) claim(ctx context.Context, c *httpapi.Call) (int, any, error) {
	var asked struct {
		Queue    string          `json:"queue"`
		Consumer string          `json:"consumer"`
		Seqs     []jsonseq.Asked `json:"seqs" bounds:"1..1000"`
		nextClaim
	}
	if err := c.Read(&asked, &asked.Queue); err != nil {
		return 0, nil, err
	}
	r := asked.request(asked.Queue, asked.Consumer)
	for _, seq := range asked.Seqs {
		r.Seqs = append(r.Seqs, int64(seq))
	}
	a, err := s.puller().Claim(ctx, r)
	return pulled(c, a, err)
}

type change struct {
	Action string `json:"action" required:"true" one:"extend prepare commit abort settle"`

	Queue        string                `json:"queue"`
	Consumer     string                `json:"consumer"`
	Token        token                 `json:"token"`
	LeaseSeconds int                   `json:"leaseSeconds" bounds:"30..43200"`
	Outcome      delivery.TokenOutcome `json:"outcome"`
	Reason       string                `json:"reason"`
	Replies      json.RawMessage       `json:"replies"`
	// Next is the claim to make with a commit, nil for none.
	Next  *nextClaim `json:"next"`
	Given strictjson.Given

	replies []delivery.Reply
}

// fieldsOf are those that not every action has.
var fieldsOf = map[string]string{
	"extend": "leaseSeconds", "commit": "next replies", "abort": "reason",
	"settle": "outcome reason replies",
}

// Check is called by the decoder: it reports a field that the action does not have.
func (p *change) Check() error {
	for _, field := range []string{"leaseSeconds", "next", "outcome", "reason", "replies"} {
		if p.Given[field] && !strings.Contains(fieldsOf[p.Action], field) {
			return invalid.New(invalid.Misplaced, field, "is not a field of "+p.Action)
		}
	}
	return nil
}

func (p *change) readReplies(c *httpapi.Call) (err error) {
	if p.Replies == nil {
		return nil
	}
	if p.replies, err = reply.Read(p.Replies); err != nil {
		return err
	}
	for i := range p.replies {
		r, at := &p.replies[i], fmt.Sprintf("replies[%d].", i)
		if r.Queue, err = c.Full(at+"queue", r.Queue); err != nil {
			return err
		}
		if r.ID, err = c.Full(at+"id", r.ID); err != nil {
			return err
		}
	}
	if len(p.replies) > 0 && p.Action == "settle" && p.Outcome != delivery.Committed {
		return invalid.New(invalid.Misplaced, "replies",
			"belong to commit, and to settle as COMMITTED")
	}
	return nil
}

func (s *service) onClaim(ctx context.Context, c *httpapi.Call) (int, any, error) {
	var p change
	err := c.Read(&p, &p.Queue)
	if err == nil {
		err = p.readReplies(c)
	}
	if err != nil {
		return 0, nil, err
	}
	var load intake.Load // they are messages as any other
	for _, r := range p.replies {
		load.Add(r.Queue, r.Body, r.Attributes)
	}
	if err := load.Take(ctx, s.quotas, c.Metrics, c.Tenant(), s.sorter); err != nil {
		return 0, nil, err
	}
	h := delivery.Held{Queue: p.Queue, Consumer: p.Consumer, Token: p.Token.Token}
	if p.Next != nil {
		return s.commitAndClaim(ctx, c, h, p)
	}
	puller := s.puller()
	var a delivery.Answer
	switch p.Action {
	case "extend":
		a, err = puller.Extend(ctx, h, time.Duration(p.LeaseSeconds)*time.Second)
	case "prepare":
		a, err = puller.Prepare(ctx, h)
	case "commit":
		a, err = puller.Commit(ctx, h, p.replies...)
	case "abort":
		a, err = puller.Abort(ctx, h, p.Reason)
	default:
		a, err = puller.Settle(ctx, h, p.Outcome, p.Reason, p.replies...)
	}
	return pulled(c, a, err)
}

func (s *service) commitAndClaim(ctx context.Context, c *httpapi.Call, h delivery.Held,
	p change) (int, any, error) {
	done, next, err := s.puller().CommitAndClaim(ctx, h,
		p.Next.request(h.Queue, h.Consumer), p.replies...)
	if wrong, ok := errors.AsType[*invalid.Error](err); ok && wrong.Field == "request" {
		err = strictjson.In("next", wrong)
	}
	status, document, err := pulled(c, done, err)
	if err != nil || next.Outcome == "" {
		return status, document, err
	}
	both, following := newClaimDocument(c.Scope, done), newClaimDocument(c.Scope, next)
	both.Next = &following
	return status, both, nil
}
