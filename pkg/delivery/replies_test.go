package delivery_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/claimstest"
	"github.com/streamsort/streamsort/internal/request"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/delivery"
)

// answers makes the desk's sink answer each message to queue x, and to the numbered queue n.
func (k *desk) answers() {
	k.fails = func(b delivery.Batch) error {
		for _, m := range b.Messages {
			seq := m.Seq
			text := fmt.Appendf(nil, "re %d", m.Seq)
			if err := b.Reply(delivery.Reply{Queue: "x", Body: text},
				delivery.Reply{Queue: "n", Seq: &seq, Body: text}); err != nil {
				return err
			}
		}
		return nil
	}
}

func (k *desk) arrived(queue string, want ...string) {
	k.t.Helper()
	var got []string
	for _, m := range claimstest.Arrived(k.t, k.sorter)(queue) {
		if got = append(got, string(m.Body)); m.ID == "" && strings.HasPrefix(string(m.Body), "re") ||
			len(m.Attributes) > 0 {
			k.t.Errorf("%+v", m)
		}
	}
	check.That(k.t, slices.Equal(got, want), "queue %s has %q, want %q", queue, got, want)
}

// TestABadReplyFailsItsBatch: nothing is stored, and the sink's error says why, also where the
// handler ignores that.
func TestABadReplyFailsItsBatch(t *testing.T) {
	long := strings.Repeat("x", 1025)
	for name, c := range map[string]struct {
		replies []delivery.Reply
		queue   string
		want    string
		ignored bool
	}{
		"malformed queue":       {[]delivery.Reply{{Queue: "x"}, {Queue: long}}, "", "replies[1].queue has 1025 bytes", false},
		"too many":              {slices.Repeat([]delivery.Reply{{Queue: "x"}}, 501), "", "replies are more than 500", false},
		"queue of another kind": {[]delivery.Reply{{Queue: "x"}, {Queue: "q"}}, "q", `replies to queue "q": the queue does not take it`, false},
		"ignored":               {[]delivery.Reply{{Queue: "x"}, {Queue: long}, {}}, "", "replies[1].queue has 1025 bytes", true},
	} {
		t.Run(name, func(t *testing.T) {
			k := newDesk(t)
			k.fails = func(b delivery.Batch) error {
				if !c.ignored {
					return b.Reply(c.replies...)
				}
				for _, r := range c.replies {
					_ = b.Reply(r)
				}
				return nil
			}
			k.put("q", 1)
			record := k.ends("q", endedFailed).Record
			check.That(t, record.ReplyQueue == c.queue && !strings.Contains(record.Error, `"q"`) &&
				strings.Contains(record.Cause(), c.want),
				"the record says %q of queue %q, and in words %q, want %q", record.Error, record.ReplyQueue,
				record.Cause(), c.want)
			k.arrived("x")
			k.at("q", 0, delivery.Idle)
			k.answers()
			k.pass(time.Minute)
			k.ends("q", endedCaughtUp)
			k.arrived("x", "re 1")
		})
	}
	check.That(t, (delivery.Batch{}).Reply(delivery.Reply{Queue: "x"}) != nil,
		"nobody commits that batch")
}

// TestARefusedReplyGoesOn: it is recorded, announced once, and the queue goes on.
func TestARefusedReplyGoesOn(t *testing.T) {
	k := newDesk(t)
	k.put("n", 1) // another message has the seq
	k.answers()
	k.put("q", 1, 2)
	k.ends("q", endedCaughtUp)
	c := k.at("q", 2, delivery.Idle)
	k.arrived("x", "re 1", "re 2")
	k.arrived("n", "1", "re 2")
	check.That(t, c.Refused.N == 1 && c.Refused.Announced == 0 && c.Refused.Queue == "n" &&
		c.Refused.Why == "seq 1: conflict",
		"%+v", c.Refused)
	operations, _, err := k.d.Inside(request.Inside{}).Audit(t.Context(), "q", "")
	check.That(t, err == nil && len(operations) == 1 && operations[0].Kind == "reply" &&
		operations[0].ReplyQueue == "n" && operations[0].Error == "seq 1: conflict" &&
		!operations[0].Done,
		"operations %+v, %v", operations, err)
	k.sweep(delivery.SweepOptions{})
	check.That(t, len(k.announced) == 1 && k.announced[0].Kind == "consumer.reply-refused" &&
		strings.Contains(k.announced[0].Error, `to queue "n": seq 1: conflict`),
		"announced %+v", k.announced)
	k.sweep(delivery.SweepOptions{Sorter: cursor.SweepOptions{FullEvery: time.Nanosecond}})
	check.That(t, len(k.announced) == 0, "announced again: %+v", k.announced)
}

