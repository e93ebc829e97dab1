package delivery

import (
	"slices"
	"strconv"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
)

// maxQuarantined is how many claims of a consumer can be in quarantine. Where so many are, the next
// one stays in doubt, and the consumer waits.
const maxQuarantined = 10

// Quarantined is a claim that stayed in doubt too long. The messages behind it are delivered; its
// own are kept until it is settled.
type Quarantined struct {
	Token Token
	// From and To are its range: From < seq <= To.
	From int64 `ddb:"from"`
	To   int64 `ddb:"to"`
	// State is InDoubt until it is settled. Then one that was committed is gone from here, and one
	// that was aborted is marked ABORTED, for an operator to handle: its messages were not
	// delivered.
	State State `ddb:"state,one=IN_DOUBT|ABORTED"`
	// Since is when its lease ran out.
	Since time.Time `ddb:"since,optional"`
}

// quarantinedAborted is the state of a quarantined claim that was settled as aborted.
const quarantinedAborted = State(Aborted)

// unsettled reports whether nobody knows yet how the claim ended.
func (q Quarantined) unsettled() bool { return q.State == InDoubt }

// Quarantined is the claim of this token, where it is in quarantine.
func (c Consumer) Quarantined(t Token) (Quarantined, bool) {
	for _, q := range c.Quarantine {
		if q.Token == t && q != (Quarantined{}) {
			return q, true
		}
	}
	return Quarantined{}, false
}

// setQuarantined puts q in the place of the quarantined claim of its number, or beside them; the
// zero Quarantined takes that of a number away. Both keep them in the order of their numbers,
// without a hole.
func (c *Consumer) setQuarantined(n int64, q Quarantined) {
	var list []Quarantined
	for _, there := range c.Quarantine {
		if there != (Quarantined{}) && there.Token.N != n {
			list = append(list, there)
		}
	}
	if q != (Quarantined{}) {
		place := 0
		for place < len(list) && list[place].Token.N < n {
			place++
		}
		list = slices.Insert(list, place, q)
	}
	c.Quarantine = [maxQuarantined]Quarantined{}
	copy(c.Quarantine[:], list)
}

// quarantined is what is stored of a Quarantined, under its number.
type quarantined struct {
	Req         string `ddb:"req"`
	Quarantined `ddb:",inline"`
}

func readQuarantine(c *Consumer, d *ddb.Decoder) {
	var q quarantined
	for name, value := range d.MapOr(attrQuarantine).All() {
		n, err := strconv.ParseInt(name, 10, 64)
		if err != nil {
			d.Fail(attrQuarantine.At(name), "is under no claim's number")
		}
		if ddb.ReadValue(d, attrQuarantine, name, value, &q); d.Err != nil {
			return
		}
		q.Token = Token{n, q.Req}
		c.setQuarantined(n, q.Quarantined)
	}
}

// aside is the claim that is in flight, as it is quarantined.
func aside(c Consumer) Quarantined {
	return Quarantined{Token: c.Token, From: c.From, To: c.To, State: InDoubt, Since: c.LeaseUntil}
}

// owns reports whether the claim of a token is in flight, in one of the states.
func (c Consumer) owns(t Token, states ...State) bool {
	return c.Exists() && c.Token == t && !c.Deferred && slices.Contains(states, c.State)
}

// ended reports whether the claim of a token is remembered to have ended so.
func (c Consumer) ended(t Token, outcome TokenOutcome) bool {
	is, known := c.Outcome(t)
	return known && is == outcome
}

func (c Consumer) operatedBy(op string) bool { return op != "" && c.LastOp == op }

// settled reports whether a quarantined claim is known to have ended so.
func (c Consumer) settled(t Token, outcome TokenOutcome) bool {
	q, there := c.Quarantined(t)
	if outcome == Committed {
		return !there && c.ended(t, Committed)
	}
	return there && q.State == quarantinedAborted
}
