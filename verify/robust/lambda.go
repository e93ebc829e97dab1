package main

import (
	"encoding/json"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/streamsort/streamsort/internal/dev/traffic"
)

// lambdaSink is a function that process calls: it answers as Lambda does.
type lambdaSink struct {
	watched *traffic.Watcher
	// poison are messages that are not taken.
	poison func(traffic.Place) bool

	mu    sync.Mutex
	away  bool
	calls []time.Time // while it is away
	// refused is how often the poisoned message was refused since the sink is back.
	refused int
}

// document is what process calls a function with.
type document struct {
	Queue    string `json:"queue"`
	TokenN   int64  `json:"tokenN"`
	From     int64  `json:"from"`
	To       int64  `json:"to"`
	Messages []struct {
		Seq  int64           `json:"seq"`
		Body json.RawMessage `json:"body"`
	} `json:"messages"`
}

// ServeHTTP implements [http.Handler]: Lambda's Invoke.
func (s *lambdaSink) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	began := time.Now()
	body, err := io.ReadAll(r.Body)
	var d document
	if err == nil {
		err = json.Unmarshal(body, &d)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if problem := s.take(d, began); problem != "" {
		w.Header().Set("X-Amz-Function-Error", "Unhandled")
		_ = json.NewEncoder(w).Encode(map[string]string{"errorType": "Error", "errorMessage": problem})
		return
	}
	_, _ = io.WriteString(w, "null")
}

// take takes a document, or says why not.
func (s *lambdaSink) take(d document, at time.Time) (problem string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.away {
		s.calls = append(s.calls, at)
		return "the database does not answer"
	}
	for seq := d.From + 1; seq <= d.To; seq++ {
		if s.poison(traffic.At(d.Queue, seq)) {
			s.refused++
			return "the message cannot be read"
		}
	}
	b := traffic.Batch{Queue: d.Queue, Token: d.TokenN, From: d.From, To: d.To}
	for _, m := range d.Messages {
		b.Messages = append(b.Messages, traffic.Logged{Seq: m.Seq, SHA256: traffic.Sum(m.Body)})
	}
	s.watched.Batch(b)
	return ""
}

// isAway says whether it is away from now on.
func (s *lambdaSink) isAway(away bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.away = away
}

// seen is when it was called while it was away, and how often it refused the poisoned message
// since.
func (s *lambdaSink) seen() (calledWhileAway []time.Time, refused int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]time.Time(nil), s.calls...), s.refused
}
