package main

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"golang.org/x/sync/errgroup"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/faulty"
	"github.com/streamsort/streamsort/internal/dev/front"
	"github.com/streamsort/streamsort/internal/dev/traffic"
	"github.com/streamsort/streamsort/internal/dev/trial"
	"github.com/streamsort/streamsort/localstack"
)

const (
	soakQueues = 200
	// The queue with a message that verify/robust/soak/receiver never takes, and the one with a gap
	// that never fills; both at seq bad.
	poisonQueue = "poison"
	gapQueue    = "gap"
	hotQueue    = "hot"
	bad         = 3
	// receiver is the consumer that does not take poison.
	receiver = "receiver"
	// announceAfter is the age of a gap from which it is announced.
	announceAfter = 5 * time.Second
	// soakPatience is how long nothing may come out while something is due: longer than a dead
	// claim's lease, the longest pause before the last attempt, and some runs of the sweep.
	soakPatience = 150 * time.Second
)

// getsAll is what a sink gets: all but what is behind the gap.
func getsAll(p traffic.Place) bool { return p.Queue != gapQueue || p.Seq < bad }

// getsGood is what one gets that does not take poison: nothing from it on.
func getsGood(p traffic.Place) bool { return getsAll(p) && (p.Queue != poisonQueue || p.Seq < bad) }

// What has to be announced, and what may be: a receiver that is killed fails for all queues that it
// was at, which opens the circuit, and an open one has to close.
var (
	blockedAnnounced = fmt.Sprintf("consumer.blocked: queue %s, consumer %s, before %d",
		poisonQueue, receiver, bad)
	failingAnnounced = fmt.Sprintf("consumer.failing: queue %s, consumer %s, before %d",
		poisonQueue, receiver, bad)
	openAnnounced   = fmt.Sprintf("consumer.circuit-open: queue , consumer %s, before 1", receiver)
	closedAnnounced = fmt.Sprintf("consumer.circuit-closed: queue , consumer %s, before 1", receiver)
)

func gapAnnounced(what, queue string, seq int64) string {
	return fmt.Sprintf("gap.%s: queue %s, missing from %d on", what, queue, seq)
}

func soakAnnouncements() *announcements {
	return newAnnouncements([]string{blockedAnnounced, gapAnnounced("opened", gapQueue, bad)},
		failingAnnounced)
}

// soak has one queue hot, one with a message that no function takes, and one with a gap that never
// fills. The sweep runs every few seconds. When all is sent it waits until everything is out of
// each sink, announced, and nothing is under way any more: no repeat can come later.
func soak(ctx context.Context, w *world) {
	s := startSinks(ctx, w, soakAnnouncements(), localstack.Chaos{
		Seed: uint64(w.values["SEED"]), Kill: 0.01, Duplicate: 0.05, Drop: 0.02, Late: 0.05,
		LateBy: 2 * time.Second,
	})
	s.configureGap(ctx, gapQueue)
	stop := s.run(ctx)
	s.network.disturb(true)
	t := newSoakTraffic(w.values["SEED"])
	s.more = func(ctx context.Context) error {
		return w.Put(ctx, append([]traffic.Message{t.message()}, t.last()...))
	}
	err := w.Send(ctx, 4, func(ctx context.Context, send func(...traffic.Message) error) error {
		if err := trial.Chunks(t.first(), batchSize, send); err != nil {
			return err
		}
		// It goes on for some seconds where something has not gone wrong yet.
		for during := w.time(); during > 0; {
			if err := w.pace(ctx, during, w.number("RATE"), func(due int) error {
				var some []traffic.Message
				for range due {
					some = append(some, t.message())
				}
				return trial.Chunks(some, batchSize, send)
			}); err != nil {
				return err
			}
			if during = time.Second; len(s.notShown()) == 0 {
				during = 0
			}
		}
		return trial.Chunks(t.last(), batchSize, send)
	})
	if err == nil {
		err = s.drain(ctx)
	}
	s.network.disturb(false)
	if err == nil {
		err = check.Try(func() { s.onlyReceiverIsBlocked(ctx) })
	}
	err = cmp.Or(err, stop())
	s.report()
	for _, what := range s.notShown() {
		w.Not("no %s: it has shown less than it must", what)
	}
	check.Must(err)
}

