package view

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/streamsort/streamsort/internal/printable"
)

// Reason is why a queue, or a consumer of it, does not get on, and what to do.
type Reason struct {
	Queue printable.Name `json:"queue,omitempty"`
	// Consumer is empty where the reason is the queue's own.
	Consumer string `json:"consumer,omitempty"`
	State    State  `json:"state"`
	Cause    string `json:"cause,omitempty"`
	// Text says in plain sentences what is so, and what is to be done.
	Text     string         `json:"text"`
	Since    time.Time      `json:"since,omitzero"`
	NextTry  time.Time      `json:"nextTry,omitzero"`
	Error    printable.Name `json:"error,omitempty"`
	Group    printable.Name `json:"group,omitempty"`
	Attempts []Attempt      `json:"attempts,omitempty"`
	// Type are the commands that help, the likeliest first.
	Type []string `json:"type,omitempty"`
	// Anchor is the section of the runbook: # and the state.
	Anchor string `json:"anchor"`
}

// Why returns what is wrong with a queue and its consumers, the worst first: nothing where all is
// well. A consumer that only has messages waiting is among them, because that may be what is asked
// about.
func Why(q Queue, consumers []Consumer) []Reason {
	reasons := []Reason{}
	if q.State == Gap {
		reasons = append(reasons, q.why())
	}
	for _, c := range consumers {
		c.Queue = cmp.Or(c.Queue, q.Queue)
		for _, state := range append([]State{c.State}, c.Also...) {
			if state != OK && (state != Retrying || c.State != Held) { // what is held is not retried
				reasons = append(reasons, c.why(state))
			}
		}
	}
	slices.SortStableFunc(reasons, func(a, b Reason) int {
		return a.State.compare(b.State)
	})
	return reasons
}

func (q Queue) why() Reason {
	return Reason{
		Queue: q.Queue, State: Gap, Since: q.GapSince, Anchor: "#" + string(Gap),
		Text: fmt.Sprintf("The queue waits for a message that was not put: it has all up to %d, and messages up to %d behind the gap. "+
			"Put what is missing; where it never comes, policy=skip gives it up after gapAfter.", q.Position, q.MaxParked),
		Type: []string{"streamsort queue " + argument(q.Queue),
			"streamsort configure " + argument(q.Queue) + " policy=skip"},
	}
}

func (c Consumer) why(state State) Reason {
	r := Reason{Queue: c.Queue, Consumer: c.Consumer, State: state, Anchor: "#" + string(state)}
	if state == c.State {
		r.Cause, r.Since, r.NextTry = c.Cause, c.Since, c.NextTry
	}
	if state == Blocked || state == Retrying || state == Held {
		r.Error, r.Group, r.Attempts = c.Error, c.Group, c.Attempts
	}
	both := argument(c.Queue) + " " + argument(c.Consumer)
	add := func(format string, arguments ...any) {
		r.Type = append(r.Type, fmt.Sprintf(format, arguments...))
	}
	switch state {
	case Blocked:
		if r.Cause == Missing {
			r.Text = fmt.Sprintf("Message %s is not stored any more, and no message is stepped over. "+
				"Set the consumer behind the loss, or restore the message first.", c.seq())
			if c.Seq != nil { // it begins behind the last message that is gone
				add("streamsort rewind %s --start %d --reason TEXT", both, *c.Seq)
			}
			break
		}
		r.Text = fmt.Sprintf("%s failed %s, and waits for an operator. "+
			"Repair the cause and redrive it, or give the message up.", c.what(), times(c.Attempt))
		add("streamsort redrive %s --reason TEXT", both)
		if c.Seq != nil {
			at := placed(c.Queue, int64(*c.Seq))
			add("streamsort inspect %s", at)
			add("streamsort skip %s %s --reason TEXT", at, argument(c.Consumer))
		}
	case Paused:
		r.Text = "An operator paused the consumer, and nothing is delivered until one resumes it."
		if c.Paused != nil {
			r.Since = c.Paused.Since
			r.Text = fmt.Sprintf("An operator paused the consumer (%s), and nothing is delivered until one resumes it.", c.Paused.Reason)
		}
		add("streamsort resume %s --reason TEXT", both)
	case InDoubt:
		r.Text = "Only the consumer's database says whether its claim was committed. Its worker settles the claim when it runs again."
		for _, q := range c.Quarantine {
			r.Text = "A claim stayed in doubt too long, and is in quarantine. Look in the consumer's database whether its marker is there, and settle the claim."
			add("streamsort consumer settle %s %s COMMITTED --reason TEXT", both, q.Token)
			break
		}
		if len(r.Type) == 0 {
			add("streamsort consumer %s", both)
		}
	case Held:
		r.Text = fmt.Sprintf("The sink of consumer %s is away, as several queues found: nothing is delivered but one probe at a time. "+
			"Repair the sink; the next probe notices it, and nothing is to be typed.",
			printable.Text(c.Consumer))
		if r.Cause == Waking {
			r.Text = "The sink is back, and the queues that the circuit breaker held are being woken up. Nothing is to be done."
		}
		add("streamsort consumer --state held --consumer %s", argument(c.Consumer))
		if c.own() && r.Cause != Waking {
			r.Text = fmt.Sprintf("Nothing is delivered to consumer %s but one probe at a time, "+
				"as several queues failed and nothing was taken. "+
				"%s failed %s with the error below: repair what it names, and the next probe notices it. "+
				"Where the message itself is at fault, skip it; redrive has it tried before those that still fail.",
				printable.Text(c.Consumer), c.what(), times(c.Attempt))
			c.acts(add)
		}
	case Retrying:
		r.Text = c.retrying(r.Cause, add)
	case CatchingUp:
		r.Text = fmt.Sprintf("%s seqs wait for the consumer, and nothing is wrong: it gets them in turn.",
			c.Lag.Or("Some"))
		if r.Cause == Starting {
			r.Text = "The consumer finds the place where it begins; it delivers after that."
		}
		add("streamsort queue %s --every 5s", argument(c.Queue))
	}
	return r
}

