package eventsource

import (
	"bytes"
	"slices"
	"time"

	"github.com/streamsort/streamsort/localstack/template"
)

const (
	// maxPayload is the size of an event beyond which a batch is sent before it is full: 6 MB,
	// "Batching behavior" (invocation-eventsourcemapping.html).
	maxPayload = 6 << 20
	// payloadFrame is what an event has besides its records.
	payloadFrame = len(`{"Records":[]}`)
	// streamRetention is how long a stream keeps a record. Without a limit of retries Lambda
	// retries "until the record expires" (services-ddb-params.html), which is after this time.
	streamRetention = 24 * time.Hour
)

// Why records are discarded, in the words of the on-failure message.
const (
	retriesExhausted = "RetryAttemptsExhausted"
	ageExceeded      = "RecordAgeExceeded"
)

// dropped is the condition of a batch that chaos leaves out: no on-failure message reports it.
const dropped = "Dropped"

// batch is a run of records of one lane that are sent together.
type batch struct {
	records []*record
	// attempts counts the failed invocations of exactly these records, for MaximumRetryAttempts.
	attempts int
	// invokes counts the invocations that these records were part of, since the last progress.
	invokes int
	// failures counts what went wrong in a row, throttling included, for the back-off.
	failures  int
	notBefore time.Time
	// functionError is what the last failed invocation answered, nil where the function named
	// failed records instead.
	functionError *string
	// condition is set when the batch is to be discarded.
	condition string
}

// lane is the part of a shard's records that is delivered in one order. It decides only; the
// shard's loop, which owns it, reads the clock and invokes.
type lane struct {
	mapping *template.Mapping
	backoff func(failures int) time.Duration
	chaos   *Dice

	pending     []*record // not in a batch yet
	bytes       int       // of pending
	windowStart time.Time // when pending began to be gathered
	work        []*batch  // a batch and what it was split into, in order
	busy        bool      // work[0] is being invoked or discarded
	closed      bool      // no more records will come
}

// add takes a record that was read at this time.
//
// "The next batching window begins as soon as the previous function invocation completes"
// (invocation-eventsourcemapping.html). Open on AWS's pages: what happens when one ends without a
// record. Here the next record begins a new one.
func (l *lane) add(r *record, now time.Time) {
	over := len(l.work) == 0 && now.Sub(l.windowStart) >= l.mapping.Window
	if len(l.pending) == 0 && over {
		l.windowStart = now
	}
	l.pending = append(l.pending, r)
	l.bytes += len(r.json) + 1
}

// size is the number of records that were added and are not dealt with.
func (l *lane) size() int {
	n := len(l.pending)
	for _, b := range l.work {
		n += len(b.records)
	}
	return n
}

// next returns the batch that is to be invoked now, or discarded if it has a condition, and marks
// the lane busy until finish or done is called. Without one, wait is the time from which on
// next is worth another call; zero means that something has to happen before.
func (l *lane) next(now time.Time) (b *batch, wait time.Time) {
	if l.busy {
		return nil, time.Time{}
	}
	if len(l.work) == 0 {
		due := l.due()
		if due.After(now) || len(l.pending) == 0 {
			return nil, due
		}
		b := &batch{records: l.cut(), notBefore: l.chaos.Hold(now)}
		if l.chaos.Lose() {
			b.condition = dropped
		}
		l.work = append(l.work, b)
	}
	l.expire(now)
	b = l.work[0]
	if b.condition == "" && b.notBefore.After(now) {
		return nil, b.notBefore
	}
	l.busy = true
	return b, time.Time{}
}

// due is when the pending records have to be sent: at once where the batch is full, its window is 0
// or no more records will come, otherwise at the window's end. It is the zero time where nothing is
// pending.
func (l *lane) due() time.Time {
	full := len(l.pending) >= l.mapping.BatchSize || l.bytes+payloadFrame >= maxPayload
	if len(l.pending) == 0 || full || l.closed {
		return time.Time{}
	}
	return l.windowStart.Add(l.mapping.Window)
}

// cut takes the records of the next batch from the pending ones: at most BatchSize, and at most 6
// MB unless one alone has more.
func (l *lane) cut() []*record {
	n, size := 0, payloadFrame
	for n < len(l.pending) && n < l.mapping.BatchSize {
		size += len(l.pending[n].json) + 1
		if n > 0 && size > maxPayload {
			break
		}
		n++
	}
	records := l.pending[:n:n]
	l.pending = l.pending[n:]
	for _, r := range records {
		l.bytes -= len(r.json) + 1
	}
	return records
}

