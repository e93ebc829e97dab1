package handoff

import (
	"fmt"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/streamsort/streamsort/internal/dynamo"
)

// The versions of the items' layout, kept in each item's "v": a reader refuses
// those that it does not know. An item gets a higher one only when it has what
// older readers must not pass over: they would take a tracked claim over.
const (
	layout        = 1
	layoutTracked = 2
)

// The attributes of the items.
const (
	attrVersion = "v"
	attrQueue   = "queue"

	attrConsumer     = "consumer"
	attrDelivered    = "delivered"
	attrState        = "state"
	attrTokenN       = "tokenN"
	attrReq          = "req"
	attrFrom         = "from"
	attrTo           = "to"
	attrLeaseUntil   = "leaseUntil" // ms
	attrAttempts     = "attempts"
	attrSingleTo     = "singleTo"
	attrRetryAt      = "retryAt" // ms
	attrFailed       = "failed"  // ms
	attrError        = "error"
	attrBlockedSince = "blockedSince" // ms
	attrOutcomes     = "outcomes"
	attrQuarantine   = "quarantine"
	attrPaused       = "paused"
	attrPausedSince  = "pausedSince" // ms
	attrRewinds      = "rewinds"
	attrStarting     = "starting"
	attrLastOp       = "lastOp"
	attrTracked      = "tracked"
	attrOutbox       = "outbox"
	attrRefused      = "refused"
	attrRefusedTold  = "refusedTold"
	attrRefusedBy    = "refusedBy"
	attrRefusedWhy   = "refusedWhy"
	attrRefusedSince = "refusedSince" // ms

	attrAct    = "act"
	attrAt     = "at" // ms
	attrOp     = "op"
	attrKind   = "kind"
	attrSeq    = "seq"
	attrReason = "reason"
	attrDone   = "done"

	// Within an outcome.
	attrN       = "n"
	attrOutcome = "outcome"
	attrSum     = "sum"

	// Within a quarantined claim, beside req, from, to and state.
	attrSince = "since" // ms
)

// slot is where a claim's outcome is remembered.
func slot(n int64) string { return strconv.FormatInt(n%remembered, 10) }

func encodeOutcome(r Remembered) types.AttributeValue {
	return dynamo.Map(dynamo.Item{
		attrN: dynamo.Number(r.N), attrOutcome: dynamo.Text(string(r.Outcome)), attrSum: dynamo.Text(r.Sum),
	})
}

// encodeConsumer is the item of a consumer that has just been made: both maps
// are there, so that later updates can set what is in them.
func encodeConsumer(c Consumer) dynamo.Item {
	outcomes := dynamo.Item{}
	for _, r := range c.Outcomes {
		if r.Outcome != "" {
			outcomes[slot(r.N)] = encodeOutcome(r)
		}
	}
	it := dynamo.Item{
		attrQueue:      dynamo.Text(c.Queue),
		attrConsumer:   dynamo.Text(c.Name),
		attrVersion:    dynamo.Number(layout),
		attrDelivered:  dynamo.Number(c.Delivered),
		attrFrom:       dynamo.Number(c.From),
		attrTo:         dynamo.Number(c.To),
		attrState:      dynamo.Text(string(c.State)),
		attrTokenN:     dynamo.Number(c.Token.N),
		attrAttempts:   dynamo.Number(int64(c.Attempts)),
		attrRewinds:    dynamo.Number(c.Rewinds),
		attrOutcomes:   dynamo.Map(outcomes),
		attrQuarantine: dynamo.Map(dynamo.Item{}),
		attrLastOp:     dynamo.Text(c.LastOp),
	}
	if c.Starting != "" {
		it[attrStarting] = dynamo.Text(c.Starting)
	}
	return it
}

