package producertest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// server is an API that takes messages, with the faults of a case. It keeps what is stored for the
// case alone, and notes where a request breaks a rule that holds in each:
//
//   - a request is a POST of {"messages":[…]} to /messages, with 1 to 500 messages and 6 MB at
//     most;
//   - of a queue, one request is under way at a time;
//   - a message that is sent again is the same, byte for byte of its body and with the same id;
//   - the messages of a queue are in the order in which they were sent, first in first, those that
//     go again before all that went later, but for what was full;
//   - what was accepted, or refused for good, in an answer that arrived is not sent again.
type server struct {
	c     Case
	names map[string]int // of each message that has a name, its place among those that are sent

	mu       sync.Mutex
	requests int
	busy     map[string]*flight // the request under way, of each queue
	freed    chan struct{}      // closed and recreated when one has ended
	stored   map[string]bool
	sent     map[string]sent
	failed   map[string]time.Time
	wrong    []string
	applied  map[int]int // how often each fault did
}

type flight struct {
	messages []message
	number   int
	// given: its sender gave it up, and so it counts as over before this side saw that.
	given bool
}

type sent struct {
	text        string
	full, final bool
}

func newServer(c Case) *server {
	s := &server{
		c: c, names: map[string]int{}, busy: map[string]*flight{}, freed: make(chan struct{}),
		stored: map[string]bool{},
		sent:   map[string]sent{}, failed: map[string]time.Time{},
		applied: map[int]int{},
	}
	for i, text := range c.messages() {
		if m, err := read(text); err == nil && m.name != m.Queue+"/" {
			s.names[m.name] = i
		}
	}
	return s
}

type message struct {
	Queue string          `json:"queue"`
	Seq   json.RawMessage `json:"seq"`
	Key   json.RawMessage `json:"key"`
	ID    string          `json:"id"`
	name  string          // queue/seq or queue/id
	text  string          // without white space
}

func read(text json.RawMessage) (message, error) {
	var m message
	if err := json.Unmarshal(text, &m); err != nil {
		return m, err
	}
	m.name = m.Queue + "/" + m.ID
	if m.Seq != nil {
		m.name = m.Queue + "/" + strings.Trim(string(m.Seq), `"`)
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, text); err != nil {
		return m, err
	}
	m.text = compact.String()
	return m, nil
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, 6<<20+1))
	if err != nil {
		return // it was cut
	}
	under, fault := s.begin(r, body)
	if under == nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	messages, number := under.messages, under.number
	// The next request may come as soon as the answer is there: so the queue is free before.
	end := sync.OnceFunc(func() { s.end(under, r.Context().Err() != nil) })
	defer end()
	answer := func(status int, body string) {
		end()
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
	switch fault.Do {
	case "cut":
		s.fail(messages)
		panic(http.ErrAbortHandler)
	case "hang":
		s.fail(messages)
		<-r.Context().Done()
		return
	case "lose":
		s.store(messages, number, false)
		s.fail(messages)
		panic(http.ErrAbortHandler)
	case "slow":
		select {
		case <-time.After(time.Duration(fault.Milliseconds) * time.Millisecond):
		case <-r.Context().Done():
			return
		}
	case "answer":
		s.fail(messages)
		if len(messages) == 1 && (fault.Status == http.StatusBadRequest ||
			fault.Status == http.StatusRequestEntityTooLarge) {
			s.finish(messages[0]) // it is to its only message, for good
		}
		if fault.RetryAfter > 0 {
			w.Header().Set("Retry-After", strconv.Itoa(fault.RetryAfter))
		}
		answer(fault.Status, fmt.Sprintf(`{"status":%d,"detail":"as the case has it"}`, fault.Status))
		return
	case "garbage":
		s.fail(messages)
		answer(http.StatusOK, "<html>")
		return
	case "invalid":
		i := slices.IndexFunc(messages, func(m message) bool { return m.name == fault.Message })
		s.finish(messages[i])
		answer(http.StatusBadRequest, fmt.Sprintf(`{"status":400,"code":"malformed","detail":"","errors":[{"field":"messages[%d].body","code":"malformed","detail":"is not what it should be","index":%d}]}`, i, i))
		return
	}
	text := s.store(messages, number, fault.Do != "half")
	if fault.Do == "half" {
		s.fail(messages)
		w.Header().Set("Content-Length", strconv.Itoa(len(text)))
		answer(http.StatusOK, text[:len(text)/2])
		panic(http.ErrAbortHandler)
	}
	answer(http.StatusOK, text)
}

// begin notes a request, and says what goes wrong with it; nil means no request.
func (s *server) begin(r *http.Request, body []byte) (*flight, Fault) {
	var put struct {
		Messages []json.RawMessage `json:"messages"`
	}
	err := json.Unmarshal(body, &put)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests++
	if err != nil || r.Method != http.MethodPost || r.URL.Path != "/messages" ||
		len(put.Messages) < 1 || len(put.Messages) > 500 || len(body) > 6<<20 {
		s.note("request %d: %s %s with %d messages and %d bytes: %v", s.requests, r.Method, r.URL.Path,
			len(put.Messages), len(body), err)
		return nil, Fault{}
	}
	var messages []message
	for _, text := range put.Messages {
		m, err := read(text)
		if err != nil {
			s.note("request %d: %v", s.requests, err)
			return nil, Fault{}
		}
		messages = append(messages, m)
	}
	number := s.requests
	under := &flight{messages: messages, number: number}
	for _, queue := range queuesOf(messages) {
		s.awaitFree(queue, number)
		s.busy[queue] = under
		if at, was := s.failed[queue]; was {
			if waited := time.Since(at); waited < time.Duration(s.c.Pause)*time.Millisecond {
				s.note("request %d: queue %s goes again after %v", number, queue, waited)
			}
			delete(s.failed, queue)
		}
	}
	for _, m := range messages {
		s.look(m, number)
	}
	s.inOrder(messages, number)
	for i, f := range s.c.Faults {
		if f.Do != "result" && s.applies(i, messages, number) {
			s.applied[i]++
			return under, f
		}
	}
	return under, Fault{}
}

