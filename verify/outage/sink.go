package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/streamsort/streamsort/internal/dev/traffic"
)

// sink is what process delivers to: it answers as Lambda does for a function.
type sink struct {
	watcher *traffic.Watcher
	// poisonQueue is the queue whose message poison is never taken.
	poisonQueue string
	poison      int64

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
func (s *sink) ServeHTTP(w http.ResponseWriter, r *http.Request) {
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
func (s *sink) take(d document, at time.Time) (problem string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.away {
		s.calls = append(s.calls, at)
		return "the database does not answer"
	}
	if d.Queue == s.poisonQueue && d.To >= s.poison && d.From < s.poison {
		s.refused++
		return "the message cannot be read"
	}
	s.watcher.Line(d.line())
	return ""
}

// line is the document as a consumer of the demo logs it, which the watcher reads.
func (d document) line() string {
	type message struct {
		Seq    int64  `json:"seq"`
		SHA256 string `json:"sha256"`
	}
	messages := make([]message, len(d.Messages))
	for i, m := range d.Messages {
		sum := sha256.Sum256(m.Body)
		messages[i] = message{m.Seq, hex.EncodeToString(sum[:])}
	}
	line, _ := json.Marshal(map[string]any{ // of numbers and texts only
		"message": "batch", "queue": d.Queue, "token": d.TokenN, "from": d.From, "to": d.To, "messages": messages,
	})
	return string(line)
}

// isAway says whether it is away from now on.
func (s *sink) isAway(away bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.away = away
}

// calledWhileAway is when it was called while it was away.
func (s *sink) calledWhileAway() []time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]time.Time(nil), s.calls...)
}

func (s *sink) refusals() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.refused
}
