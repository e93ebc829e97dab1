package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
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
	"github.com/streamsort/streamsort/pkg/handoff"
	"github.com/streamsort/streamsort/pkg/handoff/pull"
	"github.com/streamsort/streamsort/pkg/invalid"
)

// maxAnswerBytes bounds the bodies of an answer; all that is written of its messages
// is bounded too.
const maxAnswerBytes = 3 << 20

// claimDocument is how a call of the two-phase protocol went, as callers see it.
// From and To are the first and the last seq of the claim's range.
type claimDocument struct {
	Status    int                `json:"status"`
	Answer    pull.Verdict       `json:"answer"`
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

func newClaimDocument(scope tenancy.Scope, a pull.Answer) claimDocument {
	d := claimDocument{
		Status: http.StatusOK, Answer: a.Verdict, Queue: scope.Short(a.Queue), Consumer: a.Consumer,
		Attempt: a.Attempt, Rewinds: a.Rewinds, Committed: a.Committed, Detail: reasonFor(scope, a.ReplyQueue, a.Detail),
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
func pulled(c *httpapi.Call, a pull.Answer, err error) (int, any, error) {
	if err != nil {
		return 0, nil, err
	}
	if a.Verdict == pull.OK {
		c.Metrics.Count("Claims", 1)
	}
	return http.StatusOK, newClaimDocument(c.Scope, a), nil
}

// sizeOf is what a message takes in an answer.
func sizeOf(m cursor.Message) int { return message.New(m).Size() }

// puller is the two-phase protocol on the deliverer's tables.
func (s *service) puller() *pull.Puller {
	p, err := pull.New(s.deliverer, &pull.Options{Answer: &cursor.Bound{Bytes: message.MaxAnswer, Of: sizeOf}})
	if err != nil {
		panic(err) // unreachable: no option is out of its bounds
	}
	return p
}

// listReady shows what a claim would get.
func (s *service) listReady(ctx context.Context, c *httpapi.Call) (int, any, error) {
	given, err := parameters(c, "queue", "consumer", "maxMessages", "maxBytes")
	if err != nil {
		return 0, nil, err
	}
	bounds := pull.Bounds{MaxBytes: maxAnswerBytes}
	for name, to := range map[string]*int{"maxMessages": &bounds.MaxMessages, "maxBytes": &bounds.MaxBytes} {
		if given[name] == "" {
			continue
		}
		if err := bound(name, given[name], to); err != nil {
			return 0, nil, err
		}
	}
	a, err := s.puller().List(ctx, given["queue"], given["consumer"], bounds)
	return pulled(c, a, err)
}

// bounds are what the numbers of a claim may be. Those of messages and seconds
// are the protocol's own.
var bounds = map[string][2]int64{"maxMessages": {1, 1000}, "maxBytes": {1, maxAnswerBytes}, "leaseSeconds": {30, 43_200}}

// bound reads a bound of a claim.
func bound(name, text string, to *int) error {
	n, err := strconv.ParseInt(text, 10, 64)
	if b := bounds[name]; err != nil || n < b[0] || n > b[1] {
		return invalid.New(invalid.OutOfRange, name, fmt.Sprintf("must be an integer from %d to %d", b[0], b[1]))
	}
	*to = int(n)
	return nil
}

// claimOrder is a document of the two-phase protocol.
type claimOrder struct {
	pull.Request
	action  string
	token   handoff.Token
	outcome handoff.TokenOutcome
	reason  string
	// next is the claim to make with a commit, nil for none.
	next    *pull.Request
	replies []handoff.Reply
}

// readPull reads a document that may have these members.
func readPull(c *httpapi.Call, names ...string) (claimOrder, error) {
	p := claimOrder{Request: pull.Request{Bounds: pull.Bounds{MaxBytes: maxAnswerBytes}}}
	members, err := body(c)
	if err != nil {
		return p, err
	}
	if err := p.readAll(members, names); err != nil {
		return p, err
	}
	if p.Queue, err = c.Full("queue", p.Queue); err != nil {
		return p, err
	}
	for i := range p.replies {
		r, at := &p.replies[i], fmt.Sprintf("replies[%d].", i)
		if r.Queue, err = c.Full(at+"queue", r.Queue); err != nil {
			return p, err
		}
		if r.ID, err = c.Full(at+"id", r.ID); err != nil {
			return p, err
		}
	}
	return p, nil
}

// readAll reads members, which have to be among the named ones.
func (p *claimOrder) readAll(members []strictjson.Member, names []string) error {
	for _, m := range members {
		if !slices.Contains(names, m.Name) {
			return invalid.New(invalid.Unknown, m.Name, "is not a field of this: "+strings.Join(names, ", ")+" are")
		}
		if err := p.read(m); err != nil {
			return err
		}
	}
	return nil
}

// readNext reads the claim to make with a commit: the queue and the consumer
// are the commit's.
func (p *claimOrder) readNext(raw json.RawMessage) error {
	members, err := strictjson.Members(raw)
	if err != nil {
		return invalid.Named("next", err)
	}
	next := claimOrder{Request: pull.Request{Bounds: pull.Bounds{MaxBytes: maxAnswerBytes}}}
	if err := next.readAll(members, []string{"request", "maxMessages", "maxBytes", "leaseSeconds"}); err != nil {
		return err
	}
	p.next = &next.Request
	return nil
}

func (p *claimOrder) read(m strictjson.Member) error {
	var err error
	switch m.Name {
	case "queue":
		p.Queue, err = strictjson.Text(m.Value)
	case "consumer":
		p.Consumer, err = strictjson.Text(m.Value)
	case "request":
		p.ID, err = strictjson.Text(m.Value)
	case "action":
		p.action, err = strictjson.Text(m.Value)
	case "reason":
		p.reason, err = strictjson.Text(m.Value)
	case "outcome":
		var text string
		text, err = strictjson.Text(m.Value)
		p.outcome = handoff.TokenOutcome(text)
	case "token":
		p.token, err = readToken(m.Value)
	case "maxMessages":
		return bound(m.Name, string(m.Value), &p.MaxMessages)
	case "maxBytes":
		return bound(m.Name, string(m.Value), &p.MaxBytes)
	case "leaseSeconds":
		var seconds int
		if err := bound(m.Name, string(m.Value), &seconds); err != nil {
			return err
		}
		p.Lease = time.Duration(seconds) * time.Second
	case "next":
		return p.readNext(m.Value)
	case "seqs":
		var err error
		p.Seqs, err = readSeqs(m.Value)
		return err
	case "replies":
		return p.readReplies(m.Value)
	}
	if err != nil {
		return invalid.Named(m.Name, err)
	}
	return nil
}

// readReplies reads the replies of a commit.
func (p *claimOrder) readReplies(raw []byte) error {
	var err error
	p.replies, err = reply.Read(raw)
	return err
}

func readSeqs(raw json.RawMessage) ([]int64, error) {
	elements, err := strictjson.Elements(raw, int(bounds["maxMessages"][1]))
	if err != nil {
		return nil, invalid.Named("seqs", err)
	}
	if len(elements) == 0 {
		return nil, invalid.New(invalid.Missing, "seqs", "is empty")
	}
	seqs := make([]int64, len(elements))
	for i, element := range elements {
		if seqs[i], err = jsonseq.Read(element); err != nil {
			return nil, invalid.Within("seqs", i, err)
		}
	}
	return seqs, nil
}

// readToken reads a token as [handoff.Token.String] writes it.
func readToken(raw json.RawMessage) (handoff.Token, error) {
	text, err := strictjson.Text(raw)
	if err != nil {
		return handoff.Token{}, err
	}
	number, req, found := strings.Cut(text, "-")
	n, err := strconv.ParseInt(number, 10, 64)
	if !found || err != nil || n < 1 || strconv.FormatInt(n, 10) != number || req == "" {
		return handoff.Token{}, errors.New("must be a token that a claim was answered with")
	}
	return handoff.Token{N: n, Req: req}, nil
}

// claim gives a consumer the messages that wait first.
func (s *service) claim(ctx context.Context, c *httpapi.Call) (int, any, error) {
	p, err := readPull(c, "queue", "consumer", "request", "maxMessages", "maxBytes", "seqs", "leaseSeconds")
	if err != nil {
		return 0, nil, err
	}
	a, err := s.puller().Claim(ctx, p.Request)
	return pulled(c, a, err)
}

// The operations on a claim.
const (
	actionExtend  = "extend"
	actionPrepare = "prepare"
	actionCommit  = "commit"
	actionAbort   = "abort"
	actionSettle  = "settle"
)

// onClaim prepares, commits, aborts, settles or extends a claim.
func (s *service) onClaim(ctx context.Context, c *httpapi.Call) (int, any, error) {
	p, err := readPull(c, "action", "queue", "consumer", "token", "leaseSeconds", "outcome", "reason", "next", "replies")
	if err != nil {
		return 0, nil, err
	}
	if len(p.replies) > 0 && p.action != actionCommit && (p.action != actionSettle || p.outcome != handoff.Committed) {
		return 0, nil, invalid.New(invalid.Misplaced, "replies", "belong to commit, and to settle as COMMITTED")
	}
	if err := s.takeReplies(ctx, c, p.replies); err != nil {
		return 0, nil, err
	}
	h := pull.Held{Queue: p.Queue, Consumer: p.Consumer, Token: p.token}
	if p.next != nil {
		return s.commitAndClaim(ctx, c, h, p)
	}
	puller := s.puller()
	var a pull.Answer
	switch p.action {
	case actionExtend:
		a, err = puller.Extend(ctx, h, p.Lease)
	case actionPrepare:
		a, err = puller.Prepare(ctx, h)
	case actionCommit:
		a, err = puller.Commit(ctx, h, p.replies...)
	case actionAbort:
		a, err = puller.Abort(ctx, h, p.reason)
	case actionSettle:
		a, err = puller.Settle(ctx, h, p.outcome, p.reason, p.replies...)
	default:
		return 0, nil, invalid.New(invalid.Unknown, "action", "must be extend, prepare, commit, abort or settle")
	}
	return pulled(c, a, err)
}

// takeReplies takes the replies from the tenant's quotas: they are messages as any other.
func (s *service) takeReplies(ctx context.Context, c *httpapi.Call, replies []handoff.Reply) error {
	var load intake.Load
	for _, r := range replies {
		load.Add(r.Queue, r.Body, r.Attributes)
	}
	return load.Take(ctx, s.quotas, c.Metrics, c.Tenant(), s.sorter)
}

// commitAndClaim commits a claim and makes the next one.
func (s *service) commitAndClaim(ctx context.Context, c *httpapi.Call, h pull.Held, p claimOrder) (int, any, error) {
	if p.action != actionCommit {
		return 0, nil, invalid.New(invalid.Misplaced, "next", "is a field of commit only")
	}
	p.next.Queue, p.next.Consumer = h.Queue, h.Consumer
	done, next, err := s.puller().CommitAndClaim(ctx, h, *p.next, p.replies...)
	status, document, err := pulled(c, done, err)
	if err != nil || next.Verdict == "" {
		return status, document, err
	}
	both, following := newClaimDocument(c.Scope, done), newClaimDocument(c.Scope, next)
	both.Next = &following
	return status, both, nil
}