// sinks are those of the soak: your function, and one of each kind.
type sinks struct {
	*world
	network *network
	said    *announcements
	readers []*queueReader
	// more sends another message; nil where no more come.
	more func(context.Context) error
}

// startSinks starts the stack with a consumer for each kind of sink, and watches what comes out of
// each.
func startSinks(ctx context.Context, w *world, said *announcements, chaos localstack.Chaos) *sinks {
	s := &sinks{
		world: w, said: said,
		network: newNetwork(front.Transport(), w.values["SEED"], faulty.Refused, faulty.Throttled,
			faulty.Lost, faulty.Failed),
	}
	w.Start(ctx, trial.Setup{
		Templates: []string{"verify/robust/soak/streamsort.patch.json",
			"verify/robust/soak/sinks.template.json"}, Through: s.network,
		Config: localstack.Config{
			// A full round now and then: it finds what a crash and a dropped record left without a mark.
			Env:   map[string]string{"SweepFunction.STREAMSORT_FULL_SWEEP_EVERY": "30s"},
			Chaos: chaos, LogDir: filepath.Join(w.Root, ".build", "soak"),
		},
	})
	w.WatchLog(w.Watch("your function", traffic.Fenced, getsAll), "WebhooksFunction")
	w.WatchLog(w.Watch("lambda", traffic.Fenced, getsGood), "ReceiverFunction")
	addresses := w.Stack.Outputs()["sinks"]
	for output, take := range map[string]func(types.Message) error{
		"Queue":         taking(w.Watch("sqs", traffic.Queued, getsAll), outputOfFIFO),
		"FromTopic":     taking(w.Watch("sns", traffic.Queued, getsAll), outputOfFIFO),
		"FromBus":       taking(w.Watch("eventbridge", traffic.Unordered, getsAll), outputOfEvent),
		"Announcements": said.event,
	} {
		reader, err := newQueueReader(addresses[output], take)
		if err != nil {
			check.Must(fmt.Errorf("output %s: %w", output, err))
		}
		s.readers = append(s.readers, reader)
	}
	return s
}

// run reads the sinks' queues, and runs the sweep again and again.
func (s *sinks) run(ctx context.Context) (stop func() error) {
	return s.During(ctx, func(ctx context.Context) error {
		group, ctx := errgroup.WithContext(ctx)
		for _, reader := range s.readers {
			group.Go(func() error { return reader.run(ctx) })
		}
		group.Go(func() error { return s.sweeps(ctx) })
		return group.Wait()
	})
}

// configureGap has a queue announce its gap soon.
func (s *sinks) configureGap(ctx context.Context, queue string) {
	body := fmt.Sprintf(`{"queue":%q,"policy":"alert","gapAfter":%q}`, queue, announceAfter)
	if err := s.Sender.Client.Call(ctx, http.MethodPut, "/queues", nil, []byte(body),
		new(json.RawMessage)); err != nil {
		check.Must(fmt.Errorf("configure queue %s: %w", queue, err))
	}
}

// drain waits until all is out, announced, and read. Now and then another message comes until all
// is announced: a circuit that opened at the end closes with the next message that is taken, and
// the poisoned one is not known to be at fault before.
func (s *sinks) drain(ctx context.Context) error {
	idle, since, looks := s.Idle(), time.Time{}, 0
	err := s.Drain(ctx, soakPatience, func(ctx context.Context) (string, error) {
		if missing := s.said.missing(); len(missing) > 0 {
			const every, most = 50, 1500
			if looks++; s.more != nil && looks%every == 0 && looks <= most {
				return "another message is sent", s.more(ctx)
			}
			return "not announced: " + strings.Join(missing, "; "), nil
		}
		for _, watched := range s.Watchers {
			if missing := watched.Missing(); len(missing) > 0 {
				return fmt.Sprintf("%s misses %v", watched.Name, missing[0]), nil
			}
		}
		if since.IsZero() {
			since = time.Now()
		}
		for _, reader := range s.readers {
			if !reader.empty(since) {
				return reader.url + " is not empty", nil
			}
		}
		return idle(ctx)
	})
	if err != nil && ctx.Err() == nil {
		for _, reader := range s.readers {
			err = fmt.Errorf("%w\n%s", err, reader.holds(ctx))
		}
	}
	return err
}