// own reports whether the message at the head failed with an error of its own: no cause says that
// the sink is away.
func (c Consumer) own() bool {
	return c.Error != "" && c.Attempt > 0 && c.Cause != SinkAway
}

// sinkFails reports whether the sink took nothing since a queue of the consumer's name failed: it
// may be away.
func (c Consumer) sinkFails() bool {
	s := c.Sink
	return s != nil && !s.FailingSince.IsZero() && !s.TakenAt.After(s.FailingSince)
}

// acts adds what an operator can do to a message that failed. One that failed only with others is
// not skipped.
func (c Consumer) acts(add func(format string, arguments ...any)) {
	both := argument(c.Queue) + " " + argument(c.Consumer)
	add("streamsort redrive %s --reason TEXT", both)
	if c.Seq != nil && c.To == nil && len(c.Attempts) > 0 {
		add("streamsort skip %s %s --reason TEXT", placed(c.Queue, int64(*c.Seq)), argument(c.Consumer))
	}
}

// retrying says why a consumer tries a message again, and adds what can be done about it.
func (c Consumer) retrying(cause string, add func(format string, arguments ...any)) string {
	switch {
	case c.To != nil:
		add("streamsort tail %s --from %d", argument(c.Queue), *c.Seq)
	case c.Seq != nil:
		add("streamsort inspect %s", placed(c.Queue, int64(*c.Seq)))
	}
	switch {
	case c.sinkFails():
		add("streamsort consumer --state retrying --consumer %s", argument(c.Consumer))
	case c.own() && cause == Failed:
		c.acts(add)
	}
	switch cause {
	case SinkAway:
		return fmt.Sprintf("The sink was throttled or could not be reached. Wait, or repair the sink: "+
			"%s is tried again until the sink is back, and no message is to blame.", c.what())
	case Died:
		return fmt.Sprintf("The worker answered nothing until its lease was over: it died, or ran out of time. "+
			"%s is tried again, in the end alone.", c.what())
	case Replies:
		return "A queue that the consumer's replies go to is full. The replies are tried again; nothing else is delivered before."
	}
	when := "by itself"
	if c.State == Paused {
		when = "once the consumer is resumed"
	}
	blame := "Look at the error; where it is the message's own fault, " +
		"the consumer blocks when its attempts are used up."
	if c.sinkFails() {
		blame = "The sink took nothing from any queue since then. Wait, or repair the sink; " +
			"skip the message only where it is to blame itself."
	}
	return fmt.Sprintf("%s failed %s, and is tried again %s. %s",
		c.what(), times(c.Attempt), when, blame)
}

func (h Head) seq() string { return h.Seq.Or("at the head") }

// what is the message at the head, or the batch that failed as a whole.
func (h Head) what() string {
	if h.To != nil {
		return fmt.Sprintf("The batch of messages %s to %d", h.seq(), *h.To)
	}
	return "Message " + h.seq()
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return strconv.Itoa(n) + " times"
}

func count(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return strconv.Itoa(n) + " " + what
}

var units = []struct {
	lasts time.Duration
	name  string
}{{24 * time.Hour, "day"}, {time.Hour, "hour"}, {time.Minute, "minute"}, {time.Second, "second"},
	{time.Millisecond, "millisecond"}}

// Duration is a duration of Go, such as 1h0m0s, as people say it; another text as it is.
func Duration(text string) string {
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return text
	}
	var parts []string
	for _, unit := range units {
		if n := d / unit.lasts; n > 0 {
			parts, d = append(parts, count(int(n), unit.name)), d%unit.lasts
		}
	}
	return strings.Join(parts, " ")
}

// placed is QUEUE@SEQ as a shell takes it.
func placed(queue printable.Name, seq int64) string {
	return argument(fmt.Sprintf("%s@%d", string(queue), seq))
}

// plain are the characters that a shell takes as they are.
const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:@%+=,"

// argument is a text as an argument of a POSIX shell: quoted where it has to be.
func argument[T ~string](text T) string {
	shown := printable.Text(string(text))
	if shown != "" && strings.Trim(shown, plain) == "" {
		return shown
	}
	return "'" + strings.ReplaceAll(shown, "'", `'\''`) + "'"
}
