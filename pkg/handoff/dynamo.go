package handoff

import (
	"context"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/streamsort/streamsort/internal/dynamo"
)

// Dynamo is the [Store] on DynamoDB tables as [Names.Tables] defines them. A
// consumer's item has less than 1 KB where names and reasons are short, so each
// write costs 1 write unit.
type Dynamo struct {
	client *dynamodb.Client
	names  Names
}

var _ Store = (*Dynamo)(nil)

// NewDynamo returns the Store on these tables. It makes no request.
func NewDynamo(client *dynamodb.Client, names Names) *Dynamo {
	return &Dynamo{client: client, names: names.withDefaults()}
}

func keyOf(queue, name string) dynamo.Item {
	return dynamo.Item{attrQueue: dynamo.Text(queue), attrConsumer: dynamo.Text(name)}
}

// CreateConsumer implements [Store]: one PutItem; 1 write unit.
func (s *Dynamo) CreateConsumer(ctx context.Context, c Consumer) (Consumer, bool, error) {
	_, err := s.client.PutItem(ctx, &dynamodb.PutItemInput{
		TableName:                           &s.names.Consumers,
		Item:                                encodeConsumer(c),
		ConditionExpression:                 aws.String("attribute_not_exists(#queue)"),
		ExpressionAttributeNames:            dynamo.NewExpression().Use(attrQueue).Names,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	})
	if there, failed := dynamo.ConditionFailed(err); failed {
		found, err := decodeConsumer(there)
		return found, found.LastOp == c.LastOp, err
	}
	if err != nil {
		return Consumer{}, false, dynamo.Translate(err)
	}
	return c, true, nil
}

// Consumer implements [Store]: one strong GetItem; 1 read unit.
func (s *Dynamo) Consumer(ctx context.Context, queue, name string) (Consumer, error) {
	out, err := s.client.GetItem(ctx, &dynamodb.GetItemInput{
		TableName: &s.names.Consumers, Key: keyOf(queue, name), ConsistentRead: aws.Bool(true),
	})
	if err != nil {
		return Consumer{}, dynamo.Translate(err)
	}
	return decodeConsumer(out.Item)
}

// Consumers implements [Store]: one strong Query; 1 read unit for each 4 KB,
// about 10 consumers.
func (s *Dynamo) Consumers(ctx context.Context, queue, after string) ([]Consumer, string, error) {
	e := dynamo.NewExpression().Use(attrQueue).Value(attrQueue, dynamo.Text(queue))
	in := &dynamodb.QueryInput{
		TableName: &s.names.Consumers, ConsistentRead: aws.Bool(true),
		KeyConditionExpression:   aws.String("#queue = :queue"),
		ExpressionAttributeNames: e.Names, ExpressionAttributeValues: e.Values(),
	}
	if after != "" {
		in.ExclusiveStartKey = keyOf(queue, after)
	}
	out, err := s.client.Query(ctx, in)
	if err != nil {
		return nil, "", dynamo.Translate(err)
	}
	var page []Consumer
	for _, it := range out.Items {
		c, err := decodeConsumer(it)
		if err != nil {
			return nil, "", err
		}
		page = append(page, c)
	}
	if len(out.LastEvaluatedKey) == 0 {
		return page, "", nil
	}
	d := dynamo.Decoder{Item: out.LastEvaluatedKey}
	return page, d.Text(attrConsumer), d.Err
}

// change is an update of a consumer under a condition. Both are collected with
// the placeholders they need.
type change struct {
	*dynamo.Expression
	set, remove []string
	condition   []string
}

func newChange() *change { return &change{Expression: dynamo.NewExpression()} }

// value sets :name.
func (c *change) value(name string, value types.AttributeValue) *change {
	c.Value(name, value)
	return c
}

// use lets a condition or an update name attributes.
func (c *change) use(attributes ...string) *change {
	c.Use(attributes...)
	return c
}

// to sets an attribute to a value.
func (c *change) to(attribute string, value types.AttributeValue) *change {
	c.use(attribute).value(attribute, value)
	c.set = append(c.set, "#"+attribute+" = :"+attribute)
	return c
}