// onlyReceiverIsBlocked checks that the poisoned message stopped one consumer, and no other.
func (s *sinks) onlyReceiverIsBlocked(ctx context.Context) {
	type consumer struct{ Consumer, State string }
	all := check.Get(trial.Get[consumer](ctx, s.Sender.Client, "/consumers",
		url.Values{"queue": {poisonQueue}}))
	for _, c := range all {
		if (c.State == "blocked") != (c.Consumer == receiver) {
			s.Not("queue %s: consumer %s is %s", poisonQueue, c.Consumer, c.State)
		}
	}
	// Those of consumers.json, and the function behind the stream.
	if len(all) != 6 {
		s.Not("queue %s: %d consumers, not 6: %v", poisonQueue, len(all), all)
	}
}

// faults are what went wrong with streams and processes.
func (s *sinks) faults() (killed, calls int, delivered, repeated, dropped int64) {
	for _, f := range s.Stack.Functions() {
		killed += f.Stats.Killed
		calls += f.Stats.Requests
	}
	for _, m := range s.Stack.Mappings() {
		delivered += m.Stats.Delivered
		repeated += m.Stats.Repeated
		dropped += m.Stats.Dropped
	}
	return killed, calls, delivered, repeated, dropped
}

// notShown are the kinds of faults that have not come yet.
func (s *sinks) notShown() (all []string) {
	killed, _, _, repeated, dropped := s.faults()
	for what, times := range map[string]int64{
		"process was killed": int64(killed), "record was repeated": repeated, "record was dropped": dropped,
		"request went wrong": int64(s.network.count()),
	} {
		if times == 0 {
			all = append(all, what)
		}
	}
	return all
}

// report prints what happened, and notes what must not be.
func (s *sinks) report() {
	in, queues := s.Account.Count()
	sent := s.Sender.Sent()
	s.Row("in", "%d messages of %d queues; %d were sent, with those sent again and conflicting ones; %d calls made again", in, queues, sent.Messages, sent.Repeats)
	s.Row("answers", "%s", s.Sender.Outcomes())
	killed, calls, delivered, repeated, dropped := s.faults()
	s.Row("processes killed", "%d in %d calls", killed, calls)
	s.Row("stream records", "%d delivered, %d repeated, %d dropped", delivered, repeated, dropped)
	s.Row("DynamoDB", "%s", s.network)
	redelivered := int64(0)
	for _, reader := range s.readers {
		redelivered += reader.again.Load()
	}
	s.Row("queues read", "%d messages delivered here again", redelivered)
	lines, violations := s.said.report()
	for _, line := range lines {
		s.Row("announced", "%s", line)
	}
	for _, violation := range violations {
		s.Not("%s", violation)
	}
	for _, missing := range s.said.missing() {
		s.Not("not announced: %s", missing)
	}
	s.NothingGivenUp()
}

// Parts of the soak's traffic.
const (
	hotShare      = 0.25 // to the hot queue
	specialShare  = 0.02 // to each of the poison queue and the one with the gap
	twiceShare    = 0.04 // sent a second time
	conflictShare = 0.02 // followed by a conflicting message
)

// soakTraffic makes up what goes in. One goroutine owns it.
type soakTraffic struct {
	random *rand.Rand
	lines  []*line
	again  []traffic.Message // to be sent a second time
}

func newSoakTraffic(seed int64) *soakTraffic {
	t := &soakTraffic{random: rand.New(rand.NewPCG(uint64(seed), 0x50a))}
	for _, name := range soakNames() {
		t.lines = append(t.lines, &line{queue: name})
	}
	return t
}