// TestAFullQueueHoldsTheConsumer, is announced after a time, and is tried again.
func TestAFullQueueHoldsTheConsumer(t *testing.T) {
	k := newDesk(t)
	check.That(t, refused(k.sending().Cause, "full"), "another cause")
	k.ends("q", endedBusy)
	k.pass(20 * time.Minute)
	k.ends("q", endedReplying)
	k.sweep(delivery.SweepOptions{})
	check.Has(t, fmt.Sprint(k.announced), "consumer.replying")
	k.put("n", 1, 2)
	check.Is(t, k.sweep(delivery.SweepOptions{}).Sent, 1)
	k.at("q", 1, delivery.Idle)
	k.arrived("x", "first")
	k.arrived("n", "1", "2", "far")
	check.Is(t, k.standing("q").Refused.N, 0)
}

// TestRepliesToUnknownQueues make them, or are refused where that is wanted: before anything is
// stored where it is pushed to, and on record in two phases.
func TestRepliesToUnknownQueues(t *testing.T) {
	k := newDesk(t)
	k.d = k.deliverer(delivery.Options{KnownQueues: true})
	arrival := cursor.KindArrival
	check.Get(k.sorter.Configure(t.Context(), "x", cursor.Change{Kind: &arrival}))
	replies := []delivery.Reply{{Queue: "x", Body: []byte("known")},
		{Queue: "nowhere", Body: []byte("unknown")}}
	k.fails = func(b delivery.Batch) error { return b.Reply(replies...) }
	k.put("q", 1)
	record := k.ends("q", endedFailed).Record
	check.Is(t, record.ReplyQueue, "nowhere")
	check.Has(t, record.Error, "the queue is not there")
	k.arrived("x")
	k.arrived("nowhere")

	p := check.Get(delivery.NewClaims(k.d, nil))
	check.Get(k.d.Create(t.Context(), "q", "pull", delivery.First))
	a := check.Get(p.Claim(t.Context(), delivery.Request{Queue: "q", Consumer: "pull", ID: "r"}))
	check.Get(p.Prepare(t.Context(), a.Held()))
	check.Is(t, check.Get(p.Commit(t.Context(), a.Held(), replies...)).Outcome, delivery.OK)
	k.arrived("x", "known")
	k.arrived("nowhere")
	c := check.Get(k.store.Requests(request.Inside{}).Consumer(t.Context(), "q", "pull"))
	check.That(t, c.Refused.N == 1 && c.Refused.Queue == "nowhere", "%+v", c.Refused)
}

// TestAPausedConsumersDecisionStands: what is decided goes forward, and nothing else is claimed.
func TestAPausedConsumersDecisionStands(t *testing.T) {
	k := newDesk(t)
	k.sending()
	k.put("q", 2)
	order := orderOf("q")
	k.operates(does("pause", order))
	for _, o := range []delivery.Order{rewinds(order, delivery.First), does("remove", order)} {
		check.That(t, refused(check.Err(k.d.Operate(t.Context(), o)), "claimed"), "%s: done", o.Kind)
	}
	k.put("n", 1, 2)
	k.pass(2 * time.Minute)
	k.ends("q", endedPaused)
	k.at("q", 1, delivery.Idle)
	k.arrived("n", "1", "2", "far")
}

// TestAReplyIsTakenAsItIs: what a handler does afterwards with what it wrote the reply from, as a
// loop does that has one buffer and one counter, changes nothing.
func TestAReplyIsTakenAsItIs(t *testing.T) {
	k := newDesk(t)
	k.fails = func(b delivery.Batch) error {
		seq, body, attributes := int64(0), make([]byte, 0, 16), map[string]string{}
		for range 3 {
			seq++
			body = fmt.Appendf(body[:0], "re %d", seq)
			clear(attributes)
			if err := b.Reply(delivery.Reply{Queue: "n", Seq: &seq, Body: body,
				Attributes: attributes}); err != nil {
				return err
			}
			attributes["late"] = "yes"
		}
		return nil
	}
	k.put("q", 1)
	k.ends("q", endedCaughtUp)
	k.arrived("n", "re 1", "re 2", "re 3")
	check.Is(t, k.at("q", 1, delivery.Idle).Refused.N, 0)
}

// TestWhatIsTakenCanBeStored: a reply that Batch.Reply takes is never too large to be stored,
// whatever its attributes are.
func TestWhatIsTakenCanBeStored(t *testing.T) {
	one := int64(1)
	short := map[string]string{} // with names of two bytes, and no values
	for i := range cursor.MaxAttributes / 2 {
		short[string([]byte{byte(32 + i/90), byte(32 + i%90)})] = ""
	}
	for name, replies := range map[string][]delivery.Reply{
		"all attributes that a message may have": {{Queue: "n", Seq: &one, Attributes: map[string]string{"a": strings.Repeat("x", cursor.MaxAttributes-1)}}},
		"many short attributes":                  slices.Repeat([]delivery.Reply{{Queue: "x", Attributes: short}}, 15),
	} {
		t.Run(name, func(t *testing.T) {
			k := newDesk(t)
			k.fails = func(b delivery.Batch) error {
				err := b.Reply(replies...)
				check.That(t, err != nil, "it was taken")
				return err
			}
			k.put("q", 1)
			k.ends("q", endedFailed)
		})
	}
}