// drop removes attributes.
func (c *change) drop(attributes ...string) *change {
	c.use(attributes...)
	for _, name := range attributes {
		c.remove = append(c.remove, "#"+name)
	}
	return c
}

// ended remembers what became of a claim.
func (c *change) ended(t Token, outcome TokenOutcome) *change {
	c.use(attrOutcomes).value("ended", encodeOutcome(Remember(t, outcome))).Key("#slot", slot(t.N))
	c.set = append(c.set, "#outcomes.#slot = :ended")
	return c
}

// failed takes down that a claim was aborted, and why. Its messages are tried
// again one by one, or not at all for now.
func (c *change) failed(t Token, failure Failure) *change {
	c.ended(t, Aborted).use(attrSingleTo, attrTo).
		to(attrFailed, dynamo.Millis(failure.Now)).to(attrError, dynamo.Text(failure.Error))
	c.set = append(c.set, "#singleTo = #to")
	if failure.Block {
		c.blocked(t.N, failure.Now)
		return c
	}
	return c.to(attrState, dynamo.Text(string(Idle))).to(attrRetryAt, dynamo.Millis(failure.RetryAt))
}

// when adds a condition, in which placeholders of these attributes may stand.
func (c *change) when(condition string, attributes ...string) *change {
	c.use(attributes...)
	c.condition = append(c.condition, "("+condition+")")
	return c
}

// free is the condition that nothing keeps a claim from being made.
func (c *change) free() *change {
	return c.when("attribute_not_exists(#paused) AND attribute_not_exists(#starting)", attrPaused, attrStarting)
}

// held is the condition that the claim of a token is out.
func (c *change) held(t Token) *change {
	c.value("held", dynamo.Number(t.N)).value("heldReq", dynamo.Text(t.Req)).value("started", dynamo.Text(string(Started)))
	return c.when("#tokenN = :held AND #req = :heldReq AND #state = :started", attrTokenN, attrReq, attrState)
}

// seen is the condition that nobody used the token's number up.
func (c *change) seen(n int64) *change {
	c.value("seen", dynamo.Number(n))
	return c.when("#tokenN = :seen", attrTokenN)
}

// update is one conditional UpdateItem on a consumer. It returns the consumer
// that stands there afterwards and whether the condition held.
func (s *Dynamo) update(ctx context.Context, queue, name string, c *change) (Consumer, bool, error) {
	var update string
	if len(c.set) > 0 {
		update = "SET " + strings.Join(c.set, ", ")
	}
	if len(c.remove) > 0 {
		update = strings.TrimPrefix(update+" REMOVE "+strings.Join(c.remove, ", "), " ")
	}
	out, err := s.client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName:                           &s.names.Consumers,
		Key:                                 keyOf(queue, name),
		UpdateExpression:                    &update,
		ConditionExpression:                 aws.String(strings.Join(c.condition, " AND ")),
		ExpressionAttributeNames:            c.Names,
		ExpressionAttributeValues:           c.Values(),
		ReturnValues:                        types.ReturnValueAllNew,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	})
	if there, failed := dynamo.ConditionFailed(err); failed {
		found, err := decodeConsumer(there)
		return found, false, err
	}
	if err != nil {
		return Consumer{}, false, dynamo.Translate(err)
	}
	found, err := decodeConsumer(out.Attributes)
	return found, err == nil, err
}

// claim sets what a claim of this number sets, and its condition: the state is
// as seen, and the lease over where there is one.
func (c *change) claim(n int64, claim Claim) *change {
	c.use(attrFrom, attrDelivered)
	return c.to(attrTokenN, dynamo.Number(n)).to(attrReq, dynamo.Text(claim.Req)).to(attrTo, dynamo.Number(claim.To)).
		to(attrState, dynamo.Text(string(Started))).to(attrLeaseUntil, dynamo.Millis(claim.LeaseUntil)).
		drop(attrRetryAt).mark(claim.Tracked)
}