// expire splits the records off that have become too old, so that they are discarded and the rest
// goes on. "MaximumRecordAgeInSeconds: discard records older than the specified age"
// (API_CreateEventSourceMapping.html); "the maximum age of a record that Lambda sends to your
// function" (services-dynamodb-eventsourcemapping.html).
func (l *lane) expire(now time.Time) {
	b := l.work[0]
	if b.condition != "" {
		return
	}
	old := 0
	for old < len(b.records) && l.tooOld(b, b.records[old], now) {
		old++
	}
	if old == 0 {
		return
	}
	expired := *b
	expired.records, expired.condition = b.records[:old:old], ageExceeded
	if old == len(b.records) {
		l.work[0] = &expired
		return
	}
	b.records = b.records[old:]
	l.work = append([]*batch{&expired}, l.work...)
}

func (l *lane) tooOld(b *batch, r *record, now time.Time) bool {
	if r.at.IsZero() {
		return false
	}
	age := now.Sub(r.at)
	return l.mapping.MaxRecordAge > 0 && age > l.mapping.MaxRecordAge ||
		b.failures > 0 && age > streamRetention
}

// outcome is what came of an invocation.
type outcome struct {
	// reached is false where the function was not invoked: throttled, or not to be reached.
	reached bool
	// firstFailed is the index of the first record that failed, the number of records where none
	// did, 0 where all did.
	firstFailed int
	// functionError is the kind of a function's error, nil without one.
	functionError *string
}

// finish takes the outcome of the batch that next returned. It returns how many records were
// accepted for the first time, and how many chaos puts back to be delivered again.
//
// A function error uses up retries; an invocation that was not begun, or a split, does not
// (services-dynamodb-errors.html). With ReportBatchItemFailures the records before the failed one
// are done and the rest is retried; with BisectBatchOnFunctionError in addition the batch is split
// there (services-ddb-batchfailurereporting.html). Open on AWS's pages: progress gives the rest a
// fresh count of retries here, as a recording of AWS's behaviour shows (a batch of three with its
// last record failing, 3 retries: that record was delivered 5 times and the message said 4
// invocations). A batch whose first record is reported is halved: nothing else would separate it
// from the good ones behind it.
func (l *lane) finish(b *batch, o outcome, now time.Time) (delivered, repeated int) {
	l.busy = false
	if !o.reached {
		l.defers(b, now)
		return 0, 0
	}
	for _, r := range b.records[:o.firstFailed] {
		if !r.delivered {
			r.delivered = true
			delivered++
		}
	}
	b.invokes++
	b.functionError = o.functionError
	rest := b.records[o.firstFailed:]
	switch {
	case len(rest) == 0:
		l.done(now)
		repeated = l.repeat(b.records, now)
	case o.firstFailed > 0:
		l.work[0] = &batch{records: rest}
		l.defers(l.work[0], now)
	case l.mapping.Bisect && len(rest) > 1:
		l.defers(b, now)
		half := len(rest) / 2
		first, second := *b, *b
		first.records, second.records = rest[:half:half], rest[half:]
		l.work = append([]*batch{&first, &second}, l.work[1:]...)
	default:
		l.defers(b, now)
		b.attempts++
		if l.mapping.MaxRetries >= 0 && b.attempts > l.mapping.MaxRetries {
			b.condition = retriesExhausted
		}
	}
	return delivered, repeated
}

// defers has a batch wait after a failure.
func (l *lane) defers(b *batch, now time.Time) {
	b.failures++
	b.notBefore = now.Add(l.backoff(b.failures))
}

// done removes the first batch, which was accepted, or discarded: the lane's checkpoint moves past
// it.
func (l *lane) done(now time.Time) {
	l.busy = false
	l.work = l.work[1:]
	l.windowStart = now
}

// repeat lets chaos forget the checkpoint behind a batch that succeeded, so that a part of it, from
// some record to its end, is delivered again before anything else. Records that follow may then
// share a batch with repeated ones.
func (l *lane) repeat(records []*record, now time.Time) int {
	again := records[l.chaos.Forget(len(records)):]
	if len(again) == 0 {
		return 0
	}
	if len(l.work) > 0 {
		l.work = append([]*batch{{records: again, notBefore: now}}, l.work...)
		return len(again)
	}
	l.pending = append(append([]*record(nil), again...), l.pending...)
	for _, r := range again {
		l.bytes += len(r.json) + 1
	}
	return len(again)
}

// payload is the event that the function gets.
func (b *batch) payload() []byte {
	records := make([][]byte, len(b.records))
	for i, r := range b.records {
		records[i] = r.json
	}
	return slices.Concat([]byte(`{"Records":[`), bytes.Join(records, []byte(",")), []byte("]}"))
}
