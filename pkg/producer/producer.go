package producer

import (
	"context"
	"crypto/rand"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
)

// Producer sends messages in batches. Its methods may be called by any number of goroutines.
type Producer struct {
	transport Transport
	options   Options
	// prefix begins the ids that this producer makes: no other has it.
	prefix string
	// memory is what all messages together may take.
	memory *semaphore.Weighted
	// sending ends with the last request, closing with the first call of Close.
	sending, closing       context.Context
	stopSending, stopTakes context.CancelFunc
	wakeup                 chan struct{}
	ended                  sync.WaitGroup

	mu     sync.Mutex
	closed bool
	queues map[string]*queue
	// well are the queues that share requests, troubled those that go alone.
	well, troubled schedule
	// underway are the requests, alone those of queues in trouble.
	underway, alone int
	// sleeping: the dispatcher is, until wakeAt, or until it is called where that is zero.
	sleeping bool
	wakeAt   time.Time
	made     uint64 // ids
	messages int
	bytes    int64
	// epochs are those with messages that are not answered for; the last one is open.
	epochs []*epoch
	// complained is when it was logged last why requests are made again.
	complained time.Time
}

// epoch are the messages between two calls of Flush.
type epoch struct {
	open   int // messages
	closed bool
	done   chan struct{} // closed when it is closed and none is open
}

// New returns a producer by a transport; nil options are the defaults. The error names the option
// that is out of its bounds.
func New(transport Transport, o *Options) (*Producer, error) {
	options, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	p := &Producer{
		transport: transport, options: options, prefix: rand.Text(),
		memory: semaphore.NewWeighted(options.MaxBytes),
		wakeup: make(chan struct{}, 1), queues: map[string]*queue{},
		epochs: []*epoch{{done: make(chan struct{})}},
	}
	p.sending, p.stopSending = context.WithCancel(context.Background())
	p.closing, p.stopTakes = context.WithCancel(context.Background())
	p.ended.Go(p.dispatch)
	return p, nil
}

// Send takes a message. It returns as soon as there is room for it, and waits for that until the
// context ends, or the producer is closed. The error is an [invalid.Error], [ErrClosed], or the
// context's, and nothing was taken then. Messages of one queue are sent in the order in which Send
// took them.
func (p *Producer) Send(ctx context.Context, m Message) (*Future, error) {
	if err := m.check(); err != nil {
		return nil, err
	}
	var number uint64
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil, ErrClosed
	}
	if m.ID == "" && m.arrives() {
		p.made++
		number = p.made
	}
	q := p.queueOf(m.Queue)
	q.senders++
	p.mu.Unlock()

	buffer := scratch.Get().(*[]byte)
	written := m.appendTo((*buffer)[:0], p.prefix, number)
	f := &Future{queue: q, seq: noSeq, doc: append([]byte(nil), written...)}
	if m.Seq != nil {
		f.seq = *m.Seq
	}
	if cap(written) <= maxScratch {
		*buffer = written
	}
	scratch.Put(buffer)
	f.weight = int64(len(f.doc)) + overhead

	err := p.reserve(ctx, f)
	p.mu.Lock()
	defer p.mu.Unlock()
	q.senders--
	if err == nil && p.closed {
		p.release(f)
		err = ErrClosed
	}
	if err != nil {
		p.arrange(q, time.Now())
		return nil, err
	}
	p.take(f)
	return f, nil
}

// scratch are documents that are being written.
var scratch = sync.Pool{New: func() any { return new([]byte) }}

// maxScratch is how large a document's memory may be to be used again, in bytes.
const maxScratch = 64 << 10

func (p *Producer) take(f *Future) {
	q, now := f.queue, time.Now()
	f.at, f.epoch = now, p.epochs[len(p.epochs)-1]
	f.epoch.open++
	p.messages++
	p.bytes += f.weight
	wasFull := p.full(q)
	q.waiting.push(f)
	if !q.busy && (q.waiting.n == 1 || !wasFull && p.full(q)) {
		p.arrange(q, now)
	}
}

// reserve waits for room in memory: first among what the queue may have.
func (p *Producer) reserve(ctx context.Context, f *Future) error {
	if !f.queue.room.TryAcquire(f.weight) {
		if err := p.wait(ctx, f.queue.room, f.weight); err != nil {
			return err
		}
	}
	if !p.memory.TryAcquire(f.weight) {
		if err := p.wait(ctx, p.memory, f.weight); err != nil {
			f.queue.room.Release(f.weight)
			return err
		}
	}
	return nil
}

func (p *Producer) wait(ctx context.Context, room *semaphore.Weighted, weight int64) error {
	bounded, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(p.closing, cancel)()
	if room.Acquire(bounded, weight) == nil {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return ErrClosed
}

func (p *Producer) release(f *Future) {
	p.memory.Release(f.weight)
	f.queue.room.Release(f.weight)
}

// settle gives a message its outcome. It is called without the mutex.
func (p *Producer) settle(f *Future, r Result, err error) {
	f.settle(r, err)
	p.mu.Lock()
	p.messages--
	p.bytes -= f.weight
	if f.epoch.open--; f.epoch.open == 0 && f.epoch.closed {
		close(f.epoch.done)
	}
	p.mu.Unlock()
	p.release(f)
}

// Flush sends at once what Send has taken before, without Linger, and waits until all of it has an
// outcome, or the context ends. What fails is no error here: its futures tell.
func (p *Producer) Flush(ctx context.Context) error {
	p.mu.Lock()
	last := p.epochs[len(p.epochs)-1]
	last.closed = true
	if last.open == 0 {
		close(last.done)
	}
	open := p.epochs[:0:0]
	for _, e := range p.epochs {
		if e.open > 0 {
			open = append(open, e)
		}
	}
	p.epochs = append(open[:len(open):len(open)], &epoch{done: make(chan struct{})})
	now := time.Now()
	for _, q := range p.queues {
		p.arrange(q, now)
	}
	p.mu.Unlock()
	for _, e := range open {
		select {
		case <-e.done:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// Close takes no more, sends what there is, as Flush does, and ends all that the producer has
// begun. Where the context ends before, what is left fails with [ErrClosed], and the error is the
// context's. A second call returns nil.
func (p *Producer) Close(ctx context.Context) error {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil
	}
	p.closed = true
	p.mu.Unlock()
	p.stopTakes()
	err := p.Flush(ctx)
	p.stopSending()
	p.ended.Wait()
	if err != nil {
		p.abandon()
	}
	return err
}

// abandon fails what is left when all goroutines have ended.
func (p *Producer) abandon() {
	var left []*Future
	p.mu.Lock()
	for _, q := range p.queues {
		for _, l := range []*list{&q.aside, &q.waiting} {
			for l.n > 0 {
				left = append(left, l.pop())
			}
		}
	}
	p.mu.Unlock()
	for _, f := range left {
		p.settle(f, Result{}, ErrClosed)
	}
}