// mark says whether the claim is tracked. Whoever does not know the mark must
// not work on the consumer.
func (c *change) mark(tracked bool) *change {
	if !tracked {
		return c.drop(attrTracked)
	}
	return c.to(attrTracked, &types.AttributeValueMemberBOOL{Value: true}).to(attrVersion, dynamo.Number(layoutTracked))
}

// untracked is the condition that no chain says how the claim ends.
func (c *change) untracked() *change {
	return c.when("attribute_not_exists(#tracked)", attrTracked)
}

// takeable is the condition that a claim may be made on what was seen, and
// takes the old one's outcome down where one is taken over. The place is compared
// too: a consumer that was removed and made anew, or restored, may be elsewhere
// under the same number.
func (c *change) takeable(seen Consumer, now time.Time) *change {
	c.seen(seen.Token.N).free().value("was", dynamo.Text(string(seen.State))).when("#state = :was", attrState).
		value("place", dynamo.Number(seen.Delivered)).when("#delivered = :place", attrDelivered)
	if seen.State == Started {
		c.value("now", dynamo.Millis(now)).when("#leaseUntil < :now", attrLeaseUntil).untracked().
			ended(seen.Token, Cancelled).to(attrSingleTo, dynamo.Number(max(seen.SingleTo, seen.To)))
	}
	return c
}

// Claim implements [Store]: one UpdateItem, ALL_NEW; 1 write unit.
func (s *Dynamo) Claim(ctx context.Context, seen Consumer, claim Claim) (Consumer, bool, error) {
	if seen.State != Idle && seen.State != Started {
		return seen, false, nil
	}
	c := newChange().takeable(seen, claim.Now).claim(seen.Token.N+1, claim).plusOne(attrAttempts)
	c.set = append(c.set, "#from = #delivered")
	found, made, err := s.update(ctx, seen.Queue, seen.Name, c)
	return found, made || found.holds(Token{seen.Token.N + 1, claim.Req}), err
}

// plusOne adds one to an attribute. It is for updates whose condition their
// own effect ends, so that a repeat cannot add twice.
func (c *change) plusOne(attribute string) *change {
	c.use(attribute).value("one", dynamo.Number(1))
	c.set = append(c.set, "#"+attribute+" = #"+attribute+" + :one")
	return c
}

// blocked sets what a Blocked consumer is, its token used up.
func (c *change) blocked(n int64, now time.Time) *change {
	return c.to(attrState, dynamo.Text(string(Blocked))).to(attrTokenN, dynamo.Number(n+1)).
		to(attrBlockedSince, dynamo.Millis(now)).drop(attrRetryAt)
}

// Block implements [Store]: one UpdateItem, ALL_NEW; 1 write unit.
func (s *Dynamo) Block(ctx context.Context, seen Consumer, now time.Time) (Consumer, bool, error) {
	if seen.State != Idle && seen.State != Started {
		return seen, false, nil
	}
	return s.update(ctx, seen.Queue, seen.Name, newChange().takeable(seen, now).blocked(seen.Token.N, now))
}

// Commit implements [Store]: one UpdateItem, ALL_NEW; 1 write unit.
func (s *Dynamo) Commit(ctx context.Context, queue, name string, token Token) (Consumer, bool, error) {
	c := newChange().held(token).to(attrState, dynamo.Text(string(Idle))).to(attrAttempts, dynamo.Number(0)).
		ended(token, Committed).drop(attrRetryAt, attrFailed, attrError, attrTracked).use(attrDelivered, attrTo)
	c.set = append(c.set, "#delivered = #to")
	found, made, err := s.update(ctx, queue, name, c)
	outcome, known := found.outcome(token)
	return found, made || known && outcome == Committed, err
}

// CommitAndClaim implements [Store]: one UpdateItem, ALL_NEW; 1 write unit.
func (s *Dynamo) CommitAndClaim(ctx context.Context, queue, name string, token Token, claim Claim) (Consumer, bool, error) {
	return s.commitAndClaim(ctx, queue, name, token, claim, newChange().held(token))
}