// awaitFree holds a request to that no other of its queue is under way. One that its sender has
// given up may not have ended on this side yet, so that is waited for, for a second.
func (s *server) awaitFree(queue string, number int) {
	before := s.busy[queue]
	for late := time.After(time.Second); s.busy[queue] != nil; {
		freed := s.freed
		s.mu.Unlock()
		select {
		case <-freed:
			s.mu.Lock()
		case <-late:
			s.mu.Lock()
			delete(s.busy, queue)
		}
	}
	if before != nil && !before.given {
		s.note("request %d: another of queue %s is under way, request %d", number, queue, before.number)
	}
}

// look holds a message to what was sent of it before.
func (s *server) look(m message, number int) {
	before, was := s.sent[m.name]
	switch {
	case !was:
		s.sent[m.name] = sent{text: m.text}
	case before.text != m.text:
		s.note("request %d: %s is %s, and was %s", number, m.name, m.text, before.text)
	case before.final:
		s.note("request %d: %s is sent again, and was answered for good", number, m.name)
	}
}

// inOrder holds the messages of a request to the order in which they were sent.
func (s *server) inOrder(messages []message, number int) {
	last := map[string]int{}
	for _, m := range messages {
		place, named := s.names[m.name]
		if !named || s.sent[m.name].full {
			continue
		}
		if before, was := last[m.Queue]; was && place < before {
			s.note("request %d: %s stands behind one that was sent after it", number, m.name)
		}
		last[m.Queue] = place
	}
}

func (s *server) applies(i int, messages []message, number int) bool {
	f := s.c.Faults[i]
	has := f.Message == "" || slices.ContainsFunc(messages, func(m message) bool {
		return m.name == f.Message
	})
	return has && (f.Request == 0 || f.Request == number) && (f.Every == 0 || number%f.Every == 0) &&
		len(messages) > f.Above &&
		(f.Times == 0 || s.applied[i] < f.Times) && !s.stored[f.Until]
}

// store stores messages, and returns the answer; arrives says that it gets to the sender.
func (s *server) store(messages []message, number int, arrives bool) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	results := make([]string, len(messages))
	for i, m := range messages {
		results[i] = s.storeOne(m, number, messages, arrives)
	}
	return `{"status":200,"results":[` + strings.Join(results, ",") + `]}`
}

func (s *server) storeOne(m message, number int, messages []message, arrives bool) string {
	now := s.sent[m.name]
	defer func() {
		if arrives {
			s.sent[m.name] = now
		}
	}()
	for i, f := range s.c.Faults {
		if f.Do != "result" || f.Message != "" && f.Message != m.name ||
			!s.applies(i, messages, number) || f.Until == m.name {
			continue
		}
		s.applied[i]++
		now.full = now.full || f.Status == http.StatusTooManyRequests
		now.final = f.Status < http.StatusInternalServerError && f.Status != http.StatusTooManyRequests
		return fmt.Sprintf(`{"status":%d,"outcome":%q,"queue":%q,"detail":"as the case has it"}`,
			f.Status, f.Outcome, m.Queue)
	}
	outcome := "duplicate"
	if !s.stored[m.name] {
		outcome = "advanced"
		s.stored[m.name] = true
	}
	now.final = true
	return fmt.Sprintf(`{"status":200,"outcome":%q,"queue":%q}`, outcome, m.Queue)
}

func (s *server) finish(m message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.sent[m.name]
	now.final = true
	s.sent[m.name] = now
}

func (s *server) fail(messages []message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, queue := range queuesOf(messages) {
		s.failed[queue] = time.Now()
	}
}

func (s *server) end(under *flight, given bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	under.given = given
	for _, queue := range queuesOf(under.messages) {
		if s.busy[queue] == under {
			delete(s.busy, queue)
		}
	}
	close(s.freed)
	s.freed = make(chan struct{})
}

func (s *server) note(format string, values ...any) {
	s.wrong = append(s.wrong, fmt.Sprintf(format, values...))
}

// check reports what was wrong, given the outcome of each message: such as advanced, or the status
// of one that was refused.
func (s *server) check(outcomes []string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	wrong := slices.Clone(s.wrong)
	if err := s.c.check(outcomes); err != nil {
		wrong = append(wrong, err.Error())
	}
	if s.requests < s.c.Least || s.c.Most > 0 && s.requests > s.c.Most {
		wrong = append(wrong, fmt.Sprintf("%d requests, want %d to %d", s.requests, s.c.Least, s.c.Most))
	}
	accepted := 0
	for _, o := range outcomes {
		if _, err := strconv.Atoi(o); err != nil {
			accepted++
		}
	}
	if len(s.stored) != accepted {
		wrong = append(wrong,
			fmt.Sprintf("%d messages are stored, and %d were accepted", len(s.stored), accepted))
	}
	return wrong
}

func queuesOf(messages []message) []string {
	var queues []string
	for _, m := range messages {
		if !slices.Contains(queues, m.Queue) {
			queues = append(queues, m.Queue)
		}
	}
	return queues
}
