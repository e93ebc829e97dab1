package traffic

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/streamsort/streamsort/internal/client"
)

// patience is how long a call is made again without an answer: longer than a killed function, a
// throttled table and their pauses take.
const patience = 2 * time.Minute

// most is how many wrong answers are kept in words.
const most = 20

// Sender puts messages over HTTP, each until it has an answer, and keeps account of the answers. It
// may be used by any number of goroutines.
type Sender struct {
	Client *client.Client

	mu       sync.Mutex
	outcomes map[string]int
	sent     Sent
}

// Sent is what a [Sender] did.
type Sent struct {
	// Messages are those with an answer, those sent again included; Repeats are calls that were
	// made again.
	Messages, Repeats int
	// Wrong are answers that were not expected, in words: 20 at most.
	Wrong []string
}

// NewSender returns a Sender to the API at an address.
func NewSender(base string) (*Sender, error) {
	c, err := client.New(base)
	return &Sender{Client: c, outcomes: map[string]int{}}, err
}

// Put puts documents until each has an outcome, which must be one of those that are expected. It
// fails where an answer is one that no repeat changes, and where no answer comes for two minutes.
func (s *Sender) Put(ctx context.Context, documents []json.RawMessage, expected ...string) error {
	for began := time.Now(); ; {
		outcomes, err := s.Client.Put(ctx, documents)
		if err == nil {
			s.note(documents, outcomes, expected)
			return nil
		}
		s.mu.Lock()
		s.sent.Repeats++
		s.mu.Unlock()
		if refused(err) || ctx.Err() != nil || time.Since(began) > patience {
			return fmt.Errorf("put %d messages: %w", len(documents), err)
		}
	}
}

func (s *Sender) note(documents []json.RawMessage, outcomes []client.Outcome, expected []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sent.Messages += len(documents)
	for i, o := range outcomes {
		s.outcomes[o.Outcome]++
		if !slices.Contains(expected, o.Outcome) && len(s.sent.Wrong) < most {
			s.sent.Wrong = append(s.sent.Wrong, fmt.Sprintf("answered %q (%s) where %s was expected: %.200s",
				o.Outcome, o.Detail, strings.Join(expected, ", "), documents[i]))
		}
	}
}

// Documents are those of messages.
func Documents(messages []Message) []json.RawMessage {
	documents := make([]json.RawMessage, len(messages))
	for i, m := range messages {
		documents[i] = m.Document
	}
	return documents
}

// refused reports whether the API gave an answer that no repeat changes.
func refused(err error) bool {
	var problem *client.Problem
	return errors.As(err, &problem) && problem.Status < 500 &&
		problem.Status != http.StatusTooManyRequests
}

// Sent is what was done so far.
func (s *Sender) Sent() Sent {
	s.mu.Lock()
	defer s.mu.Unlock()
	sent := s.sent
	sent.Wrong = slices.Clone(sent.Wrong)
	return sent
}

// Outcomes are the answers and how often each came, in words.
func (s *Sender) Outcomes() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var parts []string
	for _, outcome := range slices.Sorted(maps.Keys(s.outcomes)) {
		parts = append(parts, fmt.Sprintf("%d %s", s.outcomes[outcome], outcome))
	}
	return strings.Join(parts, ", ")
}
