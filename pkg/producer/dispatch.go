package producer

import (
	"container/heap"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"
)

type part struct {
	queue    *queue
	messages []*Future
}

type call struct {
	parts    []part
	messages int
	bytes    int
	alone    bool
}

// dispatch begins requests as they are due, until the producer ends.
func (p *Producer) dispatch() {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		p.mu.Lock()
		for p.sending.Err() == nil {
			c := p.compose(time.Now())
			if c == nil {
				break
			}
			p.ended.Go(func() { p.request(c) })
		}
		p.wakeAt, p.sleeping = p.nextDue(), true
		timer.Stop()
		if !p.wakeAt.IsZero() {
			timer.Reset(time.Until(p.wakeAt))
		}
		p.mu.Unlock()
		select {
		case <-p.wakeup:
		case <-timer.C:
		case <-p.sending.Done():
			return
		}
	}
}

// wake has the dispatcher look again.
func (p *Producer) wake() {
	p.sleeping = false
	select {
	case p.wakeup <- struct{}{}:
	default:
	}
}

// mayShare reports whether another request of queues that are well may go, mayAlone whether one of
// a queue in trouble may.
func (p *Producer) mayShare() bool { return p.underway < p.options.Requests }

func (p *Producer) mayAlone() bool {
	return p.underway < p.options.Requests && p.alone < p.options.Requests/2
}

// nextDue is when the next request may go; zero where none may until one has ended, or something
// comes.
func (p *Producer) nextDue() (next time.Time) {
	if p.mayShare() && len(p.well) > 0 {
		next = p.well[0].due
	}
	if p.mayAlone() && len(p.troubled) > 0 && (next.IsZero() || p.troubled[0].due.Before(next)) {
		next = p.troubled[0].due
	}
	return next
}

// compose is the next request that is due, nil if absent. Whose turn came first goes first: queues
// in trouble do not wait until no other has anything to send.
func (p *Producer) compose(now time.Time) *call {
	shared := p.mayShare() && p.well.isDue(now)
	switch {
	case p.mayAlone() && p.troubled.isDue(now) &&
		(!shared || !p.well[0].due.Before(p.troubled[0].due)):
		c := &call{alone: true}
		p.add(c, p.troubled[0], now)
		p.underway++
		p.alone++
		return c
	case shared:
		c := &call{}
		// What has waited for half of its time goes along: one request instead of two.
		soon := now.Add(p.options.Linger / 2)
		for len(p.well) > 0 && !p.well[0].due.After(soon) && p.add(c, p.well[0], soon) {
		}
		p.underway++
		return c
	}
	return nil
}

// add adds to a request what a queue has to send, unless it has no room for it.
func (p *Producer) add(c *call, q *queue, now time.Time) bool {
	n, bytes := min(q.waiting.n, q.most), min(q.waiting.bytes, p.options.RequestBytes)
	if len(c.parts) > 0 && (c.messages+n > mostMessages || c.bytes+bytes > p.options.RequestBytes) {
		return false
	}
	heap.Remove(q.schedule, q.index)
	q.schedule = nil
	if q.aside.n > 0 && !q.asideDue.After(now) {
		q.waiting.behind(&q.aside) // so that each that waits has its turn before
	}
	batch := part{q, make([]*Future, 0, min(q.waiting.n, q.most))}
	for q.waiting.n > 0 && len(batch.messages) < q.most && c.messages < mostMessages {
		size := len(q.waiting.head.doc) + 1
		if c.messages > 0 && c.bytes+size > p.options.RequestBytes {
			break
		}
		f := q.waiting.pop()
		f.tries++
		batch.messages = append(batch.messages, f)
		c.messages++
		c.bytes += size
	}
	q.busy = true
	c.parts = append(c.parts, batch)
	return true
}

