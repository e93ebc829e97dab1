package eventsource

import (
	"context"
	"errors"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
)

const (
	// pollLimit is the most records that GetRecords gives: "GetRecords" in the Amazon DynamoDB API
	// Reference (API_streams_GetRecords.html).
	pollLimit = 1000
	// readAhead is how many records beyond the batches in work a shard may hold before it is no
	// longer polled: a lane that is stuck must not make the process grow.
	readAhead = 4 * pollLimit
)

// poll is the result of one GetRecords.
type poll struct {
	began   time.Time
	records []types.Record
	next    string // next iterator, "" at the shard's end; after an error the one to try again with
	err     error
}

// pollIfDue begins a poll unless one is under way, it is too early, or enough records are waiting.
// It returns when to look again.
func (s *shardReader) pollIfDue(ctx context.Context, now time.Time) time.Time {
	if s.closed || s.polling || s.waiting() >= readAhead+
		s.mapping.BatchSize*s.mapping.Parallelization {
		return time.Time{}
	}
	if s.nextPoll.After(now) {
		return s.nextPoll
	}
	s.polling = true
	s.count(func(st *Stats) { st.Polls++ })
	iterator, position, lastRead := s.iterator, s.position, s.lastRead
	go func() {
		p := s.poll(ctx, iterator, position, lastRead)
		p.began = now
		s.results <- func(now time.Time) { s.takePoll(p, now) }
	}()
	return time.Time{}
}

// poll reads the next records, with a new iterator if it has none.
func (s *shardReader) poll(ctx context.Context, iterator string, position types.ShardIteratorType,
	lastRead string) poll {
	if iterator == "" {
		in := &dynamodbstreams.GetShardIteratorInput{StreamArn: &s.config.StreamARN, ShardId: &s.id,
			ShardIteratorType: position}
		if lastRead != "" {
			in.ShardIteratorType, in.SequenceNumber = types.ShardIteratorTypeAfterSequenceNumber, &lastRead
		}
		out, err := s.config.Streams.GetShardIterator(ctx, in)
		if err != nil {
			return poll{err: err}
		}
		iterator = aws.ToString(out.ShardIterator)
	}
	out, err := s.config.Streams.GetRecords(ctx,
		&dynamodbstreams.GetRecordsInput{ShardIterator: &iterator, Limit: aws.Int32(pollLimit)})
	if err != nil {
		return poll{next: iterator, err: err}
	}
	return poll{records: out.Records, next: aws.ToString(out.NextShardIterator)}
}

// takePoll takes the result of a poll: the records go to their lanes. The next poll follows at once
// after a full page, soon after records, and later and later while there are none.
func (s *shardReader) takePoll(p poll, now time.Time) {
	s.polling = false
	s.iterator = p.next
	if p.err != nil {
		s.takePollError(p.err, now)
		return
	}
	s.failures = 0
	for _, r := range p.records {
		s.takeRecord(r, now)
	}
	if p.next == "" {
		s.close()
	}
	switch {
	case len(p.records) == pollLimit:
		s.pause = 0
	case len(p.records) > 0 || s.pause == 0:
		s.pause = pollInterval
	default:
		s.pause = min(2*s.pause, idlePollInterval)
	}
	s.nextPoll = now.Add(s.pause)
	s.emptyAt = time.Time{}
	if len(p.records) == 0 && !s.closed {
		s.emptyAt = p.began
	}
}

// takePollError decides how to go on after an error.
//
// An iterator that was not used for 15 minutes has expired (API_streams_GetShardIterator.html); the
// next one begins behind the record read last. Where the records there are trimmed, or, on DynamoDB
// Local, LATEST is asked of an empty shard, reading goes on at the oldest record there is. A shard
// that is gone has nothing more to read.
func (s *shardReader) takePollError(err error, now time.Time) {
	switch {
	case errors.As(err, new(*types.ExpiredIteratorException)):
		s.iterator = ""
	case errors.As(err, new(*types.TrimmedDataAccessException)):
		s.iterator, s.lastRead, s.position = "", "", types.ShardIteratorTypeTrimHorizon
		s.emptyAt = time.Time{}
	case isNotFound(err):
		s.close()
	}
	s.failures++
	s.nextPoll = now.Add(s.errorPause(s.failures))
	if !errors.Is(err, context.Canceled) {
		s.config.Logger.Warn("cannot read shard", "shard", s.id, "error", err, "retryIn",
			s.nextPoll.Sub(now))
	}
}

// close says that the shard has no more records.
func (s *shardReader) close() {
	s.closed, s.emptyAt = true, time.Time{}
	for _, l := range s.lanes {
		l.closed = true
	}
}

// takeRecord puts a record into its lane unless it is to be dropped.
func (s *shardReader) takeRecord(r types.Record, now time.Time) {
	s.count(func(st *Stats) { st.Read++ })
	event, err := eventOf(r, s.config.StreamARN)
	var rec *record
	if err == nil {
		s.lastRead = *r.Dynamodb.SequenceNumber // which changeOf has found
		if changesNothing(event) {
			s.count(func(st *Stats) { st.Unchanged++ })
			return
		}
		if !s.passes(event) {
			s.count(func(st *Stats) { st.Filtered++ })
			return
		}
		rec, err = newRecord(event, r.Dynamodb.ApproximateCreationDateTime)
	}
	if err != nil {
		s.config.Logger.Error("record is dropped", "shard", s.id, "error", err)
		s.count(func(st *Stats) { st.Unreadable++ })
		return
	}
	// DynamoDB Local cuts the time to the minute. A record that the poll before this one did not
	// find yet is younger than that poll.
	if rec.at.Before(s.emptyAt) && !rec.at.IsZero() {
		rec.at = s.emptyAt
	}
	s.lanes[rec.lane%uint64(len(s.lanes))].add(rec, now)
}