// commitAndClaim commits the claim of a token, on a condition, and makes the
// next one.
func (s *Dynamo) commitAndClaim(ctx context.Context, queue, name string, token Token, claim Claim, c *change) (Consumer, bool, error) {
	// In an update, what stands to the right of "=" is what was there before.
	c.free().ended(token, Committed).claim(token.N+1, claim).
		to(attrAttempts, dynamo.Number(1)).drop(attrFailed, attrError)
	c.set = append(c.set, "#delivered = #to", "#from = #to")
	found, made, err := s.update(ctx, queue, name, c)
	return found, made || found.holds(Token{token.N + 1, claim.Req}), err
}

// Fail implements [Store]: one UpdateItem, ALL_NEW; 1 write unit.
func (s *Dynamo) Fail(ctx context.Context, queue, name string, token Token, failure Failure) (Consumer, bool, error) {
	c := newChange().held(token).drop(attrTracked).failed(token, failure)
	found, made, err := s.update(ctx, queue, name, c)
	outcome, known := found.outcome(token)
	return found, made || known && outcome == Aborted, err
}

// Cancel implements [Store]: one UpdateItem, ALL_NEW; 1 write unit.
func (s *Dynamo) Cancel(ctx context.Context, seen Consumer, block bool, now time.Time) (Consumer, bool, error) {
	c := newChange().seen(seen.Token.N).value("started", dynamo.Text(string(Started))).value("now", dynamo.Millis(now)).
		when("#state = :started AND #leaseUntil < :now", attrState, attrLeaseUntil).untracked().
		ended(seen.Token, Cancelled).use(attrSingleTo, attrTo)
	c.set = append(c.set, "#singleTo = #to")
	if block {
		c.blocked(seen.Token.N, now)
	} else {
		c.to(attrState, dynamo.Text(string(Idle)))
	}
	return s.update(ctx, seen.Queue, seen.Name, c)
}

// Unblock implements [Store]: one UpdateItem, ALL_NEW; 1 write unit.
func (s *Dynamo) Unblock(ctx context.Context, seen Consumer, skip bool, op string) (Consumer, bool, error) {
	delivered := seen.Delivered
	if skip {
		delivered++
	}
	c := newChange().seen(seen.Token.N).value("blocked", dynamo.Text(string(Blocked))).
		value("at", dynamo.Number(seen.Delivered)).
		when("#state = :blocked AND #delivered = :at", attrState, attrDelivered).
		to(attrDelivered, dynamo.Number(delivered)).to(attrState, dynamo.Text(string(Idle))).
		to(attrAttempts, dynamo.Number(0)).to(attrTokenN, dynamo.Number(seen.Token.N+1)).to(attrLastOp, dynamo.Text(op)).
		drop(attrRetryAt, attrFailed, attrError, attrBlockedSince)
	return s.operation(ctx, seen, op, c)
}

// operation is an update of an operator, which its own op shows to be made.
func (s *Dynamo) operation(ctx context.Context, seen Consumer, op string, c *change) (Consumer, bool, error) {
	found, made, err := s.update(ctx, seen.Queue, seen.Name, c)
	return found, made || found.Exists() && found.LastOp == op, err
}

// Rewind implements [Store]: one UpdateItem, ALL_NEW; 1 write unit.
func (s *Dynamo) Rewind(ctx context.Context, seen Consumer, delivered int64, op string) (Consumer, bool, error) {
	c := newChange().seen(seen.Token.N).value("idle", dynamo.Text(string(Idle))).value("blocked", dynamo.Text(string(Blocked))).
		when("#state IN (:idle, :blocked)", attrState).
		to(attrDelivered, dynamo.Number(delivered)).to(attrState, dynamo.Text(string(Idle))).
		to(attrAttempts, dynamo.Number(0)).to(attrTokenN, dynamo.Number(seen.Token.N+1)).
		to(attrStarting, dynamo.Text(op)).to(attrLastOp, dynamo.Text(op)).plusOne(attrRewinds).
		drop(attrSingleTo, attrRetryAt, attrFailed, attrError, attrBlockedSince)
	return s.operation(ctx, seen, op, c)
}

