package record

import (
	"fmt"
	"strconv"

	"github.com/streamsort/streamsort/internal/ddb"
)

// The versions of the items' layout, kept in each item's "v": a reader refuses
// those that it does not know. An item gets a higher one only when it has what
// older readers must not pass over: they would take a tracked claim over, or write evidence
// without its circuit.
const (
	layout        = 1
	layoutTracked = 2
	layoutCircuit = 2
)

// The attributes of the items.
const (
	attrVersion ddb.Path = "v"
	attrQueue   ddb.Path = "queue"

	attrConsumer         ddb.Path = "consumer"
	attrDelivered        ddb.Path = "delivered"
	attrState            ddb.Path = "state"
	attrTokenN           ddb.Path = "tokenN"
	attrReq              ddb.Path = "req"
	attrFrom             ddb.Path = "from"
	attrTo               ddb.Path = "to"
	attrLeaseUntil       ddb.Path = "leaseUntil" // ms
	attrAttempts         ddb.Path = "attempts"
	attrTogether         ddb.Path = "together"
	attrIsolateTo        ddb.Path = "isolateTo"
	attrRetryAt          ddb.Path = "retryAt" // ms
	attrBatchAt          ddb.Path = "batchAt" // ms
	attrFailed           ddb.Path = "failed"  // ms
	attrError            ddb.Path = "error"
	attrShown            ddb.Path = "shown"
	attrReplyQueue       ddb.Path = "replyQueue"
	attrAway             ddb.Path = "away"
	attrFailingSince     ddb.Path = "failingSince" // ms
	attrTaken            ddb.Path = "taken"
	attrProven           ddb.Path = "proven"
	attrBlockedSince     ddb.Path = "blockedSince" // ms
	attrOutcomes         ddb.Path = "outcomes"
	attrQuarantine       ddb.Path = "quarantine"
	attrPaused           ddb.Path = "paused"
	attrPausedSince      ddb.Path = "pausedSince" // ms
	attrRewinds          ddb.Path = "rewinds"
	attrStarting         ddb.Path = "starting"
	attrKeptFrom         ddb.Path = "keptFrom"
	attrLastOp           ddb.Path = "lastOp"
	attrAsked            ddb.Path = "asked"
	attrTracked          ddb.Path = "tracked"
	attrOutbox           ddb.Path = "outbox"
	attrAnswer           ddb.Path = "answer"
	attrRefused          ddb.Path = "refused"
	attrRefusedAnnounced ddb.Path = "refusedAnnounced"
	attrRefusedBy        ddb.Path = "refusedBy"
	attrRefusedQueue     ddb.Path = "refusedQueue"
	attrRefusedWhy       ddb.Path = "refusedWhy"
	attrRefusedSince     ddb.Path = "refusedSince" // ms

	// Of the evidence, beside taken and failingSince.
	attrRev     ddb.Path = "rev"
	attrBy      ddb.Path = "by"
	attrFailing ddb.Path = "failing"
	attrTakenAt ddb.Path = "takenAt" // ms
	// And of its circuit.
	attrOpened    ddb.Path = "opened"  // ms
	attrProbeAt   ddb.Path = "probeAt" // ms
	attrProbes    ddb.Path = "probes"
	attrPassed    ddb.Path = "passed"
	attrClosed    ddb.Path = "closed" // ms
	attrWaking    ddb.Path = "waking"
	attrAnnounced ddb.Path = "announced"

	attrOperation ddb.Path = "operation"
	attrAt        ddb.Path = "at" // ms
	attrOp        ddb.Path = "op"
	attrKind      ddb.Path = "kind"
	attrSeq       ddb.Path = "seq"
	attrReason    ddb.Path = "reason"
	attrDone      ddb.Path = "done"
	attrChain     ddb.Path = "chain"
	attrRequest   ddb.Path = "request"
	attrWho       ddb.Path = "who"

	// Within who, beside kind.
	attrName   ddb.Path = "name"
	attrClient ddb.Path = "client"

	// Within an answer, beside at.
	attrStatus ddb.Path = "status"
	attrTook   ddb.Path = "ms"
	attrText   ddb.Path = "text"
	attrOwn    ddb.Path = "own"

	// Within an outcome.
	attrN       ddb.Path = "n"
	attrOutcome ddb.Path = "outcome"
	attrSum     ddb.Path = "sum"

	// Within a quarantined claim, beside req, from, to and state.
	attrSince ddb.Path = "since" // ms
)

