package main

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

const (
	queues = 200
	// The queue with a message that verify/soak/receiver never takes, and the one with
	// a gap that never fills; both at seq bad.
	poisonQueue = "poison"
	gapQueue    = "gap"
	hotQueue    = "hot"
	bad         = 3
	// receiver is the consumer that does not take poison.
	receiver = "receiver"
)

// Parts of the traffic.
const (
	hotShare      = 0.25 // to the hot queue
	specialShare  = 0.02 // to each of the poison queue and the one with the gap
	twiceShare    = 0.04 // sent a second time
	conflictShare = 0.02 // followed by a conflicting message
)

// traffic makes up what goes in, and keeps account of it. One goroutine owns
// it.
type traffic struct {
	random *rand.Rand
	queues []*line
	again  []message // to be sent a second time
	in     *ledger
}

// line is a queue as producers see it: it gives its messages out of order
// within windows.
type line struct {
	name   string
	next   int64
	most   int // a window's messages
	window []message
}

func newTraffic(seed uint64, in *ledger) *traffic {
	t := &traffic{random: rand.New(rand.NewPCG(seed, 0x50a)), in: in}
	for _, name := range queueNames() {
		l := &line{name: name, next: 1, most: 8}
		if name == hotQueue {
			l.most = 32
		}
		t.queues = append(t.queues, l)
	}
	return t
}

// queueNames are the queues' names: the special ones, then plain ones and some
// that no message group may be named by.
func queueNames() []string {
	names := []string{hotQueue, poisonQueue, gapQueue}
	for i := len(names); i < queues; i++ {
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
func (t *traffic) first() []message {
	var all []message
	for _, l := range t.queues[1:3] {
		for l.next <= bad+1 {
			t.fill(l)
			all = append(all, t.rest(l)...)
		}
	}
	return all
}

// message is the next one to send.
func (t *traffic) message() message {
	if len(t.again) > 0 && t.random.Float64() < 0.3 {
		n := t.random.IntN(len(t.again))
		m := t.again[n]
		t.again[n] = t.again[len(t.again)-1]
		t.again = t.again[:len(t.again)-1]
		return m
	}
	l := t.queues[3+t.random.IntN(len(t.queues)-3)]
	switch place := t.random.Float64(); {
	case place < hotShare:
		l = t.queues[0]
	case place < hotShare+specialShare:
		l = t.queues[1]
	case place < hotShare+2*specialShare:
		l = t.queues[2]
	}
	return t.take(l)
}

// take is the next message of a queue.
func (t *traffic) take(l *line) message {
	if len(l.window) == 0 {
		t.fill(l)
	}
	m := l.window[0]
	l.window = l.window[1:]
	if t.random.Float64() < twiceShare {
		t.again = append(t.again, m)
	}
	return m
}

// fill makes the next window of a queue.
func (t *traffic) fill(l *line) {
	for range 1 + t.random.IntN(l.most) {
		seq := l.next
		l.next++
		if l.name == gapQueue && seq == bad {
			seq++
			l.next++
		}
		m := newMessage(l.name, seq, l.name == poisonQueue && seq == bad, t.random)
		if t.random.Float64() < conflictShare {
			m.conflict = conflicting(m)
		}
		t.in.note(m)
		l.window = append(l.window, m)
	}
	t.random.Shuffle(len(l.window), func(i, j int) { l.window[i], l.window[j] = l.window[j], l.window[i] })
}

// rest is what is missing in a queue's window.
func (t *traffic) rest(l *line) []message {
	all := l.window
	l.window = nil
	return all
}

// last is what is missing in all queues: no gap stays open but the one.
func (t *traffic) last() []message {
	all := t.again
	t.again = nil
	for _, l := range t.queues {
		all = append(all, t.rest(l)...)
	}
	return all
}
