package big

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/streamsort/streamsort/internal/fanout"
	"github.com/streamsort/streamsort/internal/sortkey"
	"github.com/streamsort/streamsort/pkg/cursor"
)

// What is sorted by a key: how many messages of how many queues, which come up to a delay
// after the time that is their key, less than the window; one in a hundred comes far later.
const (
	keyedMessages = 1_000_000
	keyedQueues   = 100
	keyedWindow   = 5 * time.Second
	keyedDelay    = 4 * time.Second
	keyedTooLate  = 10 * time.Second
	// keyedTick is how often puts and settles take turns, keyedEvery how far two keys of a
	// queue are apart.
	keyedTick  = 500 * time.Millisecond
	keyedEvery = 50 * time.Millisecond
)

// manyKeyed sorts messages by a time twice: with a disorder within the window, and with one
// in a hundred beyond it. Each must be there once, in the order of its key; only those that
// came too late may stand behind, and are answered as late.
func manyKeyed(w *world) error {
	for _, late := range []int{0, 100} {
		k := keyedRun{world: w, late: late, random: rand.New(rand.NewPCG(18, uint64(late)))}
		if err := k.run(); err != nil {
			return fmt.Errorf("one in %d beyond the window: %w", late, err)
		}
	}
	return nil
}

// keyedRun is one of them.
type keyedRun struct {
	*world
	late   int
	random *rand.Rand
	sorter *cursor.Sorter
	// queues is how many there are, each how many messages of each.
	queues int
	each   int64
}

// sentMessage is a message of a queue, by when it is sent and when it comes.
type sentMessage struct {
	queue   int
	n       int64
	key, at time.Time
	tooLate bool
}

func (k *keyedRun) run() error {
	k.queues = int(k.of(keyedQueues))
	k.each = keyedMessages / keyedQueues
	spent := spent{}
	i := &invocation{next: k.tables, left: budget{requests: 1 << 40, bytes: 1 << 60}}
	store, err := cursor.NewStore(i, cursor.Names{})
	if err != nil {
		return err
	}
	k.sorter, err = cursor.New(store, &cursor.Options{Now: func() time.Time { return k.now }, ForEach: fanout.SideBySide})
	if err != nil {
		return err
	}
	sent := k.messages()
	flagged, err := k.sortAll(sent)
	if err != nil {
		return err
	}
	spent.add(i)
	per := float64(len(sent))
	k.line(fmt.Sprintf("%d messages of %d queues, %d of them too late and answered so; %.3f write and %.3f read units a message",
		len(sent), k.queues, flagged, spent.units.Writes/per, spent.units.Reads/per), spent)
	return k.check(sent)
}

// messages are all that are sent, in the order in which they come.
func (k *keyedRun) messages() []sentMessage {
	begin := k.now
	var all []sentMessage
	for n := range k.each {
		for queue := range k.queues {
			key := begin.Add(time.Duration(n) * keyedEvery)
			m := sentMessage{queue: queue, n: n, key: key, at: key.Add(time.Duration(k.random.Int64N(int64(keyedDelay))))}
			// The last ones of a queue cannot be late: nothing comes behind them.
			if k.late > 0 && k.random.IntN(k.late) == 0 && n < k.each*9/10-int64(2*keyedTooLate/keyedEvery) {
				m.at, m.tooLate = key.Add(keyedTooLate), true
			}
			all = append(all, m)
		}
	}
	slices.SortStableFunc(all, func(a, b sentMessage) int { return cmp.Compare(a.at.UnixNano(), b.at.UnixNano()) })
	return all
}

func (k *keyedRun) name(queue int) string { return fmt.Sprintf("keyed %d/%03d", k.late, queue) }

// sortAll puts the messages when they come, and settles each queue every tick. It returns how
// many were answered as late.
func (k *keyedRun) sortAll(sent []sentMessage) (flagged int, err error) {
	for len(sent) > 0 {
		end := k.now.Add(keyedTick)
		n, _ := slices.BinarySearchFunc(sent, end, func(m sentMessage, end time.Time) int { return cmp.Compare(m.at.UnixNano(), end.UnixNano()) })
		k.now = end
		late, err := k.put(sent[:n])
		if err != nil {
			return flagged, err
		}
		flagged, sent = flagged+late, sent[n:]
		if err := k.settle(); err != nil {
			return flagged, err
		}
	}
	k.now = k.now.Add(2 * keyedWindow)
	return flagged, k.settle()
}

// put puts messages, and returns how many were answered as late: none but those that are.
func (k *keyedRun) put(messages []sentMessage) (flagged int, err error) {
	const call = 500
	for part := range slices.Chunk(messages, call) {
		group := make([]cursor.Message, len(part))
		for i, m := range part {
			group[i] = cursor.Message{
				KeyParts: []any{m.key}, KeyType: "time",
				Queue: k.name(m.queue), ID: fmt.Sprint(m.n), Body: []byte(`{"amount":100}`),
			}
		}
		results := k.sorter.Put(context.Background(), group...)
		err := results[0].Err
		if err != nil {
			return flagged, err
		}
		for i, r := range results {
			switch {
			case r.Err != nil:
				return flagged, r.Err
			case r.Late != part[i].tooLate:
				return flagged, fmt.Errorf("message %d of queue %s: late %v, want %v", part[i].n, r.Queue, r.Late, part[i].tooLate)
			case r.Late:
				flagged++
			}
		}
	}
	return flagged, nil
}

func (k *keyedRun) settle() error {
	errs := make([]error, k.queues)
	fanout.SideBySide(k.queues, func(queue int) {
		_, errs[queue] = k.sorter.Settle(context.Background(), k.name(queue), sortkey.EverySortKey)
		if errors.Is(errs[queue], cursor.ErrNoQueue) {
			errs[queue] = nil
		}
	})
	return errors.Join(errs...)
}

// check reads all queues.
func (k *keyedRun) check(sent []sentMessage) error {
	tooLate := map[string]bool{}
	for _, m := range sent {
		if m.tooLate {
			tooLate[fmt.Sprint(k.name(m.queue), "/", m.n)] = true
		}
	}
	lost, inversions, late := int64(0), 0, 0
	for queue := range k.queues {
		name, once, last := k.name(queue), map[string]bool{}, sortkey.Key("")
		cur, err := k.sorter.Status(context.Background(), name)
		if err != nil {
			return err
		}
		for m, err := range k.sorter.Read(context.Background(), name, 0, cur.Position) {
			if err != nil {
				return err
			}
			if once[m.ID] || m.Late != tooLate[name+"/"+m.ID] {
				return fmt.Errorf("message %s of queue %s: a second time %v, late %v", m.ID, name, once[m.ID], m.Late)
			}
			once[m.ID] = true
			switch {
			case m.Late:
				late++
				continue
			case m.Key < last:
				inversions++
			}
			last = m.Key
		}
		lost += k.each - int64(len(once))
	}
	k.lines = append(k.lines, fmt.Sprintf("%d inversions, %d late, %d lost", inversions, late, lost))
	if lost != 0 || inversions != 0 || late != len(tooLate) {
		return fmt.Errorf("%d lost, %d inversions, %d late of %d that came too late", lost, inversions, late, len(tooLate))
	}
	return nil
}