// slot is where a claim's outcome is remembered.
func slot(n int64) string { return strconv.FormatInt(n%remembered, 10) }

func encodeOutcome(r Remembered) ddb.Value {
	return ddb.MapOf(ddb.Fields{
		attrN: ddb.Int(r.N), attrOutcome: ddb.Text(string(r.Outcome)), attrSum: ddb.Text(r.Sum),
	})
}

// encodeConsumer is the item of a consumer that has just been made: both maps
// are there, so that later updates can set what is in them.
func encodeConsumer(c Consumer) ddb.Item {
	outcomes := ddb.Fields{}
	for _, r := range c.Outcomes {
		if r.Outcome != "" {
			outcomes[ddb.Path(slot(r.N))] = encodeOutcome(r)
		}
	}
	fields := ddb.Fields{
		attrQueue:      ddb.Text(c.Queue),
		attrConsumer:   ddb.Text(c.Name),
		attrVersion:    ddb.Int(layout),
		attrDelivered:  ddb.Int(c.Delivered),
		attrFrom:       ddb.Int(c.From),
		attrTo:         ddb.Int(c.To),
		attrState:      ddb.Text(string(c.State)),
		attrTokenN:     ddb.Int(c.Token.N),
		attrAttempts:   ddb.Int(int64(c.Attempts)),
		attrRewinds:    ddb.Int(c.Rewinds),
		attrOutcomes:   ddb.MapOf(outcomes),
		attrQuarantine: ddb.MapOf(nil),
		attrLastOp:     ddb.Text(c.LastOp),
	}
	if c.Starting != "" {
		fields[attrStarting] = ddb.Text(c.Starting)
	}
	return fields.Item()
}

// decodeConsumer takes an item; the zero Consumer for none.
func decodeConsumer(it ddb.Item) (Consumer, error) {
	if !it.Exists() {
		return Consumer{}, nil
	}
	d := ddb.Decoder{Item: it}
	d.Layout(attrVersion, layoutTracked)
	c := Consumer{
		Queue:        d.Text(attrQueue),
		Name:         d.Text(attrConsumer),
		Delivered:    d.Number(attrDelivered),
		State:        State(d.Text(attrState)),
		Token:        Token{N: d.Number(attrTokenN), Req: d.TextOr(attrReq, "")},
		From:         d.Number(attrFrom),
		To:           d.Number(attrTo),
		LeaseUntil:   d.MillisOr(attrLeaseUntil),
		Tracked:      it.Has(attrTracked),
		Attempts:     int(d.Number(attrAttempts)),
		Together:     int(d.NumberOr(attrTogether, 0)),
		IsolateTo:    d.NumberOr(attrIsolateTo, 0),
		RetryAt:      d.MillisOr(attrRetryAt),
		BatchAt:      d.MillisOr(attrBatchAt),
		Failed:       d.MillisOr(attrFailed),
		Error:        d.TextOr(attrError, ""),
		Shown:        int(d.NumberOr(attrShown, 0)),
		ReplyQueue:   d.TextOr(attrReplyQueue, ""),
		Away:         int(d.NumberOr(attrAway, 0)),
		FailingSince: d.MillisOr(attrFailingSince),
		Taken:        d.NumberOr(attrTaken, 0),
		FailedAlone:  it.Has(attrTaken),
		Proven:       it.Has(attrProven),
		BlockedSince: d.MillisOr(attrBlockedSince),
		Paused:       d.TextOr(attrPaused, ""),
		PausedSince:  d.MillisOr(attrPausedSince),
		Rewinds:      d.Number(attrRewinds),
		Starting:     d.TextOr(attrStarting, ""),
		KeptFrom:     d.NumberOr(attrKeptFrom, 0),
		LastOp:       d.Text(attrLastOp),
		Asked:        d.NumberOr(attrAsked, 0),
	}
	switch c.State {
	case Idle, Started, Prepared, InDoubt, Sending, Blocked:
	default:
		d.Fail(attrState, fmt.Sprintf("is %q, which this version does not know", c.State))
	}
	decodeOutcomes(&d, &c)
	decodeQuarantine(&d, &c)
	decodeReplying(&d, &c)
	decodeAnswer(&d, &c)
	if d.Err != nil {
		return Consumer{}, fmt.Errorf("consumer: %w", d.Err)
	}
	return c, nil
}

