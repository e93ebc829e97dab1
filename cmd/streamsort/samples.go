package main

import (
	"encoding/json"
	"net/url"
	"time"

	"github.com/streamsort/streamsort/internal/jsonseq"
)

// sample is how far a queue was at a time.
type sample struct {
	At       time.Time   `json:"at"`
	Queue    string      `json:"queue"`
	Position jsonseq.Seq `json:"position"`
	// PerSecond is how many messages a second the position has moved since the sample before; missing
	// in the first.
	PerSecond *float64 `json:"perSecond,omitempty"`
	// Lag is the greatest of the queue's consumers; missing where it has none.
	Lag *jsonseq.Seq `json:"lag,omitempty"`
}

// sample looks how far a queue is; before is the sample before, nil for the first.
func (s *session) sample(name string, before *sample) (*sample, error) {
	var q queue
	if _, err := s.get("/queues", url.Values{"queue": {name}}, &q); err != nil {
		return nil, err
	}
	position, err := q.Position.number()
	if err != nil {
		return nil, err
	}
	it := &sample{At: time.Now(), Queue: name, Position: jsonseq.Seq(position)}
	if before != nil {
		rate := float64(it.Position-before.Position) / max(it.At.Sub(before.At).Seconds(), 1e-3)
		it.PerSecond = &rate
	}
	return it, s.pages("/consumers", url.Values{"queue": {name}}, "consumers", it.lagging)
}

// lagging takes a consumer's lag where it is the greatest so far.
func (it *sample) lagging(raw json.RawMessage) error {
	var c consumer
	if err := json.Unmarshal(raw, &c); err != nil {
		return err
	}
	if c.Lag != nil && (it.Lag == nil || *c.Lag > *it.Lag) {
		it.Lag = c.Lag
	}
	return nil
}
