package producer

import (
	"container/heap"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"
	"golang.org/x/sync/semaphore"
)

// queue is what is to be sent to one queue. It is guarded by the producer's mutex.
type queue struct {
	name string
	// waiting are the messages that are not under way, in the order in which they go.
	waiting list
	// aside are those that were full, until asideDue.
	aside      list
	asideDue   time.Time
	asideDelay backoff.ExponentialBackOff
	// busy: a request is under way.
	busy bool
	// troubled: its last request failed or was slow, so that it goes alone.
	troubled bool
	// notBefore is when a repeat may go.
	notBefore time.Time
	delay     backoff.ExponentialBackOff
	// most is how many messages it may have in a request: fewer where one of them has the whole
	// request refused.
	most int
	// due is when a request may go, in the schedule that it is in, at index.
	due      time.Time
	schedule *schedule
	index    int

	// room is what its messages may still take of the memory, and senders how many calls of Send
	// have hold of this queue.
	room    *semaphore.Weighted
	senders int
}

type list struct {
	head, tail *Future
	n, bytes   int
}

func (l *list) push(f *Future) {
	f.next = nil
	if l.tail == nil {
		l.head = f
	} else {
		l.tail.next = f
	}
	l.tail = f
	l.n++
	l.bytes += len(f.doc)
}

func (l *list) pop() *Future {
	f := l.head
	l.head = f.next
	if l.head == nil {
		l.tail = nil
	}
	f.next = nil
	l.n--
	l.bytes -= len(f.doc)
	return f
}

// behind puts another list behind this one, and empties it.
func (l *list) behind(other *list) {
	if other.n == 0 {
		return
	}
	if l.tail == nil {
		l.head = other.head
	} else {
		l.tail.next = other.head
	}
	l.tail = other.tail
	l.n += other.n
	l.bytes += other.bytes
	*other = list{}
}

func (q *queue) has(seq int64) bool {
	for _, l := range []*list{&q.waiting, &q.aside} {
		for f := l.head; f != nil; f = f.next {
			if f.seq == seq {
				return true
			}
		}
	}
	return false
}

const maxIdle = 4096

// queueOf is the queue of a name, which is made where it is not there.
func (p *Producer) queueOf(name string) *queue {
	q := p.queues[name]
	if q == nil {
		q = &queue{name: strings.Clone(name), most: p.options.Batch, index: -1,
			room: semaphore.NewWeighted(p.options.QueueBytes)}
		for _, delay := range []*backoff.ExponentialBackOff{&q.delay, &q.asideDelay} {
			*delay = backoff.ExponentialBackOff{
				InitialInterval: p.options.MinBackOff, MaxInterval: p.options.MaxBackOff, Multiplier: 2,
				RandomizationFactor: backoff.DefaultRandomizationFactor,
			}
		}
		p.queues[q.name] = q
	}
	return q
}

// arrange puts a queue into the schedule by what it has to send, or takes it out.
func (p *Producer) arrange(q *queue, now time.Time) {
	if q.schedule != nil {
		heap.Remove(q.schedule, q.index)
		q.schedule = nil
	}
	if q.busy {
		return
	}
	if q.waiting.n == 0 && q.aside.n == 0 {
		if q.senders == 0 && (len(p.queues) > maxIdle || p.closed) {
			delete(p.queues, q.name)
		}
		return
	}
	q.due = q.asideDue
	if q.waiting.n > 0 {
		due := q.waiting.head.at.Add(p.options.Linger)
		if p.full(q) || q.waiting.head.epoch.closed || q.waiting.head.tries > 0 {
			due = now
		}
		if q.aside.n == 0 || due.Before(q.due) {
			q.due = due
		}
	}
	if q.due.Before(q.notBefore) {
		q.due = q.notBefore
	}
	q.schedule = &p.well
	if q.troubled {
		q.schedule = &p.troubled
	}
	heap.Push(q.schedule, q)
	if p.sleeping && (p.wakeAt.IsZero() || q.due.Before(p.wakeAt)) {
		p.wake()
	}
}

func (p *Producer) full(q *queue) bool {
	return q.waiting.n >= q.most || q.waiting.bytes >= p.options.RequestBytes
}

type schedule []*queue

func (s schedule) isDue(now time.Time) bool { return len(s) > 0 && !s[0].due.After(now) }

func (s schedule) Len() int           { return len(s) }
func (s schedule) Less(i, j int) bool { return s[i].due.Before(s[j].due) }
func (s schedule) Swap(i, j int) {
	s[i], s[j] = s[j], s[i]
	s[i].index, s[j].index = i, j
}

func (s *schedule) Push(x any) {
	q := x.(*queue)
	q.index = len(*s)
	*s = append(*s, q)
}

func (s *schedule) Pop() any {
	last := len(*s) - 1
	q := (*s)[last]
	(*s)[last] = nil
	*s = (*s)[:last]
	q.index = -1
	return q
}