func decodeOutcomes(d *ddb.Decoder, c *Consumer) {
	for name, value := range d.MapOr(attrOutcomes).All() {
		inner := ddb.Decoder{Item: value.Fields()}
		r := Remembered{inner.Number(attrN), TokenOutcome(inner.Text(attrOutcome)), inner.TextOr(attrSum, "")}
		if inner.Err != nil || r.N < 0 {
			d.Fail(attrOutcomes.At(name), "is not an outcome")
			return
		}
		c.Outcomes[r.N%remembered] = r
	}
}

// idKey is where the operation of an id is found, behind all that operationKey gives.
func idKey(op string) string { return ids + op }

// ids begins the keys of idKey, and ends the audit log: those of operationKey begin with a digit.
const ids = "id "

// operationKey orders a queue's operations by their time; the consumer and the op keep any
// two apart.
func operationKey(a Operation) string {
	return fmt.Sprintf("%015d %s %s", a.At.UnixMilli(), a.Consumer, a.Op)
}

// encodeOperation is the item of an operation, under a key of its queue.
func encodeOperation(key string, a Operation) ddb.Item {
	fields := ddb.Fields{
		attrQueue:     ddb.Text(a.Queue),
		attrOperation: ddb.Text(key),
		attrVersion:   ddb.Int(layout),
		attrConsumer:  ddb.Text(a.Consumer),
		attrAt:        ddb.Millis(a.At),
		attrOp:        ddb.Text(a.Op),
		attrKind:      ddb.Text(a.Kind),
		attrSeq:       ddb.Int(a.Seq),
		attrReason:    ddb.Text(a.Reason),
	}
	if a.Done {
		fields[attrDone] = ddb.Bool(true)
	}
	if a.Error != "" {
		fields[attrError] = ddb.Text(a.Error)
	}
	if a.Chain != "" {
		fields[attrChain] = ddb.Text(a.Chain)
	}
	if a.ReplyQueue != "" {
		fields[attrReplyQueue] = ddb.Text(a.ReplyQueue)
	}
	if len(a.Request) > 0 {
		request := ddb.Fields{}
		for name, value := range a.Request {
			request[ddb.Path(name)] = ddb.Text(value)
		}
		fields[attrRequest] = ddb.MapOf(request)
	}
	if a.Who != (Who{}) {
		fields[attrWho] = encodeWho(a.Who)
	}
	return fields.Item()
}

func encodeWho(w Who) ddb.Value {
	fields := ddb.Fields{attrKind: ddb.Text(w.Kind)}
	if w.Name != "" {
		fields[attrName] = ddb.Text(w.Name)
	}
	if w.Client != "" {
		fields[attrClient] = ddb.Text(w.Client)
	}
	return ddb.MapOf(fields)
}

func decodeWho(d *ddb.Decoder) Who {
	stored := d.MapOr(attrWho)
	if !stored.Exists() {
		return Who{}
	}
	inner := ddb.Decoder{Item: stored}
	w := Who{inner.Text(attrKind), inner.TextOr(attrName, ""), inner.TextOr(attrClient, "")}
	if inner.Err != nil {
		d.Fail(attrWho, "does not say who asked")
	}
	return w
}

func decodeRequest(d *ddb.Decoder) map[string]string {
	stored := d.MapOr(attrRequest)
	if stored.Len() == 0 {
		return nil
	}
	request := make(map[string]string, stored.Len())
	for name := range stored.All() {
		inner := ddb.Decoder{Item: stored}
		if request[name] = inner.Text(ddb.Path(name)); inner.Err != nil {
			d.Fail(attrRequest, "is not a request")
		}
	}
	return request
}

func decodeOperation(it ddb.Item) (Operation, error) {
	d := ddb.Decoder{Item: it}
	d.Layout(attrVersion, layout)
	a := Operation{
		Queue:    d.Text(attrQueue),
		Consumer: d.Text(attrConsumer),
		At:       d.MillisOr(attrAt),
		Op:       d.Text(attrOp),
		Kind:     d.Text(attrKind),
		Seq:      d.Number(attrSeq),
		Reason:   d.Text(attrReason),
		Done:     d.True(attrDone),
		Error:    d.TextOr(attrError, ""),
		Chain:    d.TextOr(attrChain, ""),

		ReplyQueue: d.TextOr(attrReplyQueue, ""),
		Request:    decodeRequest(&d),
		Who:        decodeWho(&d),
	}
	if d.Err != nil {
		return Operation{}, fmt.Errorf("operation: %w", d.Err)
	}
	return a, nil
}
