package delivery_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/delivery"
)

// TestAReplyIsTakenAsItIs: what a handler does afterwards with what it wrote the
// reply from, as a loop does that has one buffer and one counter, changes nothing.
func TestAReplyIsTakenAsItIs(t *testing.T) {
	k := newDesk(t)
	k.fails = func(b delivery.Batch) error {
		seq, body, attributes := int64(0), make([]byte, 0, 16), map[string]string{}
		for range 3 {
			seq++
			body = fmt.Appendf(body[:0], "re %d", seq)
			clear(attributes)
			if err := b.Reply(delivery.Reply{Queue: "n", Seq: &seq, Body: body, Attributes: attributes}); err != nil {
				return err
			}
			attributes["late"] = "yes"
		}
		return nil
	}
	k.put("q", 1)
	k.ends("q", endedCaughtUp)
	k.arrived("n", "re 1", "re 2", "re 3")
	if c := k.at("q", 1, delivery.Idle); c.Refused.N != 0 {
		t.Errorf("%+v", c.Refused)
	}
}

// TestWhatIsTakenCanBeStored: a reply that Batch.Reply takes is never too large to
// be stored, whatever its attributes are.
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
			taken := false
			k.fails = func(b delivery.Batch) error {
				err := b.Reply(replies...)
				taken = err == nil
				return err
			}
			k.put("q", 1)
			if done := k.ends("q", endedFailed); taken {
				t.Errorf("it was taken, and failed later: %s", done.Record.Error)
			}
		})
	}
}