// request makes a request, and gives its messages what they were answered.
//
// Lost response: all of its messages are sent again, before anything that came after them, and what
// was stored is a duplicate. Another did it first (a process that died, whose caller sends again
// under the same seqs, keys or ids): the same. We die before or right after: the caller has no
// outcome, and sends again what it has in a queue or an outbox of its own.
func (p *Producer) request(c *call) {
	began := time.Now()
	ctx, cancel := context.WithTimeout(p.sending, p.options.RequestTimeout)
	a, err := p.transport.Put(ctx, c.body())
	cancel()
	took := time.Since(began)
	judged := judge(c, a, err)
	if judged.again != nil {
		p.complain(judged.again)
	}
	p.goOn(c, judged)
	for i, f := range c.all() {
		switch v := judged.of[i]; v.fate {
		case accepted:
			p.settle(f, v.result, nil)
		case refused:
			p.settle(f, Result{}, v.err)
		default:
			if p.options.GiveUpAfter > 0 && p.sending.Err() == nil &&
				time.Since(f.at) >= p.options.GiveUpAfter {
				judged.of[i].fate = refused
				p.settle(f, Result{}, fmt.Errorf("%w after %d tries: %w", ErrGaveUp, f.tries, v.err))
			}
		}
	}
	p.finish(c, judged, took)
}

// complain logs, once a minute, why requests fail that are made again: without a time to give up, a
// wrong address looks like one that is slow.
func (p *Producer) complain(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if now := time.Now(); p.complained.IsZero() || now.Sub(p.complained) >= time.Minute {
		p.complained = now
		slog.Warn("messages are sent again until the API takes them", "error", err)
	}
}

// goOn has messages that are ahead go again, behind the one that is next in their queue, where this
// producer has that: it was sent later, or goes again. Else they stay refused, and their senders
// know from where to go on.
func (p *Producer) goOn(c *call, judged judgement) {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := 0
	for _, part := range c.parts {
		of := judged.of[i : i+len(part.messages)]
		i += len(part.messages)
		first := slices.IndexFunc(of, func(v verdict) bool { return v.ahead })
		if first < 0 {
			continue
		}
		next := of[first].position + 1
		if !part.queue.has(next) && !part.repeats(of, next) {
			continue
		}
		for n := range of {
			if of[n].ahead {
				of[n].fate = aside
			}
		}
	}
}

// repeats reports whether the message of a seq goes again.
func (p part) repeats(of []verdict, seq int64) bool {
	for n, f := range p.messages {
		if f.seq == seq && (of[n].fate == repeat || of[n].fate == aside) {
			return true
		}
	}
	return false
}

// body is the request's. It is used once: a transport may read it behind the answer.
func (c *call) body() []byte {
	separator := `{"messages":[`
	body := make([]byte, 0, len(separator)+c.bytes+len("]}"))
	for _, f := range c.all() {
		body = append(append(body, separator...), f.doc...)
		separator = ","
	}
	return append(body, "]}"...)
}

// all are the messages in the order of the request.
func (c *call) all() func(yield func(int, *Future) bool) {
	return func(yield func(int, *Future) bool) {
		i := 0
		for _, part := range c.parts {
			for _, f := range part.messages {
				if !yield(i, f) {
					return
				}
				i++
			}
		}
	}
}

// finish puts what is sent again back into its queues, and lets them go on.
func (p *Producer) finish(c *call, judged judgement, took time.Duration) {
	slow := took > p.options.RequestTimeout/10
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	i := 0
	for _, part := range c.parts {
		q := part.queue
		var again list
		asides := 0
		wait := false
		for _, f := range part.messages {
			switch v := judged.of[i]; v.fate {
			case aside:
				asides++
				q.aside.push(f)
			case repeat:
				again.push(f)
				wait = wait || v.wait
			}
			i++
		}
		again.behind(&q.waiting)
		q.waiting = again
		q.busy = false
		if wait {
			q.notBefore = now.Add(judged.least + q.delay.NextBackOff())
		} else {
			q.delay.Reset()
		}
		if asides > 0 {
			q.asideDue = now.Add(q.asideDelay.NextBackOff())
		} else if q.aside.n == 0 {
			q.asideDelay.Reset()
		}
		q.troubled = slow || wait && judged.troubled
		switch {
		case judged.split && len(c.parts) > 1:
			q.troubled = true
		case judged.split:
			q.most = max(len(part.messages)/2, 1)
		case !wait && asides == 0:
			q.most = min(q.most*2, p.options.Batch)
		}
		p.arrange(q, now)
	}
	p.underway--
	if c.alone {
		p.alone--
	}
	p.wake()
}
