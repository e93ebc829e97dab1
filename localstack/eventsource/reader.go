package eventsource

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"github.com/streamsort/streamsort/localstack/template"
)

// shardReader reads one shard and feeds its lanes. Its run goroutine owns all fields; polls and
// invocations run in goroutines that send their results.
type shardReader struct {
	*Runner
	id    string
	lanes []*lane

	position types.ShardIteratorType // where to begin while lastRead is ""
	lastRead string                  // sequence number read last
	iterator string                  // "" means that a new one is needed
	closed   bool                    // the shard's last record is read
	emptyAt  time.Time               // see shardNote
	nextPoll time.Time
	pause    time.Duration // before the next poll
	failures int           // of polls in a row

	polling  bool
	inFlight int
	results  chan func(now time.Time) // takes what came of a poll, an invocation or a message
}

func newShardReader(r *Runner, s *shard) *shardReader {
	return &shardReader{
		Runner:   r,
		id:       s.id,
		position: s.from,
		lanes:    r.lanes(s.id),
		results:  make(chan func(time.Time)),
	}
}

// run works until everything in the shard is dealt with (true) or the context has ended and nothing
// is under way any more (false).
func (s *shardReader) run(ctx context.Context) bool {
	stop := ctx.Done()
	stopping := false
	for {
		now := time.Now()
		wake := time.Time{}
		if !stopping {
			wake = earlier(s.dispatch(ctx, now), s.pollIfDue(ctx, now))
		}
		s.note(s.id, shardNote{emptyAt: s.emptyAt, waiting: s.waiting()})
		switch {
		case stopping && !s.polling && s.inFlight == 0:
			return false
		case !stopping && s.closed && s.waiting() == 0:
			return true
		}
		select {
		case <-stop:
			stop, stopping = nil, true
		case take := <-s.results:
			take(time.Now())
		case <-after(now, wake):
		}
	}
}

// after is a channel that fires at a time, never for the zero time.
func after(now, wake time.Time) <-chan time.Time {
	if wake.IsZero() {
		return nil
	}
	return time.After(wake.Sub(now))
}

// earlier returns the earlier of two times of which either may be missing.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// dispatch begins what the lanes have to do now and returns when to look at them again.
func (s *shardReader) dispatch(ctx context.Context, now time.Time) time.Time {
	var wake time.Time
	for _, l := range s.lanes {
		b, wait := l.next(now)
		if b == nil {
			wake = earlier(wake, wait)
			continue
		}
		if b.condition == dropped {
			l.done(now)
			s.count(func(st *Stats) { st.Dropped += int64(len(b.records)) })
			wake = now // the lane may have more
			continue
		}
		s.inFlight++
		// What was begun is waited for, so it must not be cut off.
		ctx := context.WithoutCancel(ctx)
		if b.condition != "" {
			go s.discard(l, b)
			continue
		}
		s.count(func(st *Stats) {
			st.Invocations++
			st.InFlight++
			if b.failures > 0 {
				st.Retries++
			}
		})
		go func() {
			o := s.invoke(ctx, b)
			s.results <- func(now time.Time) { s.finish(l, b, o, now) }
		}()
	}
	return wake
}

// invoke gives a batch to the function and judges the answer.
func (s *shardReader) invoke(ctx context.Context, b *batch) outcome {
	response, functionError, err := s.config.Invoke(ctx, b.payload())
	log := s.config.Logger.With("shard", s.id, "records", len(b.records), "from",
		b.records[0].sequence)
	switch {
	case err != nil:
		log.Warn("function was not invoked", "error", err)
		return outcome{}
	case functionError != "":
		log.Warn("function failed", "functionError", functionError)
		return outcome{reached: true, functionError: &functionError}
	case !s.mapping.ReportBatchItemFailures:
		return outcome{reached: true, firstFailed: len(b.records)}
	}
	first, err := firstFailed(response, b.records)
	if err != nil {
		log.Warn("function's response counts as a failure of the whole batch", "error", err)
	}
	return outcome{reached: true, firstFailed: first}
}

// discard sends the on-failure message about a batch, which leaves its lane then.
func (s *shardReader) discard(l *lane, b *batch) {
	s.config.Logger.Error("records are discarded", "shard", s.id, "records", len(b.records),
		"from", b.records[0].sequence, "to", b.records[len(b.records)-1].sequence,
		"condition", b.condition)
	if queue := s.mapping.OnFailure; queue != "" {
		function := template.FunctionARN(s.mapping.Function)
		s.config.OnFailure(queue, failureOf(b, function, s.config.StreamARN, s.id, time.Now()))
	}
	s.results <- func(now time.Time) {
		s.inFlight--
		l.done(now)
		s.count(func(st *Stats) { st.Failed += int64(len(b.records)) })
	}
}

// finish gives the outcome of an invocation to its lane.
func (s *shardReader) finish(l *lane, b *batch, o outcome, now time.Time) {
	s.inFlight--
	last := b.records[len(b.records)-1]
	delivered, repeated := l.finish(b, o, now)
	s.count(func(st *Stats) {
		st.InFlight--
		st.Delivered += int64(delivered)
		st.Repeated += int64(repeated)
		if o.reached && !last.at.IsZero() {
			st.IteratorAge = max(now.Sub(last.at), 0)
		}
	})
}

// waiting counts the records that were read and are not dealt with.
func (s *shardReader) waiting() int {
	n := 0
	for _, l := range s.lanes {
		n += l.size()
	}
	return n
}