// soakNames are the queues' names: the special ones, then plain ones and some that no message group
// may be named by.
func soakNames() []string {
	names := []string{hotQueue, poisonQueue, gapQueue}
	for i := len(names); i < soakQueues; i++ {
		switch i % 40 {
		case 10:
			names = append(names, fmt.Sprintf("größe %d", i))
		case 20:
			names = append(names, fmt.Sprintf("%s/%d", strings.Repeat("long", 40), i))
		case 30:
			names = append(names, fmt.Sprintf("sensor\t%d", i))
		default:
			names = append(names, fmt.Sprintf("sensor/%d", i))
		}
	}
	return names
}

// first are messages of the queues that go wrong, so that it begins early.
func (t *soakTraffic) first() (all []traffic.Message) {
	for _, l := range t.lines[1:3] {
		for l.next < bad+1 {
			l.fill(1+t.random.IntN(8), t.random)
		}
		all = append(all, t.rest(l)...)
	}
	return all
}

// message is the next one to send.
func (t *soakTraffic) message() traffic.Message {
	if len(t.again) > 0 && t.random.Float64() < 0.3 {
		n := t.random.IntN(len(t.again))
		m := t.again[n]
		t.again[n] = t.again[len(t.again)-1]
		t.again = t.again[:len(t.again)-1]
		return m
	}
	l := t.lines[3+t.random.IntN(len(t.lines)-3)]
	switch share := t.random.Float64(); {
	case share < hotShare:
		l = t.lines[0]
	case share < hotShare+specialShare:
		l = t.lines[1]
	case share < hotShare+2*specialShare:
		l = t.lines[2]
	}
	window := 8
	if l.queue == hotQueue {
		window = 32
	}
	for {
		if m, ok := t.make(traffic.At(l.queue, l.take(1, 1+t.random.IntN(window), t.random)[0])); ok {
			if t.random.Float64() < twiceShare {
				t.again = append(t.again, m)
			}
			return m
		}
	}
}

// make makes up the message of a place: mostly of JSON, some of it with white space and characters
// that are easily changed, some of bytes. The gap has none.
func (t *soakTraffic) make(p traffic.Place) (m traffic.Message, ok bool) {
	if p == traffic.At(gapQueue, bad) {
		return m, false
	}
	var body []byte
	var field string
	switch t.random.IntN(20) {
	case 0:
		body = make([]byte, t.random.IntN(200))
		for i := range body {
			body[i] = byte(t.random.Uint32())
		}
		field = fmt.Sprintf(`"bodyBase64":%q`, base64.StdEncoding.EncodeToString(body))
	case 1:
		body = fmt.Appendf(nil, `{ "n": %d, "text": "<ü\u0001\u2028 \ud83d\ude00>",  "big": 9007199254740993, "more": [ true, null ] }`, p.Seq)
		field = `"body":` + string(body)
	case 2:
		body = fmt.Appendf(nil, `{"n":%d,"note":%q}`, p.Seq,
			strings.Repeat("long ", 400+t.random.IntN(2000)))
		field = `"body":` + string(body)
	default:
		body = fmt.Appendf(nil, `{"n":%d,"note":"%0*x"}`, p.Seq, 10+t.random.IntN(80), t.random.Uint64())
		field = `"body":` + string(body)
	}
	if p == traffic.At(poisonQueue, bad) {
		field += `,"attributes":{"poison":"yes"}`
	}
	m = traffic.Message{Place: p, Sums: traffic.SumsOf(body),
		Document: fmt.Appendf(nil, `{"queue":%q,"seq":%d,"id":"%[2]d",%[3]s}`, p.Queue, p.Seq, field)}
	if t.random.Float64() < conflictShare {
		m.Conflict = fmt.Appendf(nil, `{"queue":%q,"seq":%d,"id":"conflict","body":{"n":%[2]d}}`,
			p.Queue, p.Seq)
	}
	return m, true
}

// rest is what is missing of a queue.
func (t *soakTraffic) rest(l *line) (all []traffic.Message) {
	for _, seq := range l.rest() {
		if m, ok := t.make(traffic.At(l.queue, seq)); ok {
			all = append(all, m)
		}
	}
	return all
}

// last is what is missing in all queues: no gap stays open but the one.
func (t *soakTraffic) last() []traffic.Message {
	all := t.again
	t.again = nil
	for _, l := range t.lines {
		all = append(all, t.rest(l)...)
	}
	return all
}