// decodeConsumer takes an item; the zero Consumer for none.
func decodeConsumer(it dynamo.Item) (Consumer, error) {
	if len(it) == 0 {
		return Consumer{}, nil
	}
	d := dynamo.Decoder{Item: it}
	d.Layout(attrVersion, layoutTracked, ErrNewerLayout)
	_, tracked := it[attrTracked]
	c := Consumer{
		Queue:        d.Text(attrQueue),
		Name:         d.Text(attrConsumer),
		Delivered:    d.Number(attrDelivered),
		State:        State(d.Text(attrState)),
		Token:        Token{N: d.Number(attrTokenN), Req: d.TextOr(attrReq, "")},
		From:         d.Number(attrFrom),
		To:           d.Number(attrTo),
		LeaseUntil:   d.MillisOr(attrLeaseUntil),
		Tracked:      tracked,
		Attempts:     int(d.Number(attrAttempts)),
		SingleTo:     d.NumberOr(attrSingleTo, 0),
		RetryAt:      d.MillisOr(attrRetryAt),
		Failed:       d.MillisOr(attrFailed),
		Error:        d.TextOr(attrError, ""),
		BlockedSince: d.MillisOr(attrBlockedSince),
		Paused:       d.TextOr(attrPaused, ""),
		PausedSince:  d.MillisOr(attrPausedSince),
		Rewinds:      d.Number(attrRewinds),
		Starting:     d.TextOr(attrStarting, ""),
		LastOp:       d.Text(attrLastOp),
	}
	switch c.State {
	case Idle, Started, Ready, Unknown, Sending, Blocked:
	default:
		d.Fail(attrState, fmt.Sprintf("is %q, which this version does not know", c.State))
	}
	for name, value := range d.MapOr(attrOutcomes) {
		m, ok := value.(*types.AttributeValueMemberM)
		if !ok {
			d.Fail(attrOutcomes+"."+name, "is not a map")
			break
		}
		inner := dynamo.Decoder{Item: m.Value}
		r := Remembered{inner.Number(attrN), TokenOutcome(inner.Text(attrOutcome)), inner.TextOr(attrSum, "")}
		if inner.Err != nil || r.N < 0 {
			d.Fail(attrOutcomes+"."+name, "is not an outcome")
			break
		}
		c.Outcomes[r.N%remembered] = r
	}
	decodeQuarantine(&d, &c)
	decodeReplying(&d, &c)
	if d.Err != nil {
		return Consumer{}, fmt.Errorf("consumer: %w", d.Err)
	}
	return c, nil
}

// actKey orders a queue's acts by their time; the consumer and the op keep any
// two apart.
func actKey(a Act) string {
	return fmt.Sprintf("%015d %s %s", a.At.UnixMilli(), a.Consumer, a.Op)
}

func encodeAct(a Act) dynamo.Item {
	it := dynamo.Item{
		attrQueue:    dynamo.Text(a.Queue),
		attrAct:      dynamo.Text(actKey(a)),
		attrVersion:  dynamo.Number(layout),
		attrConsumer: dynamo.Text(a.Consumer),
		attrAt:       dynamo.Millis(a.At),
		attrOp:       dynamo.Text(a.Op),
		attrKind:     dynamo.Text(a.Kind),
		attrSeq:      dynamo.Number(a.Seq),
		attrReason:   dynamo.Text(a.Reason),
	}
	if a.Done {
		it[attrDone] = &types.AttributeValueMemberBOOL{Value: true}
	}
	if a.Error != "" {
		it[attrError] = dynamo.Text(a.Error)
	}
	return it
}

func decodeAct(it dynamo.Item) (Act, error) {
	d := dynamo.Decoder{Item: it}
	d.Layout(attrVersion, layout, ErrNewerLayout)
	done, _ := it[attrDone].(*types.AttributeValueMemberBOOL)
	a := Act{
		Queue:    d.Text(attrQueue),
		Consumer: d.Text(attrConsumer),
		At:       d.MillisOr(attrAt),
		Op:       d.Text(attrOp),
		Kind:     d.Text(attrKind),
		Seq:      d.Number(attrSeq),
		Reason:   d.Text(attrReason),
		Done:     done != nil && done.Value,
		Error:    d.TextOr(attrError, ""),
	}
	if d.Err != nil {
		return Act{}, fmt.Errorf("act: %w", d.Err)
	}
	return a, nil
}