// FinishStart implements [Store]: one UpdateItem, ALL_NEW; 1 write unit.
func (s *Dynamo) FinishStart(ctx context.Context, queue, name, op string, delivered int64) (Consumer, bool, error) {
	c := newChange().value("op", dynamo.Text(op)).when("#starting = :op", attrStarting).
		to(attrDelivered, dynamo.Number(delivered)).drop(attrStarting)
	found, made, err := s.update(ctx, queue, name, c)
	return found, made || found.Exists() && found.Starting == "" && found.LastOp == op, err
}

// Pause implements [Store]: one UpdateItem, ALL_NEW; 1 write unit.
func (s *Dynamo) Pause(ctx context.Context, queue, name, reason string, now time.Time) (Consumer, bool, error) {
	c := newChange().when("attribute_exists(#queue)", attrQueue)
	if reason != "" {
		c.to(attrPaused, dynamo.Text(reason)).to(attrPausedSince, dynamo.Millis(now))
	} else {
		c.drop(attrPaused, attrPausedSince)
	}
	return s.update(ctx, queue, name, c)
}

// Remove implements [Store]: one DeleteItem; 1 write unit.
func (s *Dynamo) Remove(ctx context.Context, seen Consumer) (bool, error) {
	e := dynamo.NewExpression().Use(attrTokenN, attrState, attrQueue, attrQuarantine).
		Value("seen", dynamo.Number(seen.Token.N)).Value("idle", dynamo.Text(string(Idle))).
		Value("blocked", dynamo.Text(string(Blocked))).Value("none", dynamo.Number(0))
	_, err := s.client.DeleteItem(ctx, &dynamodb.DeleteItemInput{
		TableName: &s.names.Consumers, Key: keyOf(seen.Queue, seen.Name),
		ConditionExpression:      aws.String("attribute_not_exists(#queue) OR (#tokenN = :seen AND #state IN (:idle, :blocked) AND size(#quarantine) = :none)"),
		ExpressionAttributeNames: e.Names, ExpressionAttributeValues: e.Values(),
	})
	if _, failed := dynamo.ConditionFailed(err); failed {
		return false, nil
	}
	return err == nil, dynamo.Translate(err)
}

// RecordAct implements [Store]: one PutItem; 1 write unit.
func (s *Dynamo) RecordAct(ctx context.Context, act Act) error {
	_, err := s.client.PutItem(ctx, &dynamodb.PutItemInput{TableName: &s.names.Acts, Item: encodeAct(act)})
	return dynamo.Translate(err)
}

// actsPage is the most acts of a page.
const actsPage = 100

// Acts implements [Store]: one strong Query; 1 read unit for each 4 KB.
func (s *Dynamo) Acts(ctx context.Context, queue, after string) ([]Act, string, error) {
	e := dynamo.NewExpression().Use(attrQueue).Value(attrQueue, dynamo.Text(queue))
	in := &dynamodb.QueryInput{
		TableName: &s.names.Acts, ConsistentRead: aws.Bool(true), ScanIndexForward: aws.Bool(false),
		Limit:                    aws.Int32(actsPage),
		KeyConditionExpression:   aws.String("#queue = :queue"),
		ExpressionAttributeNames: e.Names, ExpressionAttributeValues: e.Values(),
	}
	if after != "" {
		in.ExclusiveStartKey = dynamo.Item{attrQueue: dynamo.Text(queue), attrAct: dynamo.Text(after)}
	}
	out, err := s.client.Query(ctx, in)
	if err != nil {
		return nil, "", dynamo.Translate(err)
	}
	var page []Act
	for _, it := range out.Items {
		act, err := decodeAct(it)
		if err != nil {
			return nil, "", err
		}
		page = append(page, act)
	}
	if len(out.LastEvaluatedKey) == 0 {
		return page, "", nil
	}
	d := dynamo.Decoder{Item: out.LastEvaluatedKey}
	return page, d.Text(attrAct), d.Err
}
