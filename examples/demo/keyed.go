package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/streamsort/streamsort/internal/client"
	"github.com/streamsort/streamsort/internal/dev/progress"
	"github.com/streamsort/streamsort/internal/dev/traffic"
	"github.com/streamsort/streamsort/internal/jsonseq"
	"github.com/streamsort/streamsort/internal/sortkey"
	"github.com/streamsort/streamsort/internal/strictjson"
	"github.com/streamsort/streamsort/localstack"
)

// keyedWindow is the settle window of the demo's queues: what is sent before the stragglers
// is sent within it.
const keyedWindow = 3 * time.Second

// keyedMessage is a message with the place that its key gives it.
type keyedMessage struct {
	traffic.Arrival
	id    string
	place sortkey.SortKey
}

// keyedStream is messages that are sorted by a time.
type keyedStream struct {
	all []keyedMessage
	// stragglers is how many of the last ones have the least keys of their queues, where
	// greater ones came before. They are sent when the others are out.
	stragglers int
}

// newKeyedStream reads the keys of messages.
func newKeyedStream(arrivals []traffic.Arrival) (*keyedStream, error) {
	s := &keyedStream{}
	for _, a := range arrivals {
		m := keyedMessage{Arrival: a}
		var read struct {
			ID  string
			Key json.RawMessage
		}
		err := json.Unmarshal(a.Document, &read)
		if err == nil {
			var key sortkey.Key
			key, err = sortkey.KeyType("time").ParseKey(read.Key)
			m.id, m.place = read.ID, sortkey.KeyedSortKey(key, read.ID)
		}
		if err != nil {
			return nil, fmt.Errorf("message %s: %w", a.Document[:min(len(a.Document), 80)], err)
		}
		s.all = append(s.all, m)
	}
	for i := len(s.all) - 1; i > 0 && s.isStraggler(i); i-- {
		s.stragglers++
	}
	return s, nil
}

func (s *keyedStream) isStraggler(i int) bool {
	greater := 0
	for _, m := range s.all[:i] {
		if m.Queue != s.all[i].Queue {
			continue
		}
		if m.place.Key() < s.all[i].place.Key() || m.place == s.all[i].place {
			return false
		}
		if m.place.Key() > s.all[i].place.Key() {
			greater++
		}
	}
	return greater > 0
}

// generateKeyed makes up messages as [traffic.Generate] does, with times for numbers, and one
// straggler a queue.
func generateKeyed(count int) ([]traffic.Arrival, error) {
	arrivals, err := traffic.Generate(count)
	if err != nil {
		return nil, err
	}
	begin := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	last := map[string]bool{}
	for i, a := range arrivals {
		at := begin.Add(time.Duration(a.Seq) * 137 * time.Millisecond)
		if arrivals[i], err = withKey(a, at); err != nil {
			return nil, err
		}
		last[a.Queue] = true
	}
	for _, queue := range slices.Sorted(maps.Keys(last)) {
		a, err := traffic.NewArrival(fmt.Appendf(nil, `{"queue":%q,"key":%q,"id":"straggler","body":{"number":0}}`, queue, begin.Format(time.RFC3339Nano)))
		if err != nil {
			return nil, err
		}
		arrivals = append(arrivals, a)
	}
	return arrivals, nil
}

// withKey has a key in the place of the seq.
func withKey(a traffic.Arrival, at time.Time) (traffic.Arrival, error) {
	bare, err := strictjson.Without(a.Document, "seq")
	if err != nil {
		return a, err
	}
	key := fmt.Appendf(nil, `{"key":%q,`, at.Format(time.RFC3339Nano))
	return traffic.NewArrival(append(key, bytes.TrimPrefix(bare, []byte("{"))...))
}

// distinct is how many different messages there are.
func (s *keyedStream) distinct(of []keyedMessage) int {
	once := map[[2]string]bool{}
	for _, m := range of {
		once[[2]string{m.Queue, string(m.place)}] = true
	}
	return len(once)
}

