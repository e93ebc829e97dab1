package delivery_test

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/ddbtest"
	"github.com/streamsort/streamsort/internal/fanout"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/delivery"
	"github.com/streamsort/streamsort/pkg/table"
)

// sharing is a desk whose process has consumers that change what they get.
type sharing struct {
	*desk
	meter *ddbtest.Meter
	seq   int64
	mu    sync.Mutex
	// bodies are what each consumer got.
	bodies map[string]string
}

func newSharing(t *testing.T) *sharing {
	s := &sharing{desk: newDesk(t), bodies: map[string]string{}}
	s.meter = ddbtest.NewMeter(s.queues)
	var err error
	s.sorter, err = cursor.New(s.queues.on(t, s.meter), &cursor.Options{ForEach: fanout.OneByOne})
	s.must(err)
	s.d, err = delivery.New(s.store, s.sorter, nil) // side by side
	s.must(err)
	return s
}

func (s *sharing) reader(name string, most int) delivery.Reader {
	return delivery.Reader{Name: name, MaxMessages: most, Handle: func(_ context.Context, b delivery.Batch) error {
		s.mu.Lock()
		defer s.mu.Unlock()
		check.That(s.t, len(b.Messages) <= most,
			"%s gets %d at once, and takes %d", name, len(b.Messages), most)
		for _, m := range b.Messages {
			s.bodies[name] += string(m.Body) + m.Attributes["word"]
			m.Body[0], m.Attributes["word"] = 'X', "changed"
		}
		clear(b.Messages)
		return nil
	}}
}

// comes puts two messages, and has readers deliver them; it returns how many reads of the queue's
// tables that took.
func (s *sharing) comes(readers ...delivery.Reader) int {
	s.t.Helper()
	for range 2 {
		s.seq++
		s.must(s.sorter.Put(s.t.Context(), cursor.Message{Queue: "q", Seq: s.seq, Body: []byte{'0' + byte(s.seq)}, Attributes: map[string]string{"word": "x"}})[0].Err)
	}
	handle := check.Get(delivery.OnStream(s.d, cursor.Names{}, readers...))
	s.meter.Take()
	check.Get(handle(s.t.Context(), table.StreamEvent{Records: []json.RawMessage{moved(1, "q", s.seq-2, s.seq)}}))
	return s.meter.Take().Reads
}

// TestConsumersShareWhatIsRead: of one event, at the same place; and what one does to its messages
// no other sees.
func TestConsumersShareWhatIsRead(t *testing.T) {
	s := newSharing(t)
	a, b := s.reader("a", 10), s.reader("b", 10)
	s.comes(a, b) // makes them
	check.Is(t, s.comes(a, b), 1)
	check.Is(t, s.comes(a), 1)
	check.Is(t, s.comes(a, b), 2)
	check.That(t, s.bodies["a"] == "1x2x3x4x5x6x7x8x" && s.bodies["b"] == s.bodies["a"],
		"got %q", s.bodies)
}

// TestConsumersOfOtherBoundsReadForThemselves: their batches are others.
func TestConsumersOfOtherBoundsReadForThemselves(t *testing.T) {
	s := newSharing(t)
	s.d = check.Get(delivery.New(s.store, s.sorter, &delivery.Options{ForEach: fanout.OneByOne}))
	a, b := s.reader("a", 10), s.reader("b", 1)
	s.comes(a, b)
	check.Is(t, s.comes(a, b), 3)
	check.That(t, s.bodies["b"] == "1x2x3x4x" && s.bodies["a"] == s.bodies["b"], "got %q", s.bodies)
}

// TestAReadThatFailsIsNotShared: the other one reads for itself.
func TestAReadThatFailsIsNotShared(t *testing.T) {
	s := newSharing(t)
	a, b := s.reader("a", 10), s.reader("b", 10)
	s.comes(a, b)
	failed := false
	s.queues.fail = func(request, _ string) error {
		s.mu.Lock()
		defer s.mu.Unlock()
		if request == "messages" && !failed {
			failed = true
			return errors.New("away")
		}
		return nil
	}
	s.comes(a, b)
	got := s.bodies["a"] + s.bodies["b"]
	check.Is(t, len(got), len("1x2x")+len("1x2x3x4x"), s.bodies)
}