// queues are the names of all queues.
func (s *keyedStream) queues() []string {
	var names []string
	for _, m := range s.all {
		names = append(names, m.Queue)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// send makes the queues, sends the messages, waits until they are out, and sends the
// stragglers. The answers are in the order of the messages.
func (s *keyedStream) send(ctx context.Context, base string, seen *counter, out io.Writer) ([]answered, error) {
	c, err := client.New(base)
	if err != nil {
		return nil, err
	}
	for _, queue := range s.queues() {
		made, err := json.Marshal(map[string]any{"queue": queue, "kind": "keyed", "keyType": "time", "settle": keyedWindow.String()})
		if err == nil {
			err = c.Call(ctx, http.MethodPut, "/queues", nil, made, &struct{}{})
		}
		if err != nil {
			return nil, err
		}
	}
	var arrivals []traffic.Arrival
	for _, m := range s.all {
		arrivals = append(arrivals, m.Arrival)
	}
	first := len(arrivals) - s.stragglers
	answers, err := send(ctx, base, arrivals[:first])
	if err != nil || s.stragglers == 0 {
		return answers, err
	}
	fmt.Fprintf(out, "==> sent; they wait for %v; then %d stragglers are sent, whose keys are less than all before\n", keyedWindow, s.stragglers)
	if err := seen.wait(ctx, s.distinct(s.all[:first]), out); err != nil {
		return nil, err
	}
	late, err := send(ctx, base, arrivals[first:])
	return append(answers, late...), err
}

// counter counts the messages that a function gets, by its log.
type counter struct {
	function string
	mu       sync.Mutex
	upTo     map[string]int64
}

func (c *counter) line(l localstack.Line) {
	var b struct {
		Message, Queue string
		To             int64
	}
	if l.LogicalID != c.function || json.Unmarshal([]byte(l.Text), &b) != nil || b.Message != "batch" {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.upTo[b.Queue] = max(c.upTo[b.Queue], b.To)
}

func (c *counter) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := int64(0)
	for _, to := range c.upTo {
		n += to
	}
	return int(n)
}

// wait waits until so many came out.
func (c *counter) wait(ctx context.Context, total int, out io.Writer) error {
	w := progress.Wait{Total: total, What: "messages are out", Patience: patience, Out: out}
	return w.Until(ctx, func(context.Context) (int, string, error) { return c.count(), "", nil })
}

// loggedMessage is a message as the API reads it.
type loggedMessage struct {
	Seq  jsonseq.Seq
	ID   string
	Key  json.RawMessage
	Late bool
}

// readQueue reads a whole queue.
func readQueue(ctx context.Context, c *client.Client, queue string) ([]loggedMessage, error) {
	var all []loggedMessage
	for {
		query := url.Values{"queue": {queue}, "limit": {"1000"}}
		if len(all) > 0 {
			query.Set("after", strconv.FormatInt(int64(all[len(all)-1].Seq), 10))
		}
		var page struct{ Messages []loggedMessage }
		if err := c.Call(ctx, http.MethodGet, "/messages", query, nil, &page); err != nil {
			return nil, err
		}
		if len(page.Messages) == 0 {
			return all, nil
		}
		all = append(all, page.Messages...)
	}
}

// keyedOutcome is what came of a keyed stream.
type keyedOutcome struct {
	// late is how many are marked late, of stragglers that are.
	late, stragglers int
	// before and after are how many pairs of a queue's messages were in the wrong order as
	// they came in, and as they came out but for the late ones.
	before, after int
}

// check reads all queues: each message must be there once, and but for those that are marked
// late, in the order of the keys; each straggler must be late, and answered so, and no other
// message without a reason. It returns the messages with their seqs.
func (s *keyedStream) check(ctx context.Context, base string, answers []answered, chaos bool) (numbered []traffic.Arrival, did keyedOutcome, wrong []string, err error) {
	c, err := client.New(base)
	if err != nil {
		return nil, did, nil, err
	}
	did.stragglers = s.stragglers
	for _, queue := range s.queues() {
		sent := map[sortkey.SortKey]keyedMessage{}
		late := map[sortkey.SortKey]bool{}
		var came, onTime []sortkey.SortKey
		for i, m := range s.all {
			if m.Queue != queue {
				continue
			}
			if _, again := sent[m.place]; !again {
				came = append(came, m.place)
			}
			sent[m.place] = m
			late[m.place] = late[m.place] || answers[i].Late
			if i >= len(s.all)-s.stragglers && !answers[i].Late {
				wrong = append(wrong, fmt.Sprintf("queue %s: the straggler %s was answered %s, and not that it is late", queue, m.id, answers[i].Outcome.Outcome))
			}
		}
		did.before += inversions(came)
		log, err := readQueue(ctx, c, queue)
		if err != nil {
			return nil, did, nil, err
		}
		for i, l := range log {
			key, err := sortkey.KeyType("time").ParseKey(l.Key)
			if err != nil {
				return nil, did, nil, fmt.Errorf("queue %s: message %s is read without its key: %w", queue, l.ID, err)
			}
			place := sortkey.KeyedSortKey(key, l.ID)
			m, there := sent[place]
			delete(sent, place)
			switch {
			case !there:
				wrong = append(wrong, fmt.Sprintf("queue %s: %s is there twice, or was never sent", queue, l.ID))
				continue
			case int64(l.Seq) != int64(i)+1:
				wrong = append(wrong, fmt.Sprintf("queue %s: %s has the seq %d, and %d was due", queue, l.ID, l.Seq, i+1))
			case l.Late != late[place] && !chaos:
				wrong = append(wrong, fmt.Sprintf("queue %s: %s is read as late: %v, and was answered so: %v", queue, l.ID, l.Late, late[place]))
			}
			if m.Seq = int64(l.Seq); l.Late {
				did.late++
			} else {
				onTime = append(onTime, place)
			}
			numbered = append(numbered, m.Arrival)
		}
		did.after += inversions(onTime)
		for _, m := range sent {
			wrong = append(wrong, fmt.Sprintf("queue %s: %s is lost", queue, m.id))
		}
	}
	if did.after > 0 {
		wrong = append(wrong, fmt.Sprintf("%d pairs are in the wrong order", did.after))
	}
	if did.late != s.stragglers && !chaos {
		wrong = append(wrong, fmt.Sprintf("%d are late, and %d stragglers were sent", did.late, s.stragglers))
	}
	return numbered, did, wrong, nil
}

// inversions is how many pairs are in the wrong order.
func inversions(places []sortkey.SortKey) int {
	var sorted []sortkey.SortKey
	n := 0
	for _, p := range places {
		at, _ := slices.BinarySearchFunc(sorted, p, cmp.Compare[sortkey.SortKey])
		n += len(sorted) - at
		sorted = slices.Insert(sorted, at, p)
	}
	return n
}
